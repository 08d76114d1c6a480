"""Replacing a 1 GiB text file by a small one: how far the process grows, and how long it takes.

The rival is what a script would do to show a diff: `before = path.read_text()`, then `path.write_text(after)`. Each run
is a child process of its own on a fresh file; its growth is its peak resident memory after the replacement less its
peak just before. Redline's bound: 64 MiB beyond the bound of the diff basis.

    python benchmarks/large_file.py [--mib 1024] [--runs 3] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from redline.files.local import BASIS_LIMIT, LocalFiles
from redline.files.seam import Write

MIB = 1 << 20
ALLOWED = 64 * MIB + BASIS_LIMIT
LINE = b"The quick brown fox jumps over the lazy dog, line after line.\r\n"
SMALL = "A small text.\n"


def peak() -> int:
    """The most memory that this process has held so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # a child's maxrss starts at its parent's on Linux; this figure starts with the program
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


async def replace_with_redline(path: Path) -> None:
    files = LocalFiles([path.parent])
    outcome = await files.apply(await files.resolve(path.name), Write(SMALL))
    assert outcome.before is not None
    assert outcome.before.size > MIB


def replace_plainly(path: Path) -> None:
    before = path.read_text(encoding="utf-8")
    assert len(before) > MIB
    path.write_text(SMALL, encoding="utf-8")


def child(way: str, path: Path) -> None:
    start, started = peak(), time.perf_counter()
    if way == "redline":
        asyncio.run(replace_with_redline(path))
    else:
        replace_plainly(path)
    seconds = time.perf_counter() - started
    assert path.read_text() == SMALL
    print(json.dumps({"growth": peak() - start, "seconds": seconds}))


def make(path: Path, size: int) -> None:
    block = LINE * (MIB // len(LINE) + 1)
    with path.open("wb") as file:
        for _ in range(size // MIB):
            file.write(block)
        os.fsync(file.fileno())


def measure(way: str, size: int, runs: int) -> dict[str, float]:
    results = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.txt"
        for _ in range(runs):
            make(path, size)
            run = subprocess.run([sys.executable, __file__, "--child", way, str(path)], capture_output=True, check=True)
            results.append(json.loads(run.stdout))
    return {key: statistics.median(result[key] for result in results) for key in ("growth", "seconds")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024, help="size of the file in MiB")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--child", nargs=2, metavar=("WAY", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], Path(options.child[1]))
        return
    redline, plain = (measure(way, options.mib * MIB, options.runs) for way in ("redline", "plain"))
    figures = {
        "file_mib": options.mib,
        "runs": options.runs,
        "allowed_growth_bytes": ALLOWED,
        "redline": redline,
        "read_text_write_text": plain,
        "growth_ratio": redline["growth"] / plain["growth"],
        "within_bound": redline["growth"] < ALLOWED,
    }
    if options.json:
        print(json.dumps(figures))
        return
    print(f"Replacing a text file of {options.mib} MiB by a small one, median of {options.runs}\n")
    print(f"{'':24}{'growth':>12}{'time':>10}")
    for name, row in (("Redline", redline), ("read_text, write_text", plain)):
        print(f"{name:24}{row['growth'] / MIB:>8.1f} MiB{row['seconds']:>8.2f} s")
    verdict = "within" if figures["within_bound"] else "OVER"
    print(f"\nRedline grows by {figures['growth_ratio']:.4f} times as much,", end=" ")
    print(f"{verdict} its bound of {ALLOWED / MIB:.0f} MiB.")


if __name__ == "__main__":
    main()
