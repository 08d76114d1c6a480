"""Tell recorded turns in other ways, more of them than the tests do.

fuzz.py [--seed N] [--each N] [--pairs N] [--at-once N] [--only WORD] [--recordings WORD]

`--each`: so many recordings of each mutation; `--pairs`: so many recordings with two or three mutations at once;
`--only`: mutations with that word in their name; `--recordings`: likewise. Says what is wrong, and how often a change
that is a call's in the recording ended as nobody's.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from agents.acp.mutations import MUTATIONS
from agents.acp.retold import Retold, retold
from captures.recorded import names


def _plan(options: argparse.Namespace) -> list[tuple[str, tuple[str, ...]]]:
    random = Random(options.seed)
    known = [name for name in names() if options.recordings in name]
    ways = [name for name in MUTATIONS if options.only in name]
    plan = [(one, (way,)) for way in ways for one in random.sample(known, min(options.each, len(known)))]
    pairs = (tuple(random.sample(list(MUTATIONS), random.choice((2, 2, 3)))) for _ in range(options.pairs))
    return plan + [(random.choice(known), pair) for pair in pairs]


async def _run(recording: str, ways: tuple[str, ...]) -> Retold | None:
    with tempfile.TemporaryDirectory(prefix="redline-fuzz-") as base:
        try:
            async with asyncio.timeout(120):
                return await retold(recording, ways, Random(zlib.crc32(recording.encode())), Path(base))
        except Exception as error:
            return Retold(wrong=[f"{type(error).__name__}: {error}"])


async def _all(options: argparse.Namespace) -> int:
    plan = _plan(options)
    gate = asyncio.Semaphore(options.at_once)
    counts: Counter[str] = Counter()
    plain: dict[str, Retold] = {}

    async def one(recording: str, ways: tuple[str, ...]) -> None:
        async with gate:
            if recording not in plain:
                plain[recording] = await _run(recording, ()) or Retold()
            told = await _run(recording, ways)
        if told is None:
            counts["does not apply"] += 1
            return
        counts["run"] += 1
        what = f"{recording}: {' + '.join(ways)}"
        for wrong in told.wrong:
            counts["WRONG"] += 1
            print(f"WRONG {what}: {wrong}", flush=True)
        if not told.whole and plain[recording].whole:
            counts["otherwise"] += 1
            print(f"OTHERWISE {what}: the turn did not go as recorded", flush=True)
        elif sorted(told.cards) != sorted(plain[recording].cards):
            counts["moved"] += 1
            print(f"MOVED {what}: {told.cards} beside {told.beside}; was {plain[recording].cards}", flush=True)

    await asyncio.gather(*(one(recording, ways) for recording, ways in plan))
    print(dict(counts))
    return 1 if counts["WRONG"] else 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("seed", 1), ("each", 3), ("pairs", 100), ("at-once", 6)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name in ("only", "recordings"):
        parser.add_argument(f"--{name}", default="")
    return asyncio.run(_all(parser.parse_args(arguments)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
