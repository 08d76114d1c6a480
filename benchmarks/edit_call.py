"""An `edit` call, from its arguments to its committed result, with every flush named.

    python benchmarks/edit_call.py [--rounds N] [--json]

The rival is what one would write instead: read the file, replace, write a sibling, flush and rename it, flush the
folder, and make a unified diff with `difflib`. It keeps no old bytes, no log, and survives no crash with a record of
what happened. Both run in turn, in the same process, on the same disk. Times are milliseconds: median and p99.

The promise: all that is not a flush stays under 5 ms at 5,000 lines. On 1 December 2026 (two shared cores) it took
2.7 ms. Some 1.8 ms of that are the event loop's own time, with no part that stands out: gate, door, encoding and SQL of
three events, looks at paths, asyncio's hand-offs, one reading, one search and one SHA-1 of the text. The rest are the
threads that write beside it; where many files were deleted in the last minutes, ext4 takes half a millisecond for each
new file or folder.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from redline.files.local import LocalFiles
from redline.sessions.log import SessionLog
from redline.sessions.redaction import Redactor
from redline.sessions.sqlite import SqliteStore
from redline.tools.builtin import builtin_toolset
from redline.tools.permission import PermissionOutcome, PermissionRequest
from redline.tools.runner import Call, Runner
from redline.workspace.store import ByteStore

SIZES = {200: 200, 5_000: 100, 200_000: 12}
"""Lines of the file: rounds."""
FLUSHES = ("bytes", "intent", "file", "folder", "result")


class Stopwatch:
    """When one call waited for which flush."""

    def __init__(self) -> None:
        self._flushes: list[tuple[str, float, float]] = []

    def add(self, name: str, seconds: float) -> None:
        """A flush that has just ended, after so many seconds."""
        now = time.perf_counter()
        self._flushes.append((name, now - seconds, now))

    def take(self) -> tuple[dict[str, float], float]:
        """Seconds by name, and the seconds in which at least one was under way: bytes and file are flushed at once."""
        flushes, self._flushes = self._flushes, []
        spent = {name: sum(end - start for each, start, end in flushes if each == name) for name in FLUSHES}
        together = until = 0.0
        for _, start, end in sorted(flushes, key=lambda flush: flush[1]):
            together += max(0.0, end - max(start, until))
            until = max(until, end)
        return spent, together


def text(lines: int) -> str:
    """Lines as in a program: some alike, most not."""
    return "".join(f"    value_{number} = compute({number % 97}, 'item {number}')\n" for number in range(lines))


def rival(path: Path, old: str, new: str) -> str:
    before = path.read_text(encoding="utf-8")
    if before.count(old) != 1:
        raise ValueError("not unique")
    after = before.replace(old, new)
    beside = path.with_name(path.name + ".tmp")
    with beside.open("w", encoding="utf-8") as file:
        file.write(after)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), str(path), str(path)))


async def measure(lines: int, rounds: int, folder: Path) -> dict[str, Any]:
    workspace = folder / "workspace"
    workspace.mkdir(parents=True)
    watch = Stopwatch()
    files = LocalFiles([workspace], basis_limit=64 * 2**20, on_flush=watch.add)
    kept = ByteStore(folder / "bytes", file_limit=64 * 2**20, on_flush=watch.add)
    store = SqliteStore.open(folder / "log.db")
    redactor = Redactor()
    log = await SessionLog.create(store, redactor)
    time_durable_commits(store, watch)

    async def allow(_: PermissionRequest) -> PermissionOutcome:
        return "allow_once"

    runner = Runner(builtin_toolset(), files, kept, log, allow, redactor, workspace=workspace)
    ours, theirs = workspace / "ours.py", workspace / "theirs.py"
    for path in (ours, theirs):
        path.write_text(text(lines), encoding="utf-8")
    await runner.run(1, [Call("read", "read", {"path": "ours.py"})])
    if lines > 100_000:  # the reader shows a window of a long file; the runner wants the file to be known
        runner.knowledge.see(str(ours.resolve()), (await files.read(await files.resolve("ours.py"))).blob)

    whole, spent, rivals = [], [], []
    middle = f"compute({lines // 2 % 97}, 'item {lines // 2}')"
    for number in range(rounds + 2):
        old = middle if number == 0 else f"edited({number - 1})"
        arguments = {"path": "ours.py", "old_string": old, "new_string": f"edited({number})"}
        watch.take()
        began = time.perf_counter()
        [result] = await runner.run(1, [Call(f"c{number}", "edit", arguments)])
        took = time.perf_counter() - began
        if result.status != "completed":
            raise RuntimeError(str(result.error))
        began = time.perf_counter()
        rival(theirs, old, f"edited({number})")
        if number >= 2:  # the first rounds load what is loaded once
            whole.append(took)
            spent.append(watch.take())
            rivals.append(time.perf_counter() - began)
    await store.close()
    rest = [took - together for took, (_, together) in zip(whole, spent, strict=True)]
    return {
        "lines": lines, "rounds": rounds, "call": both(whole), "not a flush": both(rest),
        "flushes": {name: both([each[name] for each, _ in spent]) for name in FLUSHES},
        "rival": both(rivals), "ratio": round(both(whole)["median"] / both(rivals)["median"], 2),
    }  # fmt: skip


def time_durable_commits(store: SqliteStore, watch: Stopwatch) -> None:
    """A durable commit is told as the flush that it is: the time in SQLite's COMMIT, by the event that it was for.

    One call at a time, so whatever was submitted last is what is being committed.
    """
    names = {"file/intent": "intent", "tool/result": "result"}
    submit, under_way = store.submit, [""]

    def submitting(events: Any, *, durable: bool, settled: Any) -> None:
        under_way[0] = names.get(events[0].type, "")
        submit(events, durable=durable, settled=settled)

    def committed(seconds: float) -> None:
        if under_way[0]:
            watch.add(under_way[0], seconds)

    store.submit = submitting  # type: ignore[method-assign]
    transactions = store._writer._transactions
    transactions.connection = TimedConnection(transactions.connection, committed)  # type: ignore[assignment]


class TimedConnection:
    """A connection that tells how long each COMMIT took."""

    def __init__(self, connection: Any, committed: Callable[[float], None]) -> None:
        self._connection = connection
        self._committed = committed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, *values: Any) -> Any:
        began = time.perf_counter()
        answer = self._connection.execute(statement, *values)
        if statement == "COMMIT":
            self._committed(time.perf_counter() - began)
        return answer


def both(seconds: Sequence[float]) -> dict[str, float]:
    """Median and p99, in milliseconds."""
    ranked = sorted(seconds)
    at: Callable[[float], float] = lambda share: round(ranked[min(len(ranked) - 1, int(len(ranked) * share))] * 1e3, 2)  # noqa: E731
    return {"median": at(0.5), "p99": at(0.99)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help="of each size, instead of as many as are quick")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="edit-call-"))
    try:
        figures = [
            asyncio.run(measure(lines, options.rounds or rounds, folder / str(lines)))
            for lines, rounds in SIZES.items()
        ]
    finally:
        shutil.rmtree(folder)
    if options.json:
        print(json.dumps(figures))
        return 0
    columns = ["call", *FLUSHES, "not a flush", "rival"]
    print("median / p99, milliseconds".ljust(28) + "".join(name.rjust(18) for name in columns) + "ratio".rjust(8))
    for figure in figures:
        cells = [figure["call"], *(figure["flushes"][name] for name in FLUSHES), figure["not a flush"], figure["rival"]]
        shown = "".join(f"{cell['median']:.2f} / {cell['p99']:.2f}".rjust(18) for cell in cells)
        print(f"{figure['lines']:,} lines".ljust(28) + shown + f"{figure['ratio']:.2f}".rjust(8))
    return 0


if __name__ == "__main__":
    sys.exit(main())
