"""The words of a deleted session do not stay in the files, however its rows had been moved about."""

from __future__ import annotations

import asyncio
import random
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from redline.sessions.sqlite import SqliteStore
from redline.sessions.store import Damaged
from sessions.store_contract import event

WORDS = re.compile(rb"the-words-of-gone-\d+")


async def interleaved(store: SqliteStore, seed: int, events: int = 1200) -> dict[str, int]:
    """Three sessions that write in turn, rows of all lengths; how many each has."""
    chance = random.Random(seed)
    seqs = {"keep": 0, "gone": 0, "other": 0}
    for number in range(events):
        session = chance.choice(list(seqs))
        seqs[session] += 1
        text = f"the-words-of-{session}-{number} " * chance.choice([1, 1, 2, 5, 20, 100])
        await store.append([event(session, seqs[session], text=text)], durable=False)
    return seqs


def found(file: Path) -> set[bytes]:
    return {words for each in file.parent.iterdir() for words in WORDS.findall(each.read_bytes())}


def due(file: Path) -> list[tuple[int]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT due FROM sweep").fetchall()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 6])  # each leaves copies where the file is not written anew
async def test_no_copy_of_a_deleted_row_stays_and_the_others_stay_whole(file: Path, seed: int) -> None:
    store = SqliteStore.open(file)
    seqs = await interleaved(store, seed)
    whole = {session: await store.read(session, limit=1000) for session in ("keep", "other")}
    assert found(file)
    assert await store.delete("gone")
    assert not found(file)
    assert due(file) == []
    for session, events in whole.items():
        assert await store.read(session, limit=1000) == events
        await store.append([event(session, seqs[session] + 1)], durable=False)
    await store.close()
    assert not found(file)


async def test_a_reader_in_the_way_keeps_the_words_in_the_write_ahead_log_only_until_it_has_ended(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redline.sessions.writer._SWEEP_SECONDS", 0.02)
    store = SqliteStore.open(file)
    await interleaved(store, 3)
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        assert await store.delete("gone")
        assert found(file)
        assert due(file) == [(2,)]
    async with asyncio.timeout(30):
        while found(file):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.02)
    await store.close()
    assert due(file) == []


async def test_what_could_not_be_taken_away_is_when_the_file_is_opened_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("redline.sessions.sweep._SPARE", 2**60)  # no disk has so much left
        store = SqliteStore.open(file)
        await interleaved(store, 3)
        assert await store.delete("gone")
        assert await store.tail("gone") == 0
        await store.close()
        assert found(file)
        assert due(file) == [(1,)]
    await SqliteStore.open(file).close()
    assert not found(file)
    assert due(file) == []


async def test_a_log_that_is_too_large_is_not_written_anew_while_others_would_wait(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("BEARABLE", "QUICK"):
        monkeypatch.setattr(f"redline.sessions.writer.{limit}", 2**16)
    store = SqliteStore.open(file)
    await interleaved(store, 3)
    assert await store.delete("gone")
    await store.close()
    assert due(file) == [(1,)]


async def test_what_another_process_would_write_meanwhile_is_written(file: Path) -> None:
    store, other = SqliteStore.open(file), SqliteStore.open(file)
    await interleaved(store, 3)
    ended = asyncio.Event()

    async def writes() -> int:
        seq = 0
        while not ended.is_set() or not seq:
            seq += 1
            await other.append([event("busy", seq, text="x" * 100)], durable=seq % 10 == 0)
        return seq

    writing = asyncio.create_task(writes())
    assert await store.delete("gone")
    ended.set()
    told = await writing
    read = await store.read("busy", limit=told + 1)
    assert [one.seq for one in read if not isinstance(one, Damaged)] == list(range(1, told + 1))
    await store.close()
    await other.close()
    assert not found(file)


async def test_a_file_with_a_damaged_page_is_not_written_anew_and_the_delete_holds(file: Path) -> None:
    store = SqliteStore.open(file)
    await store.append([event("gone", 1, "turn/started", turn=1), event("gone", 2)], durable=True)
    await store.append([event("keep", 1)], durable=True)
    await store.close()
    with closing(sqlite3.connect(file)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'turns'").fetchone()
    _overwrite(file, (root - 1) * 4096)
    store = SqliteStore.open(file)
    assert await store.delete("gone")
    assert [one.session for one in await store.sessions()] == ["keep"]
    assert await store.read("gone") == []
    await store.close()
    assert due(file) == [(1,)]


def _overwrite(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at : at + 4096] = b"\x77" * 4096
    file.write_bytes(bytes(content))
