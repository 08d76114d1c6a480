"""One of several processes that write to one file: `python session_writer.py FILE SESSION EVENTS`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from redline.sessions.log import SessionLog
from redline.sessions.redaction import Redactor
from redline.sessions.sqlite import SqliteStore


async def main(file: Path, session: str, events: int) -> None:
    store = SqliteStore.open(file)
    log = await SessionLog.create(store, Redactor(), session=session)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    for n in range(events):
        kind = "tool/result" if n % 20 == 0 else "assistant/message"
        await log.append(kind, {"turn": 1, "call": str(n), "n": n, "text": "some words " * 20})
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
