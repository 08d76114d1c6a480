"""Files over the bounds: what cannot be taken back later is said before anybody approves it, and after it was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from redline.files.local import LocalFiles
from redline.tools.undo import UndoRefused, undo
from runner_bench import RunnerBench

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from redline.tools.permission import PermissionOutcome, PermissionRequest

LARGE = "x\n" * 100
NO_PATCH = "no patch can be made of this change"
NO_UNDO = "it cannot be undone"


@pytest.fixture(params=["not compared", "compared"])
async def bench(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[RunnerBench]:
    """One in which a hundred bytes are too large to be kept; for the diff basis, too, or for the store alone."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    files = LocalFiles([workspace], basis_limit=100) if request.param == "not compared" else None
    made = await RunnerBench.open(tmp_path, files=files)
    made.bytes.file_limit = 100
    yield made
    await made.store.close()


@pytest.mark.parametrize(
    ("before", "tool", "arguments", "undone"),
    [
        (LARGE, "write", {"content": "y\n"}, False),
        (LARGE, "delete", {}, False),
        (LARGE, "move", {"to": "b.txt"}, True),
        ("small\n", "write", {"content": LARGE}, True),
        (None, "write", {"content": LARGE}, True),
    ],
)
async def test_before_and_after_it_is_said_what_will_not_be_possible_and_that_is_true(
    bench: RunnerBench, before: str | None, tool: str, arguments: dict[str, str], undone: bool
) -> None:
    if before is not None:
        await bench.seen("a.txt", before)
    await bench.start_turn(1)
    result = await bench.call(tool, path="a.txt", **arguments)
    await bench.end_turn()
    assert result.status == "completed"
    asked = bench.requests[-1]
    assert asked.note is not None
    assert not asked.allow_session
    [warning] = (await bench.last("tool/result"))["warnings"]
    for said in (asked.note, warning):
        assert NO_PATCH in said
        assert (NO_UNDO in said) is not undone
    assert (await bench.last("file/intent"))["kept"] is False
    if undone:
        await undo(bench.log, bench.bytes, bench.files, bench.redactor)
        assert (bench.text("a.txt") if before is not None else None) == before
    else:
        with pytest.raises(UndoRefused) as refused:
            await undo(bench.log, bench.bytes, bench.files, bench.redactor)
        assert refused.value.code == "NOT_KEPT"


async def test_a_file_inside_the_bounds_has_no_such_note(bench: RunnerBench) -> None:
    await bench.seen("a.txt", "a\n")
    result = await bench.call("write", path="a.txt", content="b\n")
    assert bench.requests[-1].note is None
    assert result.warnings == []


@pytest.mark.parametrize("before", [None, "".join(f"old {n}\n" for n in range(60_000))], ids=["add", "overwrite"])
async def test_while_it_is_asked_about_the_bytes_of_a_change_too_large_for_the_log_are_kept(
    tmp_path: Path, before: str | None
) -> None:
    after = "".join(f"{number} {'y' * 90}\n" for number in range(12_000))
    (tmp_path / "workspace").mkdir()
    bench = await RunnerBench.open(tmp_path)
    if before is not None:
        await bench.seen("a.txt", before)
    kept: list[bytes | None] = []

    def asked(request: PermissionRequest) -> PermissionOutcome:
        (change,) = request.changes
        assert change.truncated
        kept.extend(
            bench.bytes.get(bench.log.session, side.blob) for side in (change.before, change.after) if side is not None
        )
        return "reject"

    bench.answer = asked
    result = await bench.call("write", path="a.txt", content=after)
    assert result.status == "rejected"
    assert kept == [text.encode() for text in (before, after) if text is not None]
    await bench.store.close()


async def test_bytes_that_the_store_does_not_take_keep_nobody_from_asking(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    bench = await RunnerBench.open(tmp_path)
    bench.bytes.cap = 10
    bench.answer = "reject"
    result = await bench.call("write", path="a.txt", content="y" * 2_000_000)
    assert result.status == "rejected"
    assert len(bench.requests) == 1
    await bench.store.close()
