"""A change that succeeded and is gone by the time that the file is read again: the read says so, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from redline.tools.knowledge import Knowledge
from redline.tools.lasting import GONE
from tool_bench import Bench

if TYPE_CHECKING:
    from pathlib import Path

    from redline.tools.permission import PermissionOutcome

OLD = "".join(f"line {number}\n" for number in range(1, 21))
NEW = OLD.replace("line 10\n", "LINE 10\n")


async def edited(bench: Bench) -> Path:
    path = bench.put("a.txt", OLD)
    done = await bench.read_first("a.txt", "edit", old_string="line 10", new_string="LINE 10")
    assert done.result.status == "completed"
    return path


@pytest.mark.parametrize("saved", [OLD, OLD + "typed since\n"], ids=["as it was", "and more typed"])
async def test_an_old_buffer_that_is_saved_over_an_edit_is_told_by_the_next_read(bench: Bench, saved: str) -> None:
    """Public reports: H88."""
    path = await edited(bench)
    path.write_text(saved)
    read = await bench.call("read", path="a.txt")
    said = GONE.format(path=path)
    assert "10→line 10\n" in read.text
    assert said in read.text
    assert read.logged["warnings"] == [said]
    again = await bench.call("read", path="a.txt")
    assert said not in again.text
    assert "warnings" not in again.logged


@pytest.mark.parametrize(
    "saved",
    [NEW, NEW + "typed since\n", NEW.replace("line 1\n", ""), NEW.replace("LINE 10", "LINE TEN")],
    ids=["untouched", "more typed", "a line above taken out", "the line changed once more"],
)
async def test_a_change_that_is_still_there_or_was_worked_on_is_not_called_gone(bench: Bench, saved: str) -> None:
    path = await edited(bench)
    path.write_text(saved)
    assert "no longer holds" not in (await bench.call("read", path="a.txt")).text


async def test_an_edit_before_any_read_is_refused_and_leaves_what_was_saved(bench: Bench) -> None:
    """Public reports: H88."""
    path = await edited(bench)
    path.write_text(OLD)
    assert (await bench.call("edit", path="a.txt", old_string="line 12", new_string="LINE 12")).code == "STALE"
    assert path.read_text() == OLD


async def test_what_was_written_is_known_again_after_a_restart(bench: Bench, tmp_path: Path) -> None:
    path = await edited(bench)
    bench.runner.knowledge = Knowledge()  # another process knows nothing
    await bench.runner.knowledge.restore(bench.log.events())
    path.write_text(OLD)
    assert GONE.format(path=path) in (await bench.call("read", path="a.txt")).text


async def test_what_a_call_took_back_itself_is_no_loss(bench: Bench) -> None:
    bench.put("a.txt", "a\n")
    blocked = bench.put("b.txt", "b\n")
    for name in ("a.txt", "b.txt"):
        await bench.call("read", path=name)

    def answer(_: object) -> PermissionOutcome:
        blocked.unlink()
        blocked.mkdir()
        return "allow_once"

    bench.answer = answer
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Update File: b.txt\n@@\n-b\n+B\n*** End Patch\n"
    assert (await bench.call("apply_patch", patch=patch)).result.is_error
    assert bench.bytes_of("a.txt") == b"a\n"
    assert "no longer holds" not in (await bench.call("read", path="a.txt")).text
