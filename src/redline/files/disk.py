"""One file in one open folder: looked at, read up to a bound, written beside and put in place.

Everything is done by the folder's descriptor and a plain name, and no link is followed.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from redline.files.blob import git_blob, git_blob_of
from redline.files.failures import failures, shown, stale
from redline.files.places import Folder
from redline.files.seam import Content, FileError

CHUNK = 1 << 20
HEAD = 8
LEFTOVER_PREFIX, LEFTOVER_SUFFIX = ".redline-", ".tmp"
PERMISSIONS = 0o777
"""What of a file's mode is carried over. Set-user-id and set-group-id are dropped, as the kernel does on a write."""

Kind = Literal["file", "directory", "symlink", "other"]
OnFlush = Callable[[str, float], None]
"""Called with "file" or "folder" and the seconds that its flush took."""


def kind_of(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "other"


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was read."""

    content: Content
    status: os.stat_result
    head: bytes
    """The first bytes, at hand also where the rest was only hashed."""

    @property
    def identity(self) -> tuple[int, ...]:
        return _identity(self.status)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)


def look(folder: Folder, name: str) -> os.stat_result | None:
    """None: nothing there. A link is not followed."""
    with failures(folder.path / name):
        try:
            return os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None


def find(folder: Folder, name: str, limit: int) -> Found | None:
    """Read a regular file; more than `limit` bytes are hashed but not kept. None: nothing there.

    Raises `FileError`: NOT_REGULAR for all but regular files, without opening them, so that a pipe cannot hang the call
    and a device is not touched.
    """
    path = folder.path / name
    status = look(folder, name)
    if status is None:
        return None
    refuse_special(status, path)
    with failures(path):
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder.fd)
    try:
        with failures(path):
            refuse_special(os.fstat(fd), path)
            return _read(fd, path, limit)
    finally:
        os.close(fd)


def refuse_special(status: os.stat_result, path: Path) -> None:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return
    names = {
        stat.S_IFDIR: ("a folder", "Name a file in it."),
        stat.S_IFIFO: ("a named pipe", "Use a command for it; only regular files can be read and changed here."),
        stat.S_IFSOCK: ("a socket", "Only regular files can be read and changed here."),
        stat.S_IFLNK: ("a link that was put there since the path was resolved", "Name the path again."),
    }
    what, remedy = names.get(stat.S_IFMT(mode), ("a device", "Only regular files can be read and changed here."))
    raise FileError("NOT_REGULAR", f"{shown(path)} is {what}.", remedy)


def _read(fd: int, path: Path, limit: int) -> Found:
    for _ in range(3):
        os.lseek(fd, 0, os.SEEK_SET)
        status = os.fstat(fd)
        executable = bool(status.st_mode & stat.S_IXUSR)
        if status.st_size <= limit:
            data = b"".join(_chunks(fd, limit + 1))
            if len(data) <= limit:
                return Found(Content(git_blob(data), len(data), executable, data), status, data[:HEAD])
        else:
            count = 0
            head = b""

            def counted() -> Iterator[bytes]:
                nonlocal count, head
                for chunk in _chunks(fd, status.st_size + 1):  # noqa: B023
                    head = head or chunk[:HEAD]
                    count += len(chunk)
                    yield chunk

            blob = git_blob_of(status.st_size, counted())
            if count == status.st_size:
                return Found(Content(blob, count, executable), status, head)
    raise stale(path, "kept changing while it was read.")


def _chunks(fd: int, limit: int) -> Iterator[bytes]:
    while limit > 0 and (chunk := os.read(fd, min(CHUNK, limit))):
        limit -= len(chunk)
        yield chunk


def still_there(folder: Folder, name: str, found: Found | None) -> bool:
    """The place still holds what was found. Judged by content; only where that is over the bound, first by identity."""
    if found is None:
        return look(folder, name) is None
    now = look(folder, name)
    if now is None or not stat.S_ISREG(now.st_mode):
        return False
    if found.content.data is None and _identity(now) == found.identity:
        return True
    again = find(folder, name, 0 if found.content.data is None else found.content.size)
    return again is not None and again.content.blob == found.content.blob


class Draft:
    """A sibling temporary file that takes the place of a file, or is thrown away."""

    def __init__(self, folder: Folder, on_flush: OnFlush) -> None:
        self._folder = folder
        self._on_flush = on_flush
        self._name: str | None = None

    def write(self, data: bytes, like: os.stat_result | None, executable: bool | None) -> None:
        """Write and flush. `like`: the file whose permissions, owner and attributes it gets; None: the umask rules."""
        self._name = f"{LEFTOVER_PREFIX}{secrets.token_hex(8)}{LEFTOVER_SUFFIX}"
        new = 0o777 if executable else 0o666
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self._name, flags, new if like is None else 0o600, dir_fd=self._folder.fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # says that somebody is alive behind it
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(fd, rest) :]
            if like is not None:
                _take_over(fd, like, executable)
            flush(fd, "file", self._on_flush)
        finally:
            os.close(fd)

    def publish(self, folder: Folder, name: str, *, replacing: bool) -> None:
        """Put it in place: over the old file, or where nothing may be."""
        assert self._name is not None
        if not replacing:
            try:
                os.link(self._name, name, src_dir_fd=self._folder.fd, dst_dir_fd=folder.fd, follow_symlinks=False)
            except FileExistsError:
                raise stale(folder.path / name, "was created by somebody else meanwhile.") from None
            except OSError:
                pass  # a disk without hard links: the check just before has to do
            else:
                self.discard()
                return
        os.rename(self._name, name, src_dir_fd=self._folder.fd, dst_dir_fd=folder.fd)
        self._name = None

    def discard(self) -> None:
        if self._name is not None:
            with suppress(OSError):
                os.unlink(self._name, dir_fd=self._folder.fd)
            self._name = None


def _take_over(fd: int, like: os.stat_result, executable: bool | None) -> None:
    mine = os.fstat(fd)
    if (mine.st_uid, mine.st_gid) != (like.st_uid, like.st_gid):
        with suppress(OSError):  # only root may give files away; a group may be kept by its members
            os.fchown(fd, like.st_uid if os.geteuid() == 0 else -1, like.st_gid)
    mode = like.st_mode & PERMISSIONS
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


@contextmanager
def held(folder: Folder) -> Iterator[None]:
    """The folder's advisory lock, so that two Redline processes check and rename one after the other.

    Best effort: where the lock cannot be had within a second, or the disk knows none, the check alone has to do.
    """
    locked = False
    deadline = time.monotonic() + 1
    while not locked:
        try:
            fcntl.flock(folder.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            locked = True
        except BlockingIOError:
            if time.monotonic() > deadline:
                break
            time.sleep(0.001)
        except OSError:
            break
    try:
        yield
    finally:
        if locked:
            with suppress(OSError):
                fcntl.flock(folder.fd, fcntl.LOCK_UN)
