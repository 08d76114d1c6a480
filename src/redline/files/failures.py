"""What the operating system reports, as an error with a code, what was wrong with which value, and what to do next."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redline.files.error import FileError, FileErrorCode

_MEANINGS: dict[int, tuple[FileErrorCode, str, str]] = {
    errno.ENOENT: ("NOT_FOUND", "does not exist.", "Check the path; list the folder to see what is there."),
    errno.ENOTDIR: ("NOT_REGULAR", "goes through something that is not a folder.", "Check the path."),
    errno.EISDIR: ("NOT_REGULAR", "is a folder.", "Name a file."),
    errno.ELOOP: ("NOT_REGULAR", "leads through a link that leads in a circle.", "Name the file itself."),
    errno.ENXIO: ("NOT_REGULAR", "is a socket or a device.", "Only regular files can be read and changed."),
    errno.EACCES: ("PERMISSION", "may not be accessed by this user.", "Change its permissions, or choose another."),
    errno.EPERM: ("PERMISSION", "may not be changed by this user.", "Change its permissions, or choose another."),
    errno.EROFS: ("PERMISSION", "is on a disk that is mounted read-only.", "Choose a path on a writable disk."),
    errno.ENOSPC: ("NO_SPACE", "found no room on the disk.", "Free some space, then try again."),
    errno.EDQUOT: ("NO_SPACE", "is over the user's disk quota.", "Free some space, then try again."),
    errno.EFBIG: ("NO_SPACE", "is over the size that a file may have here.", "Write less, or raise the limit."),
    errno.ENAMETOOLONG: ("IO", "has a name that is too long for this disk.", "Choose a shorter name."),
    errno.EXDEV: ("IO", "is on another disk and cannot be moved there.", "Write it there, then delete it here."),
    errno.EEXIST: ("EXISTS", "exists already.", "Choose another path, or delete it first."),
    errno.EMFILE: ("IO", "could not be opened: too many files are open.", "Try again."),
}  # fmt: skip


def failure(error: OSError, path: Path) -> FileError:
    """The error that stands for `error`, which the system reported about `path`."""
    if error.errno in _MEANINGS:
        code, what, remedy = _MEANINGS[error.errno]
        return FileError(code, f"{shown(path)} {what}", remedy)
    reason = os.strerror(error.errno) if error.errno else str(error)
    return FileError("IO", f"{shown(path)} could not be used: {reason}.", "Check the disk, then try again.")


def stale(path: Path, what: str) -> FileError:
    return FileError("STALE", f"{shown(path)} {what}", "Read it again, then repeat the change on what is there now.")


def shown(path: Path | str) -> str:
    """A path inside a message: what is not UTF-8 or not printable is escaped."""
    text = str(path).encode("utf-8", "backslashreplace").decode("utf-8")
    return "`" + "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text) + "`"


@contextmanager
def failures(path: Path) -> Iterator[None]:
    """Turns an `OSError` inside the block into a `FileError` about `path`."""
    try:
        yield
    except OSError as error:
        raise failure(error, path) from error
