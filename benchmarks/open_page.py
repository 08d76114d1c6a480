"""Opening the last page of a long session beside that of a short one.

    python benchmarks/open_page.py [--short 1000] [--long 100000] [--page 200] [--rounds 30] [--json]

Both sessions stand in one file among others. Opening means: a new store on the file, the session's tail, and the last
page decoded. The rival reads the whole session, as a file of JSON lines has to. Medians over interleaved rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path

from redline.sessions.events import Event
from redline.sessions.sqlite import SqliteStore

BATCH = 1000


async def fill(file: Path, sizes: dict[str, int]) -> None:
    """Interleaved as in life: the sessions grow side by side."""
    store = SqliteStore.open(file)
    for start in range(0, max(sizes.values()), BATCH):
        for session, size in sizes.items():
            last = min(size, start + BATCH)
            events = [
                Event(
                    session, seq, 1_796_000_000_000 + seq, "assistant/message", {"turn": 1, "text": "some words " * 18}
                )
                for seq in range(start + 1, last + 1)
            ]
            if events:
                await store.append(events, durable=False)
    await store.close()


async def open_page(file: Path, session: str, page: int) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    store = SqliteStore.open(file)
    items = await store.page(session, limit=page)
    took = time.perf_counter() - began
    assert len(items) == page
    await store.close()
    return took * 1000


async def read_all(file: Path, session: str) -> float:
    began = time.perf_counter()
    store = SqliteStore.open(file)
    after = 0
    while items := await store.read(session, after=after, limit=5000):
        after = items[-1].seq
    took = time.perf_counter() - began
    await store.close()
    return took * 1000


async def measure(short: int, long: int, page: int, rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.db"
        await fill(file, {"short": short, "long": long, "beside": long // 2})
        figures: dict[str, list[float]] = {"short": [], "long": []}
        await open_page(file, "short", page)
        for number in range(rounds):
            for session in ("short", "long") if number % 2 else ("long", "short"):
                figures[session].append(await open_page(file, session, page))
        whole = [await read_all(file, "long") for _ in range(3)]
    medians = {name: statistics.median(values) for name, values in figures.items()}
    medians["ratio"] = medians["long"] / medians["short"]
    medians["whole"] = statistics.median(whole)
    return medians


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", type=int, default=1000)
    parser.add_argument("--long", type=int, default=100_000)
    parser.add_argument("--page", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = asyncio.run(measure(options.short, options.long, options.page, options.rounds))
    if options.json:
        print(json.dumps(result))
        return
    print(f"last {options.page} of {options.short:,} events: {result['short']:8.2f} ms")
    print(f"last {options.page} of {options.long:,} events: {result['long']:6.2f} ms, {result['ratio']:.2f} times that")
    print(f"all of {options.long:,} events:      {result['whole']:8.0f} ms")


if __name__ == "__main__":
    main()
