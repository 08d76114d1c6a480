"""What an agent tells just after the end of a turn, where it is ended at once, as by `redline run`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from agents.acp.puppetry import done, edit, ends, puppet, said, say, tools, touched, turn
from redline.agents.acp.calls import Calls

if TYPE_CHECKING:
    from pathlib import Path

    from agents.acp.puppetry import Steps
    from redline.agents.acp.judgement import Over

TEXT, NEW = "one\ntwo\n", "ONE\ntwo\n"
EDIT = edit("c", "a.txt", "one\n", "ONE\n")
WRITE = {"write": "a.txt", "text": NEW}
END, LATE = {"end": "end_turn"}, {"sleep": 0.15}
CHANGED = ("applied", [("modify", "a.txt", 1, 1)])

LAST: dict[str, Steps] = {
    "the end of a call": [EDIT, WRITE, END, LATE, done("c")],
    "its change and its end": [EDIT, END, LATE, WRITE, done("c")],
    "all of a call": [END, LATE, WRITE, {**EDIT, "send": {**EDIT["send"], "status": "completed"}}],
}


@pytest.mark.parametrize("last", LAST)
async def test_it_is_taken(tmp_path: Path, last: str) -> None:
    async with puppet(tmp_path, [*LAST[last], say("And done.")], files={"a.txt": TEXT}) as live:
        await turn(live)
        await live.conversation.close()
        row = tools(live)["c"]
        assert (row.status, touched(row, live)) == CHANGED
        assert [(net.added, net.removed) for net in ends(live)[-1].net] == [(1, 1)]
        assert said(live) == ["And done."]


async def test_what_is_said_while_a_turn_is_being_ended_is_kept_to_its_last_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = Calls.finish

    async def after_more_was_said(calls: Calls, over: Over) -> None:
        await (await live.agent.connect(1)).ask("more", {})
        await finish(calls, over)

    monkeypatch.setattr(Calls, "finish", after_more_was_said)
    async with puppet(tmp_path, [], during={"more": [say("And done.")]}) as live:
        await turn(live)
        assert said(live) == ["And done."]


@pytest.mark.parametrize("last", [[], [END, {"hang": True}]], ids=["that ends", "that does not end"])
async def test_nobody_waits_long_for_one(tmp_path: Path, last: Steps) -> None:
    async with puppet(tmp_path, [say("Done."), *last], files={"a.txt": TEXT}) as live:
        await turn(live)
        started = time.monotonic()
        await live.conversation.close()
        assert time.monotonic() - started < 5
