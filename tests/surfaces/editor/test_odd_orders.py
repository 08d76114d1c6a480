"""Requests in odd orders: each is answered, nothing hangs, and nothing that was stopped is done."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from surfaces.editor.editor_client import Editor, Place, Refused, call, make_place, until

if TYPE_CHECKING:
    from collections.abc import Sequence

PUPPET = Path(__file__).parents[2] / "agents" / "acp" / "puppet.py"
GO = [{"type": "text", "text": "Go on."}]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


@pytest.fixture(params=["built-in", "foreign"])
def asking(request: pytest.FixtureRequest, place: Place) -> Sequence[str]:
    """The arguments for an agent that asks in each turn before it writes a.txt."""
    if request.param == "built-in":
        turn = [{"call": [call("write", path="a.txt", content="x\n")]}, {"text": "Done."}]
        return ["--model", place.script(*[turn] * 3)]
    diff = {"type": "diff", "path": "{w}/a.txt", "oldText": None, "newText": "x\n"}
    question = {"toolCallId": "e", "title": "Write a.txt", "kind": "edit", "content": [diff]}
    turn = [{"ask": question}, {"write": "a.txt", "text": "x\n"}]
    resuming = {"agentCapabilities": {"loadSession": True}}
    (place.folder / "puppet.json").write_text(json.dumps({"prompts": [turn] * 3, "initialize": resuming}))
    return ["--agent-command", shlex.join([sys.executable, str(PUPPET), str(place.folder / "puppet.json")])]


async def asked(editor: Editor, session: str) -> asyncio.Future[Any]:
    """A turn that waits for an answer which never comes."""
    editor.serve["session/request_permission"] = lambda _: None
    before = len(editor.asked)
    turn = await editor.begin("session/prompt", sessionId=session, prompt=GO)
    await until(lambda: len(editor.asked) > before)
    return turn


async def outcome(answer: asyncio.Future[Any]) -> Any:
    try:
        return await asyncio.wait_for(answer, 30)
    except Refused as refused:
        return refused.error["code"]


@pytest.mark.parametrize("way", ["close", "delete", "cancel", "withdraw", "prompt"])
async def test_a_turn_that_waits_for_an_answer_is_ended_by_whatever_ends_it(
    place: Place, asking: Sequence[str], way: str
) -> None:
    async with place.editor(*asking) as editor:
        session = await editor.new(place.workspace)
        turn = await asked(editor, session)
        question = editor.asked[0]["id"]
        if way in ("close", "delete"):
            assert await editor.ask(f"session/{way}", sessionId=session) == {}
        elif way == "cancel":
            await editor.notify("session/cancel", sessionId=session)
        elif way == "withdraw":
            await editor.notify("$/cancel_request", requestId=turn.number)  # type: ignore[attr-defined]
        else:
            later = await asked(editor, session)
            await editor.notify("session/cancel", sessionId=session)
            assert (await outcome(later))["stopReason"] == "cancelled"
        assert (await outcome(turn))["stopReason"] == "cancelled"
        assert question in editor.withdrawn
        await editor.send({"id": question, "result": {"outcome": {"outcome": "selected", "optionId": "allow_once"}}})
        known = [one["sessionId"] for one in (await editor.ask("session/list"))["sessions"]]
        assert known == ([] if way == "delete" else [session])
        assert not (place.workspace / "a.txt").exists()
        assert all(one["status"] == "failed" for one in editor.held[session].calls.values())


async def test_turns_that_wait_for_one_another_are_cancelled_together(place: Place, asking: Sequence[str]) -> None:
    async with place.editor(*asking) as editor:
        session = await editor.new(place.workspace)
        first = await editor.begin("session/prompt", sessionId=session, prompt=GO)
        second = await editor.begin("session/prompt", sessionId=session, prompt=GO)
        loads = [
            await editor.begin("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
            for _ in range(3)
        ]
        await editor.notify("session/cancel", sessionId=session)
        await asyncio.gather(*map(outcome, loads))
        for turn in (first, second):
            assert (await outcome(turn))["stopReason"] == "cancelled"
        assert not (place.workspace / "a.txt").exists()


async def test_a_new_session_that_is_withdrawn_is_not_there(place: Place, asking: Sequence[str]) -> None:
    async with place.editor(*asking) as editor:
        new = await editor.begin("session/new", cwd=str(place.workspace), mcpServers=[])
        await editor.notify("$/cancel_request", requestId=new.number)  # type: ignore[attr-defined]
        assert await outcome(new) == -32800
        session = await editor.new(place.workspace)
        listed = [one["sessionId"] for one in (await editor.ask("session/list"))["sessions"]]
        assert listed == [session]


async def test_what_comes_too_early_or_concerns_nothing_is_refused_and_harms_nothing(
    place: Place, asking: Sequence[str]
) -> None:
    async with place.editor(*asking, greet=False) as editor:
        with pytest.raises(Refused, match="before initialize"):
            await editor.ask("session/new", cwd=str(place.workspace), mcpServers=[])
        await editor.notify("session/cancel", sessionId="nobody")
        await editor.initialize()
        await editor.notify("session/cancel", sessionId=["odd"])
        for params in ({"sessionId": "nobody", "prompt": GO}, {"prompt": GO}, {"sessionId": 5, "prompt": GO}):
            with pytest.raises(Refused):
                await editor.ask("session/prompt", **params)
        session = await editor.new(place.workspace)
        for prompt in ([], "text", [5], None):
            with pytest.raises(Refused, match="-32602"):
                await editor.ask("session/prompt", sessionId=session, prompt=prompt)
        await editor.initialize()
        turn = await asked(editor, session)
        await editor.notify("session/cancel", sessionId=session)
        assert (await outcome(turn))["stopReason"] == "cancelled"
