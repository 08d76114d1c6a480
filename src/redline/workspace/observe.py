"""What changed on disk in a workspace, whoever changed it.

`start` takes the first snapshot, or takes up the one that an earlier process has left and says what changed since.
After a call, `look` tells of the paths that the call itself named, and `sweep` of the whole workspace. What Redline's
own tools have journalled is made known with `accept`, so that it is not found a second time. Once what was found is in
the log, `keep` saves the snapshot: a process that is killed before that finds it again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from redline.workspace import bounds
from redline.workspace.bounds import Limit, Limits
from redline.workspace.error import BytesError
from redline.workspace.findings import Found as Found
from redline.workspace.first_snapshot import Stopped
from redline.workspace.last_changes import LastChanges
from redline.workspace.lookout import Lookout

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from redline.sessions.redaction import Redactor
    from redline.workspace.store import ByteStore

T = TypeVar("T")

_DEFAULT = Limits()


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one look over the workspace gave."""

    found: list[Found]
    """In the order of their paths."""
    limited: Limit | None = None
    """Why it is not all, or cannot all be undone."""


class Observer:
    """One session's eyes on one workspace. All work is done in threads; the methods may be called side by side, and
    take their turns. None raises for what the disk gets wrong: `Sweep.limited` says it."""

    def __init__(
        self, root: Path, store: ByteStore, session: str, redactor: Redactor, *, limits: Limits = _DEFAULT
    ) -> None:
        self.root = root.resolve()
        self._store = store
        self._session = session
        self._redactor = redactor
        self._limits = limits
        self._turns = asyncio.Lock()
        self._lookout: Lookout | None = None

    @property
    def limited(self) -> Limit | None:
        """Why sweeps have been given up; None: they have not."""
        return self._lookout.limited if self._lookout is not None else None

    async def start(
        self,
        progress: Callable[[int, int], None] | None = None,
        *,
        known: LastChanges | None = None,
    ) -> Sweep:
        """Take the first snapshot, or take up the last one and find what changed since. Once, before all else.

        `progress(done, total)` is called from a thread while files are read. `known`: the last change of each file that
        the log holds; where a killed process had saved less than it logged, the log is right. Cancelling stops the
        reading.
        """

        def begin() -> Sweep:
            try:
                lookout = self._made()
            except (OSError, BytesError) as error:
                return Sweep([], bounds.failed(error))
            return Sweep(*lookout.start(progress, known or LastChanges()))

        return await self._alone(begin)

    async def resume(self, known: LastChanges) -> Sweep | None:
        """As `start`, where an earlier process has left a snapshot; None: it has not, and none is taken."""

        def begin() -> Sweep | None:
            try:
                taken_up = self._made().resume(known)
            except (OSError, BytesError) as error:
                return Sweep([], bounds.failed(error))
            return None if taken_up is None else Sweep(*taken_up)

        return await self._alone(begin)

    async def look(
        self, paths: Iterable[str | os.PathLike[str]], *, existing: Iterable[str | os.PathLike[str]] = ()
    ) -> list[Found]:
        """What changed of these paths since they were last looked at: ignored by git or not, inside the workspace or
        outside. Relative ones start at the workspace. Of a folder: the files in it that are known.

        `existing`: those of which it is said that they were there. One that was not may have been moved to its place
        from another that nobody names, so it is left to the next sweep, which sees both.
        """
        names, old = list(paths), list(existing)
        nothing: list[Found] = []
        return await self._with(lambda lookout: lookout.look(names, old), nothing)

    async def begin_turn(self) -> None:
        """What a file that sweeps do not see, and that is named from now on, was changed since then is of this turn."""
        await self._with(Lookout.begin_turn, None)

    async def note(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        """Remember files that sweeps do not see (ignored, outside, past the limits) as they are now, so that a later
        `look` can tell what was there before. For the paths that a call names, before it runs."""
        names = list(paths)
        await self._with(lambda lookout: lookout.note(names), None)

    async def sweep(self) -> Sweep:
        """What changed in the whole workspace since it was last looked at, except what git ignores."""
        return await self._with(lambda lookout: Sweep(*lookout.sweep()), Sweep([]))

    async def keep(self, told: int = 0) -> None:
        """Save the snapshot: what was found so far has been recorded. `told`: the last event of the log by now. What it
        and those before it tell is in the snapshot, which also holds what was made of those files since. 0: unknown."""
        await self._with(lambda lookout: lookout.keep(told), None)

    @property
    def told(self) -> int:
        """The last event of the log when the snapshot was saved; 0: unknown, or there is none."""
        return self._lookout.told if self._lookout is not None else 0

    def announce(self, path: str | os.PathLike[str]) -> None:
        """Redline itself is about to change the file at `path` (links followed): no sweep judges it until `accept` or
        `withdraw`."""
        if self._lookout is not None:
            self._lookout.announce(path)

    def withdraw(self, path: str | os.PathLike[str]) -> None:
        """What was announced has not happened."""
        if self._lookout is not None:
            self._lookout.withdraw(path)

    def accept(
        self, path: str | os.PathLike[str], blob: str | None, *, executable: bool = False, link: bool = False
    ) -> None:
        """Redline itself has changed the file at `path` (links followed) and recorded it: it now holds `blob`, or is
        gone. `link`: a symbolic link, which holds the text of that blob. What somebody else makes of it after that is
        found."""
        if self._lookout is not None:
            self._lookout.accept(path, blob, executable, link)

    async def close(self) -> None:
        """Let go of what is open. Does not save: see `keep`."""
        lookout, self._lookout = self._lookout, None
        if lookout is not None:
            lookout.close()

    def _made(self) -> Lookout:
        self._lookout = Lookout(self.root, self._store, self._session, self._redactor, self._limits)
        return self._lookout

    async def _with(self, work: Callable[[Lookout], T], otherwise: T) -> T:
        lookout = self._lookout
        if lookout is None:
            return otherwise

        def guarded() -> T:
            try:
                return work(lookout)
            except (OSError, BytesError) as error:
                lookout.limited = bounds.failed(error)
                return otherwise

        return await self._alone(guarded)

    async def _alone(self, work: Callable[[], T]) -> T:
        async with self._turns:
            task = asyncio.ensure_future(asyncio.to_thread(work))
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                # The thread must be done with the snapshot before somebody else begins.
                if self._lookout is not None:
                    self._lookout.stop.set()
                await asyncio.wait({task})
                if not task.cancelled() and isinstance(task.exception(), Stopped):
                    self._lookout = None  # half a snapshot tells nothing
                raise
            finally:
                if self._lookout is not None:
                    self._lookout.stop.clear()
