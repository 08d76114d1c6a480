"""Redline is killed in a turn of the built-in agent: the next start credits the turn with what it did, and no more."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gateway.parlour import Parlour, events, parlour

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from redline.sessions.events import Event

RUNNER = """
import asyncio, os, sys
from pathlib import Path
folder, users, call, during = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
sys.path.insert(0, sys.argv[5])
from gateway.parlour import Screen, call as tool, parlour, step
import json

async def main():
    async with parlour(folder) as place:
        read = tool("read", path="a.txt")
        edit = tool("edit", path="a.txt", old_string="one", new_string="ONE")
        model = place.script([step("", read), step("", edit), step("done")], [step("", *json.loads(call))])
        conversation = await place.begin(model)
        print(conversation.session.log.session, flush=True)
        async def answer(request):
            if conversation.transcript.state.turn == 1:
                return "allow_once"
            if during:
                exec(during, {"workspace": place.workspace})
            if request.tool == "write":
                return "allow_once"
            os.kill(os.getpid(), 9)
        conversation.attach(Screen(answer=answer))
        await conversation.prompt("edit it", source="terminal")
        exec(users, {"workspace": place.workspace})
        await conversation.prompt("go on", source="terminal")

asyncio.run(main())
"""
APPENDED = "for name in ('a.txt', 'b.txt'): (workspace / name).open('a').write('the user\\n')"
MADE = "(workspace / 'a.txt').unlink(); (workspace / 'new.txt').write_text('new\\n')"
SLEEP = '[{"tool": "bash", "arguments": {"command": "sleep 30"}}]'
EDITS = (
    '[{"tool": "edit", "arguments": {"path": "a.txt", "old_string": "two", "new_string": "TWO"}},'
    ' {"tool": "bash", "arguments": {"command": "sleep 30"}}]'
)
WROTE = '[{"tool": "write", "arguments": {"path": "c.txt", "content": "c\\n"}},' + SLEEP[1:]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path) as made:
        yield made


async def killed(place: Parlour, users: str, call: str = SLEEP, during: str = "") -> list[Event]:
    """What the log says of turn 2 after the next start."""
    for name in ("a.txt", "b.txt"):
        (place.workspace / name).write_text("one\ntwo\n")
    tests = str(Path(__file__).parents[1])
    run = [sys.executable, "-c", RUNNER, str(place.folder), users, call, during, tests]
    ended = await asyncio.to_thread(subprocess.run, run, capture_output=True, text=True, check=False)
    assert ended.returncode == -9, ended.stderr
    conversation = await place.begin(place.script(), session=ended.stdout.strip())
    told = [event for event in await events(conversation) if event.data.get("turn") == 2]
    await conversation.close()
    return told


def found(told: list[Event]) -> list[str]:
    changes = [change for event in told if event.type == "workspace/changed" for change in event.data["changes"]]
    return [Path(change["path"]).name for change in changes]


@pytest.mark.parametrize("users", [APPENDED, MADE])
async def test_what_the_user_did_before_the_turn_is_none_of_it(place: Parlour, users: str) -> None:
    told = await killed(place, users)
    assert found(told) == []
    assert not any(event.data.get("changes") for event in told if event.type == "tool/result")


async def test_what_changed_since_it_began_is_told(place: Parlour) -> None:
    """Of a file that the user had changed before as well."""
    told = await killed(place, APPENDED, during="(workspace / 'a.txt').open('a').write('in the turn\\n')")
    assert found(told) == ["a.txt"]
    [change] = next(event.data["changes"] for event in told if event.type == "workspace/changed")
    lines = [line for hunk in change["hunks"] for line in hunk["lines"]]
    assert [line for line in lines if line[0] in "+-"] == ["+in the turn"]


async def test_what_a_call_of_the_turn_did_is_told_once(place: Parlour) -> None:
    told = await killed(place, APPENDED, WROTE)
    assert found(told) == []
    [write, shell] = [event.data for event in told if event.type == "tool/result"]
    assert [Path(change["path"]).name for change in write["changes"]] == ["c.txt"]
    assert shell["changes"] == []


@pytest.mark.parametrize("call", [SLEEP, EDITS])
async def test_a_call_that_waited_for_a_yes_is_said_not_to_have_run(place: Parlour, call: str) -> None:
    told = await killed(place, "", call)
    results = [event.data for event in told if event.type == "tool/result"]
    assert len(results) == call.count('"tool"')
    for result in results:
        assert result["status"] == "interrupted"
        assert result["error"]["code"] == "NOT_ALLOWED"
        assert "never allowed, so it did not run" in result["error"]["message"]
        assert "broke off, or" not in result["content"][0]["text"]
        assert result["warnings"] == []
    [answered] = [event.data for event in told if event.type == "permission/answered"]
    assert (answered["outcome"], answered["by"]) == ("cancelled", "the end of the turn")
