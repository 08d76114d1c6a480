"""The one thread that writes to a SQLite log: what waits together is committed together."""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from redline.sessions.events import Event
from redline.sessions.faults import store_error
from redline.sessions.projection import Projection, project
from redline.sessions.schema import require_known
from redline.sessions.store import StoreError

GROUP_LIMIT = 512
"""Requests in one commit."""

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
    settled: asyncio.Future[None]


@dataclass(slots=True)
class Delete:
    session: str
    loop: asyncio.AbstractEventLoop
    settled: asyncio.Future[bool]


Request = Append | Delete
Outcome = tuple[Request, bool | StoreError | None]


class Writer:
    """Takes requests in order; `close` ends the thread after what is waiting."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._waiting: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._synchronous = ""
        self._data_version = -1
        self._thread = threading.Thread(target=self._run, name="redline-log-writer", daemon=True)
        self._thread.start()

    def put(self, request: Request) -> None:
        self._waiting.put(request)

    def close(self) -> None:
        """Blocks until all that was put is settled."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (request := self._waiting.get()) is not None:
            group, ending = self._gather(request)
            outcomes: list[Outcome] = []
            for run in _runs(group):
                outcomes += self._settle(run)
            _tell(outcomes)
            if ending:
                break
        self._connection.close()

    def _gather(self, first: Request) -> tuple[list[Request], bool]:
        group = [first]
        while len(group) < GROUP_LIMIT:
            try:
                request = self._waiting.get_nowait()
            except queue.Empty:
                break
            if request is None:
                return group, True
            group.append(request)
        return group, False

    def _settle(self, run: list[Request]) -> list[Outcome]:
        """Commit a run of appends, or one delete."""
        if isinstance(run[0], Delete):
            return [self._guarded(run, self._delete)]
        appends = [request for request in run if isinstance(request, Append)]
        try:
            return list(zip(run, self._commit(appends), strict=True))
        except (sqlite3.Error, StoreError):
            if len(run) == 1:
                return [self._guarded(run, self._append_alone)]
        # One event that does not fit shall not cost the others: each is tried by itself.
        return [self._guarded([request], self._append_alone) for request in run]

    def _guarded(self, run: list[Request], work: Callable[[Request], bool | StoreError | None]) -> Outcome:
        try:
            return run[0], work(run[0])
        except sqlite3.Error as error:
            return run[0], store_error(error, self._path)
        except StoreError as error:
            return run[0], error

    def _append_alone(self, request: Request) -> StoreError | None:
        assert isinstance(request, Append)
        return self._commit([request])[0]

    def _commit(self, appends: list[Append]) -> list[StoreError | None]:
        """One transaction; what the tail check refuses is left out of it and told, the rest is committed."""
        self._begin(durable=any(append.durable for append in appends))
        try:
            results = [self._write(append) for append in appends]
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        return results

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

    def _write(self, append: Append) -> StoreError | None:
        projection, session = append.projection, append.session
        if not self._continue_tail(session, projection):
            return self._refusal(append)
        execute = self._connection.execute
        if len(append.rows) == 1:
            execute(_INSERT_EVENT, append.rows[0])
        else:
            self._connection.executemany(_INSERT_EVENT, append.rows)
        for turn, seq in projection.turn_starts:
            execute("INSERT OR IGNORE INTO turns VALUES (?, ?, ?)", (session, turn, seq))
        for step in projection.intents:
            if len(step) == 3:
                execute("INSERT INTO open_intents VALUES (?, ?, ?, ?)", (session, *step))
            else:
                execute("DELETE FROM open_intents WHERE session = ? AND turn = ? AND call = ?", (session, *step))
        return None

    def _continue_tail(self, session: str, projection: Projection) -> bool:
        """Move the session's tail from just before these events to their end, if it stands there."""
        if projection.first == 1:
            cursor = self._connection.execute(_INSERT_SESSION, _new_summary(session, projection))
        else:
            cursor = self._connection.execute(_UPDATE_SESSION, _summary_update(session, projection))
        return cursor.rowcount == 1

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

    def _delete(self, request: Request) -> bool:
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


def prepared(session: str, events: Sequence[Event], encoded: Sequence[str]) -> tuple[Projection, list[EncodedRow]]:
    """What an `Append` needs of its events."""
    rows = [
        (session, event.seq, event.v, event.at, event.type, text) for event, text in zip(events, encoded, strict=True)
    ]
    return project(events), rows


def _new_summary(session: str, projection: Projection) -> tuple[object, ...]:
    return (
        session, projection.workspace or "", projection.agent or "", projection.title or "", projection.started_at,
        projection.updated_at, projection.last, projection.turns, projection.added, projection.removed,
        bool(projection.closed),
    )  # fmt: skip


def _summary_update(session: str, projection: Projection) -> tuple[object, ...]:
    return (
        projection.last, projection.updated_at, projection.workspace, projection.agent, projection.title,
        projection.turns, projection.added, projection.removed, projection.closed, session, projection.first - 1,
    )  # fmt: skip


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
    for request, outcome in outcomes:
        settled = request.settled
        if settled.done():
            continue
        if isinstance(outcome, StoreError):
            settled.set_exception(outcome)
        elif isinstance(request, Delete):
            request.settled.set_result(outcome is True)
        else:
            request.settled.set_result(None)
