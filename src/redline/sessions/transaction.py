"""What a commit does to the tables of a SQLite log: some appends together, or one delete, whole or not at all."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

from redline.sessions.projection import Projection
from redline.sessions.salvage import is_damage, unless_damaged
from redline.sessions.schema import require_known
from redline.sessions.statements import (
    A_TURN,
    AN_INTENT,
    AT_ONCE,
    BESIDE,
    CLOSE_INTENTS,
    INSERT_TURN,
    INTENTS,
    OPEN_INTENT,
    insert_events,
    tail_moves,
)
from redline.sessions.store import StoreError
from redline.sessions.sweep import DUE, make_due, patiently

BUSY_SECONDS = 30.0
"""How long to wait for another process's transaction."""
_CHECKPOINT = 1_000
"""Pages in the write-ahead log from which a commit carries them over into the file: SQLite's own default."""
_SHORTEN = 256
"""Events that are removed at once where the disk is full; a power of four."""

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
        """Remove all of a session; False: there was none. What it leaves in the file is for `sweep` to take away.

        Where the disk has no room for that in one transaction, the session is first made shorter from its end on.
        """
        try:
            return self._delete(session)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_FULL:
                raise
        self._shorten(session)
        return self._delete(session)

    def _delete(self, session: str) -> bool:
        beside = [table for table, query in BESIDE.items() if self._can_read(query, session)]
        can_be_due = self._can_read(DUE)
        with self._transaction(durable=True):
            existed = self.connection.execute("DELETE FROM sessions WHERE session = ?", (session,)).rowcount
            for table in ("events", *beside):
                self.connection.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
            if can_be_due:
                make_due(self.connection)
        return existed == 1

    def _shorten(self, session: str) -> None:
        """Remove its events in steps as large as the disk has room for, and give that room back after each. In between
        it is a session that ends earlier."""
        step = _SHORTEN
        while step:
            try:
                self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                with self._transaction(durable=False):
                    (last,) = self.connection.execute(
                        "SELECT max(seq) FROM events WHERE session = ?", (session,)
                    ).fetchone()
                    end = max(0, (last or 0) - step)
                    self.connection.execute("DELETE FROM events WHERE session = ? AND seq > ?", (session, end))
                    self.connection.execute("UPDATE sessions SET last_seq = ? WHERE session = ?", (end, session))
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_FULL or step == 1:
                    raise
                step //= 4
                continue
            if not end:
                return

    @contextmanager
    def _transaction(self, *, durable: bool) -> Iterator[None]:
        self._begin(durable=durable, at_once=False)
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

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
        for statement, values in tail_moves(appends):
            if many(statement, values).rowcount != len(values):
                return False
        self._insert([row for append in appends for row in append.rows])
        for append in appends:
            if append.projection is None:
                continue
            many(INSERT_TURN, [(append.session, turn, seq) for turn, seq in append.projection.turn_starts])
            for step in append.projection.intents:
                statement = OPEN_INTENT if len(step) == 3 else CLOSE_INTENTS
                self.connection.execute(statement, (append.session, *step))
        return True

    def _without_damaged(self, append: Append) -> Append:
        """The same without what would go into damaged pages of the tables that are kept for speed: a reader meets the
        same pages, and asks the events instead."""
        of = append.projection
        if of is None:
            return append
        turns = [(turn, seq) for turn, seq in of.turn_starts if self._can_read(A_TURN, append.session, turn)]
        intents = [
            step
            for step in of.intents
            if (self._can_read(AN_INTENT, append.session, step[0]) if len(step) == 3 else True)
            and self._can_read(INTENTS, append.session)
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
        for start in range(0, len(rows), AT_ONCE):
            some = rows[start : start + AT_ONCE]
            self.connection.execute(insert_events(len(some)), tuple(chain.from_iterable(some)))

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
