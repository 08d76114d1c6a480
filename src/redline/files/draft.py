"""New bytes beside the file whose place they take: written, flushed, renamed, or taken away again."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from redline.files.disk import Found, held, opened
from redline.files.error import FileError
from redline.files.failures import stale
from redline.files.places import Folder

DRAFT_PREFIX, DRAFT_SUFFIX = ".redline-", ".tmp"
_DRAFT = re.compile(re.escape(DRAFT_PREFIX) + "[0-9a-f]{16}" + re.escape(DRAFT_SUFFIX))
PERMISSIONS = 0o777
"""What of a file's mode is carried over. Set-user-id and set-group-id are dropped, as the kernel does on a write."""

OnFlush = Callable[[str, float], None]
"""Called with "file" or "folder" and the seconds that its flush took."""


class Draft:
    """A sibling temporary file that takes the place of a file, or is thrown away."""

    def __init__(self, folder: Folder, on_flush: OnFlush) -> None:
        self._folder = folder
        self._on_flush = on_flush
        self._name: str | None = None
        self._fd = -1

    def write(self, data: bytes, like: Found | None, executable: bool | None) -> None:
        """Write and flush. `like`: whose permissions, owner and attributes it gets; None: the umask rules."""
        name = _new_name()
        mode = (0o777 if executable else 0o666) if like is None else 0o600
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(name, flags, mode, dir_fd=self._folder.fd)
        self._name = name
        with suppress(OSError):
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held while open: somebody alive is behind it
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        if like is not None:
            _take_over(self._fd, like, executable)
        flush(self._fd, "file", self._on_flush)

    def publish(self, folder: Folder, name: str, *, replacing: bool) -> None:
        """Put it in place: over the old file, or where nothing may be."""
        assert self._name is not None
        if not replacing:
            try:
                os.link(self._name, name, src_dir_fd=self._folder.fd, dst_dir_fd=folder.fd)
            except FileExistsError:
                raise stale(folder.path / name, "was created by somebody else meanwhile.") from None
            except OSError:
                pass  # a disk without hard links: the check just before has to do
            else:
                self.discard()
                return
        os.rename(self._name, name, src_dir_fd=self._folder.fd, dst_dir_fd=folder.fd)
        self._name = None
        self.discard()

    def discard(self) -> None:
        """Remove the temporary file, if it is still one. Never raises."""
        with suppress(OSError):
            if self._name is not None:
                os.unlink(self._name, dir_fd=self._folder.fd)
        self._name = None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _new_name() -> str:
    return f"{DRAFT_PREFIX}{secrets.token_hex(8)}{DRAFT_SUFFIX}"


def put_link(folder: Folder, name: str, text: bytes, *, replacing: bool) -> None:
    """A symbolic link that holds the text, in one step: where nothing may be, or in the place of another link. The
    caller holds the folder's lock."""
    if not replacing:
        try:
            os.symlink(text, name, dir_fd=folder.fd)
        except FileExistsError:
            raise stale(folder.path / name, "was created by somebody else meanwhile.") from None
        return
    beside = _new_name()
    os.symlink(text, beside, dir_fd=folder.fd)
    try:
        os.rename(beside, name, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
    except OSError:
        os.unlink(beside, dir_fd=folder.fd)
        raise


def sweep(folder: Folder) -> None:
    """Remove the drafts that a killed process has left in a folder. Those of a living one are locked, and stay."""
    with os.scandir(folder.fd) as entries:
        drafts = [(entry.name, entry.is_symlink()) for entry in entries if _DRAFT.fullmatch(entry.name)]
    for name, is_link in drafts:
        if is_link:  # nobody who lives leaves one while he does not hold the folder
            with suppress(OSError), held(folder):
                os.unlink(name, dir_fd=folder.fd)
            continue
        with suppress(OSError, FileError), opened(folder, name) as fd:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(name, dir_fd=folder.fd)


def _take_over(fd: int, like: Found, executable: bool | None) -> None:
    mine, theirs = os.fstat(fd), like.status
    if (mine.st_uid, mine.st_gid) != (theirs.st_uid, theirs.st_gid):
        with suppress(OSError):  # only root may give files away; a group may be kept by its members
            os.fchown(fd, theirs.st_uid if os.geteuid() == 0 else -1, theirs.st_gid)
    if sys.platform == "linux":
        for name, value in like.attributes.items():
            with suppress(OSError):
                os.setxattr(fd, name, value)
    mode = theirs.st_mode & PERMISSIONS
    if executable is not None:
        mode = mode | (mode & 0o444) >> 2 if executable else mode & ~0o111
    os.fchmod(fd, mode)


def flush(fd: int, what: str, on_flush: OnFlush) -> None:
    started = time.perf_counter()
    if hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync alone leaves the bytes in the drive's cache
        try:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        except OSError:
            os.fsync(fd)
    else:
        os.fsync(fd)
    on_flush(what, time.perf_counter() - started)
