"""One file in one open folder: looked at, read up to a bound, written beside and put in place.

Everything is done by the folder's descriptor and a plain name, and no link is followed.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
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
DRAFT_PREFIX, DRAFT_SUFFIX = ".redline-", ".tmp"
_DRAFT = re.compile(re.escape(DRAFT_PREFIX) + "[0-9a-f]{16}" + re.escape(DRAFT_SUFFIX))
ACCESS_LIST = "system.posix_acl_access"
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
    attributes: Mapping[str, bytes]
    """Its access list and the user's own extended attributes, where the system has such."""

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


def find(folder: Folder, name: str, limit: int, *, whole: bool = False) -> Found | None:
    """Read a regular file; more than `limit` bytes are hashed but not kept. None: nothing there.

    Raises `FileError`: with `whole` TOO_LARGE, at once, for a file over the limit.
    """
    status = look(folder, name)
    if status is None:
        return None
    if whole and stat.S_ISREG(status.st_mode) and status.st_size > limit:
        raise FileError(
            "TOO_LARGE",
            f"{shown(folder.path / name)} has {status.st_size:,} bytes; at most {limit:,} can be edited in place.",
            "Write the whole file, or change it with a command.",
        )
    with _opened(folder, name) as fd:
        return _read(fd, folder.path / name, limit)


@contextmanager
def _opened(folder: Folder, name: str) -> Iterator[int]:
    """The regular file `name`, open for reading. Raises `FileError`: NOT_REGULAR for everything else, which is not
    opened at all, so that a pipe cannot hang the call and a device is not touched."""
    path = folder.path / name
    with failures(path):
        refuse_special(os.stat(name, dir_fd=folder.fd, follow_symlinks=False), path)
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder.fd)
        try:
            refuse_special(os.fstat(fd), path)
            yield fd
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
                return Found(Content(git_blob(data), len(data), executable, data), status, data[:HEAD], _attributes(fd))
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
                return Found(Content(blob, count, executable), status, head, _attributes(fd))
    raise stale(path, "kept changing while it was read.")


def _attributes(fd: int) -> dict[str, bytes]:
    if sys.platform != "linux":
        return {}
    try:
        names = [name for name in os.listxattr(fd) if name.startswith("user.") or name == ACCESS_LIST]
        return {name: os.getxattr(fd, name) for name in names}
    except OSError:
        return {}


def _chunks(fd: int, limit: int) -> Iterator[bytes]:
    while limit > 0 and (chunk := os.read(fd, min(CHUNK, limit))):
        limit -= len(chunk)
        yield chunk


def still_there(folder: Folder, name: str, found: Found | None) -> bool:
    """The place still holds what was found. Judged by content; only where that is over the bound, first by identity."""
    now = look(folder, name)
    if found is None or now is None:
        return found is None and now is None
    if (now.st_mode, now.st_size) != (found.status.st_mode, found.content.size):
        return False
    if found.content.data is None:
        if _identity(now) == found.identity:
            return True
        again = find(folder, name, 0)
        return again is not None and again.content.blob == found.content.blob
    with _opened(folder, name) as fd:
        return b"".join(_chunks(fd, found.content.size + 1)) == found.content.data


class Draft:
    """A sibling temporary file that takes the place of a file, or is thrown away."""

    def __init__(self, folder: Folder, on_flush: OnFlush) -> None:
        self._folder = folder
        self._on_flush = on_flush
        self._name: str | None = None
        self._fd = -1

    def write(self, data: bytes, like: Found | None, executable: bool | None) -> None:
        """Write and flush. `like`: whose permissions, owner and attributes it gets; None: the umask rules."""
        name = f"{DRAFT_PREFIX}{secrets.token_hex(8)}{DRAFT_SUFFIX}"
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


def sweep(folder: Folder) -> None:
    """Remove the drafts that a killed process has left in a folder. Those of a living one are locked, and stay."""
    with os.scandir(folder.fd) as entries:
        names = [entry.name for entry in entries if _DRAFT.fullmatch(entry.name)]
    for name in names:
        with suppress(OSError, FileError), _opened(folder, name) as fd:
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


@contextmanager
def held(*folders: Folder) -> Iterator[None]:
    """The advisory locks of folders, so that two Redline processes check and rename one after the other.

    Best effort: where a lock cannot be had within a second, or the disk knows none, the check alone has to do.
    """
    by_path = {folder.path: folder.fd for folder in folders}
    locked = [fd for _, fd in sorted(by_path.items()) if _lock(fd)]
    try:
        yield
    finally:
        for fd in locked:
            with suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_UN)


def _lock(fd: int) -> bool:
    deadline = time.monotonic() + 1
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        except OSError:
            return False
