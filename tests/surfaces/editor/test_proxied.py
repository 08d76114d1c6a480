"""`redline acp` in front of somebody else's agent: applied hunks for what it changed, the rest as it is."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from captures.recorded import Recording, names, on_disk
from redline.sessions.gate import escaped
from surfaces.editor.editor_client import Held, Place, Refused, allow, diffs, make_place

if TYPE_CHECKING:
    from collections.abc import Mapping

PUPPET = Path(__file__).parents[2] / "agents" / "acp" / "puppet.py"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def puppet(place: Place, *prompts: list[dict[str, Any]], **script: Any) -> list[str]:
    path = place.folder / "puppet.json"
    path.write_text(json.dumps({"prompts": list(prompts), "heard": str(place.folder / "heard"), **script}))
    return ["--agent-command", shlex.join([sys.executable, str(PUPPET), str(path)])]


def heard(place: Place, method: str) -> list[Any]:
    """The parameters of what the agent was sent."""
    lines = [json.loads(line) for line in (place.folder / "heard").read_text().splitlines()]
    return [message.get("params") for message in lines if message.get("method") == method]


def update(word: str, **fields: Any) -> dict[str, Any]:
    return {"send": {"sessionUpdate": word, **fields}}


MODES = {"currentModeId": "careful", "availableModes": [{"id": "careful", "name": "Careful", "_meta": {"x": 1}}]}
OPTIONS = [{"id": "effort", "name": "Effort", "type": "select", "currentValue": "low", "options": [], "odd": True}]


async def test_what_the_agent_offers_is_shown_with_what_the_log_adds(place: Place) -> None:
    offered = {
        "agentCapabilities": {"loadSession": False, "promptCapabilities": {"audio": True}, "odd": {"a": 1},
                              "sessionCapabilities": {"fork": {}, "odder": {}}},
        "authMethods": [{"id": "key", "name": "A key"}],
        "_meta": {"more": [1, 2]},
    }  # fmt: skip
    new = {"modes": MODES, "configOptions": OPTIONS, "_meta": {"session": "extra"}}
    arguments = puppet(place, [], initialize=offered, new=new)
    async with place.editor(*arguments, greet=False) as editor:
        greeting = await editor.initialize(
            {"elicitation": {"form": {}}, "_meta": {"own": True, "terminal_output": True}}
        )
        assert greeting["agentCapabilities"] == {
            "loadSession": True, "promptCapabilities": {"audio": True}, "odd": {"a": 1},
            "sessionCapabilities": {"odder": {}, "list": {}, "resume": {}, "close": {}, "delete": {}},
        }  # fmt: skip
        assert greeting["authMethods"] == offered["authMethods"]
        assert greeting["_meta"] == offered["_meta"]
        servers = [{"name": "tools", "command": "/bin/true", "args": [], "env": []}]
        answer = await editor.ask("session/new", cwd=str(place.workspace), mcpServers=servers, _meta={"why": "test"})
        session = answer.pop("sessionId")
        assert answer == new
        await editor.ask("session/set_mode", sessionId=session, modeId="careful")
        await editor.ask("_shop/open", sessionId=session, door=3)
        await editor.ask("authenticate", methodId="key")
        await editor.notify("_shop/closed", sessionId=session, at=9)
        await editor.prompt(session)
    told = heard(place, "initialize")[0]["clientCapabilities"]
    assert told["elicitation"] == {"form": {}}
    assert told["_meta"] == {"own": True}
    assert told["fs"] == {"readTextFile": True, "writeTextFile": True}
    assert heard(place, "session/new") == [
        {"cwd": str(place.workspace), "mcpServers": servers, "_meta": {"why": "test"}}
    ]
    assert heard(place, "session/set_mode") == [{"sessionId": "puppet", "modeId": "careful"}]
    assert heard(place, "_shop/open") == [{"sessionId": "puppet", "door": 3}]
    assert heard(place, "_shop/closed") == [{"sessionId": "puppet", "at": 9}]
    assert heard(place, "authenticate") == [{"methodId": "key"}]
    # No rule of ours goes before what the user wrote.
    assert [one["prompt"] for one in heard(place, "session/prompt")] == [[{"type": "text", "text": "Go on."}]]


UNKNOWN = {"sessionUpdate": "mood_update", "mood": {"level": 3, "why": ["tea", None]}, "_meta": {"a": 0.5}}
USAGE = {"sessionUpdate": "usage_update", "used": 10, "size": 100, "cost": {"amount": 0.5, "currency": "USD"}}
COMMANDS = [{"name": "plan", "description": "Make a plan", "input": None}]
PICTURE = {"type": "content", "content": {"type": "image", "data": "aGk=", "mimeType": "image/png"}}
READ = {"rawInput": {"path": "a.txt", "deep": [1, {"x": None}]}, "rawOutput": {"lines": 3}, "_meta": {"tool": "Read"}}


async def test_what_is_unknown_passes_through_as_the_same_value(place: Place) -> None:
    long = {"text": "x" * 20_000}
    steps = [
        {"send": UNKNOWN},
        {"send": USAGE},
        update("available_commands_update", availableCommands=COMMANDS),
        update("tool_call", toolCallId="r", title="Read", kind="read", status="pending", rawInput=READ["rawInput"]),
        update("tool_call_update", toolCallId="r", status="completed", content=[PICTURE],
               rawOutput=long, _meta=READ["_meta"]),
        {"call": "_shop/ask", "params": {"question": ["how", "many"]}},
    ]  # fmt: skip
    async with place.editor(*puppet(place, steps)) as editor:
        editor.serve["_shop/ask"] = lambda params: {"answer": params["question"]}
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert UNKNOWN in editor.updates
        assert USAGE in editor.updates
        assert {"sessionUpdate": "available_commands_update", "availableCommands": COMMANDS} in editor.updates
        assert [message["params"] for message in editor.asked] == [{"sessionId": session, "question": ["how", "many"]}]
        assert '{"result": {"answer": ["how", "many"]}}' in editor.held[session].text["agent"]
        live = editor.held.pop(session)
        [read] = live.calls.values()
        assert read["kind"] == "read"
        assert read["content"] == [PICTURE]
        assert read["rawInput"] == READ["rawInput"]
        assert read["rawOutput"] == long
        ended = [one for one in editor.updates if one.get("status") == "completed"]
        assert ended[-1]["_meta"] == READ["_meta"]
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        assert editor.held[session].calls == live.calls
        assert editor.held[session].text == live.text
        assert UNKNOWN in editor.held[session].others


async def test_the_disk_corrects_the_agent_and_tells_what_it_never_told(place: Place) -> None:
    (place.workspace / "a.txt").write_text("one\ntwo\nthree\n")
    path = str(place.workspace / "a.txt")
    wrong = [{"type": "diff", "path": path, "oldText": None, "newText": "TWO"}]
    steps = [
        update("tool_call", toolCallId="e", title="Edit", kind="edit", status="pending", content=wrong),
        {"write": "a.txt", "text": "one\nTWO\nthree\n"},
        update("tool_call_update", toolCallId="e", status="completed"),
        update("agent_message_chunk", content={"type": "text", "text": "Done."}),
        {"sleep": 0.5},
        {"write": "secretly.txt", "text": "new\n"},
    ]
    async with place.editor(*puppet(place, steps)) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        edit, other = editor.held[session].calls.values()
        assert diffs(edit["content"]) == [("one\ntwo\nthree\n", "one\nTWO\nthree\n")]
        assert edit["locations"] == [{"path": path, "line": 2}]
        assert other["title"] == "Changed on disk: secretly.txt"
        assert diffs(other["content"]) == [(None, "new\n")]


async def test_an_agent_that_does_not_start_says_why(place: Place) -> None:
    refused = {"session/new": {"code": -32000, "message": "Authentication required"}}
    async with place.editor(*puppet(place, refuse=refused)) as editor:
        with pytest.raises(Refused, match="-32000"):
            await editor.new(place.workspace)
        assert (await editor.ask("session/list"))["sessions"] == []
    async with place.editor("--agent-command", "/bin/false", greet=False) as editor:
        with pytest.raises(Refused, match="exit code 1"):
            await editor.initialize()


def sample() -> list[str]:
    """One recording of each agent, of as many kinds as there are agents; all with REDLINE_EVERY_CAPTURE."""
    if os.environ.get("REDLINE_EVERY_CAPTURE"):
        return names()
    agents: dict[str, list[str]] = {}
    for name in names():
        agents.setdefault(name.partition("/")[0], []).append(name)
    return [found[(7 * number) % len(found)] for number, found in enumerate(agents.values())]


@pytest.mark.parametrize("name", sample())
async def test_after_a_recorded_turn_the_client_holds_what_happened_on_disk(name: str, place: Place) -> None:
    recording = Recording.of(name)
    recording.prepare(place.workspace)
    before, answers = on_disk(place.workspace), recording.answers()
    command = ["--agent-command", shlex.join(recording.command())]
    async with place.editor(*command) as editor:
        editor.serve["session/request_permission"] = lambda params: allow(
            "allow_once" if answers and answers.pop(0) else "reject"
        )(params)
        session = await editor.new(place.workspace)
        await editor.prompt(session, "Do the scripted step.")
        assert on_disk(place.workspace) == recording.after
        live = editor.held[session]
        check(before, recording.after, live, place.workspace)
    async with place.editor(*command) as editor:
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        again = editor.held[session]
        assert again.calls == live.calls
        assert again.text == live.text
        assert again.title == live.title


def check(before: Mapping[str, bytes], after: Mapping[str, bytes], held: Held, workspace: Path) -> None:
    """The diff blocks of the ended calls, in their order, turn the files before into those after."""
    state = {name: _text(data) for name, data in before.items()}
    for call in held.calls.values():
        assert call["status"] in ("completed", "failed")
        place = 0
        for block in (one for one in call["content"] if one["type"] == "diff"):
            name, kind = str(Path(block["path"]).relative_to(workspace)), block["_meta"]["kind"]
            old, new = block["oldText"], block["newText"]
            if kind == "add":
                assert old is None
                assert name not in state
                state[name] = new
            elif kind == "delete":
                assert state.pop(name) == old
            else:
                if kind == "move":
                    state.setdefault(name, state.pop(str(Path(block["_meta"]["oldPath"]).relative_to(workspace)), ""))
                text = state[name]
                place = text.find(old or "", place if place <= len(text) else 0)
                place = text.find(old or "") if place < 0 else place
                assert place >= 0, f"{old!r} is not in {name}"
                state[name] = text[:place] + new + text[place + len(old or "") :]
    for name, data in after.items():
        text = _text(data)
        if b"\0" in data[:8000] or b"\0" in before.get(name, b"")[:8000]:
            continue  # no lines: its call says so in words
        assert state.get(name, text) == text, name
        assert name in state or data in before.values(), name


def _text(data: bytes) -> str:
    """As the log has it: bytes that are not UTF-8 stand as escapes."""
    return escaped(data.decode("utf-8", "surrogateescape"))
