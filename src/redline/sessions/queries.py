"""What is asked of the tables of a SQLite log, on a connection that only reads and gives text as bytes.

Nothing here trusts a row: one that is missing, cannot be read or has not the shape that it should have costs itself
only. All tables but that of the events are kept for speed: where one of them is damaged, the events are asked.
`docs/session-log.md` describes the tables.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from pydantic_core import from_json

from redline.sessions.events import Event
from redline.sessions.projection import Projection, project
from redline.sessions.salvage import Row, from_both_ends, rows_in, session_names, unless_damaged
from redline.sessions.store import Damaged, Outline, Summary

_EVENTS = "SELECT seq, v, at, type, data FROM events"
_SELECT_SUMMARY = (
    "SELECT session, workspace, agent, title, started_at, updated_at, last_seq, turns, added, removed, closed,"
    " exact, at_least"
    " FROM sessions"
)
_TOLD_AT_THE_START = 1000
"""Events in which the facts are looked for of a session whose row is damaged."""
_DAMAGED_TITLE = "(its row in the list is damaged)"


def tail(connection: sqlite3.Connection, session: str) -> int:
    """The last `seq`; 0: no such session."""
    with unless_damaged():
        row = connection.execute("SELECT last_seq FROM sessions WHERE session = ?", (session,)).fetchone()
        if row is None:
            return 0
        if type(row[0]) is int:
            return row[0]
    (last,) = connection.execute("SELECT max(seq) FROM events WHERE session = ?", (session,)).fetchone()
    return last or 0


def between(
    connection: sqlite3.Connection, session: str, bounds: Callable[[int], tuple[int, int]]
) -> list[Event | Damaged]:
    """The rows between two `seq`, both included; since they have no gaps, one that is not there is damaged."""
    connection.execute("BEGIN")
    try:
        first, last = bounds(tail(connection, session))
        rows = rows_in(connection, session, [(first, last)], _events)
        return [_event(session, seq, rows.get(seq)) for seq in range(first, last + 1)]
    finally:
        connection.execute("ROLLBACK")


def of_types(
    connection: sqlite3.Connection, session: str, types: Sequence[str], after: int, before: int | None
) -> list[Event | Damaged]:
    """See `Store.of_types`. One that cannot be read stands in its place, since it may be of these types."""
    marks = ", ".join("?" * len(types))

    def statement(how: str) -> str:
        return f"{_events(how)} AND type IN ({marks})"

    last = tail(connection, session)
    until = last if before is None else min(last, before - 1)
    rows = rows_in(connection, session, [(after + 1, until)], statement, tuple(types))
    return [_event(session, seq, rows[seq]) for seq in sorted(rows)]


def at(connection: sqlite3.Connection, session: str, seqs: Sequence[int]) -> list[Event | Damaged]:
    """The events with these `seq`, in their order."""
    rows: dict[int, Row | str] | None = None
    with unless_damaged():
        wanted = "session = ? AND seq IN (SELECT value FROM json_each(?))"
        found = connection.execute(f"{_EVENTS} WHERE {wanted}", (session, str(list(seqs))))
        rows = {row[0]: row for row in found.fetchall()}
    if rows is None:
        rows = rows_in(connection, session, [(seq, seq) for seq in seqs], _events)
    return [_event(session, seq, rows.get(seq)) for seq in seqs]


def outline(connection: sqlite3.Connection, session: str, after: int, before: int) -> list[Outline]:
    """See `Store.outline`."""
    rows = rows_in(connection, session, [(after + 1, before - 1)], _outlines)
    return [_outline(seq, rows.get(seq)) for seq in range(after + 1, before)]


def turn_start(connection: sqlite3.Connection, session: str, turn: int) -> int | None:
    """The `seq` of that turn's `turn/started`."""
    with unless_damaged():
        row = connection.execute("SELECT seq FROM turns WHERE session = ? AND turn = ?", (session, turn)).fetchone()
        if row is None:
            return None
        if type(row[0]) is int:
            return row[0]
    return next((seq for number, seq in _turn_starts(connection, session) if number == turn), None)


def turn_bounds(connection: sqlite3.Connection, session: str, seq: int) -> tuple[int, int | None]:
    """See `Store.turn_bounds`."""
    with unless_damaged():
        first, following = connection.execute(
            "SELECT MAX(CASE WHEN seq <= ?2 THEN seq END), MIN(CASE WHEN seq > ?2 THEN seq END)"
            " FROM turns WHERE session = ?1",
            (session, seq),
        ).fetchone()
        if {type(first), type(following)} <= {int, type(None)}:
            return (1 if first is None else first), following
    starts = [start for _, start in _turn_starts(connection, session)]
    earlier, later = [one for one in starts if one <= seq], [one for one in starts if one > seq]
    return max(earlier, default=1), min(later, default=None)


def open_intents(connection: sqlite3.Connection, session: str) -> list[Event]:
    """See `Store.open_intents`; damaged ones are left out."""
    seqs: list[int] | None = None
    with unless_damaged():
        found = connection.execute("SELECT seq FROM open_intents WHERE session = ? ORDER BY seq", (session,)).fetchall()
        seqs = [seq for (seq,) in found if type(seq) is int]
    if seqs is None:
        told = of_types(connection, session, ("file/intent", "tool/result", "change/reverted"), 0, None)
        projected = project([one for one in told if isinstance(one, Event)])
        seqs = [] if projected is None else projected.left_open()
    return [item for item in at(connection, session, seqs) if isinstance(item, Event)]


def summaries(connection: sqlite3.Connection, limit: int, before: int | None) -> list[Summary]:
    """See `Store.sessions`. Where a row is damaged, what the events say stands for it, and its title says so."""
    until = 2**63 - 1 if before is None else before - 1
    with unless_damaged():
        rows = connection.execute(
            f"{_SELECT_SUMMARY} WHERE updated_at <= ? OR typeof(updated_at) <> 'integer'"
            " ORDER BY updated_at DESC, session LIMIT ?",
            (until, limit),
        ).fetchall()
        if len(rows) == limit and rows:
            rows += connection.execute(
                f"{_SELECT_SUMMARY} WHERE updated_at = ? AND session > CAST(? AS TEXT) ORDER BY session",
                (rows[-1][5], rows[-1][0]),
            ).fetchall()
        found = [_summary(row) for row in rows]
        if all(found):
            return [one for one in found if one is not None]
    fitting = [one for one in _all_summaries(connection) if one.updated_at <= until]
    last = fitting[:limit][-1].updated_at if fitting[:limit] else until
    return [one for index, one in enumerate(fitting) if index < limit or one.updated_at == last]


def summary(connection: sqlite3.Connection, session: str) -> Summary | None:
    """None: there is none. Of a damaged row, as in `summaries`."""
    with unless_damaged():
        row = connection.execute(f"{_SELECT_SUMMARY} WHERE session = ?", (session,)).fetchone()
        if row is None:
            return None
        if (found := _summary(row)) is not None:
            return found
    return _summary_of_events(connection, session)


def _events(how: str) -> str:
    return f"{_EVENTS} {how} WHERE session = ? AND seq BETWEEN ? AND ?"


def _outlines(how: str) -> str:
    return (
        "SELECT seq, type, valid,"
        " CASE WHEN valid THEN json_extract(data, '$.turn', '$.call', '$.message', '$.request') END,"
        " instr(data, '\"changes\":[{') FROM (SELECT seq, type, data, json_valid(data) AS valid, rowid FROM events"
        f" {how} WHERE session = ? AND seq BETWEEN ? AND ?)"
    )


def _turn_starts(connection: sqlite3.Connection, session: str) -> list[tuple[int, int]]:
    """(turn, seq) of each turn, from the events."""
    told = of_types(connection, session, ("turn/started",), 0, None)
    projected = project([one for one in told if isinstance(one, Event)])
    return [] if projected is None else projected.turn_starts


def _last_turn(connection: sqlite3.Connection, session: str) -> int:
    with unless_damaged():
        (turn,) = connection.execute("SELECT max(turn) FROM turns WHERE session = ?", (session,)).fetchone()
        if type(turn) is int:
            return turn
    return max((turn for turn, _ in _turn_starts(connection, session)), default=0)


def _all_summaries(connection: sqlite3.Connection) -> list[Summary]:
    rows, _ = from_both_ends(connection, _SELECT_SUMMARY)
    read = [one for row in rows if (one := _summary(row)) is not None]
    names = {one.session for one in read}
    rest = [name for name in session_names(connection) if name not in names]
    told = [one for name in rest if (one := _summary_of_events(connection, name)) is not None]
    return sorted([*read, *told], key=lambda one: (-one.updated_at, one.session))


def _summary_of_events(connection: sqlite3.Connection, session: str) -> Summary | None:
    """What its first events and its last one say; the lines it changed are not counted. None: it has no events."""
    last = tail(connection, session)
    if not last:
        return None
    told = of_types(connection, session, ("session/started", "session/state"), 0, _TOLD_AT_THE_START)
    facts = project([one for one in told if isinstance(one, Event)]) or Projection()
    first, latest = at(connection, session, [1, last])
    ends = [one.at for one in (first, latest) if isinstance(one, Event)] or [0]
    return Summary(
        session, facts.workspace or "", facts.agent or "", f"{facts.title or ''} {_DAMAGED_TITLE}".lstrip(), ends[0],
        ends[-1], last, _last_turn(connection, session), added=0, removed=0,
        closed=isinstance(latest, Event) and latest.type == "session/closed", at_least=True,
    )  # fmt: skip


def _event(session: str, seq: int, row: Row | str | None) -> Event | Damaged:
    if row is None:
        return Damaged(session, seq, "the row is missing")
    if isinstance(row, str):
        return Damaged(session, seq, f"the row cannot be read: {row}")
    _, version, at, kind, text = row
    try:
        data = from_json(text, allow_inf_nan=False)
        kind = kind.decode()
    except (ValueError, TypeError, AttributeError) as error:
        return Damaged(session, seq, f"the row is not JSON text: {error}")
    if not isinstance(data, dict) or type(version) is not int or type(at) is not int:
        return Damaged(session, seq, "the row has not the shape of an event")
    return Event(session, seq, at, kind, data, version)


def _outline(seq: int, row: Row | str | None) -> Outline:
    if row is None or isinstance(row, str) or not row[2]:
        return Outline(seq, "", 0, "", "", "", False)
    turn, *names = from_json(row[3])
    call, message, request = (name if isinstance(name, str) else "" for name in names)
    kind = row[1].decode("utf-8", "replace")
    return Outline(seq, kind, turn if type(turn) is int else 0, call, message, request, row[4] > 0)


def _summary(row: Row) -> Summary | None:
    """None: the row is damaged."""
    if [type(value) for value in row] != [bytes] * 4 + [int] * 9:
        return None
    session, workspace, agent, title = (text.decode("utf-8", "replace") for text in row[:4])
    started_at, updated_at, last_seq, turns, added, removed = row[4:10]
    return Summary(
        session, workspace, agent, title, started_at, updated_at, last_seq, turns, added, removed,
        closed=bool(row[10]), exact=bool(row[11]), at_least=bool(row[12]),
    )  # fmt: skip
