"""A file that is being written while it is looked at is told once, when it has settled."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from sighted import BOTH, Sighted, ready

PIECES = 8
LINES = b"".join(b"%d\n" % number for number in range(PIECES * 1000))


def slowly(seen: Sighted, name: str, begun: threading.Event) -> None:
    """Written in pieces, with less time between them than a look takes to look again."""
    step = len(LINES) // PIECES + 1
    with (seen.root / name).open("wb", buffering=0) as file:
        for start in range(0, len(LINES), step):
            file.write(LINES[start : start + step])
            begun.set()
            time.sleep(0.001)


@BOTH
@pytest.mark.parametrize("before", [None, LINES + b"end\n"])
async def test_half_of_it_is_not_told(seen: Sighted, in_git: bool, before: bytes | None) -> None:
    if before is not None:
        seen.write("a.txt", before)
    await ready(seen, in_git=in_git)
    begun = threading.Event()
    writing = asyncio.create_task(asyncio.to_thread(slowly, seen, "a.txt", begun))
    await asyncio.to_thread(begun.wait)
    changes = await seen.sweep()
    await writing
    totals = [(change.added, change.removed) for change in changes]
    assert totals == [(0, 1) if before is not None else (LINES.count(b"\n"), 0)]
    assert await seen.told() == []


async def test_one_that_is_written_without_end_is_told_as_it_stands(seen: Sighted) -> None:
    seen.write("a.log", b"begun\n")
    await ready(seen)
    over = threading.Event()

    def on_and_on() -> None:
        while not over.is_set():
            with (seen.root / "a.log").open("ab") as file:
                file.write(b"more\n")
            time.sleep(0.001)

    writing = asyncio.create_task(asyncio.to_thread(on_and_on))
    try:
        await asyncio.sleep(0.05)
        begun = time.monotonic()
        [change] = await seen.sweep()
        assert time.monotonic() - begun < 5
        assert (change.removed, change.hunks[0].lines[1]) == (0, "+more")
    finally:
        over.set()
        await writing
    await seen.sweep()
    assert await seen.told() == []
