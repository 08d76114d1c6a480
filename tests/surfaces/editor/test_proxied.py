"""`redline acp` in front of somebody else's agent: applied hunks for what it changed, the rest as it is."""

from __future__ import annotations

import base64
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from surfaces.editor.editor_client import Place, Refused, allow, diffs, make_place, said, until

if TYPE_CHECKING:
    pass

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
MODELS = {
    "currentModelId": "small",
    "availableModels": [{"modelId": "small", "name": "S"}, {"modelId": "large", "name": "L"}],
}
OPTIONS = [{"id": "effort", "name": "Effort", "type": "select", "currentValue": "low", "options": [], "odd": True}]


async def test_what_the_agent_offers_is_shown_with_what_the_log_adds(place: Place) -> None:
    offered = {
        "agentCapabilities": {"loadSession": False, "promptCapabilities": {"audio": True}, "odd": {"a": 1},
                              "sessionCapabilities": {"fork": {}, "odder": {}}},
        "authMethods": [{"id": "key", "name": "A key"}],
        "_meta": {"more": [1, 2]},
    }  # fmt: skip
    new = {"modes": MODES, "models": MODELS, "configOptions": OPTIONS, "_meta": {"session": "extra"}}
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
        await editor.ask("session/set_model", sessionId=session, modelId="large")
        again = await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        assert again["models"] == {**MODELS, "currentModelId": "large"}
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
        assert live.notes == {read["toolCallId"]: READ["_meta"]}
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


async def test_notes_beside_the_protocol_survive_both_ways(place: Place) -> None:
    chunk = {"sessionUpdate": "agent_message_chunk", "messageId": "m"}
    bare = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}, "_meta": {"usage": 3}}
    notice = {"method": "session/update", "params": {"sessionId": "puppet", "_meta": {"source": "p"}}}
    notice["params"] |= {"update": {**chunk, "content": {"type": "text", "text": "Three. "}}}
    steps = [
        update("agent_message_chunk", content={"type": "text", "text": "One. "}, _meta={"parent": "x"}, messageId="m"),
        update("agent_message_chunk", content={"type": "text", "text": "Two. "}, messageId="m"),
        {"raw": json.dumps({"jsonrpc": "2.0", **notice})},
        {"send": bare},
        update("tool_call", toolCallId="c", title="Look", kind="read", status="pending", _meta={"a": {"b": 1}}),
        update("tool_call_update", toolCallId="c", status="completed", _meta={"a": {"c": 2}}),
    ]
    async with place.editor(*puppet(place, steps)) as editor:
        session = await editor.new(place.workspace)
        picture = base64.b64encode(bytes(range(256)) * 40_000).decode()
        prompt = [
            {"type": "text", "text": "Go on.", "annotations": {"priority": 1}, "_meta": {"k": "v"}},
            {"type": "image", "data": picture, "mimeType": "image/webp", "uri": "file:///p.webp", "_meta": {"w": 3}},
        ]
        await editor.ask("session/prompt", sessionId=session, prompt=prompt, messageId="u1", _meta={"trace": "t"})
        assert heard(place, "session/prompt") == [
            {"sessionId": "puppet", "prompt": prompt, "messageId": "u1", "_meta": {"trace": "t"}}
        ]
        for way in ("live", "loaded"):
            said = [one for one in editor.updates if one["sessionUpdate"] == "agent_message_chunk"]
            assert "".join(one["content"]["text"] for one in said if "_meta" not in one) == "Two. Three. "
            assert "".join(one["content"]["text"] for one in said if one.get("_meta") == {"parent": "x"}) == "One. "
            assert len({one["messageId"] for one in said if one["content"]["text"]}) == 1
            assert [one["text"] for one in editor.enveloped] == ["Three. "]
            assert editor.held[session].notes == {"1:c": {"a": {"b": 1, "c": 2}}}
            assert (bare in editor.updates) == (way == "live")  # it says nothing to a reader
            back = [one["content"] for one in editor.updates if one["sessionUpdate"] == "user_message_chunk"]
            assert back == ([] if way == "live" else prompt)
            editor.updates.clear(), editor.enveloped.clear(), editor.held.clear()
            await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])


OWN = [{"optionId": "always", "name": "Always: mv *", "kind": "allow_always", "_meta": {"rule": "mv *"}},
       {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
       {"optionId": "never", "name": "Never", "kind": "reject_always"}]  # fmt: skip


@pytest.mark.parametrize(("chosen", "applied"), [("always", True), ("yes", True), ("never", False), ("other", False)])
async def test_the_agent_s_own_options_are_shown_and_its_own_is_answered(
    place: Place, chosen: str, applied: bool
) -> None:
    (place.workspace / "a.txt").write_text("one\ntwo\n")
    path = str(place.workspace / "a.txt")
    asked = {
        "toolCallId": "e",
        "title": "Edit a.txt",
        "kind": "edit",
        "name": "edit",
        "rawInput": {"x": [1]},
        "_meta": {"own": 1},
        "content": [{"type": "diff", "path": path, "oldText": "two", "newText": "TWO"}],
    }
    steps = [
        update("tool_call", toolCallId="e", title="Edit", kind="edit", status="pending"),
        {"ask": asked, "options": OWN},
        {"write": "a.txt", "text": "one\nTWO\n"} if applied else {"sleep": 0},
        update("tool_call_update", toolCallId="e", status="completed" if applied else "failed"),
    ]  # fmt: skip
    async with place.editor(*puppet(place, steps)) as editor:
        editor.serve["session/request_permission"] = allow(chosen)
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        [question] = [message["params"] for message in editor.asked]
        assert question["options"] == OWN
        told = question["toolCall"]
        assert (told["name"], told["rawInput"], told["_meta"]) == ("edit", {"x": [1]}, {"own": 1})
        assert diffs(told["content"]) == [("one\ntwo\n", "one\nTWO\n")]
        answered = {"outcome": "selected", "optionId": chosen if chosen != "other" else "never"}
        assert json.dumps(answered) in editor.held[session].text["agent"]
        [call] = editor.held[session].calls.values()
        assert bool(diffs(call["content"])) == applied


async def test_the_agent_s_own_answer_and_its_own_errors_come_back(place: Place) -> None:
    error = {"code": -32000, "message": "Log in, please", "data": {"url": "https://example.org/login"}}
    end = {"raw": json.dumps({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "pause", "usage": {"a": 1}}})}
    async with place.editor(*puppet(place, [end])) as editor:
        session = await editor.new(place.workspace)
        assert await editor.prompt(session) == {"stopReason": "pause", "usage": {"a": 1}}
    async with place.editor(*puppet(place, [], refuse={"session/prompt": error})) as editor:
        session = await editor.new(place.workspace)
        with pytest.raises(Refused) as refused:
            await editor.prompt(session)
        assert refused.value.error == error


async def test_a_secret_in_an_error_of_the_agent_is_masked_wherever_it_stands(place: Place) -> None:
    key = "AKIAIOSFODNN7EXAMPLQ"
    error = {"code": -31999, "message": f"no use for {key}", "data": {"tried": [key, 1], "deep": {"env": f"K={key}"}}}
    refuse = dict.fromkeys(("session/prompt", "_shop/open", "authenticate"), error)
    async with place.editor(*puppet(place, [], refuse=refuse)) as editor:
        session = await editor.new(place.workspace)
        asked = [("session/prompt", {"prompt": [{"type": "text", "text": "Go on."}]}), ("_shop/open", {})]
        for method, params in [*((name, {**more, "sessionId": session}) for name, more in asked), ("authenticate", {})]:
            with pytest.raises(Refused) as refused:
                await editor.ask(method, **params)
            told = refused.value.error
            assert key not in json.dumps(told)
            assert told["code"] == -31999
            assert told["message"].startswith("no use for ")
            assert told["data"]["tried"][1] == 1
    arguments = ["--agent-command", f"/bin/sh -c 'echo {key} >&2; exit 1'"]
    async with place.editor(*arguments, greet=False) as editor:
        with pytest.raises(Refused, match="It said") as refused:
            await editor.initialize()
        assert key not in json.dumps(refused.value.error)


async def test_messages_that_name_no_session_and_messages_without_parameters_pass_both_ways(place: Place) -> None:
    bare = {"jsonrpc": "2.0", "method": "_shop/bare"}
    steps = [{"raw": json.dumps(bare)}, {"raw": json.dumps({**bare, "params": [1]})},
             {"raw": json.dumps({**bare, "id": "b", "method": "_shop/ask"})}]  # fmt: skip
    async with place.editor(*puppet(place, steps)) as editor:
        session = await editor.new(place.workspace)
        await editor.notify("_shop/closed", at=9)
        await editor.send({"method": "_shop/empty"})
        await editor.prompt(session)
        assert editor.heard == [bare, {**bare, "params": [1]}]
        await until(lambda: editor.asked)
        [question] = editor.asked
        assert (question["method"], "params" in question) == ("_shop/ask", False)
        await editor.send({"id": 77, "method": "_shop/open"})
        await until(lambda: any(one.get("id") == 77 for one in editor.heard))
        assert editor.heard[-1] == {"jsonrpc": "2.0", "id": 77, "result": {}}
    for method, params in (("_shop/closed", {"at": 9}), ("_shop/empty", None)):
        assert heard(place, method) == [params, params]  # each of its processes: that of no session, that of the one
    assert heard(place, "_shop/open") == [None]


LINK = {"type": "resource_link", "uri": "file:///x.py", "name": "x.py", "size": 5, "_meta": {"l": 1}}
BLOCKS = [
    {"type": "text", "text": "Look: ", "annotations": {"priority": 0.5}, "_meta": {"c": 1}},
    LINK,
    LINK,
    {"type": "text", "text": "and "},
    {"type": "resource_link", "uri": "https://example.org/", "name": ""},
    {"type": "image", "data": "aGk=", "mimeType": "image/png", "uri": "file:///p.png", "_meta": {"i": [None]}},
    {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
    {"type": "resource", "resource": {"uri": "file:///y", "text": "why", "_meta": {"r": 1}}, "annotations": {"a": 1}},
]


async def test_each_block_of_an_agent_s_message_arrives_as_it_is_live_and_loaded(place: Place) -> None:
    steps = [update("agent_message_chunk", content=one, _meta={"n": number}) for number, one in enumerate(BLOCKS)]
    steps += [update("agent_thought_chunk", content=LINK)]
    async with place.editor(*puppet(place, steps)) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        for _ in ("live", "loaded"):
            said = [one for one in editor.updates if one["sessionUpdate"].startswith("agent_")]
            assert [one["content"] for one in said] == [*BLOCKS, LINK]
            assert [one.get("_meta") for one in said] == [*({"n": number} for number in range(len(BLOCKS))), None]
            editor.updates.clear()
            await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])


async def test_notes_on_a_plan_and_on_its_entries_arrive_live_and_loaded(place: Place) -> None:
    first = {"content": "a", "priority": "high", "status": "pending", "_meta": {"e": [1, None]}}
    entries = [first, {"content": "b", "priority": "low", "status": "completed"}]
    plan = {"sessionUpdate": "plan", "entries": entries, "_meta": {"pl": 1}}
    async with place.editor(*puppet(place, [{"send": plan}])) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert plan in editor.updates
        editor.updates.clear()
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        assert plan in editor.updates


async def test_the_agent_learns_who_the_editor_is_in_the_editor_s_own_words(place: Place) -> None:
    greeting = {"clientInfo": {"name": "pen", "version": "3", "_meta": {"v": 1}}, "_meta": {"trace": "t"}, "novel": [1]}
    async with place.editor(*puppet(place), greet=False) as editor:
        await editor.ask("initialize", protocolVersion=7, clientCapabilities={}, **greeting)
        await editor.new(place.workspace)
    told = heard(place, "initialize")
    assert [one.pop("protocolVersion") for one in told] == [1, 1]
    assert [{name: value for name, value in one.items() if name != "clientCapabilities"} for one in told] == [
        greeting,
        greeting,
    ]


async def test_who_is_asked_has_been_told_before_what_the_agent_did_before(place: Place) -> None:
    steps = [
        update("tool_call", toolCallId="r", title="Read", kind="read", status="in_progress"),
        update("tool_call_update", toolCallId="r", status="completed"),
        {"call": "_shop/ask", "params": {}},
        update("tool_call", toolCallId="e", title="Edit", kind="edit", status="in_progress"),
        {"write": "a.txt", "text": "one\n"},
        update("tool_call_update", toolCallId="e", status="completed", locations=[{"path": "{w}/a.txt"}]),
        {"call": "_shop/ask", "params": {}},
    ]
    async with place.editor(*puppet(place, steps)) as editor:
        session = await editor.new(place.workspace)
        seen = []

        def asked(_: Any) -> dict[str, Any]:
            seen.append([call["status"] for call in editor.held[session].calls.values()])
            return {}

        editor.serve["_shop/ask"] = asked
        await editor.prompt(session)
        assert seen == [["completed"], ["completed", "completed"]]
        assert diffs(editor.held[session].calls["1:e"]["content"]) == [(None, "one\n")]


async def test_a_file_that_nobody_had_looked_at_is_said_to_be_unknown_and_not_too_large(place: Place) -> None:
    outside = place.folder / "outside.txt"
    outside.write_text("1\n")
    told = {"title": "Edit", "kind": "edit", "locations": [{"path": str(outside)}]}
    steps = [
        {"write": "../outside.txt", "text": "2\n"},
        update("tool_call", toolCallId="e", status="completed", **told),
    ]
    async with place.editor(*puppet(place, steps)) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        [edit] = editor.held[session].calls.values()
        assert said(edit["content"]) == f"{outside}: no text basis (what it held before is not known): 2 B."
        assert not diffs(edit["content"])


async def test_what_the_agent_says_and_asks_while_it_is_signed_in_to_reaches_the_editor(place: Place) -> None:
    code = {"jsonrpc": "2.0", "method": "_shop/code", "params": {"code": "AB-12"}}
    asked = {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"mode": "url", "url": "https://e"}}
    steps = [{"raw": json.dumps(code)}, {"raw": json.dumps(asked)}]
    async with place.editor(*puppet(place, during={"authenticate": steps})) as editor:
        editor.serve["elicitation/create"] = lambda _: {"action": "accept"}
        await editor.ask("authenticate", methodId="key")
        assert editor.heard == [code]
        await until(lambda: editor.asked)
        assert [(one["method"], one["params"]) for one in editor.asked] == [(asked["method"], asked["params"])]


async def test_the_fill_of_the_context_is_told_as_the_agent_said_it_and_again_after_a_load(place: Place) -> None:
    usage = {"sessionUpdate": "usage_update", "used": 5, "size": 100, "_meta": {"us": [1, None]}}
    usage["cost"] = {"amount": 0.5, "currency": "USD"}
    async with place.editor(*puppet(place, [{"send": usage}])) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert editor.updates.count(usage) == 1
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        assert editor.updates.count(usage) == 2
