"""What is left of deleted words, and how it is taken away.

A delete overwrites the rows that it removes (`secure_delete`), but not the copies that SQLite has left in the free part
of a page whenever it moved rows from page to page; only writing the whole file anew takes them along
(https://sqlite.org/pragma.html#pragma_secure_delete, https://sqlite.org/lang_vacuum.html). Then the write-ahead log has
to be emptied, which a reader may be in the way of. So what is still to be done stands in a table of the file, from the
transaction of the delete on, and whoever has the file open goes on with it.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from typing import TypeVar

from redline.sessions.salvage import unless_damaged

QUICK = 64 * 2**20
"""Bytes of a log that is written anew whenever it is due: a second, about."""
BEARABLE = 512 * 2**20
"""The same at a delete: some seconds, in which other writers wait, but not as long as they would."""
_PATIENCE = 5.0
"""Seconds for which a sweep waits for other writers."""
_PAUSES = (0.001, 0.002, 0.005, 0.01, 0.025)
"""Seconds between two looks whether another's transaction has ended."""
_LONGEST_PAUSE = 0.05
_COPIES = 2
"""Of the log, that the disk holds for a moment beside it: a temporary one, and the write-ahead log."""
_SPARE = 16 * 2**20
_WRITE_ANEW, _EMPTY = 1, 2
DUE = "SELECT min(due) FROM sweep"

_log = logging.getLogger(__name__)

Result = TypeVar("Result")


def patiently(work: Callable[[], Result], seconds: float) -> Result:
    """Try again while another process is writing; after these seconds its `sqlite3.OperationalError` is raised."""
    until = time.monotonic() + seconds
    for pause in chain(_PAUSES, repeat(_LONGEST_PAUSE)):
        try:
            return work()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
        time.sleep(pause)
    raise AssertionError("the pauses have no end")


def make_due(connection: sqlite3.Connection) -> None:
    """In the transaction of a delete."""
    connection.execute("DELETE FROM sweep")
    connection.execute("INSERT INTO sweep (due) VALUES (?)", (_WRITE_ANEW,))


def due(connection: sqlite3.Connection) -> int:
    """What is left to do; 0: nothing, or its page is damaged, and then nothing can be done."""
    with unless_damaged():
        row = connection.execute(DUE).fetchone()
        return row[0] or 0
    return 0


def sweep(connection: sqlite3.Connection, path: Path, limit: int) -> bool:
    """Do what is due, outside of a transaction; False: something still is. A log of more than `limit` bytes is not
    written anew. What goes wrong is logged: nothing is lost by it, and it is tried again."""
    try:
        left = due(connection)
        if left == _WRITE_ANEW and _may_write_anew(connection, path, limit):
            try:
                patiently(lambda: connection.execute("VACUUM"), _PATIENCE)
            except sqlite3.Error:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # its write-ahead log takes space
                raise
            connection.execute("UPDATE sweep SET due = ?", (_EMPTY,))
        if left:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy and due(connection) == _EMPTY:
                connection.execute("DELETE FROM sweep")
        return not due(connection)
    except (sqlite3.Error, OSError) as error:
        _log.warning("what a delete left in %s was not taken away: %s; it is tried again", path, error)
        return False


def _may_write_anew(connection: sqlite3.Connection, path: Path, limit: int) -> bool:
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    taken = (pages - free) * size
    if taken > limit:
        return False
    temporary = Path(os.environ.get("SQLITE_TMPDIR") or tempfile.gettempdir())
    return all(shutil.disk_usage(folder).free > _COPIES * taken + _SPARE for folder in (path.parent, temporary))
