"""A process that keeps byte strings and says each one's id once it is promised: `bytes_writer.py ROOT SESSION SEED`."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from redline.workspace.store import ByteStore


def main(root: str, session: str, seed: str) -> None:
    draw = random.Random(int(seed))
    store = ByteStore(Path(root))
    for _ in range(10_000):
        data = [draw.randbytes(draw.choice([0, 10, 5_000, 200_000])) for _ in range(2)]
        print(*store.put(session, *data), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
