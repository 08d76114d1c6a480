"""What it costs to look for changes in a workspace, beside `git status` in the same one.

    python benchmarks/sweep.py [--json] [--files 10000] [--rounds 15]

Three figures: a sweep after one file changed, the first look at a clean git repository, and how both grow
with five times the files. Each round measures Redline and git one after the other; shown are medians and their ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from redline.sessions.redaction import Redactor
from redline.workspace.observe import Observer
from redline.workspace.store import ByteStore

FIRST_ROUNDS = 5


def make_workspace(root: Path, files: int) -> None:
    """A repository of small source files in folders of 20, committed and packed, as a clone is."""
    for number in range(files):
        folder = root / f"package{number // 1000}" / f"module{number // 20 % 50}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = (f"value_{line} = {number * line}\n" for line in range(40))
        (folder / f"file{number}.py").write_text("".join(lines))
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "gc.auto=0", "commit", "-qm", "first")
    git(root, "-c", "pack.window=0", "gc", "-q")


def git(root: Path, *arguments: str) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=root, env=environment, check=True, capture_output=True)


def seconds_of(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


async def seconds_awaited(work: Callable[[], Awaitable[object]]) -> float:
    begun = time.perf_counter()
    await work()
    return time.perf_counter() - begun


async def measure(files: int, rounds: int) -> dict[str, float]:
    """Medians in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        root, data = Path(folder) / "work", Path(folder) / "data"
        root.mkdir()
        make_workspace(root, files)
        git(root, "status")
        first, beside_first = [], []
        for _ in range(FIRST_ROUNDS):
            shutil.rmtree(data, ignore_errors=True)
            observer = Observer(root, ByteStore(data), "bench", Redactor())
            first.append(await seconds_awaited(observer.start))
            beside_first.append(seconds_of(lambda: git(root, "status", "--porcelain")))
            await observer.close()
        observer = Observer(root, ByteStore(data), "bench", Redactor())
        await observer.start()
        named = root / "package0/module0/file1.py"
        sweeps, looks, keeps, statuses = [], [], [], []
        for number in range(rounds):
            named.write_text(named.read_text() + f"changed = {number}\n")
            looks.append(await seconds_awaited(lambda: observer.look([named])))
            named.write_text(named.read_text() + f"again = {number}\n")
            sweeps.append(await seconds_awaited(observer.sweep))
            statuses.append(seconds_of(lambda: git(root, "status", "--porcelain")))
            keeps.append(await seconds_awaited(observer.keep))
        median = statistics.median
        return {
            "files": files,
            "sweep": median(sweeps) * 1e3,
            "status": median(statuses) * 1e3,
            "first": median(first) * 1e3,
            "status_beside_first": median(beside_first) * 1e3,
            "look": median(looks) * 1e3,
            "keep": median(keeps) * 1e3,
        }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    small = await measure(options.files, options.rounds)
    large = await measure(options.files * 5, max(5, options.rounds // 3))
    ratios = {
        "sweep_to_status": small["sweep"] / small["status"],
        "first_to_status": small["first"] / small["status_beside_first"],
        "sweep_five_times_the_files": large["sweep"] / small["sweep"],
        "first_five_times_the_files": large["first"] / small["first"],
    }
    if options.json:
        print(json.dumps({"small": small, "large": large, "ratios": ratios}))
        return
    print(f"{'median, ms':<34}{small['files']:>10,.0f}{large['files']:>10,.0f}  files")
    for name, label in (
        ("sweep", "a sweep after one change"),
        ("status", "git status"),
        ("first", "the first look, clean repository"),
        ("status_beside_first", "git status"),
        ("look", "one named path"),
        ("keep", "saving the snapshot"),
    ):
        print(f"{label:<34}{small[name]:>10.1f}{large[name]:>10.1f}")
    for name, value in ratios.items():
        print(f"{name.replace('_', ' '):<34}{value:>10.2f}")


if __name__ == "__main__":
    asyncio.run(main())
