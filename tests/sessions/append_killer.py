"""Kills a writer again and again, and compares what it was told with what the file holds.

    python append_killer.py FILE KILLS

Children are forked from this process, which has everything imported, so that a kill costs milliseconds. Each child goes
on with one session where the last one was killed. Prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sqlite3
import sys
import time
from pathlib import Path

from redline.sessions.events import Event
from redline.sessions.log import SessionLog
from redline.sessions.redaction import Redactor
from redline.sessions.sqlite import SqliteStore

SESSION = "killed"
REDACTOR = Redactor()


def main(file: Path, kills: int, seed: int = 7) -> dict[str, object]:
    dice = random.Random(seed)
    acknowledged = 0
    faults: list[str] = []
    REDACTOR.mask("ghp_" + "a1" * 18)
    for number in range(kills):
        heard = _kill_one(file, dice.random() * 0.012, number)
        if heard:
            acknowledged = heard[-1]
        faults += _check(file, acknowledged, thorough=number % 20 == 0 or number == kills - 1)
    return {"kills": kills, "events": acknowledged, "faults": faults}


def _kill_one(file: Path, delay: float, number: int) -> list[int]:
    """Start a writer, kill it some time after its first event was told; what it was told."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            asyncio.run(_write(file, writer, number))
        finally:
            os._exit(1)
    os.close(writer)
    heard = os.read(reader, 8)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while piece := os.read(reader, 65536):
        heard += piece
    os.close(reader)
    whole = len(heard) // 8 * 8
    return [int.from_bytes(heard[at : at + 8], "big") for at in range(0, whole, 8)]


async def _write(file: Path, told: int, number: int) -> None:
    store = SqliteStore.open(file)
    if await store.tail(SESSION):
        log = await SessionLog.open(store, REDACTOR, SESSION)
    else:
        log = await SessionLog.create(store, REDACTOR, session=SESSION)
    log.subscribe(lambda event: os.write(told, event.seq.to_bytes(8, "big")) and None)
    dice = random.Random(number)

    async def one(place: int) -> None:
        while True:
            kind = dice.choice(["assistant/message", "notice/raised", "tool/result", "file/intent", "turn/started"])
            text = "line of text\n" * dice.randrange(200)
            await log.append(kind, {"turn": number, "call": f"c{place}", "text": text, "length": len(text)})

    await asyncio.gather(*(one(place) for place in range(4)))


def _check(file: Path, acknowledged: int, *, thorough: bool) -> list[str]:
    faults = []
    connection = sqlite3.connect(file)
    (tail,) = connection.execute("SELECT last_seq FROM sessions WHERE session = ?", (SESSION,)).fetchone()
    if tail < acknowledged:
        faults.append(f"told of {acknowledged}, found {tail}")
    last, count = connection.execute("SELECT max(seq), count(*) FROM events WHERE session = ?", (SESSION,)).fetchone()
    if (last, count) != (tail, tail):
        faults.append(f"tail {tail}, last {last}, {count} events")
    if thorough:
        faults += _check_all(connection)
    connection.close()
    return faults


def _check_all(connection: sqlite3.Connection) -> list[str]:
    faults = []
    open_intents: dict[tuple[int, str], list[int]] = {}
    for seq, kind, text in connection.execute("SELECT seq, type, data FROM events ORDER BY seq"):
        data = json.loads(text)
        if len(data["text"]) != data["length"]:
            faults.append(f"event {seq} is torn")
        call = data["turn"], data["call"]
        if kind == "file/intent":
            open_intents.setdefault(call, []).append(seq)
        elif kind == "tool/result":
            open_intents.pop(call, None)
    kept = [seq for (seq,) in connection.execute("SELECT seq FROM open_intents ORDER BY seq")]
    if kept != sorted(seq for seqs in open_intents.values() for seq in seqs):
        faults.append("the open intents are not those of the events")
    if (state := connection.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
        faults.append(state)
    return faults


async def _readable(file: Path) -> int:
    store = SqliteStore.open(file)
    log = await SessionLog.open(store, REDACTOR, SESSION)
    count = 0
    async for event in log.events():
        count += isinstance(event, Event)
    await store.close()
    return count


if __name__ == "__main__":
    result = main(Path(sys.argv[1]), int(sys.argv[2]))
    result["readable"] = asyncio.run(_readable(Path(sys.argv[1])))
    print(json.dumps(result))
