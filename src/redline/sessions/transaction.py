"""What a commit does to the tables of a SQLite log: some appends together, or one delete, whole or not at all."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, groupby

from redline.sessions.projection import Projection
from redline.sessions.salvage import is_damage, unless_damaged
from redline.sessions.schema import require_known
from redline.sessions.store import StoreError
from redline.sessions.sweep import make_due, patiently

BUSY_SECONDS = 30.0
"""How long to wait for another process's transaction."""
_CHECKPOINT = 1_000
"""Pages in the write-ahead log from which a commit carries them over into the file: SQLite's own default."""

_log = logging.getLogger(__name__)

EncodedRow = tuple[str, int, int, int, str, str]
"""session, seq, v, at, type, data as JSON text."""


@dataclass(slots=True)
class Append:
    """Consecutive events of one session: all of them or none."""

    session: str
    rows: list[EncodedRow]
    projection: Projection | None
    durable: bool
    loop: asyncio.AbstractEventLoop
    settled: Callable[[StoreError | None], None]
    """Called on the loop."""


@dataclass(slots=True)
class Delete:
    session: str
    loop: asyncio.AbstractEventLoop
    settled: Callable[[StoreError | bool], None]


class Transactions:
    """The writing side of one connection, used by one thread at a time. Raises `sqlite3.Error` and `StoreError`, and
    then nothing was written."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._pragmas: dict[str, object] = {}
        self._data_version = -1
        self._set("busy_timeout", 0)  # who may wait for others, and how long, differs from commit to commit

    def append(self, appends: list[Append], *, at_once: bool = False) -> list[StoreError | None]:
        """Commit them together; the answer holds a refusal for each that does not continue its session's tail.

        `at_once`: wait for nobody, neither another process nor the disk; it fails instead, and what takes long is left
        to the next commit.
        """
        try:
            return self._append(appends, at_once=at_once)
        except sqlite3.DatabaseError as error:
            # Looked into outside of a transaction: one that has met a damaged page takes nothing any more.
            spared = [self._without_damaged(append) for append in appends] if is_damage(error) else appends
            if all(one is given for one, given in zip(spared, appends, strict=True)):
                raise
        return self._append(spared, at_once=at_once)

    def _append(self, appends: list[Append], *, at_once: bool) -> list[StoreError | None]:
        durable = any(append.durable for append in appends)
        self._begin(durable=durable, at_once=at_once)
        try:
            if self._write_together(appends):
                answers: list[StoreError | None] = [None] * len(appends)
            else:
                # Some tail does not fit: from the start, one by one, to find whose.
                self._roll_back()
                self._begin(durable=durable, at_once=at_once)
                answers = [None if self._write_together([append]) else self._refusal(append) for append in appends]
            self.connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        return answers

    def delete(self, session: str) -> bool:
        """Remove all of a session; False: there was none. What it leaves in the file is for `sweep` to take away."""
        beside = [table for table, query in _BESIDE.items() if self._can_read(query, session)]
        self._begin(durable=True, at_once=False)
        try:
            existed = self.connection.execute("DELETE FROM sessions WHERE session = ?", (session,)).rowcount
            for table in ("events", *beside):
                self.connection.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
            make_due(self.connection)
            self.connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        return existed == 1

    def _begin(self, *, durable: bool, at_once: bool) -> None:
        self._set("synchronous", "FULL" if durable else "NORMAL")
        self._set("wal_autocheckpoint", 0 if at_once else _CHECKPOINT)
        patiently(lambda: self.connection.execute("BEGIN IMMEDIATE"), 0.0 if at_once else BUSY_SECONDS)
        try:
            # Another program may have replaced the tables by newer ones since.
            version = self.connection.execute("PRAGMA data_version").fetchone()[0]
            if version != self._data_version:
                require_known(self.connection)
                self._data_version = version
        except BaseException:
            self._roll_back()
            raise

    def _set(self, pragma: str, value: object) -> None:
        if self._pragmas.get(pragma) != value:
            self.connection.execute(f"PRAGMA {pragma} = {value}")
            self._pragmas[pragma] = value

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def _write_together(self, appends: list[Append]) -> bool:
        """False: some append does not continue its session's tail, and the transaction is not fit to commit; of a
        single one, nothing was written."""
        many = self.connection.executemany
        for statement, values in _tail_moves(appends):
            if many(statement, values).rowcount != len(values):
                return False
        self._insert([row for append in appends for row in append.rows])
        for append in appends:
            if append.projection is None:
                continue
            many(_INSERT_TURN, [(append.session, turn, seq) for turn, seq in append.projection.turn_starts])
            for step in append.projection.intents:
                statement = _OPEN_INTENT if len(step) == 3 else _CLOSE_INTENTS
                self.connection.execute(statement, (append.session, *step))
        return True

    def _without_damaged(self, append: Append) -> Append:
        """The same without what would go into damaged pages of the tables that are kept for speed: a reader meets the
        same pages, and asks the events instead."""
        of = append.projection
        if of is None:
            return append
        turns = [(turn, seq) for turn, seq in of.turn_starts if self._can_read(_A_TURN, append.session, turn)]
        intents = [
            step
            for step in of.intents
            if (self._can_read(_AN_INTENT, append.session, step[0]) if len(step) == 3 else True)
            and self._can_read(_INTENTS, append.session)
        ]
        if (len(turns), len(intents)) == (len(of.turn_starts), len(of.intents)):
            return append
        _log.warning("the log goes on without rows of session %s whose pages are damaged", append.session)
        return replace(append, projection=replace(of, turn_starts=turns, intents=intents))

    def _can_read(self, query: str, *values: object) -> bool:
        with unless_damaged():
            self.connection.execute(query, values).fetchall()
            return True
        return False

    def _insert(self, rows: list[EncodedRow]) -> None:
        """In steps of so many at once, because a statement of many rows costs less than the same one run for each."""
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            self.connection.execute(_insert_events(len(some)), tuple(chain.from_iterable(some)))

    def _refusal(self, append: Append) -> StoreError:
        found = self.connection.execute("SELECT last_seq FROM sessions WHERE session = ?", (append.session,)).fetchone()
        if found is None:
            return StoreError(
                "NO_SESSION",
                f"There is no session {append.session} to go on with; it may have been deleted.",
                "Start a new session.",
            )
        if type(found[0]) is not int:
            return StoreError(
                "CORRUPT",
                f"The row of session {append.session} in the list of sessions is damaged. Nothing of this was written.",
                f"Start a new session; `redline show {append.session}` still draws this one.",
            )
        return StoreError(
            "SECOND_WRITER",
            f"Session {append.session} ends at event {found[0]}, not before {append.rows[0][1]}: "
            "another program writes it. Nothing of this was written.",
            "Go on in that program, or open the session again here once it is closed there.",
        )


_AT_ONCE = 32


@cache
def _insert_events(rows: int) -> str:
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
_INSERT_TURN = "INSERT OR IGNORE INTO turns (session, turn, seq) VALUES (?, ?, ?)"
_OPEN_INTENT = "INSERT INTO open_intents (session, seq, turn, call) VALUES (?, ?, ?, ?)"
_A_TURN = "SELECT 1 FROM turns WHERE session = ? AND turn = ?"
_AN_INTENT = "SELECT 1 FROM open_intents WHERE session = ? AND seq = ?"
_INTENTS = "SELECT 1 FROM open_intents WHERE session = ?"
_BESIDE = {"turns": "SELECT 1 FROM turns WHERE session = ?", "open_intents": _INTENTS}
"""The tables that are kept for speed: numbers, and ids of calls. Where a session's rows of one cannot be read, a delete
leaves them."""
_CLOSE_INTENTS = "DELETE FROM open_intents WHERE session = ? AND turn = ? AND call = ?"


def _tail_moves(appends: list[Append]) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
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
