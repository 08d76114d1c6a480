"""What changes on disk in a session that runs our own tools, told apart by who was at work.

What a call may do behind the seam (a shell command) is looked for when it ends, and is its own: such a call runs beside
nothing else that writes. What changed before it began, or after the last call, belongs to the turn. What changed while
no turn ran is where the next one starts. Where another session was at work at that time, nobody is named.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redline.sessions.gate import GateError
from redline.sessions.store import StoreError
from redline.tools.found import portions, record_found
from redline.tools.neighbours import Apart, told_apart
from redline.workspace.last_changes import LastChanges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.changes.record import FileChange
    from redline.files.seam import Outcome
    from redline.sessions.events import Event
    from redline.sessions.log import SessionLog
    from redline.workspace.bounds import Limit
    from redline.workspace.observe import Observer

_log = logging.getLogger(__name__)

_PATIENCE = 2.0
"""Seconds of waiting for the first snapshot before it is said."""


class Sight:
    """One session's looks at its workspace. A fault of looking costs no call and no turn."""

    def __init__(self, observer: Observer, log: SessionLog) -> None:
        self._observer = observer
        self._log = log
        self._starting: asyncio.Task[None] | None = None
        self._said: set[str] = set()
        self._looked_at = 0
        """When the last look began, in ms since 1970."""
        self._files = (0, 0)
        """Of the first snapshot: how many are read, of how many."""
        self._leave = log.subscribe(self._heard)

    def begin(self) -> None:
        """Take the first snapshot in the background."""
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_task(self._start())

    async def ready(self) -> None:
        """Wait for the first snapshot: nothing of ours may change a file before."""
        self.begin()
        assert self._starting is not None
        if not self._starting.done():
            await asyncio.wait({self._starting}, timeout=_PATIENCE)
            if not self._starting.done():
                await self._say_waiting()
        await asyncio.shield(self._starting)

    async def start_turn(self) -> None:
        """What the user did meanwhile is where the turn starts."""
        if self._starting is not None and self._starting.done():
            await self._sweep()
            await self._keep()

    async def tell(self, turn: int) -> None:
        """Tell what changed since the last look as found in the turn, by none of its calls."""
        await self.ready()
        await self._found(await self._told_apart(turn), turn, ())
        await self._keep()

    async def end_turn(self, turn: int) -> None:
        """As `tell`, but nobody waits for a first snapshot that no call needed."""
        if self._starting is not None and self._starting.done():
            await self.tell(turn)

    async def of_call(self, turn: int, call: str) -> list[FileChange]:
        """What the call that has just ended did behind the seam, as much as its result may hold; the rest is told
        beside it."""
        await self.ready()
        apart = await self._told_apart(turn)
        own = next(portions(apart.own), [])
        await self._found(replace(apart, own=apart.own[len(own) :]), turn, [call])
        return own

    async def recorded(self) -> None:
        """The changes of a call are in the log."""
        await self._keep()

    def landed(self, outcome: Outcome) -> None:
        """Redline itself has changed a file."""
        after = outcome.after
        if outcome.moved_to is not None:
            self._observer.accept(outcome.target.real, None)
        place = outcome.target if outcome.moved_to is None else outcome.moved_to
        executable = after is not None and after.executable
        self._observer.accept(place.real, None if after is None else after.blob, executable=executable)

    async def close(self) -> None:
        self._leave()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        await self._observer.close()

    # Parts of the above.

    async def _start(self) -> None:
        known = LastChanges()
        self._looked_at = time.time_ns() // 1_000_000
        try:
            async for event in self._log.events():
                known.take(event)
            sweep = await self._observer.start(self._progress, known=known)
        except Exception:
            _log.exception("the first look at the workspace failed")
            return
        await self._limited(sweep.limited, None)
        await self._keep()

    def _progress(self, done: int, total: int) -> None:
        self._files = (done, total)

    async def _say_waiting(self) -> None:
        done, total = self._files
        count = f": {done:,} of {total:,} files" if total else ""
        message = f"The workspace is read for the first time{count}. The first tool waits for it."
        await self._notice({"code": "FIRST_LOOK", "message": message, "remedy": "", "level": "info"})

    async def _told_apart(self, turn: int) -> Apart:
        since = self._looked_at
        changes = await self._sweep(turn)
        try:
            return await told_apart(self._log, self._observer.root, changes, since)
        except StoreError as error:
            _log.warning("whether others were at work in the workspace is not known: %s", error)
            return Apart(changes)

    async def _sweep(self, turn: int | None = None) -> list[FileChange]:
        self._looked_at = time.time_ns() // 1_000_000
        try:
            sweep = await self._observer.sweep()
        except Exception:
            _log.exception("a look at the workspace failed")
            return []
        await self._limited(sweep.limited, turn)
        return [found.change for found in sweep.found]

    async def _found(self, apart: Apart, turn: int, during: Sequence[str]) -> None:
        try:
            await record_found(self._log, apart.own, turn, during)
            await record_found(self._log, apart.shared, turn, during, beside=apart.others)
        except (StoreError, GateError) as error:
            _log.warning("changes that were found were not recorded: %s", error)

    async def _limited(self, limit: Limit | None, turn: int | None) -> None:
        if limit is None or limit.matter in self._said:
            return
        self._said.add(limit.matter)
        data = {"code": limit.code, "message": limit.message, "remedy": limit.remedy, "level": "warning"}
        await self._notice(data if turn is None else {**data, "turn": turn})

    async def _notice(self, data: dict[str, Any]) -> None:
        try:
            await self._log.append("notice/raised", data)
        except (StoreError, GateError) as error:
            _log.warning("a notice was not recorded: %s", error)

    async def _keep(self) -> None:
        try:
            await self._observer.keep(self._log.seq)
        except Exception:
            _log.exception("the snapshot of the workspace was not kept")

    def _heard(self, event: Event) -> None:
        """An undo between turns, or by another part of this process, is ours too."""
        if event.type != "change/reverted":
            return
        last = LastChanges()
        last.take(event)
        for path, change in last.by_path.items():
            after = change.after
            blob = None if after is None else after.blob
            if blob != "":
                executable = after is not None and after.executable
                self._observer.accept(path, blob, executable=executable, link=change.file_type == "symlink")
