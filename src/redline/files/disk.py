"""One file in one open folder: looked at, read up to a bound, and compared with what was read.

Everything is done by the folder's descriptor and a plain name, and no link is followed.
"""

from __future__ import annotations

import fcntl
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from redline.files.blob import git_blob, git_blob_of
from redline.files.error import FileError
from redline.files.failures import failures, shown, stale
from redline.files.places import Folder
from redline.files.seam import Content

CHUNK = 1 << 20
HEAD = 8
_INSIDE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
ACCESS_LIST = "system.posix_acl_access"
Kind = Literal["file", "directory", "symlink", "other"]


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
    with opened(folder, name) as fd:
        return _read(fd, folder.path / name, limit)


def find_link(folder: Folder, name: str) -> Found | None:
    """Read a symbolic link: the text that it holds. None: nothing there. Raises `FileError` NOT_REGULAR for what is no
    link."""
    status = look(folder, name)
    if status is None:
        return None
    path = folder.path / name
    if not stat.S_ISLNK(status.st_mode):
        raise FileError("NOT_REGULAR", f"{shown(path)} is no link.", "Look at what is there now.")
    with failures(path):
        data = os.fsencode(os.readlink(name, dir_fd=folder.fd))
    return Found(Content(git_blob(data), len(data), data=data), status, data[:HEAD], {})


@contextmanager
def opened(folder: Folder, name: str) -> Iterator[int]:
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


def is_bare(folder: Folder, name: str) -> bool:
    """A folder in which, however deep, nothing but folders is."""
    with suppress(OSError):
        inner = Folder(os.open(name, _INSIDE, dir_fd=folder.fd), folder.path / name)
        try:
            with os.scandir(inner.fd) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
            return all(is_folder and is_bare(inner, one) for one, is_folder in found)
        finally:
            inner.close()
    return False


def remove_bare(folder: Folder, name: str) -> None:
    """Remove such a folder; the system itself refuses one that something was put into. Raises OSError."""
    inner = Folder(os.open(name, _INSIDE, dir_fd=folder.fd), folder.path / name)
    try:
        with os.scandir(inner.fd) as entries:
            names = [entry.name for entry in entries]
        for one in names:
            remove_bare(inner, one)
    finally:
        inner.close()
    os.rmdir(name, dir_fd=folder.fd)


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
            data = b"".join(_chunks(fd, limit + 1, status.st_size + 1))
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
    found: dict[str, bytes] = {}
    if sys.platform == "linux":
        with suppress(OSError):
            for name in os.listxattr(fd):
                if name.startswith("user.") or name == ACCESS_LIST:
                    found[name] = os.getxattr(fd, name)
    return found


def _chunks(fd: int, limit: int, step: int = CHUNK) -> Iterator[bytes]:
    while limit > 0 and (chunk := os.read(fd, min(step, limit))):
        limit -= len(chunk)
        yield chunk


def still_there(folder: Folder, name: str, found: Found | None) -> bool:
    """The place still holds what was found. Judged by content; only where that is over the bound, first by identity."""
    now = look(folder, name)
    if found is None or now is None:
        return found is None and now is None
    if (now.st_mode, now.st_size) != (found.status.st_mode, found.content.size):
        return False
    if stat.S_ISLNK(now.st_mode):
        return os.fsencode(os.readlink(name, dir_fd=folder.fd)) == found.content.data
    if found.content.data is None:
        if _identity(now) == found.identity:
            return True
        again = find(folder, name, 0)
        return again is not None and again.content.blob == found.content.blob
    with opened(folder, name) as fd:
        return _holds(fd, found.content.data)


def _holds(fd: int, data: bytes) -> bool:
    position = 0
    for chunk in _chunks(fd, len(data) + 1):
        if not data.startswith(chunk, position):
            return False
        position += len(chunk)
    return position == len(data)


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
