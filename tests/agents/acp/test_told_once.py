"""What is printed into a pipe while a turn goes on is what the log says at its end: each change once, nothing false."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from agents.acp.puppetry import diff, done, puppet, start, turn
from captures.recorded import Recording, stage
from redline.surfaces.terminal.pipe import PipeSurface, plain_row

if TYPE_CHECKING:
    from pathlib import Path

    from captures.recorded import Stage

TEXT = "".join(f"line {number}\n" for number in range(40))
NEW = TEXT.replace("line 20\n", "line twenty\n")


def printing(live: Stage) -> io.StringIO:
    printed = io.StringIO()
    live.conversation.attach(PipeSurface(printed, workspace=live.workspace))
    return printed


async def same(live: Stage, printed: io.StringIO) -> str:
    """What was printed; it is what is printed of the finished log."""
    await live.conversation.close()
    shown = live.conversation.transcript
    root, session = str(live.workspace), live.session.log.session
    final = [line for row in shown.rows for line in plain_row(row, workspace=root, session=session)]
    assert printed.getvalue().splitlines() == final
    return printed.getvalue()


@pytest.mark.parametrize("name", ["codex/l_multifile", "codex-old/l_multifile", "copilot/c_multi", "claude/b_edit"])
async def test_a_recorded_turn_is_printed_as_its_log_says(name: str, tmp_path: Path) -> None:
    recording = Recording.of(name)
    (tmp_path / "workspace").mkdir()
    recording.prepare(tmp_path / "workspace")
    async with stage(tmp_path, recording.command(), answers=recording.answers()) as live:
        printed = printing(live)
        await live.conversation.prompt("Go on.", source="terminal")
        assert "diff --git" in await same(live, printed)


@pytest.mark.parametrize("last", ["moved", "new", "deleted"])
async def test_a_call_is_not_told_before_all_that_it_reported_was_looked_for(tmp_path: Path, last: str) -> None:
    """Two of its files are found where they are named; the third by a look at everything."""
    report = {
        "moved": diff("g2.txt", TEXT, NEW),
        "new": diff("g2.txt", None, "new\n"),
        "deleted": diff("g.txt", TEXT, ""),
    }
    content = [diff("a.txt", "line 20\n", "line twenty\n"), diff("b.txt", None, "b\n"), report[last]]
    does = {
        "moved": [{"move": "g.txt", "to": "g2.txt"}, {"write": "g2.txt", "text": NEW}],
        "new": [{"write": "g2.txt", "text": "new\n"}],
        "deleted": [{"delete": "g.txt"}],
    }
    steps = [
        start("c", title="Edit", kind="edit", status="in_progress", content=content),
        {"write": "a.txt", "text": NEW}, {"write": "b.txt", "text": "b\n"}, *does[last], done("c"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT, "g.txt": TEXT}) as live:
        printed = printing(live)
        await turn(live, {"a.txt": TEXT.encode(), "g.txt": TEXT.encode()})
        text = await same(live, printed)
        assert text.count("diff --git") == 3
        assert "nothing changed" not in text


async def test_a_command_that_runs_on_is_said_to_and_its_end_is_told_without_its_change(tmp_path: Path) -> None:
    script = "echo more >> a.txt; echo up; sleep 60"
    steps = [{"call": "terminal/create", "params": {"command": script}}, {"sleep": 0.5}]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        printed = printing(live)
        await turn(live, {"a.txt": TEXT.encode()})
        await live.conversation.close()
        text = printed.getvalue()
        assert "error STILL_RUNNING" in text
        assert text.count("diff --git") == 1
        assert text.index("# turn 1: completed") < text.index("ended by SIG")
