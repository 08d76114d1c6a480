"""Appending to ten sessions at once, beside a bare sqlite3 writer with the same batching and the same durability.

    python benchmarks/append.py [--events 1000] [--rounds 5] [--json]

Each session waits for its append before it makes the next one, so a group commit holds about ten events. The rival gets
batches of the size that was measured, encodes with `json.dumps`, and commits them in one transaction each to one table
with the same columns and key (WAL, `synchronous=NORMAL`; `FULL` for the durable rows). `store` is our store alone;
`log` is all that an event goes through: gate, door, encoding, commit, listeners. That is what a user of the log calls,
so it is the line that the promise is about: at least half of the rival, which checks nothing and masks nothing. A
thousand events a session, because a shorter run ends before either side has carried its write-ahead log over into the
file, which is a third of what the rival does. On 1 December 2026 (two shared cores, nine runs) the log came to
0.59 to 0.74 and the store alone to 0.79 to 1.09; where each commit is flushed, the disk has its say (the log 0.47 to
0.76, mostly about a half). Medians over interleaved rounds.
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


async def ours(folder: Path, events: int, *, whole_log: bool, durable: bool) -> float:
    """Events a second."""
    store = SqliteStore.open(folder / "log.db")
    append = _through_the_log if whole_log else _to_the_store
    began = time.perf_counter()
    await asyncio.gather(*(append(store, f"s{number}", events, durable) for number in range(SESSIONS)))
    took = time.perf_counter() - began
    await store.close()
    return SESSIONS * events / took


async def events_in_a_commit(folder: Path) -> float:
    """Counted in a run of its own, since counting costs time."""
    store = SqliteStore.open(folder / "log.db")
    statements: list[str] = []
    store._writer._connection.set_trace_callback(statements.append)
    await asyncio.gather(*(_through_the_log(store, f"s{number}", 50, False) for number in range(SESSIONS)))
    await store.close()
    return SESSIONS * 50 / statements.count("COMMIT")


async def _through_the_log(store: SqliteStore, session: str, events: int, durable: bool) -> None:
    log = await SessionLog.create(store, REDACTOR, session=session)
    log.subscribe(_listen)
    for _ in range(events):
        await log.append("assistant/message", DATA, durable=durable)


def _listen(event: Event) -> None:
    """A surface, which takes the event and goes on."""


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
    REDACTOR.mask("warm up: ghp_" + "a1B2" * 9)
    batch = _in_folder(lambda folder: asyncio.run(events_in_a_commit(folder)))
    candidates: dict[str, Callable[[Path], float]] = {
        "store": lambda folder: asyncio.run(ours(folder, events, whole_log=False, durable=durable)),
        "log": lambda folder: asyncio.run(ours(folder, events, whole_log=True, durable=durable)),
        "bare": lambda folder: bare(folder, events, batch=round(batch), durable=durable),
    }
    figures: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, candidate in candidates.items():
            figures[name].append(_in_folder(candidate))
    result = {name: statistics.median(values) for name, values in figures.items()}
    for name in ("store", "log"):
        ratios = [mine / rival for mine, rival in zip(figures[name], figures["bare"], strict=True)]
        result[f"{name}_ratio"] = statistics.median(ratios)
    return {**result, "batch": batch}


def _in_folder(work: Callable[[Path], float]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return work(Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1000, help="events of each session")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = {
        "normal": measure(options.events, options.rounds, durable=False),
        "durable": measure(options.events, options.rounds, durable=True),
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
