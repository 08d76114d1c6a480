"""Two hundred `kill -9`s, at every step; `kill_loop.py` says what is checked, and runs longer by hand."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

LOOP = Path(__file__).with_name("kill_loop.py")


async def kills(count: int, seed: int) -> dict[str, object]:
    # A process of its own: children are forked from it, and a test runner's own threads must not be.
    running = await asyncio.create_subprocess_exec(
        sys.executable, str(LOOP), "--kills", str(count), "--seed", str(seed), "--json",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await running.communicate()
    assert running.returncode == 0, err.decode()
    result: dict[str, object] = json.loads(out)
    return result


async def test_no_kill_loses_an_event_tears_a_file_or_leaves_a_call_open() -> None:
    for result in await asyncio.gather(kills(100, 1), kills(100, 2)):
        assert result["kills"] == 100
        assert len(result["at"]) >= 14  # type: ignore[arg-type]
        closed = result["closed"]
        assert isinstance(closed, dict)
        assert set(closed) == {"completed", "interrupted"}, "both were met, and nothing had to be called unknown"
