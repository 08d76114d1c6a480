"""`redline acp` in front of the client of the protocol's own library, which takes only what its models know."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import acp
from acp import schema

from surfaces.editor.editor_client import call, make_place

if TYPE_CHECKING:
    from pathlib import Path


class Client:
    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.asked.append((tool_call, options))
        outcome = schema.AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return schema.RequestPermissionResponse(outcome=outcome)


async def test_the_library_s_own_client_works_through_a_turn_and_a_load(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    (place.workspace / "a.txt").write_text("one\ntwo\n")
    model = place.script(
        [
            {"thinking": "Hm.", "text": "Looking.", "call": [call("read", path="a.txt")]},
            {"call": [call("edit", path="a.txt", old_string="two", new_string="TWO")]},
            {"call": [call("write", path="new.txt", content="new\n"), call("bash", command="echo hi")]},
            {"text": "Done."},
        ]
    )
    client = Client()
    command = [sys.executable, "-m", "redline", "acp", "--model", model]
    async with acp.spawn_agent_process(client, *command, env=place.environment, cwd=tmp_path) as (agent, _):
        greeting = await agent.initialize(acp.PROTOCOL_VERSION)
        assert greeting.agent_capabilities.load_session
        new = await agent.new_session(str(place.workspace), mcp_servers=[])
        answer = await agent.prompt(new.session_id, [schema.TextContentBlock(type="text", text="Go.")])
        assert answer.stop_reason == "end_turn"
        assert (place.workspace / "a.txt").read_text() == "one\nTWO\n"
        assert len(client.asked) == 3
        asked, options = client.asked[0]
        assert (asked.content[0].old_text, asked.content[0].new_text) == ("one\ntwo\n", "one\nTWO\n")
        assert [one.kind for one in options] == ["allow_once", "allow_always", "reject_once"]
        live = [one for one in client.updates if getattr(one, "status", None) == "completed"]
        client.updates.clear()
        listed = await agent.list_sessions()
        assert [one.session_id for one in listed.sessions] == [new.session_id]
        await agent.load_session(str(place.workspace), new.session_id, mcp_servers=[])
        again = [one for one in client.updates if getattr(one, "status", None) == "completed"]
        assert sorted(again, key=lambda one: one.tool_call_id) == sorted(live, key=lambda one: one.tool_call_id)
        assert any(isinstance(one, schema.UserMessageChunk) for one in client.updates)
