"""Appending to ten sessions at once, beside a bare sqlite3 writer with the same batching and the same durability.

    python benchmarks/append.py [--events 400] [--rounds 5] [--json]

Each session waits for its append before it makes the next one, so a group commit holds about ten events. The rival gets
batches of the size that was measured, encodes with `json.dumps`, and commits them in one transaction each to one table
with the same columns and key (WAL, `synchronous=NORMAL`; `FULL` for the durable rows). `store` is our store alone;
`log` is all that an event goes through: gate, door, encoding, commit, listeners. Medians over interleaved rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from redline.sessions.events import Event
from redline.sessions.log import SessionLog
from redline.sessions.redaction import Redactor
from redline.sessions.sqlite import SqliteStore

SESSIONS = 10
DATA = {
    "turn": 3,
    "message": "m-12345",
    "text": "The walk keeps its own stack, so that depth never meets the limit of the language. " * 2,
}
REDACTOR = Redactor()


async def ours(folder: Path, events: int, *, whole_log: bool, durable: bool) -> tuple[float, float]:
    """Events a second, and events in one commit."""
    store = SqliteStore.open(folder / "log.db")
    commits = 0

    def count(statement: str) -> None:
        nonlocal commits
        commits += statement == "COMMIT"

    store._writer._connection.set_trace_callback(None)
    began = time.perf_counter()
    await asyncio.gather(
        *(
            (_through_the_log if whole_log else _to_the_store)(store, f"s{number}", events, durable)
            for number in range(SESSIONS)
        )
    )
    took = time.perf_counter() - began
    await store.close()
    store = SqliteStore.open(folder / "again.db")
    store._writer._connection.set_trace_callback(count)
    await asyncio.gather(*(_to_the_store(store, f"s{number}", 20, durable) for number in range(SESSIONS)))
    await store.close()
    return SESSIONS * events / took, SESSIONS * 20 / commits


async def _through_the_log(store: SqliteStore, session: str, events: int, durable: bool) -> None:
    log = await SessionLog.create(store, REDACTOR, session=session)
    log.subscribe(lambda event: None)
    for _ in range(events):
        await log.append("assistant/message", DATA, durable=durable)


async def _to_the_store(store: SqliteStore, session: str, events: int, durable: bool) -> None:
    for seq in range(1, events + 1):
        await store.append([Event(session, seq, 1_796_000_000_000, "assistant/message", DATA)], durable=durable)


def bare(folder: Path, events: int, *, batch: int, durable: bool) -> float:
    """Events a second of the rival."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    connection.execute(
        "CREATE TABLE events (session TEXT NOT NULL, seq INTEGER NOT NULL, v INTEGER NOT NULL, at INTEGER NOT NULL,"
        " type TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (session, seq))"
    )
    rows = [(f"s{number}", seq) for seq in range(1, events + 1) for number in range(SESSIONS)]
    began = time.perf_counter()
    for start in range(0, len(rows), batch):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)",
            [
                (session, seq, 1, 1_796_000_000_000, "assistant/message", json.dumps(DATA))
                for session, seq in rows[start : start + batch]
            ],
        )
        connection.execute("COMMIT")
    took = time.perf_counter() - began
    connection.close()
    return len(rows) / took


def measure(events: int, rounds: int, *, durable: bool) -> dict[str, float]:
    figures: dict[str, list[float]] = {"store": [], "log": [], "bare": [], "batch": []}
    REDACTOR.mask("warm up: ghp_" + "a1B2" * 9)
    for _ in range(rounds):
        batch = float(SESSIONS)
        for name, whole_log in (("store", False), ("log", True)):
            rate, batch = _in_folder(
                lambda folder, whole_log=whole_log: asyncio.run(
                    ours(folder, events, whole_log=whole_log, durable=durable)
                )
            )
            figures[name].append(rate)
        figures["batch"].append(batch)
        figures["bare"].append(
            _in_folder(lambda folder, batch=batch: bare(folder, events, batch=round(batch), durable=durable))
        )
    medians = {name: statistics.median(values) for name, values in figures.items()}
    for name in ("store", "log"):
        ratios = [mine / rival for mine, rival in zip(figures[name], figures["bare"], strict=True)]
        medians[f"{name}_ratio"] = statistics.median(ratios)
    return medians


def _in_folder(work: Callable[[Path], object]):  # type: ignore[no-untyped-def]
    with tempfile.TemporaryDirectory() as folder:
        return work(Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--events", type=int, default=400, help="events of each session (a tenth where each is flushed)"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = {
        "normal": measure(options.events, options.rounds, durable=False),
        "durable": measure(max(10, options.events // 10), options.rounds, durable=True),
    }
    if options.json:
        print(json.dumps(result))
        return
    print(f"{'':10}{'bare /s':>10}{'store /s':>10}{'ratio':>7}{'log /s':>10}{'ratio':>7}{'events/commit':>15}")
    for name, row in result.items():
        print(
            f"{name:10}{row['bare']:10,.0f}{row['store']:10,.0f}{row['store_ratio']:7.2f}{row['log']:10,.0f}"
            f"{row['log_ratio']:7.2f}{row['batch']:15.1f}"
        )


if __name__ == "__main__":
    main()
