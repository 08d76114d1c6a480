"""Who commits: the loop, where it takes a moment; the thread, where something is in the way."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from redline.sessions.events import Event
from redline.sessions.sqlite import SqliteStore

LARGE = "x" * 100_000


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "log.db")
    yield store
    await store.close()


def event(seq: int, text: str = "") -> Event:
    return Event("s", seq, 1_796_000_000_000, "notice/raised", {"text": text})


def committing_threads(store: SqliteStore) -> list[str]:
    names: list[str] = []

    def traced(statement: str) -> None:
        if statement == "COMMIT":
            names.append(threading.current_thread().name)

    store._writer._connection.set_trace_callback(traced)
    return names


async def test_what_is_small_is_committed_at_once_and_what_must_reach_the_disk_by_the_thread(
    store: SqliteStore,
) -> None:
    threads = committing_threads(store)
    await store.append([event(1)], durable=False)
    await store.append([event(2)], durable=True)
    await store.append([event(3, LARGE)], durable=False)
    assert [name == "redline-log-writer" for name in threads] == [False, True, True]


async def test_what_follows_a_flushed_event_waits_for_it(store: SqliteStore) -> None:
    await store.append([event(1)], durable=False)
    told: list[int] = []
    done = asyncio.Event()

    def settled(seq: int) -> None:
        told.append(seq)
        if seq == 4:
            done.set()

    for seq, durable in ((2, True), (3, False), (4, False)):
        store.submit([event(seq)], durable=durable, settled=lambda _, seq=seq: settled(seq))  # type: ignore[misc]
        await asyncio.sleep(0)
    await done.wait()
    assert told == [2, 3, 4]


async def test_the_loop_goes_on_while_another_process_writes(store: SqliteStore, tmp_path: Path) -> None:
    await store.append([event(1)], durable=False)
    other = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.ensure_future(store.append([event(2)], durable=False))
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert not waiting.done()
    other.execute("ROLLBACK")
    await waiting
    other.close()
    assert await store.tail("s") == 2


async def test_the_write_ahead_log_is_carried_over_however_small_the_events_are(
    store: SqliteStore, tmp_path: Path
) -> None:
    for seq in range(1, 5_001):
        await store.append([event(seq, "some text")], durable=False)
    # Three pages of 4 KiB go into it with each commit: by now it would hold 60 MiB.
    assert (tmp_path / "log.db-wal").stat().st_size < 36 * 2**20


async def test_the_loop_commits_while_the_write_ahead_log_is_carried_over(store: SqliteStore, tmp_path: Path) -> None:
    threads = committing_threads(store)
    held = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    await store.append([event(1)], durable=False)
    held.execute("BEGIN")
    held.execute("SELECT count(*) FROM events").fetchone()  # a reader: what it sees cannot be carried over beyond
    for seq in range(2, 500):
        await store.append([event(seq)], durable=False)
    held.close()
    assert "redline-log-writer" not in threads
    assert await store.tail("s") == 499


def test_each_loop_is_told_of_its_own_events_also_by_who_closes_the_store(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "log.db")
    submitted, closed = threading.Event(), threading.Event()
    told: list[str] = []

    async def write() -> None:
        done = asyncio.Event()

        def settled(error: BaseException | None) -> None:
            told.append(f"{threading.current_thread().name}: {error}")
            done.set()

        store.submit([event(1)], durable=False, settled=settled)
        submitted.set()
        closed.wait(60)  # it has not gone to the writer yet: that is for the end of this turn of the loop
        await asyncio.wait_for(done.wait(), 60)

    writing = threading.Thread(target=lambda: asyncio.run(write()), name="the writing loop")
    writing.start()
    submitted.wait(60)
    asyncio.run(store.close())
    closed.set()
    writing.join(60)
    assert told == ["the writing loop: None"]
