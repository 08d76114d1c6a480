"""What was found on the disk gets its place in the log: the row of a call, shares of several, or a row of its own.

Rows are read in the order in which they first had a change. So what is found is logged in the order in which it was
found, in runs that go to one place. What has no certain owner is held for a moment, since its call may be announced
late, but no longer than until something newer is found of the same file.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from redline.agents.acp.attribution import Owners, owners
from redline.agents.acp.call import ForeignCall
from redline.agents.acp.split import split, split_off
from redline.agents.acp.step import Step
from redline.tools.found import record_found
from redline.tools.landed import net
from redline.tools.neighbours import told_apart

if TYPE_CHECKING:
    from pathlib import Path

    from redline.agents.acp.bulk import Bulk
    from redline.changes.record import FileChange
    from redline.sessions.log import SessionLog
    from redline.tools.recorder import Recorder


class Book(Protocol):
    """The calls of a session, as this needs them."""

    turn: int
    running: bool
    """A turn is being worked through."""

    def known(self) -> Sequence[ForeignCall]: ...

    async def record(self, call: ForeignCall) -> None:
        """Log what was found of a call so far."""
        ...


@dataclass(slots=True)
class _Run:
    """Changes in a row that go to one place."""

    to: ForeignCall | tuple[str, ...]
    """A call, or the ids of those during which a change was found that is nobody's."""
    beside: Sequence[str] = ()
    changes: list[FileChange] = field(default_factory=list)


class Landing:
    """Of one session."""

    def __init__(self, log: SessionLog, recorder: Recorder, bulk: Bulk, book: Book) -> None:
        self._log = log
        self._recorder = recorder
        self._bulk = bulk
        self._book = book
        self._since = 0.0
        self._last_lander: dict[str, ForeignCall | None] = {}
        self._touched: dict[int, set[str]] = {}
        """By turn, the paths at which a change was found in it, whoever made it."""
        self._held: list[tuple[Step, list[ForeignCall]]] = []
        """Changes whose owner is not certain, each with the calls that ran when it was found."""
        self._run: _Run | None = None
        self._one_at_a_time = asyncio.Lock()
        self._now = asyncio.get_running_loop().time

    async def settle(self, steps: Sequence[Step], since: float, root: Path, *, final: bool = False) -> None:
        """Give each change its place. `since`: when the last look began. `root`: the workspace. `final`: nothing is
        held back."""
        async with self._one_at_a_time:
            self._since = since
            steps = await self._told_apart(steps, root)
            self._touch(steps)
            await self._settle(steps, final=final)

    async def land(self, call: ForeignCall, step: Step) -> None:
        """Take a change that is known to be this call's."""
        async with self._one_at_a_time:
            self._touch([step])
            if any(not step.paths.isdisjoint(held.paths) for held, _ in self._held):
                await self._settle((), final=True)
            await self._to_call(call, step)
            await self._write()

    async def found(
        self, turn: int, changes: Sequence[FileChange], during: Sequence[str] = (), beside: Sequence[str] = ()
    ) -> None:
        """Tell changes that are no call's."""
        await record_found(self._log, changes, turn, during, beside=beside)

    def was_touched(self, turn: int, path: str) -> bool:
        """A change of that path (links followed) was found in the turn, or may have been: it is long ago."""
        return turn not in self._touched or path in self._touched[turn]

    def begin(self, turn: int) -> None:
        self._touched = {known: paths for known, paths in self._touched.items() if known >= turn - 3}
        self._touched[turn] = set()

    @property
    def holds_back(self) -> bool:
        """Some change waits for its owner."""
        return bool(self._held)

    def _touch(self, steps: Sequence[Step]) -> None:
        self._touched.setdefault(self._book.turn, set()).update(*(step.paths for step in steps))

    # Whose is it?

    async def _told_apart(self, steps: Sequence[Step], root: Path) -> list[Step]:
        """Without those that another session has journalled; of the others, who else was at work."""
        since = time.time() - (self._now() - self._since)
        apart = await told_apart(self._log, root, [step.change for step in steps], int(since * 1000))
        left = dict.fromkeys(map(id, apart.own), ()) | dict.fromkeys(map(id, apart.shared), apart.others)
        return [replace(step, beside=left[id(step.change)]) for step in steps if id(step.change) in left]

    async def _settle(self, steps: Sequence[Step], *, final: bool) -> None:
        waiting = [*self._held, *((step, self._ran()) for step in steps)]
        self._held = []
        last = {path: at for at, (step, _) in enumerate(waiting) for path in step.paths}
        for at, (step, then) in enumerate(waiting):
            judged = self._judged(step, then)
            if not judged.certain:
                known = owners(step, then, (), self._now())
                overtaken = any(last[path] > at for path in step.paths)
                if not overtaken and not (final and (known.calls or known.during)):
                    self._held.append((step, then))
                    continue
                judged = known
            await self._place(step, judged)
        await self._write()
        for call in [call for call in self._book.known() if call.closed and call.stale]:
            await self._book.record(call)

    def _ran(self) -> list[ForeignCall]:
        """The calls that ran at some time since the last look."""
        since = self._since
        return [
            call for call in self._book.known() if (call.ended >= since if call.ended is not None else not call.closed)
        ]

    def _judged(self, step: Step, then: Sequence[ForeignCall]) -> Owners:
        running = [*then, *(call for call in self._ran() if call not in then)]
        earlier = [call for call in self._book.known() if call.turn == self._book.turn and call not in running]
        return owners(step, running, earlier, self._now())

    async def _place(self, step: Step, judged: Owners) -> None:
        # Where another session was at work, only a call that means to change the file is taken to have done so.
        is_open = not step.beside or any(call.means(step) for call in judged.calls)
        if is_open and (shares := await self._shares(step, judged)):
            for call, share in shares:
                await self._to_call(call, share)
            return
        for call in judged.calls:
            call.shared |= step.paths
            call.stale = call.closed
        for call in judged.during:
            call.beside.append(step.change.path)
            call.stale = call.closed
        ran = judged.calls or judged.during
        if ran or self._book.running:
            self._last_lander.update(dict.fromkeys(step.paths))
            await self._add(tuple(call.id for call in ran), step.change, step.beside)

    async def _shares(self, step: Step, judged: Owners) -> list[tuple[ForeignCall, Step]]:
        """Whose change it is, or which part of it is whose; empty: nobody can be named."""
        calls = judged.calls
        if len(calls) == 1 and len(judged.commands) == 1:
            shares = await split_off(step, calls[0], judged.commands[0], self._log.redactor, self._bulk)
            if shares and all(self._may_take(call, share) for call, share in shares):
                return shares
        if len(calls) == 1:
            return [(calls[0], step)] if self._may_take(calls[0], step) else []
        # One that asks may have done its part before it was allowed to.
        meaning = [call for call in self._book.known() if call.means(step) and (call in calls or not call.closed)]
        for some in (calls, meaning) if calls else ():
            shares = await split(step, some, self._log.redactor, self._bulk)
            if shares and all(self._may_take(call, share) for call, share in shares):
                return shares
        return []

    def _may_take(self, call: ForeignCall, step: Step) -> bool:
        """A row takes no change of a file that another row has changed since, or that was changed by nobody whom the
        log knows."""
        if any(self._last_lander.get(path, call) is not call for path in step.paths):
            return not call.steps
        return call.continues(step)

    # Into the log.

    async def _to_call(self, call: ForeignCall, step: Step) -> None:
        call.add(step)
        self._last_lander.update(dict.fromkeys(step.paths, call))
        await self._add(call, step.change)

    async def _add(self, to: ForeignCall | tuple[str, ...], change: FileChange, beside: Sequence[str] = ()) -> None:
        if self._run is not None and (self._run.to, self._run.beside) != (to, beside):
            await self._write()
        if self._run is None:
            self._run = _Run(to, beside)
        self._run.changes.append(change)

    async def _write(self) -> None:
        run, self._run = self._run, None
        if run is None:
            return
        if isinstance(run.to, ForeignCall):
            run.to.changes = await self._net(run.to)
            await self._book.record(run.to)
        else:
            await self.found(self._book.turn, run.changes, run.to, run.beside)

    async def _net(self, call: ForeignCall) -> tuple[FileChange, ...]:
        """One change a file."""
        if len(call.steps) == 1:
            return (call.steps[0].change,)
        times = Counter(path for step in call.steps for path in step.paths)
        call.steps = [
            await self._whole(step) if any(times[path] > 1 for path in step.paths) else step for step in call.steps
        ]
        outcomes = [step.outcome() for step in call.steps]
        changes = await net(outcomes, [step.change for step in call.steps], self._recorder)
        return tuple(replace(change, provenance="observed") for change in changes)

    async def _whole(self, step: Step) -> Step:
        """With its bytes, which were forgotten once its call was over."""
        before, after = step.before, step.after
        if before is None and step.change.before is not None and step.change.before.blob:
            before = await self._bulk.fetched(step.change.before.blob)
        if after is None and step.change.after is not None and step.change.after.blob:
            after = await self._bulk.fetched(step.change.after.blob)
        return Step(step.change, before, after)
