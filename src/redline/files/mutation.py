"""One mutation of one file, in the steps that a crash may fall between: prepare, (the caller's journal), commit.

The caller holds the path's lock. All methods block, and are called one after the other from worker threads.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

from redline.files.disk import Found, find, find_link, held, is_bare, look, remove_bare, still_there
from redline.files.draft import Draft, OnFlush, flush, put_link
from redline.files.error import FileError
from redline.files.failures import failure, failures, shown, stale
from redline.files.places import Folder, Roots
from redline.files.proposal import Proposal, propose
from redline.files.seam import Action, Blob, Delete, EditText, Move, Target, WriteBytes

_log = logging.getLogger(__name__)


def read(roots: Roots, target: Target, limit: int, *, whole: bool = False) -> Found | None:
    """What stands at `target` now. None: nothing, perhaps not even its folder. See `disk.find`."""
    if target.real in roots.paths:
        raise FileError("NOT_REGULAR", f"{shown(target.path)} is a folder.", "Name a file in it.")
    try:
        folder = roots.open_folder(target.real.parent)
    except FileError as error:
        if error.code == "NOT_FOUND":
            return None
        raise
    try:
        if target.link:
            return find_link(folder, target.real.name)
        return find(folder, target.real.name, limit, whole=whole)
    finally:
        folder.close()


def proposal(roots: Roots, target: Target, action: Action, limit: int, expected: Blob | None = None) -> Proposal:
    """What `action` would do now, refused where it could not be done. Writes nothing."""
    gives_way = isinstance(action, WriteBytes) and action.over_folder and _is_bare(roots, target)
    found = None if gives_way else read(roots, target, limit, whole=isinstance(action, EditText))
    _refuse_unexpected(target, found, expected)
    if isinstance(action, (Delete, Move)) and not target.link:
        _refuse_link(target, "moved" if isinstance(action, Move) else "deleted")
    if found is None and not isinstance(action, Delete) and not target.link:
        _refuse_dangling(roots, target)
    plan = propose(target, action, found, limit)
    if (
        found is not None
        and not target.link
        and not plan.unchanged
        and (plan.data is not None or isinstance(action, Delete))
    ):
        _refuse_read_only(target, found)
    if isinstance(action, Move):
        _refuse_taken(roots, target, action.to)
        _refuse_dangling(roots, action.to)
    return Proposal(plan.outcome, plan.data, plan.executable, found)


class Mutation:
    """Prepared, then committed or closed. Closing takes back whatever a mutation that was not committed has left."""

    def __init__(self, roots: Roots, limit: int, on_flush: OnFlush, target: Target, action: Action) -> None:
        self._roots = roots
        self._limit = limit
        self._on_flush = on_flush
        self._target = target
        self._to = action.to if isinstance(action, Move) else target
        self._action = action
        self._plan: Proposal | None = None
        self._source: Folder | None = None
        self._folder: Folder | None = None
        self._draft: Draft | None = None

    @property
    def place(self) -> Path:
        """The folder in which the file will stand."""
        return self._to.real.parent

    def prepare(self, expected: Blob | None) -> Proposal:
        """Read, compute, and write the new bytes beside the file. Raises `FileError`, with nothing left behind."""
        self._plan = plan = proposal(self._roots, self._target, self._action, self._limit, expected)
        if plan.unchanged:
            return plan
        try:
            self._folder = self._roots.open_folder(self._to.real.parent, create=True)
            self._source = self._folder
            if self._to is not self._target:
                self._source = self._roots.open_folder(self._target.real.parent)
            if plan.data is not None and not self._target.link:
                with failures(self._to.path):
                    self._draft = Draft(self._folder, self._on_flush)
                    self._draft.write(plan.data, plan.found, plan.executable)
        except BaseException:
            self.close()
            raise
        return plan

    def commit(self) -> None:
        """Check once more, put the file in place and flush its folder. Raises `FileError`; the file is then as it was.

        What stays open: between the last check and the rename another program (not another Redline, which waits for
        the folder's lock) may change the file, for some microseconds.
        """
        plan, source, folder = self._plan, self._source, self._folder
        assert plan is not None
        assert source is not None
        assert folder is not None
        with failures(self._to.path), held(folder, source):
            if isinstance(self._action, WriteBytes) and self._action.over_folder:
                _clear(folder, self._target.real.name)
            self._check(plan, source, folder)
            if self._to is not self._target:
                self._move(source, folder)
            elif self._target.link and plan.data is not None:
                put_link(folder, self._target.real.name, plan.data, replacing=plan.found is not None)
            elif self._draft is not None:
                self._draft.publish(folder, self._to.real.name, replacing=plan.found is not None)
            else:
                os.unlink(self._target.real.name, dir_fd=folder.fd)
        made, folder.made = folder.made, []
        self._flush_folders(made)

    def close(self) -> None:
        if self._draft is not None:
            self._draft.discard()
        for folder in (self._folder, self._source):
            if folder is not None:
                folder.close()
                folder.take_back()
                folder.made = []

    def _move(self, source: Folder, folder: Folder) -> None:
        old, new = self._target.real.name, self._to.real.name
        if self._draft is None:
            os.rename(old, new, src_dir_fd=source.fd, dst_dir_fd=folder.fd)
            return
        if look(folder, new) is not None:  # the same file under a name that differs by case only
            os.rename(old, new, src_dir_fd=source.fd, dst_dir_fd=folder.fd)
            self._draft.publish(folder, new, replacing=True)
            return
        self._draft.publish(folder, new, replacing=False)
        try:
            os.unlink(old, dir_fd=source.fd)
        except OSError:
            os.unlink(new, dir_fd=folder.fd)
            raise

    def _check(self, plan: Proposal, source: Folder, folder: Folder) -> None:
        if not still_there(source, self._target.real.name, plan.found):
            raise stale(self._target.path, "was changed by somebody else while this change was being prepared.")
        if self._to is not self._target:
            _refuse_taken(self._roots, self._target, self._to)
        _refuse_moved(folder)
        if source is not folder:
            _refuse_moved(source)

    def _flush_folders(self, made: list[Path]) -> None:
        """A flush that fails after the rename costs no success: the file has been changed, and that is what counts."""
        folders = [self._folder] if self._source is self._folder else [self._folder, self._source]
        try:
            for folder in folders:
                if folder is not None:
                    flush(folder.fd, "folder", self._on_flush)
            for path in {path.parent for path in made}:
                fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    flush(fd, "folder", self._on_flush)
                finally:
                    os.close(fd)
        except OSError as error:
            _log.warning("%s was changed, but its folder could not be flushed: %s", shown(self._to.path), error)


def _is_bare(roots: Roots, target: Target) -> bool:
    if target.real in roots.paths:
        return False
    folder = roots.open_folder(target.real.parent)
    try:
        return is_bare(folder, target.real.name)
    finally:
        folder.close()


def _clear(folder: Folder, name: str) -> None:
    """A file that was put into the folder since leaves it there, and the check that follows refuses."""
    status = look(folder, name)
    if status is not None and stat.S_ISDIR(status.st_mode):
        with suppress(OSError):
            remove_bare(folder, name)


def _refuse_unexpected(target: Target, found: Found | None, expected: Blob | None) -> None:
    if expected is None:
        return
    if expected == "" and found is not None:
        raise stale(target.path, "exists by now, although there was no file before.")
    if expected and found is None:
        raise stale(target.path, "is gone, although it was there before.")
    if expected and found is not None and found.content.blob != expected:
        raise stale(target.path, "is no longer what was read or approved: its content has changed.")


def _refuse_dangling(roots: Roots, target: Target) -> None:
    """Nothing is created by way of a link that leads nowhere, inside the workspace or not: whoever names it does not
    say where the file, and the folders above it, would come to stand."""
    for path in (target.path, *target.path.parents):
        if path in roots.paths:
            return
        if os.path.islink(path) and not os.path.exists(path):  # noqa: PTH114, PTH110 - of names that are too long, too
            leads = os.path.realpath(path)
            raise FileError(
                "NOT_REGULAR",
                f"{shown(path)} is a link that leads to {shown(Path(leads))}, where nothing is.",
                "Name the file that is meant itself, or remove the link first.",
            )


def _refuse_link(target: Target, what: str) -> None:
    if os.path.islink(target.path):  # noqa: PTH114 - Path.is_symlink raises for a name that is too long
        raise FileError(
            "NOT_REGULAR",
            f"{shown(target.path)} is a link to {shown(target.real)}; links are not {what} here.",
            "Name the file that it leads to, or use a command for the link itself.",
        )


def _refuse_read_only(target: Target, found: Found) -> None:
    """A file without any write permission is left alone, even by a user whom the system would let write: the rename
    that replaces it would not ask, and somebody has marked it so."""
    writable = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    if not found.status.st_mode & writable:
        remedy = "Make it writable first (chmod u+w), or choose another path."
        raise FileError("PERMISSION", f"{shown(target.path)} is marked read-only.", remedy)
    if not os.access(target.real, os.W_OK):
        read_only_disk = os.statvfs(target.real).f_flag & os.ST_RDONLY
        raise failure(OSError(errno.EROFS if read_only_disk else errno.EACCES, "no write access"), target.path)


def _refuse_taken(roots: Roots, target: Target, to: Target) -> None:
    """A move never overwrites. A name that differs by case only, on a disk that holds both for one, is not taken."""
    if os.path.islink(to.path):  # noqa: PTH114
        raise FileError("EXISTS", f"{shown(to.path)} exists already: it is a link.", "Choose another path.")
    try:
        folder = roots.open_folder(to.real.parent)
    except FileError as error:
        if error.code == "NOT_FOUND":
            return
        raise
    try:
        taken = look(folder, to.real.name)
        if taken is None:
            return
        same_entry = (
            to.real.parent == target.real.parent
            and to.real.name.casefold() == target.real.name.casefold()
            and not _lists(folder, to.real.name)
        )
        if not same_entry:
            raise FileError(
                "EXISTS", f"{shown(to.path)} exists already; a move does not overwrite.", "Choose another path."
            )
    finally:
        folder.close()


def _lists(folder: Folder, name: str) -> bool:
    """It holds an entry of exactly this name."""
    with os.scandir(folder.fd) as entries:
        return any(entry.name == name for entry in entries)


def _refuse_moved(folder: Folder) -> None:
    """The folder that was opened is still the one at its path: nobody has moved it away, perhaps out of the roots."""
    opened = os.fstat(folder.fd)
    try:
        there = folder.path.lstat()
    except FileNotFoundError:
        there = None
    if there is None or (there.st_dev, there.st_ino) != (opened.st_dev, opened.st_ino):
        raise stale(folder.path, "was moved or replaced while this change was being prepared.")
