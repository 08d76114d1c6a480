"""Looking at the disk after every call, beside the stream of messages, in the order in which the calls ended.

The agent's messages are taken on meanwhile: so when a change is found, what was announced in the moments after it is
known, too, and a call that began to write at once is not mistaken for the one before it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from redline.agents.acp.attribution import LAG_SECONDS
from redline.agents.acp.call import ForeignCall
from redline.agents.acp.judgement import not_found
from redline.agents.acp.step import Step
from redline.sessions.gate import GateError
from redline.sessions.store import StoreError
from redline.workspace.bounds import Limit
from redline.workspace.store import BytesError

if TYPE_CHECKING:
    from redline.agents.acp.calls import Calls
    from redline.sessions.log import SessionLog
    from redline.workspace.last_changes import LastChanges
    from redline.workspace.observe import Found, Observer

_log = logging.getLogger(__name__)

_LONG_SECONDS = 5.0
"""A first look that takes longer is said to be going on."""
_FIRST_LOOK = {
    "level": "info",
    "code": "FIRST_LOOK",
    "message": "The workspace is being read for the first time, so that every change can be told; this takes a moment.",
}
_HELD_SECONDS = 0.5
"""So long a change that nobody has named may wait for a call that does."""

_Work = ForeignCall | asyncio.Future[None] | None
"""A call that has ended; somebody who waits for a look at the whole workspace; None: look once more, and decide what
was held."""


async def _at_once(_: float) -> None:
    pass


class Watch:
    """The eyes of one foreign agent in one session."""

    def __init__(self, observer: Observer, calls: Calls, log: SessionLog) -> None:
        self.observer = observer
        self._calls = calls
        self._log = log
        self._work: asyncio.Queue[_Work] = asyncio.Queue()
        self._queued: set[int] = set()
        self._task: asyncio.Task[None] | None = None
        self._since = 0.0
        """When the last look at everything began."""
        self._noted: set[str] = set()
        self._noting: set[asyncio.Task[None]] = set()
        self.caught_up: Callable[[float], Awaitable[None]] = _at_once
        """Waits, so many seconds at most, until what the agent has sent by now has been taken."""
        self._limits_said: set[str] = set()
        self._fault: Exception | None = None

    async def start(self, known: LastChanges) -> None:
        """Take the first snapshot, or bring that of an earlier process up to date."""
        looking = asyncio.ensure_future(self.observer.start(known=known))
        try:
            done, _ = await asyncio.wait({looking}, timeout=_LONG_SECONDS)
            if not done:
                await self._log.append("notice/raised", {"turn": self._calls.turn, **_FIRST_LOOK})
            sweep = await looking
        except asyncio.CancelledError:
            looking.cancel()
            raise
        await self._said(sweep.limited)
        self._since = asyncio.get_running_loop().time()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def ended(self, call: ForeignCall) -> None:
        """Look for what a call has done, and then log its result."""
        if id(call) not in self._queued:
            self._queued.add(id(call))
            self._work.put_nowait(call)

    def announced(self, call: ForeignCall) -> None:
        """The same as `note`, in its turn. What the agent says next is taken on meanwhile: while a look lasts, it may
        be the call whose change is being found."""
        task = asyncio.get_running_loop().create_task(self.note(call))
        self._noting.add(task)
        task.add_done_callback(self._noting.discard)

    async def note(self, call: ForeignCall) -> None:
        """Remember the files that a call names as they are now, where sweeps do not see them."""
        new = call.evidence.named - self._noted
        if new and call.may_run:
            self._noted |= new
            await self.observer.note(sorted(new))

    async def look_at(self, path: str) -> None:
        """Before Redline writes a file: what was done to it until now is told, and is no part of that write."""
        found = await self.observer.look([path])
        await self._settle(found)

    async def up_to_date(self) -> None:
        """Wait until all that ended has been looked for, and look at the whole workspace once more. Raises what kept
        the log from taking it."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._work.put_nowait(waiting)
        if self._task is None or self._task.done():
            waiting.set_result(None)
        await waiting
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault

    async def refresh(self) -> None:
        """Between turns: let what the user has done meanwhile be the state to start from."""
        await self.up_to_date()
        await self.observer.begin_turn()
        self._noted.clear()
        await self.keep()  # after a kill, what was changed until now is told from what the turn does

    async def keep(self) -> None:
        if not self._calls.landing.holds_back:
            with suppress(BytesError, OSError):
                await self.observer.keep(self._log.seq)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await self.keep()
        await self.observer.close()

    async def _run(self) -> None:
        while True:
            batch = [await self._work.get()]
            while not self._work.empty():
                batch.append(self._work.get_nowait())
            calls = [work for work in batch if isinstance(work, ForeignCall)]
            self._queued -= {id(call) for call in calls}
            try:
                await self._look(calls, final=len(calls) < len(batch))
            except (StoreError, GateError, BytesError, OSError) as fault:
                self._fault = fault
            except Exception as fault:
                _log.exception("a look at the workspace failed")
                self._fault = fault
            finally:
                for work in batch:
                    if isinstance(work, asyncio.Future) and not work.done():
                        work.set_result(None)

    async def _look(self, calls: Sequence[ForeignCall], *, final: bool) -> None:
        """`final`: no change is to be held back for later."""
        now = asyncio.get_running_loop().time
        for call in calls:
            # What a command did is seen as a whole: of a file that it moved it may name but one of the paths.
            if call.evidence.named and not call.evidence.is_shell:
                found = await self.observer.look(sorted(call.evidence.named), existing=call.evidence.existing)
                await self._hear_of(found)
                await self._settle(found)
                if call.changes and not not_found(call):
                    await self._calls.close(call)  # what it said is done; should there be more, it is told again
        begun = now()
        sweep = await self.observer.sweep()
        await self._hear_of(sweep.found)
        await self._settle(sweep.found, final=final)
        for call in calls:
            if call.evidence.named and call.evidence.is_shell:  # what git ignores, no sweep sees
                found = await self.observer.look(sorted(call.evidence.named))
                await self._settle(found, final=final)
        self._since = begun
        for call in calls:
            await self._calls.close(call)
        await self._said(sweep.limited)
        if self._calls.landing.holds_back:
            # Until it is in the log, a process that is killed has to find it again.
            asyncio.get_running_loop().call_later(_HELD_SECONDS, self._work.put_nowait, None)
        elif sweep.found or calls:
            await self.keep()
        if any(call.evidence.is_shell for call in calls):
            asyncio.get_running_loop().call_later(LAG_SECONDS / 2, self._work.put_nowait, None)

    async def _hear_of(self, found: Sequence[Found]) -> None:
        """Who names a file says so before it is written: that word may have come while the disk was looked at."""
        if found:
            await self.caught_up(_HELD_SECONDS)

    async def _settle(self, found: Sequence[Found], *, final: bool = False) -> None:
        steps = [Step(one.change, one.before, one.after) for one in found]
        await self._calls.landing.settle(steps, self._since, self.observer.root, final=final)

    async def _said(self, limit: Limit | None) -> None:
        if limit is None or limit.matter in self._limits_said:
            return
        self._limits_said.add(limit.matter)
        notice = {"level": "warning", "code": limit.code, "message": limit.message, "remedy": limit.remedy}
        await self._log.append("notice/raised", {"turn": self._calls.turn, **notice})
