"""The statements of a commit to a SQLite log, and the values that they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from redline.sessions.projection import Projection

if TYPE_CHECKING:
    from redline.sessions.transaction import Append

AT_ONCE = 32
"""Events that one statement inserts."""


@cache
def insert_events(rows: int) -> str:
    return f"INSERT INTO events (session, seq, v, at, type, data) VALUES {', '.join(['(?, ?, ?, ?, ?, ?)'] * rows)}"


_INSERT_SESSION = (
    "INSERT OR IGNORE INTO sessions (session, workspace, agent, title, started_at, updated_at, last_seq, turns, added,"
    " removed, closed, exact, at_least) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE_SESSION = (
    "UPDATE sessions SET last_seq = ?, updated_at = coalesce(?, updated_at), workspace = coalesce(?, workspace),"
    " agent = coalesce(?, agent), title = coalesce(?, title), turns = max(turns, ?), added = added + ?,"
    " removed = removed + ?, closed = coalesce(?, closed), exact = min(exact, ?), at_least = max(at_least, ?)"
    " WHERE session = ? AND last_seq = ?"
)


_MOVE_TAIL = "UPDATE sessions SET last_seq = ?, updated_at = ? WHERE session = ? AND last_seq = ?"
INSERT_TURN = "INSERT OR IGNORE INTO turns (session, turn, seq) VALUES (?, ?, ?)"
OPEN_INTENT = "INSERT INTO open_intents (session, seq, turn, call) VALUES (?, ?, ?, ?)"
A_TURN = "SELECT 1 FROM turns WHERE session = ? AND turn = ?"
AN_INTENT = "SELECT 1 FROM open_intents WHERE session = ? AND seq = ?"
INTENTS = "SELECT 1 FROM open_intents WHERE session = ?"
BESIDE = {"turns": "SELECT 1 FROM turns WHERE session = ?", "open_intents": INTENTS}
"""The tables that are kept for speed: numbers, and ids of calls. Where a session's rows of one cannot be read, a delete
leaves them."""
CLOSE_INTENTS = "DELETE FROM open_intents WHERE session = ? AND turn = ? AND call = ?"


def tail_moves(appends: list[Append]) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    """The statements that move the tails, with the values of consecutive appends that share one."""
    for statement, group in groupby(appends, _tail_statement):
        values = _VALUES[statement]
        yield statement, [values(append) for append in group]


def _tail_statement(append: Append) -> str:
    if append.rows[0][1] == 1:
        return _INSERT_SESSION
    return _MOVE_TAIL if append.projection is None else _UPDATE_SESSION


def _moved_tail(append: Append) -> tuple[object, ...]:
    _, last, _, at, _, _ = append.rows[-1]
    return last, at, append.session, append.rows[0][1] - 1


def _new_summary(append: Append) -> tuple[object, ...]:
    of = append.projection or Projection(used_at=append.rows[-1][3])
    started_at = append.rows[0][3]
    return (
        append.session, of.workspace or "", of.agent or "", of.title or "", started_at,
        started_at if of.used_at is None else of.used_at, append.rows[-1][1],
        of.turns, of.added, of.removed, bool(of.closed), of.exact, of.at_least,
    )  # fmt: skip


def _summary_update(append: Append) -> tuple[object, ...]:
    of = append.projection or Projection()
    return (
        append.rows[-1][1], of.used_at, of.workspace, of.agent, of.title, of.turns, of.added, of.removed, of.closed,
        of.exact, of.at_least,
        append.session, append.rows[0][1] - 1,
    )  # fmt: skip


_VALUES: dict[str, Callable[[Append], tuple[object, ...]]] = {
    _INSERT_SESSION: _new_summary,
    _MOVE_TAIL: _moved_tail,
    _UPDATE_SESSION: _summary_update,
}
