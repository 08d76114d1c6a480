"""The errors of this floor that others meet, and the one rule of what a failure of the disk is called."""

from __future__ import annotations

import contextlib
import errno
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BytesErrorCode = Literal["NO_SPACE", "PERMISSION", "BAD_SESSION", "IO"]


class BytesError(Exception):
    """Bytes could not be kept, read or deleted: a stable code, what was wrong, what to do next."""

    def __init__(self, code: BytesErrorCode, message: str, remedy: str) -> None:
        super().__init__(f"{code}: {message} {remedy}")
        self.code: BytesErrorCode = code
        self.message = message
        self.remedy = remedy


class SnapshotError(Exception):
    """The workspace could not be compared; the message is the reason."""


@contextlib.contextmanager
def named_errors(doing: str, root: Path) -> Iterator[None]:
    """Raise an OSError as the BytesError that it amounts to. `doing`: what then cannot be done, below `root`."""
    try:
        yield
    except OSError as error:
        raise _bytes_error(error, doing, root) from error


def _bytes_error(error: OSError, doing: str, root: Path) -> BytesError:
    reason = f"Cannot {doing}: {error.strerror or error} ({error.filename or root})."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return BytesError("NO_SPACE", reason, "Free some space, or delete old sessions with `redline delete SESSION`.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return BytesError("PERMISSION", reason, f"Make {root} writable for you, or choose another data folder.")
    return BytesError("IO", reason, f"Check the disk that holds {root} and try again.")
