"""How soon a call's own change is told after its end, beside a bare client that only prints what the agent says.

    python benchmarks/own_paths.py [--files 10000] [--calls 60] [--json]

In a workspace of many files an agent announces an edit, writes the file and says that it has ended, again and again.
The clock starts when the agent writes the frame that ends the call (both processes read one clock). `told` is when the
event with the applied change is committed to the log, `shown` when a surface is handed the row, `printed` when a client
made of the SDK has printed the agent's own word. Medians and 95th percentiles, in milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from captures.recorded import Onlooker, stage
from sweep import make_workspace

PAUSE = 0.25
"""Seconds before each call, so that the look at the whole workspace after the one before is over."""
AGENT = Path(__file__).parent / "agents" / "edits.py"


class Eye(Onlooker):
    """Remembers when each call was first shown with its change."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: dict[str, float] = {}

    async def show(self, rows: Sequence[Any], _: Any) -> None:
        now = time.monotonic()
        for row in rows:
            if row.kind == "tool" and row.status == "applied":
                self.shown.setdefault(row.call, now)


async def ours(folder: Path, calls: int) -> dict[str, list[float]]:
    """Milliseconds of each call until its change was told, and shown."""
    eye = Eye()
    told: dict[str, float] = {}
    sent: dict[str, float] = {}

    def heard(event: Any) -> None:
        if event.type in ("tool/update", "tool/result") and event.data.get("observed") and event.data.get("changes"):
            told.setdefault(event.data["call"], time.monotonic())
        if event.type == "tool/result":
            sent[event.data["call"]] = event.data["meta"]["_meta"]["sent"]

    async with stage(folder, _command(calls), onlooker=eye) as live:
        live.session.log.subscribe(heard)
        stop = await live.conversation.prompt("Go.", source="terminal")
        assert stop.reason == "completed", stop
    assert len(sent) == len(told) == len(eye.shown) == calls, "some call was not told"
    return {
        "told": [(told[call] - at) * 1e3 for call, at in sent.items()],
        "shown": [(eye.shown[call] - at) * 1e3 for call, at in sent.items()],
    }


async def bare(folder: Path, calls: int) -> list[float]:
    """Milliseconds of each call until a client has printed the agent's word."""
    import acp

    printed: list[float] = []

    class Printer(acp.Client):  # type: ignore[misc]
        async def session_update(self, session_id: str, update: Any, **_: Any) -> None:  # noqa: ARG002
            print(update)
            if getattr(update, "status", None) == "completed":
                printed.append((time.monotonic() - update.field_meta["sent"]) * 1e3)

    command = _command(calls)
    with _nowhere() as nowhere, contextlib.redirect_stdout(nowhere):
        async with acp.spawn_agent_process(Printer(), *command) as (connection, _):
            await connection.initialize(protocol_version=1)
            session = await connection.new_session(cwd=str(folder / "workspace"), mcp_servers=[])
            prompt = [acp.schema.TextContentBlock(type="text", text="Go.")]
            await connection.prompt(session_id=session.session_id, prompt=prompt)
    return printed


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w")


def _command(calls: int) -> list[str]:
    return [sys.executable, str(AGENT), str(calls), str(PAUSE)]


async def measure(files: int, calls: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "workspace").mkdir()
        make_workspace(folder / "workspace", files)
        taken = {**await ours(folder, calls), "printed": await bare(folder, calls)}
    found: dict[str, Any] = {
        name: {"median": round(statistics.median(times), 2), "p95": round(statistics.quantiles(times, n=20)[-1], 2)}
        for name, times in taken.items()
    }
    return {"files": files, "calls": calls, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    found = asyncio.run(measure(options.files, options.calls))
    if options.json:
        print(json.dumps(found))
        return
    print(f"{'ms after the end of a call':<44}{'median':>10}{'p95':>10}")
    for name, label in (
        ("told", "its change is in the log"),
        ("shown", "its row is shown as applied"),
        ("printed", "a bare client has printed the agent's word"),
    ):
        print(f"{label:<44}{found[name]['median']:>10.2f}{found[name]['p95']:>10.2f}")


if __name__ == "__main__":
    main()
