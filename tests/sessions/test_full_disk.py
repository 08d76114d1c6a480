"""On a disk without a free byte the log is read, and a session can be deleted as soon as there is the least room."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from redline.sessions.events import Event
from redline.sessions.sqlite import SqliteStore
from redline.sessions.store import StoreError
from sessions.store_contract import event, run_of
from small_disk import fill, small_disk

SIZE = 16 * 2**20
ROOM = 160 * 2**10
"""Bytes that a delete is given here: far less than the session takes."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 16 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder, SIZE):
        yield folder


@pytest.fixture
async def file(disk: Path) -> Path:
    store = SqliteStore.open(disk / "log.db")
    await store.append(run_of("small", 1, 20), durable=True)
    for seq in range(1, 401):
        await store.append([event("large", seq, text=f"{seq} " * 500)], durable=False)
    await store.close()
    return disk / "log.db"


def give_back(disk: Path, size: int) -> None:
    filling = disk / "filling"
    os.truncate(filling, filling.stat().st_size - size)


async def test_what_is_there_is_read(disk: Path, file: Path) -> None:
    fill(disk / "filling")
    store = SqliteStore.open(file)
    assert [one.session for one in await store.sessions()] == ["large", "small"]
    assert await store.read("small") == run_of("small", 1, 20)
    assert len(await store.page("large")) == 400
    with pytest.raises(StoreError) as refused:
        await store.append([event("small", 21)], durable=True)
    assert refused.value.code == "NO_SPACE"
    assert await store.tail("small") == 20
    await store.close()


async def test_what_a_killed_process_left_in_the_write_ahead_log_is_read(disk: Path, file: Path) -> None:
    store = SqliteStore.open(file)
    await store.append([event("small", 21)], durable=True)
    left = disk / "left.db"
    for end in ("", "-wal"):
        shutil.copy(f"{file}{end}", f"{left}{end}")
    await store.close()
    fill(disk / "filling")
    store = SqliteStore.open(left)
    assert await store.tail("small") == 21
    assert [one.seq for one in await store.read("small")] == list(range(1, 22))
    await store.close()


async def test_a_session_larger_than_the_room_that_is_left_can_be_deleted(disk: Path, file: Path) -> None:
    fill(disk / "filling")
    store = SqliteStore.open(file)
    with pytest.raises(StoreError) as refused:
        await store.delete("large")
    assert refused.value.code == "NO_SPACE"
    assert "redline delete" in refused.value.remedy
    assert len(await store.page("large")) == 400
    give_back(disk, ROOM)
    assert await store.delete("large")
    assert [one.session for one in await store.sessions()] == ["small"]
    await store.append([event("small", 21, text="x" * 20_000)], durable=False)
    await store.close()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM events WHERE session = 'large'").fetchone() == (0,)


async def test_a_session_that_could_only_be_shortened_is_whole_up_to_its_end(disk: Path, file: Path) -> None:
    fill(disk / "filling")
    give_back(disk, 3 * 4096)  # not enough for the last step, which removes the row in the list
    store = SqliteStore.open(file)
    with pytest.raises(StoreError) as refused:
        await store.delete("large")
    assert refused.value.code == "NO_SPACE"
    last = await store.tail("large")
    assert [type(one) for one in await store.read("large", limit=500)] == [Event] * last
    await store.close()


async def test_while_one_process_has_it_for_itself_another_is_told_that_the_disk_is_full(
    disk: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redline.sessions.connections._ALONE_MILLISECONDS", 10)
    monkeypatch.setattr("redline.sessions.connections._BUSY_MILLISECONDS", 10)
    fill(disk / "filling")
    store = SqliteStore.open(file)
    await store.tail("small")
    with pytest.raises(StoreError) as refused:
        SqliteStore.open(file)
    assert refused.value.code in ("NO_SPACE", "BUSY")
    await store.close()
    again = SqliteStore.open(file)
    assert await again.tail("small") == 20
    await again.close()
