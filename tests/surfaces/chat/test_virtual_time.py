"""The clock that jumps: nothing that is tested by it waits in the time of the machine."""

from __future__ import annotations

import asyncio
import selectors

from surfaces.chat.virtual_time import VirtualLoop


class Watched(selectors.DefaultSelector):
    """Notes for how long the loop meant to wait each time."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.waits.append(timeout)
        return super().select(timeout)


def test_a_timer_that_was_cancelled_keeps_nobody_waiting() -> None:
    watched = Watched()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(1, print).cancel()
        before = loop.time()
        await asyncio.sleep(2)
        assert loop.time() - before == 2

    with asyncio.Runner(loop_factory=lambda: VirtualLoop(watched)) as runner:
        runner.run(run())
    assert not any(watched.waits)
