"""The local disk behind the file seam.

What holds here, beside the contract in `seam.py`:

- A file is replaced by renaming a flushed sibling over it. So a crash or a full disk leaves the old bytes or the new
  ones, never a mixture. Permission bits and access lists are kept, the owner where the system allows it; a new
  file follows the umask.
- Of several hard links only the one that is named changes: the other names keep the old bytes. Writing into the shared
  file instead could be torn, and would reach through to names outside the workspace (a package store, for one).
- A symbolic link stays, and the file that it leads to is replaced.
- Paths are checked when they are resolved, and again when they are opened: folders are opened step by step from their
  root, following no link, and everything after that is done by descriptor.
- Before the rename the file is read again and must hold what was read before. Two Redline processes take turns by an
  advisory lock on the folder. Another program can still slip in between that check and the rename: some microseconds.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from redline.files import mutation
from redline.files.blob import git_blob as git_blob
from redline.files.disk import Kind, kind_of, look
from redline.files.draft import OnFlush, sweep
from redline.files.error import FileError
from redline.files.failures import failures, shown
from redline.files.mutation import Mutation
from redline.files.places import Roots
from redline.files.proposal import Proposal
from redline.files.seam import Action, BeforeCommit, Blob, Content, Entry, Move, Outcome, Stat, Target

SMALL = 256 * 1024
"""Bytes of a file that is read without a thread."""
BASIS_LIMIT = 10 * 2**20
"""Bytes a side up to which a change is shown as hunks, unless told otherwise."""

Result = TypeVar("Result")

_locks: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()
"""Of the whole process: sessions that share a workspace share its files' locks. By event loop and path."""


def _no_report(_what: str, _seconds: float) -> None:
    pass


class LocalFiles:
    """Files of the local disk. `roots`: existing folders; relative paths start at the first.

    `basis_limit`: bytes above which a side is hashed but not kept, so that it has no hunks. `on_flush`: called from a
    worker thread with "file" or "folder" and the seconds that its flush took.
    """

    def __init__(
        self, roots: Sequence[Path], *, basis_limit: int = BASIS_LIMIT, on_flush: OnFlush | None = None
    ) -> None:
        self._roots = Roots(roots)
        self._limit = basis_limit
        self._on_flush = on_flush or _no_report
        self._swept: set[Path] = set()

    @property
    def roots(self) -> Sequence[Path]:
        return self._roots.paths

    async def resolve(self, path: str, *, link: bool = False) -> Target:
        return self._roots.resolve(path, link=link)  # a few looks at names: done before a thread would have begun

    async def stat(self, target: Target) -> Stat | None:
        return _status(self._roots, target)

    async def read(self, target: Target, limit: int | None = None) -> Content:
        wanted = self._limit if limit is None else limit
        found = await _where_it_fits(target, lambda: mutation.read(self._roots, target, wanted))
        if found is None:
            raise _missing(target)
        return found.content

    async def on_disk(self, target: Target, limit: int | None = None) -> Content:
        return await self.read(target, limit)

    async def list(self, target: Target) -> list[Entry]:
        return await asyncio.to_thread(_entries, self._roots, target)

    async def sweep(self, target: Target) -> None:
        """Remove temporary files that a killed process has left beside `target`, for recovery. Also done once a folder,
        when the first file in it is changed. Never raises for what cannot be removed."""
        await asyncio.to_thread(_sweep, self._roots, target.real.parent)

    async def preview(self, target: Target, action: Action) -> Outcome:
        plan = await _where_it_fits(target, lambda: mutation.proposal(self._roots, target, action, self._limit))
        return plan.outcome

    async def apply(
        self, target: Target, action: Action, *, expected: Blob | None = None, before_commit: BeforeCommit | None = None
    ) -> Outcome:
        """See the contract. Cancelled before the commit has begun, nothing is changed; after that it is carried to its
        end, its outcome is returned, and the cancellation arrives at the caller's next `await`."""
        keys = {target.key, action.to.key} if isinstance(action, Move) else {target.key}
        async with _locked(keys):
            work = Mutation(self._roots, self._limit, self._on_flush, target, action)
            try:
                plan = await _to_the_end(lambda: self._prepare(work, expected))
                if plan.unchanged:
                    return plan.outcome
                if before_commit is not None:
                    await before_commit(plan.outcome)
                await _to_the_end(work.commit, deliver=True)
                return plan.outcome
            finally:
                work.close()

    def _prepare(self, work: Mutation, expected: Blob | None) -> Proposal:
        if work.place not in self._swept:
            self._swept.add(work.place)
            _sweep(self._roots, work.place)
        return work.prepare(expected)


async def _where_it_fits(target: Target, work: Callable[[], Result]) -> Result:
    """Work that reads a file: in a thread, unless the file is so small that to begin a thread takes longer."""
    try:
        status = os.lstat(target.real)
        small = stat.S_ISREG(status.st_mode) and status.st_size <= SMALL
    except OSError:
        small = True
    return work() if small else await asyncio.to_thread(work)


def _sweep(roots: Roots, path: Path) -> None:
    with suppress(FileError, OSError):
        folder = roots.open_folder(path)
        try:
            sweep(folder)
        finally:
            folder.close()


def _status(roots: Roots, target: Target) -> Stat | None:
    if target.real in roots.paths:
        return Stat("directory", 0, executable=False)
    try:
        folder = roots.open_folder(target.real.parent)
    except FileError as error:
        if error.code in ("NOT_FOUND", "NOT_REGULAR"):  # no folder there, so no file in it
            return None
        raise
    try:
        status = look(folder, target.real.name)
    finally:
        folder.close()
    if status is None:
        return None
    return Stat(kind_of(status.st_mode), status.st_size, executable=bool(status.st_mode & 0o100))


def _entries(roots: Roots, target: Target) -> list[Entry]:
    folder = roots.open_folder(target.real)
    try:
        with failures(target.path), os.scandir(folder.fd) as entries:
            names = [Entry(entry.name, _kind(entry)) for entry in entries]
    finally:
        folder.close()
    return sorted(names, key=lambda entry: entry.name)


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "symlink"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _missing(target: Target) -> FileError:
    return FileError(
        "NOT_FOUND", f"{shown(target.path)} does not exist.", "Check the path; list the folder to see what is there."
    )


@asynccontextmanager
async def _locked(keys: set[str]) -> AsyncIterator[None]:
    loop = id(asyncio.get_running_loop())
    async with AsyncExitStack() as stack:
        for key in sorted(keys):  # always in the same order, so that two moves cannot wait for each other
            await stack.enter_async_context(_locks.setdefault((loop, key), asyncio.Lock()))
        yield


async def _to_the_end(function: Callable[[], Result], *, deliver: bool = False) -> Result:
    """Run in a thread, and wait for its end even when cancelled: a thread cannot be stopped, and the lock must not be
    given up while it works. `deliver`: the result is returned, and the cancellation comes with the next `await`."""
    future = asyncio.get_running_loop().run_in_executor(None, function)
    interrupted = 0
    while not future.done():
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError:
            interrupted += 1
    if interrupted and not deliver:
        future.exception()
        raise asyncio.CancelledError
    task = asyncio.current_task()
    if interrupted and task is not None:
        task.uncancel()
        task.cancel()
    return future.result()
