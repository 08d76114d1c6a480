"""The one thread that writes to a SQLite log: what waits together is committed together."""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path

from redline.sessions.faults import store_error
from redline.sessions.projection import Projection
from redline.sessions.schema import require_known
from redline.sessions.store import StoreError

GROUP_LIMIT = 512
"""Requests in one commit, about."""

_log = logging.getLogger(__name__)

EncodedRow = tuple[str, int, int, int, str, str]
"""session, seq, v, at, type, data as JSON text."""


@dataclass(slots=True)
class Append:
    """Consecutive events of one session: all of them or none."""

    session: str
    projection: Projection
    rows: list[EncodedRow]
    durable: bool
    loop: asyncio.AbstractEventLoop
    settled: Callable[[StoreError | None], None]
    """Called on the loop."""


@dataclass(slots=True)
class Delete:
    session: str
    loop: asyncio.AbstractEventLoop
    settled: Callable[[StoreError | bool], None]


Request = Append | Delete
Answer = StoreError | bool | None
Outcome = tuple[Request, Answer]


class Writer:
    """Takes requests in order; `close` ends the thread after what is waiting."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._waiting: queue.SimpleQueue[list[Request] | None] = queue.SimpleQueue()
        self._synchronous = ""
        self._data_version = -1
        self._thread = threading.Thread(target=self._run, name="redline-log-writer", daemon=True)
        self._thread.start()

    def put(self, requests: list[Request]) -> None:
        self._waiting.put(requests)

    def close(self) -> None:
        """Blocks until all that was put is settled."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (requests := self._waiting.get()) is not None:
            group, ending = self._gather(requests)
            outcomes: list[Outcome] = []
            for run in _runs(group):
                outcomes += self._settle(run)
            _tell(outcomes)
            if ending:
                break
        self._connection.close()

    def _gather(self, requests: list[Request]) -> tuple[list[Request], bool]:
        group = list(requests)
        while len(group) < GROUP_LIMIT:
            try:
                more = self._waiting.get_nowait()
            except queue.Empty:
                break
            if more is None:
                return group, True
            group += more
        return group, False

    def _settle(self, run: list[Request]) -> list[Outcome]:
        """Commit a run of appends, or one delete."""
        try:
            return list(zip(run, self._attempt(run), strict=True))
        except (sqlite3.Error, StoreError) as error:
            if len(run) == 1:
                return [(run[0], error if isinstance(error, StoreError) else store_error(error, self._path))]
        # One event that does not fit shall not cost the others: each is tried by itself.
        return [outcome for request in run for outcome in self._settle([request])]

    def _attempt(self, run: list[Request]) -> list[Answer]:
        if isinstance(run[0], Delete):
            return [self._delete(run[0])]
        appends = [request for request in run if isinstance(request, Append)]
        durable = any(append.durable for append in appends)
        self._begin(durable=durable)
        try:
            if self._write_together(appends):
                answers: list[Answer] = [None] * len(appends)
            else:
                # Some tail does not fit: from the start, one by one, to find whose.
                self._roll_back()
                self._begin(durable=durable)
                answers = [None if self._write_together([append]) else self._refusal(append) for append in appends]
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        return answers

    def _begin(self, *, durable: bool) -> None:
        execute = self._connection.execute
        synchronous = "FULL" if durable else "NORMAL"
        if synchronous != self._synchronous:
            execute(f"PRAGMA synchronous = {synchronous}")
            self._synchronous = synchronous
        execute("BEGIN IMMEDIATE")
        try:
            # Another program may have replaced the tables by newer ones since.
            if (version := execute("PRAGMA data_version").fetchone()[0]) != self._data_version:
                require_known(self._connection)
                self._data_version = version
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _write_together(self, appends: list[Append]) -> bool:
        """False: some append does not continue its session's tail, and the transaction is not fit to commit; of a
        single one, nothing was written."""
        many = self._connection.executemany
        for statement, values in _tail_moves(appends):
            if many(statement, values).rowcount != len(values):
                return False
        many(_INSERT_EVENT, chain.from_iterable([append.rows for append in appends]))
        for append in appends:
            if append.projection.turn_starts:
                many(_INSERT_TURN, [(append.session, turn, seq) for turn, seq in append.projection.turn_starts])
            for step in append.projection.intents or ():
                statement = _OPEN_INTENT if len(step) == 3 else _CLOSE_INTENTS
                self._connection.execute(statement, (append.session, *step))
        return True

    def _refusal(self, append: Append) -> StoreError:
        found = self._connection.execute(
            "SELECT last_seq FROM sessions WHERE session = ?", (append.session,)
        ).fetchone()
        if found is None:
            return StoreError(
                "NO_SESSION",
                f"There is no session {append.session} to go on with; it may have been deleted.",
                "Start a new session.",
            )
        return StoreError(
            "SECOND_WRITER",
            f"Session {append.session} ends at event {found[0]}, not before {append.projection.first}: "
            "another program writes it. Nothing of this was written.",
            "Go on in that program, or open the session again here once it is closed there.",
        )

    def _delete(self, request: Delete) -> bool:
        self._begin(durable=True)
        try:
            existed = self._connection.execute("DELETE FROM sessions WHERE session = ?", (request.session,)).rowcount
            for table in ("events", "turns", "open_intents"):
                self._connection.execute(f"DELETE FROM {table} WHERE session = ?", (request.session,))
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        # What was deleted still stands in the write-ahead log; where a reader is busy it goes at a later checkpoint.
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            _log.info("the write-ahead log was not emptied after a delete: %s", error)
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        return existed == 1


BUSY_MILLISECONDS = 30_000
"""How long to wait for another process's transaction."""

_INSERT_EVENT = "INSERT INTO events (session, seq, v, at, type, data) VALUES (?, ?, ?, ?, ?, ?)"
_INSERT_SESSION = (
    "INSERT OR IGNORE INTO sessions (session, workspace, agent, title, started_at, updated_at, last_seq, turns, added,"
    " removed, closed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE_SESSION = (
    "UPDATE sessions SET last_seq = ?, updated_at = ?, workspace = coalesce(?, workspace), agent = coalesce(?, agent),"
    " title = coalesce(?, title), turns = max(turns, ?), added = added + ?, removed = removed + ?,"
    " closed = coalesce(?, closed) WHERE session = ? AND last_seq = ?"
)


_MOVE_TAIL = "UPDATE sessions SET last_seq = ?, updated_at = ? WHERE session = ? AND last_seq = ?"
_INSERT_TURN = "INSERT OR IGNORE INTO turns (session, turn, seq) VALUES (?, ?, ?)"
_OPEN_INTENT = "INSERT INTO open_intents (session, seq, turn, call) VALUES (?, ?, ?, ?)"
_CLOSE_INTENTS = "DELETE FROM open_intents WHERE session = ? AND turn = ? AND call = ?"


def _tail_moves(appends: list[Append]) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    """The statements that move the tails, with the values of consecutive appends that share one."""
    for statement, group in groupby(appends, _tail_statement):
        values = _VALUES[statement]
        yield statement, [values(append) for append in group]


def _tail_statement(append: Append) -> str:
    if append.projection.first == 1:
        return _INSERT_SESSION
    return _MOVE_TAIL if append.projection.plain else _UPDATE_SESSION


def _moved_tail(append: Append) -> tuple[object, ...]:
    of = append.projection
    return of.last, of.updated_at, append.session, of.first - 1


def _new_summary(append: Append) -> tuple[object, ...]:
    of = append.projection
    return (
        append.session, of.workspace or "", of.agent or "", of.title or "", of.started_at, of.updated_at, of.last,
        of.turns, of.added, of.removed, bool(of.closed),
    )  # fmt: skip


def _summary_update(append: Append) -> tuple[object, ...]:
    of = append.projection
    return (
        of.last, of.updated_at, of.workspace, of.agent, of.title, of.turns, of.added, of.removed, of.closed,
        append.session, of.first - 1,
    )  # fmt: skip


_VALUES: dict[str, Callable[[Append], tuple[object, ...]]] = {
    _INSERT_SESSION: _new_summary,
    _MOVE_TAIL: _moved_tail,
    _UPDATE_SESSION: _summary_update,
}


def _runs(group: list[Request]) -> Iterable[list[Request]]:
    """The group in order, each delete by itself."""
    run: list[Request] = []
    for request in group:
        if isinstance(request, Delete):
            if run:
                yield run
            yield [request]
            run = []
        else:
            run.append(request)
    if run:
        yield run


def _tell(outcomes: list[Outcome]) -> None:
    """Hand the outcomes to the loops that wait for them: one wake-up a loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Outcome]] = {}
    for outcome in outcomes:
        by_loop.setdefault(outcome[0].loop, []).append(outcome)
    for loop, theirs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, theirs)
        except RuntimeError:  # the loop was closed while its events were on their way; they are committed all the same
            _log.debug("nobody waits any more for %d outcomes", len(theirs))


def _resolve(outcomes: list[Outcome]) -> None:
    for request, answer in outcomes:
        try:
            request.settled(answer)  # type: ignore[arg-type]  # an append is never answered by a bool, nor a delete by None
        except Exception:  # one waiter's fault shall not leave the others waiting
            _log.exception("a waiter for the log failed")
