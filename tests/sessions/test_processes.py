"""Kills and several processes: what one was told must be there for all."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from redline.sessions.events import Event
from redline.sessions.sqlite import SqliteStore

HERE = Path(__file__).parent
WRITERS = 8


def test_two_hundred_kills_lose_nothing_that_was_told(tmp_path: Path) -> None:
    """Public reports: P162."""
    ran = subprocess.run(
        [sys.executable, str(HERE / "append_killer.py"), str(tmp_path / "log.db"), "200"],
        stdout=subprocess.PIPE,
        check=True,
        timeout=240,
    )
    result = json.loads(ran.stdout)
    assert result["faults"] == []
    assert result["kills"] == 200
    assert result["readable"] >= result["events"] >= 200


@asynccontextmanager
async def _writers(file: Path, count: int, events: int) -> AsyncIterator[list[asyncio.subprocess.Process]]:
    writers = [
        await asyncio.create_subprocess_exec(
            sys.executable, str(HERE / "session_writer.py"), str(file), f"s{number}", str(events),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for number in range(count)
    ]  # fmt: skip
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert await asyncio.wait_for(writer.stdout.readline(), 120) == b"ready\n"
        yield writers
    finally:
        for writer in writers:
            if writer.returncode is None:
                writer.kill()
                await writer.wait()


async def test_many_processes_and_a_reader_in_a_transaction_lose_nothing(tmp_path: Path) -> None:
    """Public reports: P171."""
    file = tmp_path / "log.db"
    await SqliteStore.open(file).close()
    reader = sqlite3.connect(file, isolation_level=None)
    events = 120
    async with _writers(file, WRITERS, events) as writers:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write(b"go\n")
            await writer.stdin.drain()
        assert [await asyncio.wait_for(writer.wait(), 120) for writer in writers] == [0] * WRITERS
    reader.execute("COMMIT")
    reader.close()
    store = SqliteStore.open(file)
    for number in range(WRITERS):
        items = await store.read(f"s{number}", limit=1000)
        assert [item.data["n"] for item in items if isinstance(item, Event)] == list(range(events))
    assert sum(summary.last_seq for summary in await store.sessions()) == WRITERS * events
    await store.close()


async def test_another_process_is_seen_within_a_second(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "log.db")
    async with _writers(tmp_path / "log.db", 1, 3) as writers:
        watching = store.watch("s0")
        first = asyncio.ensure_future(anext(watching))
        await asyncio.sleep(0.3)
        assert writers[0].stdin is not None
        writers[0].stdin.write(b"go\n")
        await writers[0].stdin.drain()
        item = await asyncio.wait_for(first, 30)
        assert isinstance(item, Event)
        seen_after = time.time_ns() // 1_000_000 - item.at
        assert (item.seq, item.data["n"]) == (1, 0)
        assert seen_after < 1000
        await watching.aclose()
    await store.close()


FILL = """
import asyncio, resource, signal, sys
from pathlib import Path
from redline.sessions.events import Event
from redline.sessions.sqlite import SqliteStore
from redline.sessions.store import StoreError

async def main():
    store = SqliteStore.open(Path(sys.argv[1]))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    seq = 0
    try:
        while True:
            await store.append([Event("s", seq + 1, 1, "notice/raised", {"text": "x" * 3000})], durable=seq % 5 == 0)
            seq += 1
    except StoreError as error:
        print(seq, error.code)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await store.append([Event("s", seq + 1, 1, "notice/raised", {"text": "after"})], durable=True)
    await store.close()

asyncio.run(main())
"""


async def test_a_write_that_the_system_refuses_leaves_whole_events(tmp_path: Path) -> None:
    """The system stops the file from growing in the middle of a write; afterwards the log goes on."""
    file = tmp_path / "log.db"
    ran = await asyncio.create_subprocess_exec(sys.executable, "-c", FILL, str(file), stdout=subprocess.PIPE)
    out, _ = await asyncio.wait_for(ran.communicate(), 60)
    assert ran.returncode == 0
    written, code = out.decode().split()
    assert code in ("IO", "NO_SPACE")
    store = SqliteStore.open(file)
    items = await store.read("s", limit=10_000)
    assert [len(item.data["text"]) for item in items if isinstance(item, Event)] == [3000] * int(written) + [5]
    await store.close()
