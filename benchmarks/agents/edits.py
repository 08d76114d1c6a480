"""Edits one file after another of a large workspace: `edits.py CALLS PAUSE`, the pause in seconds before each."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from wire import serve, update

CALLS, PAUSE = int(sys.argv[1]), float(sys.argv[2])


def prompted(folder: Path, _text: str) -> None:
    for number in range(CALLS):
        time.sleep(PAUSE)
        path = folder / f"package{number % 10}/module{number % 50}/file{number % 10 * 1000 + number % 50 * 20}.py"
        old = path.read_text()
        new = old.replace("value_20 = ", f"value_20 = {number} + ", 1)
        update(
            sessionUpdate="tool_call",
            toolCallId=f"c{number}",
            title="Edit",
            kind="edit",
            status="in_progress",
            content=[{"type": "diff", "path": str(path), "oldText": old, "newText": new}],
        )
        time.sleep(0.02)
        path.write_text(new)
        update(
            sessionUpdate="tool_call_update",
            toolCallId=f"c{number}",
            status="completed",
            _meta={"sent": time.monotonic()},
        )


serve(prompted)
