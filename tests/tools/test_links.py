"""Files that are named through links: one file has one name in all that is told of it, and the link is told, too."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from power_cut import cut_off
from redline.changes.codec import from_json
from redline.changes.patch import git_patch
from redline.tools.recovery import recover
from redline.tools.undo import plan_undo, undo
from redline.transcript.fold import Transcript
from redline.transcript.net import landed, net_items
from redline.transcript.rows import ToolRow
from runner_bench import RunnerBench, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[RunnerBench]:
    async for made in opened(tmp_path):
        made.put("dir/real.md", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n")
        (made.workspace / "link.md").symlink_to("dir/real.md")
        (made.workspace / "way").symlink_to("dir")
        yield made


NAMES = ["dir/real.md", "link.md", "way/real.md"]


async def edited(bench: RunnerBench, turn: int, name: str, old: str, new: str) -> None:
    await bench.start_turn(turn)
    assert not (await bench.call("read", path=name)).is_error
    result = await bench.call("edit", path=name, old=old, new=new)
    assert result.status == "completed", result.error
    await bench.end_turn()


def git_apply(bench: RunnerBench, *arguments: str) -> None:
    subprocess.run(["git", "apply", *arguments], cwd=bench.workspace, check=True)


@pytest.mark.parametrize("name", NAMES)
async def test_every_record_of_a_change_names_the_file_itself(bench: RunnerBench, name: str) -> None:
    await edited(bench, 1, name, "two", "2")
    real = str(bench.workspace / "dir/real.md")
    proposed = [from_json(change).path for change in (await bench.last("tool/call"))["proposed"]]
    intent = await bench.last("file/intent")
    results = [change.path for change in await bench.logged_changes()]
    asked = bench.requests[-1]
    named = [intent["path"], intent["change"]["path"], *proposed, *results]
    assert {*named, *asked.paths, *(change.path for change in asked.changes)} == {real}
    note = asked.note or ""
    if name == "dir/real.md":
        assert note == ""
    else:
        assert str(bench.workspace / name) in note
        assert real in note
    assert asked.allow_session  # a link alone is no reason to ask each time


async def test_a_patch_of_what_was_changed_through_a_link_applies(bench: RunnerBench, tmp_path: Path) -> None:
    first = bench.text("dir/real.md")
    await edited(bench, 1, "link.md", "two", "2")
    await edited(bench, 2, "dir/real.md", "seven", "7")
    await edited(bench, 3, "way/real.md", "five", "5")
    items = net_items(landed(await bench.events()), lambda blob: bench.bytes.get(bench.log.session, blob))
    assert [item.change.path for item in items] == [str(bench.workspace / "dir/real.md")]
    patch = tmp_path / "net.patch"
    patch.write_bytes(git_patch(items, root=str(bench.workspace)))
    last = bench.text("dir/real.md")
    git_apply(bench, "-R", str(patch))
    assert bench.text("dir/real.md") == first
    git_apply(bench, str(patch))
    assert bench.text("dir/real.md") == last
    assert (bench.workspace / "link.md").is_symlink()


async def test_an_undo_of_one_name_marks_the_card_of_the_other(bench: RunnerBench) -> None:
    await edited(bench, 1, "dir/real.md", "two", "2")
    await edited(bench, 2, "link.md", "seven", "7")
    await undo(bench.log, bench.bytes, bench.files, bench.redactor, turn=1)
    assert "two" in bench.text("dir/real.md")
    assert "7" in bench.text("dir/real.md")
    transcript = Transcript(bench.log.session, {})
    for event in await bench.events():
        transcript.apply(event)
    cards = [row for row in transcript.rows if isinstance(row, ToolRow) and row.changes]
    assert [card.reverted for card in cards] == [True, False]


@pytest.mark.parametrize("name", NAMES)
async def test_any_name_selects_what_is_undone(bench: RunnerBench, name: str) -> None:
    first = bench.text("dir/real.md")
    await edited(bench, 1, "dir/real.md", "two", "2")
    await edited(bench, 2, "link.md", "seven", "7")
    await edited(bench, 3, "way/real.md", "five", "5")
    bench.put("other.md", "x\n")
    await edited(bench, 4, "other.md", "x", "y")
    planned = await plan_undo(bench.log, bench.bytes, bench.files, bench.redactor, path=name)
    assert [change.path for change in planned.changes] == [str(bench.workspace / "dir/real.md")]
    await undo(bench.log, bench.bytes, bench.files, bench.redactor, path=name)
    assert bench.text("dir/real.md") == first
    assert bench.text("other.md") == "y\n"


async def test_a_call_through_a_link_that_was_cut_off_is_closed_by_the_file_itself(bench: RunnerBench) -> None:
    await bench.start_turn(1)
    await bench.call("read", path="link.md")
    again = await cut_off(bench, "after the rename", bench.call_of("edit", path="link.md", old="two", new="2"))
    (bench.workspace / "link.md").unlink()  # whatever becomes of the link, the file is looked at
    recovery = await recover(again.log, again.bytes, again.files)
    [closed] = recovery.calls
    assert closed.status == "completed"
    assert [change.path for change in closed.changes] == [str(bench.workspace / "dir/real.md")]
    await again.store.close()
