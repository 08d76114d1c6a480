"""What is asked of the tables of a SQLite log, on a connection that only reads and gives text as bytes.

Nothing here trusts a row: one that is missing, cannot be read or has not the shape that it should have costs itself
only. `docs/session-log.md` describes the tables.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from pydantic_core import from_json

from redline.sessions.events import Event
from redline.sessions.store import Damaged, Outline, Summary

_SELECT_EVENT = "SELECT seq, v, at, type, data FROM events"
_SELECT_OUTLINE = (
    "SELECT seq, type, valid,"
    " CASE WHEN valid THEN json_extract(data, '$.turn', '$.call', '$.message', '$.request') END,"
    " instr(data, '\"changes\":[{') FROM (SELECT seq, type, data, json_valid(data) AS valid FROM events"
    " WHERE session = ? AND seq > ? AND seq < ?)"
)
_SELECT_SUMMARY = (
    "SELECT session, workspace, agent, title, started_at, updated_at, last_seq, turns, added, removed, closed,"
    " exact, at_least"
    " FROM sessions"
)


def tail(connection: sqlite3.Connection, session: str) -> int:
    """The last `seq`; 0: no such session."""
    row = connection.execute("SELECT last_seq FROM sessions WHERE session = ?", (session,)).fetchone()
    if row is None:
        return 0
    if type(row[0]) is not int:
        raise sqlite3.DatabaseError(f"the row of session {session} does not say where it ends")
    return row[0]


def between(
    connection: sqlite3.Connection, session: str, bounds: Callable[[int], tuple[int, int]]
) -> list[Event | Damaged]:
    """The rows between two `seq`, both included; since they have no gaps, one that is not there is damaged."""
    connection.execute("BEGIN")
    try:
        first, last = bounds(tail(connection, session))
        try:
            found = connection.execute(
                f"{_SELECT_EVENT} WHERE session = ? AND seq BETWEEN ? AND ?", (session, first, last)
            ).fetchall()
        except sqlite3.DatabaseError:
            return [_row_alone(connection, session, seq) for seq in range(first, last + 1)]
        rows = {row[0]: row for row in found}
        return [_event(session, seq, rows.get(seq)) for seq in range(first, last + 1)]
    finally:
        connection.execute("ROLLBACK")


def of_types(
    connection: sqlite3.Connection, session: str, types: Sequence[str], after: int, before: int | None
) -> list[Event | Damaged]:
    """See `Store.of_types`."""
    marks = ", ".join("?" * len(types))
    until = 2**63 - 1 if before is None else before
    rows = connection.execute(
        f"{_SELECT_EVENT} WHERE session = ? AND seq > ? AND seq < ? AND type IN ({marks}) ORDER BY seq",
        (session, after, until, *types),
    )
    return [_event(session, row[0], row) for row in rows]


def at(connection: sqlite3.Connection, session: str, seqs: Sequence[int]) -> list[Event | Damaged]:
    """The events with these `seq`, in their order."""
    wanted = "session = ? AND seq IN (SELECT value FROM json_each(?))"
    try:
        found = connection.execute(f"{_SELECT_EVENT} WHERE {wanted}", (session, str(list(seqs)))).fetchall()
    except sqlite3.DatabaseError:
        return [_row_alone(connection, session, seq) for seq in seqs]
    rows = {row[0]: row for row in found}
    return [_event(session, seq, rows.get(seq)) for seq in seqs]


def outline(connection: sqlite3.Connection, session: str, after: int, before: int) -> list[Outline]:
    """See `Store.outline`."""
    known = {row[0]: row for row in connection.execute(_SELECT_OUTLINE, (session, after, before))}
    return [_outline(seq, known.get(seq)) for seq in range(after + 1, before)]


def turn_start(connection: sqlite3.Connection, session: str, turn: int) -> int | None:
    """The `seq` of that turn's `turn/started`."""
    row = connection.execute("SELECT seq FROM turns WHERE session = ? AND turn = ?", (session, turn)).fetchone()
    return None if row is None else int(row[0])


def turn_bounds(connection: sqlite3.Connection, session: str, seq: int) -> tuple[int, int | None]:
    """See `Store.turn_bounds`."""
    first, following = connection.execute(
        "SELECT MAX(CASE WHEN seq <= ?2 THEN seq END), MIN(CASE WHEN seq > ?2 THEN seq END)"
        " FROM turns WHERE session = ?1",
        (session, seq),
    ).fetchone()
    return (1 if first is None else int(first)), (None if following is None else int(following))


def open_intents(connection: sqlite3.Connection, session: str) -> list[Event]:
    """See `Store.open_intents`; damaged ones are left out."""
    seqs = connection.execute("SELECT seq FROM open_intents WHERE session = ? ORDER BY seq", (session,))
    found = [_row_alone(connection, session, int(seq)) for (seq,) in seqs.fetchall()]
    return [item for item in found if isinstance(item, Event)]


def summaries(connection: sqlite3.Connection, limit: int, before: int | None) -> list[Summary]:
    """See `Store.sessions`; damaged rows are left out."""
    until = 2**63 - 1 if before is None else before - 1
    rows = connection.execute(
        f"{_SELECT_SUMMARY} WHERE updated_at <= ? ORDER BY updated_at DESC, session LIMIT ?", (until, limit)
    ).fetchall()
    if len(rows) == limit and rows:
        rows += connection.execute(
            f"{_SELECT_SUMMARY} WHERE updated_at = ? AND session > CAST(? AS TEXT) ORDER BY session",
            (rows[-1][5], rows[-1][0]),
        ).fetchall()
    return [summary for row in rows if (summary := _summary(row)) is not None]


def summary(connection: sqlite3.Connection, session: str) -> Summary | None:
    """None: there is none, or its row is damaged."""
    row = connection.execute(f"{_SELECT_SUMMARY} WHERE session = ?", (session,)).fetchone()
    return None if row is None else _summary(row)


def _row_alone(connection: sqlite3.Connection, session: str, seq: int) -> Event | Damaged:
    try:
        row = connection.execute(f"{_SELECT_EVENT} WHERE session = ? AND seq = ?", (session, seq)).fetchone()
    except sqlite3.DatabaseError as error:
        return Damaged(session, seq, f"the row cannot be read: {error}")
    return _event(session, seq, row)


def _event(session: str, seq: int, row: tuple[Any, ...] | None) -> Event | Damaged:
    if row is None:
        return Damaged(session, seq, "the row is missing")
    _, version, at, kind, text = row
    try:
        data = from_json(text, allow_inf_nan=False)
        kind = kind.decode()
    except (ValueError, TypeError, AttributeError) as error:
        return Damaged(session, seq, f"the row is not JSON text: {error}")
    if not isinstance(data, dict) or type(version) is not int or type(at) is not int:
        return Damaged(session, seq, "the row has not the shape of an event")
    return Event(session, seq, at, kind, data, version)


def _outline(seq: int, row: tuple[Any, ...] | None) -> Outline:
    if row is None or not row[2]:
        return Outline(seq, "", 0, "", "", "", False)
    turn, *names = from_json(row[3])
    call, message, request = (name if isinstance(name, str) else "" for name in names)
    kind = row[1].decode("utf-8", "replace")
    return Outline(seq, kind, turn if type(turn) is int else 0, call, message, request, row[4] > 0)


def _summary(row: tuple[Any, ...]) -> Summary | None:
    """None: the row is damaged, which shall not hide the other sessions."""
    if [type(value) for value in row] != [bytes] * 4 + [int] * 9:
        return None
    session, workspace, agent, title = (text.decode("utf-8", "replace") for text in row[:4])
    started_at, updated_at, last_seq, turns, added, removed = row[4:10]
    return Summary(
        session, workspace, agent, title, started_at, updated_at, last_seq, turns, added, removed,
        closed=bool(row[10]), exact=bool(row[11]), at_least=bool(row[12]),
    )  # fmt: skip
