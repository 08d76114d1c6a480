"""Comparing two texts, beside what one would use instead: plain pygit2, difflib, and the npm package diff.

    python benchmarks/compare.py            # up to 100,000 lines, about three minutes
    python benchmarks/compare.py --million  # and 1,000,000
    python benchmarks/compare.py --json     # one JSON object

Rounds are interleaved (each candidate once a round, in rotating order), figures are medians of wall time, ratios are
medians of the ratios within a round. Every candidate starts with the two texts in memory and ends with every line of
every hunk as text. The first run installs the npm package into benchmarks/node, which needs the network; without node
it is left out.
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pygit2
from pygit2.enums import DiffOption

from redline.changes.compare import comparison

NODE = Path(__file__).parent / "node"
FLAGS = DiffOption.FORCE_TEXT | DiffOption.INDENT_HEURISTIC
SHAPES = ("one line", "five places", "1 % of lines", "rewrite", "shuffled", "two alternating lines")
PATIENCE = 40.0
"""Seconds that all rounds of one row may take; at least three rounds are run."""

Milliseconds = float
Candidate = Callable[[], Milliseconds]


@dataclass(frozen=True)
class Row:
    """Medians in milliseconds; `ratio`: the rival's time divided by ours, or for pygit2 ours divided by its."""

    lines: int
    shape: str
    rival: str
    ours: float
    theirs: float
    ratio: float
    rounds: int


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--million", action="store_true", help="also 1,000,000 lines (minutes more)")
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--only", choices=("targets", "grid"), help="one of the two tables")
    chosen = options.parse_args()
    sizes = [100, 1_000, 10_000, 100_000] + [1_000_000] * chosen.million
    rows: list[Row] = []
    if not chosen.json:
        print(f"{'lines':>9}  {'change':<22} {'ours, ms':>10}  {'rival':<12} {'ms':>10}  ratio", flush=True)
    for row in itertools.chain(
        targets() if chosen.only != "grid" else (),
        (grid(size, shape) for size in sizes for shape in SHAPES if chosen.only != "targets"),
    ):
        rows.append(row)
        if not chosen.json:
            shown = f"{row.ratio:.2f} of its time" if row.rival == "pygit2" else f"{row.ratio:.0f} times as fast"
            print(
                f"{row.lines:>9}  {row.shape:<22} {row.ours:>10.3f}  {row.rival:<12} {row.theirs:>10.3f}  {shown}",
                flush=True,
            )
    if chosen.json:
        print(json.dumps({"benchmark": "compare", "rows": [asdict(row) for row in rows]}))


def targets() -> Iterator[Row]:
    """The figures that the README quotes."""
    for shape, rounds in (("one line", 41), ("rewrite", 3)):
        before, after = texts(10_000, shape)
        rivals: dict[str, Candidate] = {}
        if shape == "one line":
            rivals["difflib"] = lambda old=before, new=after: timed(lambda: with_difflib(old, new))  # type: ignore[misc]
        with tempfile.TemporaryDirectory() as folder:
            node = Node.start()
            if node is not None:
                rivals["npm diff 9"] = node.candidate(Path(folder), before, after)
            yield from versus(10_000, shape, before, after, rivals, rounds)
            if node is not None:
                node.stop()


def grid(size: int, shape: str) -> Row:
    before, after = texts(size, shape)
    rivals: dict[str, Candidate] = {"pygit2": lambda: timed(lambda: with_pygit2(before, after))}
    (row,) = versus(size, shape, before, after, rivals, rounds=101 if size <= 1_000 else 31 if size <= 10_000 else 9)
    return Row(row.lines, row.shape, row.rival, row.ours, row.theirs, 1 / row.ratio, row.rounds)


def versus(size: int, shape: str, before: bytes, after: bytes, rivals: dict[str, Candidate], rounds: int) -> list[Row]:
    comparison(before, after)  # the worker starts, the library loads
    ours: list[float] = []
    theirs: dict[str, list[float]] = {name: [] for name in rivals}
    began = time.perf_counter()
    while len(ours) < rounds and (len(ours) < 3 or time.perf_counter() - began < PATIENCE):
        # In turn, each goes first: who follows a wait for the other process finds the caches cold.
        first = len(ours) % (len(rivals) + 1)
        names = ["", *rivals]
        for name in names[first:] + names[:first]:
            if name:
                theirs[name].append(rivals[name]())
            else:
                ours.append(timed(lambda: comparison(before, after)))
    return [
        Row(
            size,
            shape,
            name,
            statistics.median(ours),
            statistics.median(times),
            statistics.median(their / our for their, our in zip(times, ours, strict=True)),
            len(ours),
        )
        for name, times in theirs.items()
    ]


def timed(work: Callable[[], object]) -> Milliseconds:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def with_pygit2(before: bytes, after: bytes) -> list[list[str]]:
    """Plain, in this process, with the flags that make it right."""
    patch = pygit2.Patch.create_from(before, after, context_lines=3, flag=FLAGS)
    return [[line.origin + line.content for line in hunk.lines] for hunk in patch.hunks]


def with_difflib(before: bytes, after: bytes) -> list[str]:
    old, new = before.decode().split("\n"), after.decode().split("\n")
    return list(difflib.unified_diff(old, new, lineterm="", n=3))


@dataclass
class Node:
    process: subprocess.Popen[str]

    @classmethod
    def start(cls) -> Node | None:
        if shutil.which("node") is None or shutil.which("npm") is None:
            print("node and npm are not here: the npm package is left out", file=sys.stderr)
            return None
        if not (NODE / "node_modules" / "diff").is_dir():
            install = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
            if subprocess.run(install, cwd=NODE, stdout=sys.stderr, check=False).returncode:
                print("npm could not install the package: it is left out", file=sys.stderr)
                return None
        return cls(
            subprocess.Popen(
                ["node", "--stack-size=4000", "diff.mjs"],
                cwd=NODE,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        )

    def candidate(self, folder: Path, before: bytes, after: bytes) -> Candidate:
        paths = folder / "before", folder / "after"
        for path, data in zip(paths, (before, after), strict=True):
            path.write_bytes(data)
        request = json.dumps({"before": str(paths[0]), "after": str(paths[1])}) + "\n"

        def ask() -> Milliseconds:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.write(request)
            self.process.stdin.flush()
            return float(json.loads(self.process.stdout.readline())["milliseconds"])

        return ask

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def texts(size: int, shape: str) -> tuple[bytes, bytes]:
    """Lines like those of a program, some of them common; the seed is fixed."""
    pick = random.Random(f"{size} {shape}")
    if shape == "two alternating lines":
        old = ["value = 1" if at % 2 else "value = 2" for at in range(size)]
        new = list(old)
        for _ in range(max(size // 100, 1)):
            new.insert(pick.randrange(len(new)), pick.choice(("value = 1", "value = 2")))
        return joined(old), joined(new)
    common = ["", "}", "    return result", "    else:"]
    old = [pick.choice(common) if at % 5 == 4 else row(pick, at) for at in range(size)]
    new = list(old)
    if shape == "one line":
        new[size // 2] = "changed = True"
    elif shape == "five places":
        for part in range(5):
            new[size * part // 5 + size // 10] = f"changed = {part}"
    elif shape == "1 % of lines":
        for at in pick.sample(range(size), max(size // 100, 1)):
            new[at] = f"changed = {at}"
    elif shape == "rewrite":
        new = [row(pick, at + size) for at in range(size)]
    else:
        pick.shuffle(new)
    return joined(old), joined(new)


def row(pick: random.Random, at: int) -> str:
    return f"{'    ' * pick.randrange(3)}value_{at} = compute({pick.randrange(10**6)})"


def joined(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()


if __name__ == "__main__":
    main()
