"""The same agent twice, once on a bare pipe and once behind `redline acp`: what Redline does not know arrives as the
same JSON value, however odd, large or frequent, both ways; and what a client holds, it holds again after a load."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from surfaces.editor.comparison import Stream, compare
from surfaces.editor.editor_client import Editor, Held, Place, allow, make_place, running, until

PUPPET = Path(__file__).parents[2] / "agents" / "acp" / "puppet.py"
Steps = list[dict[str, Any]]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def nested(depth: int) -> Any:
    value: Any = "deep"
    for number in range(depth):
        value = {"in": value} if number % 2 else [value]
    return value


ODD = {
    "numbers": [2**63 + 1, -(2**70), 1764570000000000000, -0.0, 1e300, 0.1],
    "halves": ["\ud83d", "a\udc80b", {"\ud83d": 1}],
    "signs": "\u2028\x00\x1b[31m é 😀",
    "empty": [{}, [], "", None, False],
    "deep": nested(120),
    "ours": {"omitted": True, "blob": "0" * 40, "turn": 7, "update": {}},
}
"""What JSON can say and a log of JSON values may refuse."""
META = {"m": {"level": 1, "odd": ODD}}


def update(word: str, **fields: Any) -> dict[str, Any]:
    return {"send": {"sessionUpdate": word, **fields}}


def message(method: str, params: Any, **more: Any) -> dict[str, Any]:
    return {"raw": json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more})}


def said_in(envelope: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    return message("session/update", {"sessionId": "puppet", "update": value, **envelope})


def script(place: Place, steps: Steps, **more: Any) -> list[str]:
    path = place.folder / "puppet.json"
    path.write_text(json.dumps({"prompts": [steps], "heard": str(place.folder / "heard"), **more}))
    return [sys.executable, str(PUPPET), str(path)]


def heard(place: Place, method: str) -> list[Any]:
    lines = [json.loads(line) for line in (place.folder / "heard").read_text().splitlines()]
    return [one.get("params") for one in lines if one.get("method") == method]


class Both:
    """A turn on a bare pipe and through the proxy, by the same client."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.prompt: list[dict[str, Any]] = [{"type": "text", "text": "Go on."}]
        self.beside: dict[str, Any] = {}

    async def turn(self, editor: Editor) -> tuple[str, Stream, list[Any], Held]:
        editor.serve["session/request_permission"] = allow("yes")
        editor.serve["_shop/ask"] = lambda params: {"echo": params["odd"]}
        new = await editor.ask("session/new", cwd=str(self.place.workspace), mcpServers=[])
        session = new.pop("sessionId")
        answer = await editor.ask("session/prompt", sessionId=session, prompt=self.prompt, **self.beside)
        back = await editor.ask("_shop/last", sessionId=session, of=ODD)
        updates, held = list(editor.updates), editor.held.get(session, Held())
        return session, Stream.of(editor, session, [new, answer, back], self.place.workspace), updates, held

    async def compare(self, steps: Steps, **more: Any) -> tuple[list[Any], list[Any]]:
        """The updates, raw and ours, once all that a client holds has been compared, live and loaded."""
        resuming = {"agentCapabilities": {"loadSession": True}}
        command = script(self.place, steps, initialize=resuming, **more)
        async with running(command, self.place.workspace, self.place.environment) as editor:
            await editor.initialize()
            _, raw, theirs, _ = await self.turn(editor)
        (self.place.folder / "heard").rename(self.place.folder / "heard-raw")
        async with self.place.editor("--agent-command", shlex.join(command)) as editor:
            session, ours, mine, live = await self.turn(editor)
            compare(ours, raw)
            await editor.ask("session/close", sessionId=session)
        async with self.place.editor("--agent-command", shlex.join(command)) as editor:
            await editor.ask("session/load", sessionId=session, cwd=str(self.place.workspace), mcpServers=[])
            again = editor.held[session]
            live.text["user"] = again.text["user"] = ""
            live.others, again.others = lasting(live.others), lasting(again.others)
            assert again == live
            loaded = editor.updates
        assert lasting(unknown(loaded)) == lasting(unknown(theirs))
        return theirs, mine


def lasting(updates: list[Any]) -> list[Any]:
    """What a load tells again as updates, modes and options being in its answer; of what replaces, the last."""
    fill = [one for one in updates if one["sessionUpdate"] == "usage_update"]
    plans = [one for one in updates if one["sessionUpdate"] == "plan"]
    others = ("usage_update", "plan", "current_mode_update", "config_option_update")
    return [*(one for one in updates if one["sessionUpdate"] not in others), *plans[-1:], *fill[-1:]]


def unknown(updates: list[Any]) -> list[Any]:
    """Those that are nobody's but the agent's, ids of messages aside."""
    ours = ("tool_call", "tool_call_update", "session_info_update", "available_commands_update", "user_message_chunk")
    return [
        {name: value for name, value in one.items() if name != "messageId"}
        for one in updates
        if one["sessionUpdate"] not in ours
        and not (one["sessionUpdate"].endswith("_chunk") and one["content"]["type"] == "text")
    ]


async def test_unknown_fields_kinds_and_notes_arrive_at_every_level(place: Place) -> None:
    entries = [{"content": "a", "priority": "high", "status": "pending", "owner": ODD, "_meta": META},
               {"content": "b", "priority": "urgent", "status": "stuck"}]  # fmt: skip
    steps = [
        update("agent_message_chunk", content={"type": "text", "text": "One. ", "tone": ODD, "_meta": META},
               voice={"v": ODD}, _meta=META),
        update("agent_thought_chunk", content={"type": "text", "text": "Two. "}, sure=0.5),
        update("agent_message_chunk", content={"type": "text", "text": ""}, done=True),
        said_in({"_meta": META, "trace": ODD}, {"sessionUpdate": "agent_message_chunk", "lang": "en",
                                               "content": {"type": "text", "text": "Three."}}),
        update("agent_message_chunk", content={"type": "hologram", "data": ODD}, _meta=META, side=1),
        update("agent_message_chunk", content={"type": "resource_link", "uri": "file:///x", "name": "x", "odd": ODD},
               side=2),
        update("mood_update", mood=ODD, turn=3, update={"a": 1}, _meta=META),
        said_in({"_meta": META, "seq": 2**60}, {"sessionUpdate": "mood_update", "mood": None}),
        update("plan", entries=entries, rank=1, _meta=META),
        update("plan", entries=[], steps=ODD),
        update("usage_update", used=1, size=9, cost={"amount": 0.5, "currency": "EUR", "odd": ODD}, by="x", _meta=META),
        update("current_mode_update", currentModeId="m", why=ODD, _meta=META),
        update("config_option_update", configOptions=[{"id": "o", "odd": ODD}], why=ODD),
        update("available_commands_update", availableCommands=[{"name": "c", "odd": [1]}], why=ODD, _meta=META),
        update("session_info_update", title="A title", updatedAt="2026-12-01T00:00:00Z", why=ODD, _meta=META),
        update("tool_call", toolCallId="r", title="Read", kind="read", status="pending", novel=ODD, _meta=META,
               rawInput={"odd": ODD}, locations=[{"path": "{w}/a", "line": 3, "column": 9, "_meta": META}]),
        update("tool_call_update", toolCallId="r", novel={"again": 1}, further={"x": [1]}, gone=None),
        {"ask": {"toolCallId": "r", "_meta": META, "novel": ODD}, "options": [
            {"optionId": "yes", "name": "Yes", "kind": "allow_once", "hint": ODD, "_meta": META}]},
        update("tool_call_update", toolCallId="r", status="completed", rawOutput=ODD, later=2**64, content=[
            {"type": "content", "content": {"type": "text", "text": "x", "_meta": META}, "odd": ODD, "_meta": META},
            {"type": "content", "content": {"type": "hologram", "data": ODD}},
            {"type": "novel", "of": ODD},
        ]),
        {"call": "_shop/ask", "params": {"odd": ODD, "_meta": META}},
        message("_shop/said", {"sessionId": "puppet", "odd": ODD, "_meta": META}),
        message("_shop/said", [ODD]),
    ]  # fmt: skip
    theirs, mine = await Both(place).compare(steps, new={"novel": ODD, "_meta": META})
    assert unknown(mine) == unknown(theirs)
    for word in ("available_commands_update", "session_info_update"):
        # By an editor that has asked for nothing the title of the first prompt is known, too.
        assert [one for one in mine if one["sessionUpdate"] == word][-1:] == [
            one for one in theirs if one["sessionUpdate"] == word
        ]


async def test_large_blocks_and_updates_arrive_whole(place: Place) -> None:
    huge = "QUJD" * (9 << 18)  # over 9 million characters, as base64 has them
    prose = ("a long line of prose " * 400 + "\n") * 1200
    steps = [
        update("agent_message_chunk", content={"type": "image", "data": huge, "mimeType": "image/png"}),
        update("agent_message_chunk", content={"type": "text", "text": prose}),
        update("agent_message_chunk", content={"type": "text", "text": "x"}, _meta={"huge": prose}, side=1),
        update("film_update", frames=[huge, {"more": prose}]),
        update("list_update", items=[[]] * 300_000),
        update("plan", entries=[], attached=prose),
        update("tool_call", toolCallId="r", title="Look", kind="read", status="pending", attached=huge),
        update("tool_call_update", toolCallId="r", status="completed", rawOutput={"all": prose}, content=[
            {"type": "content", "content": {"type": "image", "data": huge, "mimeType": "image/png"}}]),
    ]  # fmt: skip
    both = Both(place)
    both.prompt = [
        {"type": "text", "text": "Go on.", "odd": ODD},
        {"type": "audio", "data": huge, "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": prose, "_meta": META}, "_meta": META},
        {"type": "hologram", "text": {"no": "text"}, "parts": [[]] * 300_000},
    ]
    both.beside = {"_meta": META, "novel": ODD}
    theirs, mine = await both.compare(steps)
    assert unknown(mine) == unknown(theirs)
    [prompted] = heard(place, "session/prompt")
    assert prompted == {"sessionId": "puppet", "prompt": both.prompt, **both.beside}


async def test_a_thousand_unknown_updates_arrive_in_their_order_with_what_is_said_between(place: Place) -> None:
    steps: Steps = []
    for number in range(1000):
        steps.append(update("mood_update", number=number))
        if number % 100 == 0:
            steps.append(update("agent_message_chunk", content={"type": "text", "text": f"{number} "}))
    theirs, mine = await Both(place).compare(steps)

    def order(updates: list[Any]) -> list[Any]:
        kinds = ("mood_update", "agent_message_chunk")
        return [one.get("number", one.get("content")) for one in updates if one["sessionUpdate"] in kinds]

    assert order(mine) == order(theirs)


async def test_a_secret_in_what_is_unknown_reaches_the_editor_and_not_the_log(place: Place) -> None:
    key = "AKIAIOSFODNN7EXAMPLQ"
    long = f"{'word ' * 4000} {key} {'word ' * 4000}"
    values = [{"sessionUpdate": "mood_update", "key": key, "long": long},
              {"sessionUpdate": "plan", "entries": [], "key": key, "_meta": {"long": long}},
              {"sessionUpdate": "current_mode_update", "currentModeId": "m", "key": key}]  # fmt: skip
    text = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": f"It is {key}."}, "key": key}
    call = {"sessionUpdate": "tool_call", "toolCallId": "r", "title": "Read", "kind": "read", "status": "completed",
            "rawInput": {"long": long}, "key": key}  # fmt: skip
    command = script(place, [{"send": one} for one in [*values, text, call]])
    async with place.editor("--agent-command", shlex.join(command)) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert [one for one in editor.updates if one in values] == values
        known = [one for one in editor.updates if one not in values]
        assert key not in json.dumps(known)
        assert any("It is" in json.dumps(one) for one in known)
        editor.updates.clear()
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        assert {one["sessionUpdate"] for one in editor.updates} >= {"mood_update", "plan"}
        assert key not in json.dumps(editor.updates)
    for file in (place.folder / "data").rglob("*"):
        assert not file.is_file() or key.encode() not in file.read_bytes(), file


@pytest.mark.parametrize("answer", [
    {"outcome": {"outcome": "selected", "optionId": "yes", "_meta": META, "novel": ODD}, "_meta": META, "novel": ODD},
    {"outcome": {"outcome": "cancelled", "_meta": META}, "novel": ODD},
])  # fmt: skip
async def test_an_answer_to_a_question_arrives_in_the_editor_s_own_words(place: Place, answer: dict[str, Any]) -> None:
    question = {"toolCallId": "q", "title": "May I?", "kind": "other"}
    command = script(place, [{"ask": question}])
    async with place.editor("--agent-command", shlex.join(command)) as editor:
        editor.serve["session/request_permission"] = lambda _: answer
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert json.dumps(answer["outcome"]) in json.dumps(json.loads(editor.held[session].text["agent"]))
    lines = [json.loads(line) for line in (place.folder / "heard").read_text().splitlines()]
    assert [one["result"] for one in lines if "result" in one] == [answer]


async def test_the_editor_s_own_word_of_a_cancel_reaches_the_agent(place: Place) -> None:
    command = script(place, [{"wait_cancel": True}])
    async with place.editor("--agent-command", shlex.join(command)) as editor:
        session = await editor.new(place.workspace)
        turn = await editor.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go on."}])
        await until(lambda: heard(place, "session/prompt"))
        await editor.notify("session/cancel", sessionId=session, _meta=META, novel=ODD)
        assert (await turn)["stopReason"] == "cancelled"
    assert {"sessionId": "puppet", "_meta": META, "novel": ODD} in heard(place, "session/cancel")


async def test_kind_places_and_blocks_of_a_call_that_changes_nothing_are_the_agents_own(place: Place) -> None:
    blocks: list[Any] = [
        {"type": "novel"},
        {"type": "content", "content": {"type": "hologram"}},
        {"type": "terminal", "terminalId": "not-ours"},
        {"type": "content", "content": {"type": "text", "text": "x"}},
    ]
    steps = [
        update("tool_call", toolCallId="c", title="Do it", kind="other", status="pending", rawInput={"cmd": "true"}),
        update("tool_call_update", toolCallId="c", status="completed"),
        update("tool_call", toolCallId="p", title="Look", kind="read", status="pending",
               locations=[{"path": "/no/such/file"}, {"path": "/x", "line": 0}]),
        update("tool_call_update", toolCallId="p", status="completed", content=blocks),
        update("tool_call", toolCallId="n", title="New", kind="novel", status="pending"),
        update("tool_call_update", toolCallId="n", status="completed"),
    ]  # fmt: skip
    theirs, mine = await Both(place).compare(steps)

    def calls(updates: list[Any]) -> dict[str, Any]:
        found: dict[str, dict[str, Any]] = {}
        for one in updates:
            if one["sessionUpdate"] in ("tool_call", "tool_call_update"):
                found.setdefault(one["toolCallId"].rpartition(":")[2], {}).update(one)
        return found

    told, sent = calls(mine), calls(theirs)
    assert {call: one["kind"] for call, one in told.items()} == {call: one["kind"] for call, one in sent.items()}
    assert told["p"]["locations"] == sent["p"]["locations"]
    assert told["p"]["content"] == blocks
