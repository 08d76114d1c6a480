"""Sends large texts about a single file: `texts.py large`, `texts.py cumulative` or `texts.py once`."""

from __future__ import annotations

import sys
from pathlib import Path

from wire import serve, update

WHAT = sys.argv[1]


def prompted(folder: Path, _text: str) -> None:
    path = folder / "big.txt"
    if WHAT == "large":
        _both_whole_texts(path)
    else:
        _all_so_far(path, step=1 if WHAT == "cumulative" else 7000)


def _both_whole_texts(path: Path) -> None:
    old = path.read_text()
    new = old.replace("line 123456 ", "LINE 123456 ", 1)
    block = {"type": "diff", "path": str(path), "oldText": old, "newText": new}
    update(sessionUpdate="tool_call", toolCallId="c", title="Edit", kind="edit", content=[block])
    path.write_text(new)
    raw = {"originalContent": old, "newContent": new}
    update(sessionUpdate="tool_call_update", toolCallId="c", status="completed", content=[block], rawOutput=raw)


def _all_so_far(path: Path, step: int) -> None:
    lines = [f"row {number} of the text that is being written\n" for number in range(7000)]
    update(sessionUpdate="tool_call", toolCallId="c", title="Write", kind="edit", rawInput={})
    for number in range(step, 7001, step):
        given = {"path": str(path), "content": "".join(lines[:number])}
        update(sessionUpdate="tool_call_update", toolCallId="c", rawInput=given)
    path.write_text("".join(lines))
    update(sessionUpdate="tool_call_update", toolCallId="c", status="completed")


serve(prompted)
