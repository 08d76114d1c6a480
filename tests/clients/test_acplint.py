"""acplint, which checks agents of the protocol, in front of `redline acp`."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from captures.recorded import Recording
from clients.installed import ACPLINT, installed
from surfaces.editor.editor_client import make_place

if TYPE_CHECKING:
    from pathlib import Path

CATEGORIES = ("initialization", "authentication", "session_lifecycle", "session_modes", "config_options", "cancel",
              "stress", "schema_validation")  # fmt: skip
"""All that do not need a prompt to be answered: it sends its prompts under `content`, and the protocol's name is
`prompt`, so that every agent that follows the protocol refuses them."""

MISTAKEN = {
    "initialize_v1": "wants protocolVersion to be a text; it is an integer in the protocol's schema",
    "protocol_version_returned": "the same",
    "schema_initialize": "the same",
    "new_session": "wants an option's `label`; the protocol's schema has `name`",
    "schema_session_new": "the same",
}
"""Of its findings, those that the protocol's own schema contradicts."""


@pytest.mark.parametrize("way", ["builtin", "proxied"])
def test_it_finds_nothing_but_what_the_protocol_contradicts(way: str, tmp_path: Path) -> None:
    place = make_place(tmp_path)
    recording = Recording.of("claude/b_edit")
    recording.prepare(place.workspace)
    agent, environment = ["--model", place.script([{"text": "Fine."}])], place.environment
    if way == "proxied":  # in the environment: it cuts arguments at each space
        agent, environment = [], {**environment, "REDLINE_AGENT_COMMAND": shlex.join(recording.command())}
    command = [str(installed(*ACPLINT) / "bin" / "acplint"), "--agent", sys.executable,
               f"--agent-args={' '.join(['-m', 'redline', 'acp', *agent])}", "--cwd", str(place.workspace),
               "--timeout", "20", "--output", "json", "--categories", *CATEGORIES]  # fmt: skip
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    results = json.loads(done.stdout)["results"]
    assert len(results) > 15
    failed = {one["name"]: one["message"] for one in results if one["status"] not in ("PASS", "SKIP")}
    assert {name: said for name, said in failed.items() if name not in MISTAKEN} == {}
