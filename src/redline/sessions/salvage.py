"""Reading round damage: what can still be had of a table where a page of the file, or a row, cannot be read.

A row is looked for over the index first, in halves until those that cannot be read stand alone; then, where the index
is what is damaged, by going through the table from both its ends.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

Row = tuple[Any, ...]
Statement = Callable[[str], str]
"""A query for the rows of a session between two `seq`, both included, and that gives `seq` first; it is given what to
write after the name of the table."""

_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_TOOBIG})
_INDEXED = "SELECT seq FROM events WHERE session = ? AND seq BETWEEN ? AND ?"
_NAMES = (
    "WITH RECURSIVE names (name) AS (SELECT min(session) FROM events UNION ALL"
    " SELECT (SELECT min(session) FROM events WHERE session > name) FROM names WHERE name IS NOT NULL)"
    " SELECT name FROM names WHERE name IS NOT NULL"
)


def is_damage(error: sqlite3.Error) -> bool:
    """Of a row or a page; not a lock that another holds, or a lack of memory."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


class unless_damaged:  # noqa: N801 - it is written as a condition
    """What stands in it ends where it meets damage, and the program goes on behind it."""

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return isinstance(error, sqlite3.Error) and is_damage(error)


def rows_in(
    connection: sqlite3.Connection,
    session: str,
    spans: Iterable[tuple[int, int]],
    statement: Statement,
    more: tuple[object, ...] = (),
) -> dict[int, Row | str]:
    """By `seq`: the rows in these spans, and why it cannot be read for each that cannot; one that is missing is not in
    it. `more`: the values of the statement beside the session and the bounds."""

    def ask(low: int, high: int) -> list[Row]:
        return connection.execute(statement(""), (session, low, high, *more)).fetchall()

    def is_indexed(low: int, high: int) -> list[Row]:
        return connection.execute(_INDEXED, (session, low, high)).fetchall()

    found, lost = _in_halves(ask, spans)
    if lost:
        _, unknown = _in_halves(is_indexed, [(seq, seq) for seq in lost])
        if unknown:
            values = (session, min(unknown), max(unknown), *more)
            rows, is_whole = from_both_ends(connection, statement("NOT INDEXED"), values)
            found += [row for row in rows if row[0] in unknown]
            if is_whole:
                lost = {seq: why for seq, why in lost.items() if seq not in unknown}
    return {**lost, **{row[0]: row for row in found}}


def from_both_ends(
    connection: sqlite3.Connection, query: str, values: tuple[object, ...] = ()
) -> tuple[list[Row], bool]:
    """The rows of one table, each once, up to the first that cannot be read from either end; whether that is all."""
    found: dict[Row, None] = {}
    for order in ("ASC", "DESC"):
        with unless_damaged():
            for row in connection.execute(f"{query} ORDER BY rowid {order}", values):
                found[row] = None
            return list(found), True
    return list(found), False


def session_names(connection: sqlite3.Connection) -> list[str]:
    """Of all that have events."""
    rows: list[Row] | None = None
    with unless_damaged():
        rows = connection.execute(_NAMES).fetchall()
    if rows is None:
        rows, _ = from_both_ends(connection, "SELECT session FROM events NOT INDEXED")
    return [name.decode("utf-8", "replace") for (name,) in rows if isinstance(name, bytes)]


def _in_halves(
    ask: Callable[[int, int], list[Row]], spans: Iterable[tuple[int, int]]
) -> tuple[list[Row], dict[int, str]]:
    """All that can be read in these spans, and by number why what cannot."""
    rows: list[Row] = []
    lost: dict[int, str] = {}
    waiting = [(low, high) for low, high in spans if low <= high]
    while waiting:
        low, high = waiting.pop()
        try:
            rows += ask(low, high)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            if low == high:
                lost[low] = str(error)
            else:
                middle = (low + high) // 2
                waiting += [(low, middle), (middle + 1, high)]
    return rows, lost
