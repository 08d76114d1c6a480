"""A log that ends in the middle of an event: what was whole stays, and what is appended next can be read."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from redline.sessions.events import Event
from redline.sessions.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

TOLD = 5


def event(seq: int) -> Event:
    return Event("s", seq, 1_700_000_000_000 + seq, "tool/result", {"turn": 1, "text": f"{seq} " * 500})


async def left_behind(folder: Path) -> Path:
    """The files as a machine would leave them that lost its power: five events, the last ones not carried over."""
    store = SqliteStore.open(folder / "live" / "log.db")
    for seq in range(1, TOLD + 1):
        await store.append([event(seq)], durable=True)
    left = folder / "left"
    shutil.copytree(folder / "live", left)
    await store.close()
    return left / "log.db"


@pytest.mark.parametrize("lost", [1, 7, 24, 100, 4_000, 4_096, 4_119, 4_120, 9_000])
@pytest.mark.parametrize("rest", [b"", b"\n", b"\0" * 5_000, b'{"type":"tool_res\n'], ids=["", "line", "zeros", "half"])
async def test_the_torn_end_costs_itself_only_and_what_follows_is_not_glued_to_it(
    tmp_path: Path, lost: int, rest: bytes
) -> None:
    """Public reports: P162."""
    file = await left_behind(tmp_path)
    torn = file.with_name("log.db-wal")
    data = torn.read_bytes()
    assert len(data) > 2 * lost
    torn.write_bytes(data[:-lost] + rest)
    store = SqliteStore.open(file)
    last = await store.tail("s")
    assert 0 < last < TOLD
    await store.append([event(last + 1)], durable=True)
    await store.close()
    again = SqliteStore.open(file)
    assert await again.read("s") == [event(seq) for seq in range(1, last + 2)]
    await again.close()
