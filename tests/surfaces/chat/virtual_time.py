"""An event loop whose clock jumps to the next thing that waits, so that a minute takes no time and is exact."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine


class VirtualLoop(asyncio.SelectorEventLoop):
    _now = 1000.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        if not self._ready:  # type: ignore[attr-defined]
            # One that was cancelled waits for nothing; the loop still holds it.
            due = [timer.when() for timer in self._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
            self._now = max(self._now, min(due, default=self._now))
        super()._run_once()  # type: ignore[misc]


def in_virtual_time(run: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run)
