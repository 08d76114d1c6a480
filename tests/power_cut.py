"""A crash at a named step, without a process to kill: from that step on nothing is written any more.

Unlike a `kill -9` it lets Python's own cleaning up run; the kill loop is there for the rest.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from redline.sessions.store import StoreError
    from runner_bench import RunnerBench

STEPS = (
    "before the call", "after the call", "before the bytes", "before the intent", "after the intent",
    "before the rename", "after the rename", "before the result", "after the result",
)  # fmt: skip
"""Of one mutation, in order."""
_EVENTS = {"tool/call": "call", "file/intent": "intent", "tool/result": "result", "change/reverted": "result"}


class PowerCut(BaseException):
    """Not an `Exception`: nothing that tidies up after faults shall see it."""


class Power:
    """Cuts one bench off at a step."""

    def __init__(self, bench: RunnerBench, step: str, *, skip: int = 0, cut: Callable[[], None] | None = None) -> None:
        """`skip`: times that the step is passed first. `cut`: what to do at the step, instead of raising `PowerCut`."""
        self.off = False
        self._cut = cut
        self._step = step
        self._skip = skip
        self._submit = bench.store.submit
        self._put = bench.bytes.put
        self._apply = bench.files.apply
        bench.store.submit = self._submitting  # type: ignore[method-assign]
        bench.bytes.put = self._putting  # type: ignore[method-assign]
        bench.files.apply = self._applying  # type: ignore[method-assign]

    def reach(self, step: str) -> None:
        if step == self._step:
            self.off = self.off or self._skip <= 0
            self._skip -= 1
        if self.off:
            if self._cut is not None:
                self._cut()
            raise PowerCut(step)

    def _submitting(self, events: Any, *, durable: bool, settled: Callable[[StoreError | None], None]) -> None:
        name = _EVENTS.get(events[0].type, "")
        try:
            self.reach(f"before the {name}")
        except PowerCut as cut:
            # The log calls this from the event loop, which is no place to raise in.
            asyncio.get_running_loop().call_soon(settled, cut)
            return

        def committed(error: StoreError | None) -> None:
            try:
                self.reach(f"after the {name}")
            except PowerCut as cut:
                settled(cut)  # type: ignore[arg-type]
            else:
                settled(error)

        self._submit(events, durable=durable, settled=committed)

    def _putting(self, session: str, *data: bytes, **known: Any) -> list[str | None]:
        self.reach("before the bytes")
        return self._put(session, *data, **known)

    async def _applying(self, target: Any, action: Any, *, expected: Any = None, before_commit: Any = None) -> Any:
        async def then(outcome: Any) -> None:
            await before_commit(outcome)
            self.reach("before the rename")

        self.reach("before an apply")
        outcome = await self._apply(target, action, expected=expected, before_commit=then)
        self.reach("after the rename")
        return outcome


async def cut_off(bench: RunnerBench, step: str, *calls: Any, skip: int = 0) -> RunnerBench:
    """Run the calls until the power is cut at the step, then open the session anew, not yet recovered."""
    power = Power(bench, step, skip=skip)
    with suppress(PowerCut):
        await bench.run(*calls)
    assert power.off, f"no call came to the step {step!r}"
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await asyncio.sleep(0)
    del bench.store.submit, bench.bytes.put, bench.files.apply  # type: ignore[method-assign]
    return await bench.reopen()
