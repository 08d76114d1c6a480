"""What an editor is told that a real agent can do, through `redline acp`: its own words, and what the log adds."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from interop.agents import LiveAgent, Prepared
from interop.endpoint import Endpoint
from interop.test_live import live_agents
from surfaces.editor.editor_client import Editor, Refused, make_place, running

CAPABILITIES = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "_meta": {"terminal_output": True, "terminal-auth": True},
}
LOG_SUPPLIES = {"list": {}, "resume": {}, "close": {}, "delete": {}}
_CHANGING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z?")
"""Ids and times, which are others each time."""


@pytest.mark.parametrize("agent", live_agents())
async def test_an_editor_is_told_what_the_agent_offers_and_what_the_log_adds(
    agent: LiveAgent, endpoint: Endpoint, tmp_path: Path
) -> None:
    place = make_place(tmp_path)
    prepared: Prepared = agent.prepare(tmp_path / "home", endpoint.port)
    async with running(prepared.isolated, place.workspace, place.environment) as editor:
        own, offered = await _offered(editor, place.workspace)
    async with place.editor("--agent-command", shlex.join(prepared.isolated), greet=False) as editor:
        told, passed = await _offered(editor, place.workspace)
    expected = dict(own["agentCapabilities"])
    sessions = {name: one for name, one in (expected.get("sessionCapabilities") or {}).items() if name != "fork"}
    expected |= {"loadSession": True, "sessionCapabilities": {**sessions, **LOG_SUPPLIES}}
    assert told == {**own, "agentCapabilities": expected}
    assert _steady(passed) == _steady(offered)


async def _offered(editor: Editor, folder: Path) -> tuple[dict[str, Any], Any]:
    """Its answers to `initialize` and to `session/new`, the latter without the id, or its refusal."""
    greeting = await editor.initialize(CAPABILITIES)
    try:
        answer = await editor.ask("session/new", cwd=str(folder), mcpServers=[])
    except Refused as refused:
        return greeting, refused.error
    return greeting, {name: one for name, one in answer.items() if name != "sessionId"}


def _steady(value: Any) -> Any:
    return json.loads(_CHANGING.sub("…", json.dumps(value)))
