"""Sends what it is asked for, each with the time: a prompt is `text`, `passed`, `hunks` or `flood`, and how many."""

from __future__ import annotations

import time
from pathlib import Path

from wire import send, serve, update


def now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def text(value: str) -> None:
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": value})


def prompted(folder: Path, said: str) -> None:
    kind, count = said.split()
    for number in range(int(count)):
        if kind == "flood":
            text(f"{number} \n")
            continue
        time.sleep(0.004 if kind != "hunks" else 0.02)
        if kind == "passed":
            send(method="_bench/passed", params={"sessionId": "s", "sent": now()})
        elif kind == "text":
            text(f"{now()}\n")
        else:
            edit(folder / "big.py", number)


def edit(path: Path, number: int) -> None:
    call = f"c{number}"
    old, new = f"line 2500 {number}\n", f"line 2500 {number + 1}\n"
    block = {"type": "diff", "path": str(path), "oldText": old, "newText": new}
    update(sessionUpdate="tool_call", toolCallId=call, title="Edit", kind="edit", status="in_progress", content=[block])
    path.write_text(path.read_text().replace(old, new))
    update(sessionUpdate="tool_call_update", toolCallId=call, status="completed", rawOutput={"sent": now()})
    time.sleep(0.08)


serve(prompted)
