"""SQLite's errors in the store's words."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from pathlib import Path

from redline.sessions.store import StoreError

_LOW_SPACE = 2**20
"""Bytes free below which an unnamed write error is taken for a full disk."""


def store_error(error: sqlite3.Error | OSError, path: Path) -> StoreError:
    """What went wrong with the log at `path`, and what to do."""
    code = _code_of_system(error) if isinstance(error, OSError) else _code_of_sqlite(error, path)
    return StoreError(code, f"The log {path} {_FAULTS[code]} ({error}).", _REMEDIES[code])


def _code_of_sqlite(error: sqlite3.Error, path: Path) -> str:
    primary = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    code = _CODES.get(primary, "IO")
    return "NO_SPACE" if code == "IO" and primary == sqlite3.SQLITE_IOERR and _is_full(path) else code


def _code_of_system(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "NO_SPACE"
    return "PERMISSION" if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else "IO"


def _is_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _LOW_SPACE
    except OSError:
        return False


_CODES = {
    sqlite3.SQLITE_FULL: "NO_SPACE",
    sqlite3.SQLITE_READONLY: "PERMISSION",
    sqlite3.SQLITE_PERM: "PERMISSION",
    sqlite3.SQLITE_CANTOPEN: "PERMISSION",
    sqlite3.SQLITE_AUTH: "PERMISSION",
    sqlite3.SQLITE_BUSY: "BUSY",
    sqlite3.SQLITE_LOCKED: "BUSY",
    sqlite3.SQLITE_CORRUPT: "CORRUPT",
    sqlite3.SQLITE_NOTADB: "CORRUPT",
}
_FAULTS = {
    "NO_SPACE": "could not grow: the disk is full; nothing of this was written",
    "PERMISSION": "cannot be opened or written",
    "BUSY": "is held by another process for too long; nothing of this was written",
    "CORRUPT": "is damaged, or is not a log",
    "IO": "could not be read or written",
}
_REMEDIES = {
    "NO_SPACE": (
        "Free some space on its disk and try again; a megabyte is enough for `redline delete SESSION`, which gives back"
        " what an old session takes."
    ),
    "PERMISSION": "Check who owns the file and its folder, and that the folder can be written.",
    "BUSY": "End the program that holds it (a database browser with an open edit, or a backup), and try again.",
    "CORRUPT": "Move the file aside (keep its -wal file with it) and start again; `sqlite3 FILE .recover` saves rows.",
    "IO": "Check the disk, and try again.",
}
