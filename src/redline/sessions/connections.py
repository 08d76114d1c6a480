"""How the file of a SQLite log is opened: for several processes, or, on a full disk, for this one alone."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from redline.sessions.schema import migrate, require_known
from redline.sessions.transaction import BUSY_SECONDS

ROW_LIMIT = 32 * 2**20
"""Bytes of a row above which it is not read: far beyond what the gate lets in."""
_BUSY_MILLISECONDS = round(BUSY_SECONDS * 1000)
_ALONE_MILLISECONDS = 5_000
"""How long to wait for another process that has the log for itself."""


def _make_private(path: Path) -> bool:
    """Make the folder and the file if they are not there, for the user alone; True: the file was there."""
    missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        for each in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
            with suppress(FileNotFoundError, PermissionError):
                if each.stat().st_mode & 0o077:
                    each.chmod(0o600)
        return True
    return False


def _look_first(path: Path) -> None:
    """Refuse a file that is not ours to change, on a connection that cannot change it."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
        require_known(connection)
    finally:
        connection.close()


def opened(path: Path) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    """What writes, and what carries the write-ahead log over."""
    if _make_private(path):
        _look_first(path)
    connection = connect(path)
    try:
        _make_ready(connection)
        return connection, connect(path)
    except BaseException:
        connection.close()
        raise


def opened_alone(path: Path) -> sqlite3.Connection:
    """Without the shared index of the write-ahead log, a file for which a full disk has no room: whoever has the log
    for himself keeps it in memory (https://sqlite.org/wal.html, "Use of WAL Without Shared-Memory"). Raises
    `sqlite3.Error`, also where another process has it open."""
    connection = connect(path)
    try:
        connection.execute(f"PRAGMA busy_timeout = {_ALONE_MILLISECONDS}")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        _make_ready(connection)
        read_carefully(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_ready(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    migrate(connection)
    connection.execute("PRAGMA secure_delete = ON")


def read_carefully(connection: sqlite3.Connection) -> None:
    connection.text_factory = bytes
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, ROW_LIMIT)


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, check_same_thread=False
    )
    for pragma in (
        f"busy_timeout = {_BUSY_MILLISECONDS}",
        "trusted_schema = OFF",
        "cell_size_check = ON",
        # Mapped files turn a disk fault into a signal that ends the process.
        "mmap_size = 0",
        # On macOS a plain fsync leaves data in the drive's cache.
        "fullfsync = ON",
        "journal_size_limit = 67108864",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection
