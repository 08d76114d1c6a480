"""MCP servers that the editor hands over, with real ones, in front of the built-in agent."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from surfaces.editor.editor_client import Place, allow, call, diffs, make_place, said, until

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = str(Path(__file__).with_name("mcp_server.py"))
STDIO = {"name": "my notes", "command": sys.executable, "args": [SERVER], "env": [{"name": "NOTER", "value": "Ada"}]}
TURN = [{"call": [call("my_notes_note", text="hello")]}, {"text": "Done."}]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


@pytest.fixture
def over_http(place: Place) -> Iterator[dict[str, Any]]:
    """A server that listens; it works in the workspace, too."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, SERVER, str(port)], cwd=place.workspace, stderr=subprocess.DEVNULL
    ) as server:
        for _ in range(200):
            with closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield {"type": "http", "name": "my notes", "url": f"http://127.0.0.1:{port}/mcp", "headers": []}
        server.kill()


async def test_a_call_asks_and_what_it_changes_on_disk_is_its_change(place: Place) -> None:
    async with place.editor("--model", place.script(TURN, TURN)) as editor:
        editor.serve["session/request_permission"] = allow("allow_once")
        answer = await editor.ask("session/new", cwd=str(place.workspace), mcpServers=[STDIO])
        session = answer["sessionId"]
        await editor.prompt(session)
        [asked] = [message["params"] for message in editor.asked]
        assert '"text": "hello"' in said(asked["toolCall"]["content"])
        assert [one["kind"] for one in asked["options"]] == ["allow_once", "reject_once"]
        [note] = editor.held[session].calls.values()
        assert note["status"] == "completed"
        assert "Noted for Ada: hello" in said(note["content"])
        assert diffs(note["content"]) == [(None, "hello\n")]
        assert note["rawInput"] == {"text": "hello"}
        live = editor.held.pop(session)
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[STDIO])
        assert editor.held[session].calls == live.calls


async def test_a_call_that_is_rejected_is_not_made(place: Place) -> None:
    async with place.editor("--model", place.script(TURN)) as editor:
        editor.serve["session/request_permission"] = allow("reject")
        answer = await editor.ask("session/new", cwd=str(place.workspace), mcpServers=[STDIO])
        await editor.prompt(answer["sessionId"])
        [note] = editor.held[answer["sessionId"]].calls.values()
        assert note["status"] == "failed"
        assert not (place.workspace / "note.txt").exists()


async def test_a_server_over_http_serves_likewise(place: Place, over_http: dict[str, Any]) -> None:
    async with place.editor("--model", place.script(TURN), "--approval", "all") as editor:
        answer = await editor.ask("session/new", cwd=str(place.workspace), mcpServers=[over_http])
        await editor.prompt(answer["sessionId"])
        [note] = editor.held[answer["sessionId"]].calls.values()
        assert "Noted for nobody: hello" in said(note["content"])
        assert diffs(note["content"]) == [(None, "hello\n")]


async def test_what_does_not_work_is_said_and_stops_nothing(place: Place) -> None:
    missing = {"name": "gone", "command": "/no/such/program", "args": [], "env": []}
    steps = [{"call": [call("my_notes_fail")]}, {"text": "Went on."}]
    async with place.editor("--model", place.script(steps), "--approval", "all") as editor:
        answer = await editor.ask("session/new", cwd=str(place.workspace), mcpServers=[missing, STDIO])
        session = answer["sessionId"]
        assert (await editor.prompt(session))["stopReason"] == "end_turn"
        [failed] = editor.held[session].calls.values()
        assert failed["status"] == "failed"
        assert "MCP: fail: Error executing tool fail" in said(failed["content"])
        assert "fail. See what the server itself says about it." in said(failed["content"])
        assert "MCP server 'gone' cannot be used" in editor.held[session].text["agent"]
        assert editor.held[session].text["agent"].endswith("Went on.")


async def test_a_server_without_its_command_or_address_is_said_to_lack_it(place: Place) -> None:
    servers = [{"name": "junk"}, {"name": "web", "type": "http", "headers": []}]
    async with place.editor("--model", place.script([{"text": "Done."}])) as editor:
        answer = await editor.ask("session/new", cwd=str(place.workspace), mcpServers=servers)
        await editor.prompt(answer["sessionId"])
        told = editor.held[answer["sessionId"]].text["agent"]
        assert "The MCP server 'junk' cannot be used: its command is missing. " in told
        assert "The MCP server 'web' cannot be used: its url is missing. " in told


async def test_other_servers_of_a_later_load_are_used_but_not_in_the_middle_of_a_turn(place: Place) -> None:
    script = place.script(*[[{"call": [call("my_notes_note", text="hello")]}, {"text": "Done."}] for _ in range(3)])
    renamed = {**STDIO, "env": [{"name": "NOTER", "value": "Eve"}]}
    async with place.editor("--model", script) as editor:
        editor.serve["session/request_permission"] = lambda _: None
        answer = await editor.ask("session/new", cwd=str(place.workspace), mcpServers=[STDIO])
        session = answer["sessionId"]
        turn = await editor.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go on."}])
        await until(lambda: editor.asked)
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[renamed])
        await until(lambda: "MCP_SERVERS" in editor.held[session].text["agent"])
        await editor.send({"id": editor.asked[0]["id"], "result": allow("allow_once")({})})
        await turn
        assert "Noted for Ada" in said([*editor.held[session].calls.values()][-1]["content"])
        editor.serve["session/request_permission"] = allow("allow_once")
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[renamed])
        await editor.prompt(session)
        assert "Noted for Eve" in said([*editor.held[session].calls.values()][-1]["content"])
