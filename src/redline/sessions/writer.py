"""Who commits to a SQLite log: one thread, so that what waits together is committed together; or at once.

A commit that need not reach the disk takes less time than it takes to wake a thread and to be woken by it. So where
nothing else is under way, a few small events are committed where they are: on the event loop, without waiting for
another process, and without carrying the write-ahead log over into the file. All else is the thread's: what has to be
flushed, what is large, and what somebody else is in the way of. It also carries the log over, while the loop goes on
(https://sqlite.org/wal.html, "Checkpointing": a passive one keeps neither writers nor readers waiting).
"""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from redline.sessions.faults import store_error
from redline.sessions.store import StoreError
from redline.sessions.sweep import BEARABLE, QUICK, due, sweep
from redline.sessions.transaction import Append, Delete, Transactions

GROUP_LIMIT = 512
"""Requests in one commit, about."""
_FEW = 32
"""Requests that are committed on the loop: well under a millisecond."""
_SMALL = 64 * 2**10
"""Characters of them all."""
_IN_A_ROW = 100
"""Commits on the loop until the thread carries the write-ahead log over into the file."""
_MOST_IN_A_ROW = 500
"""Commits on the loop while the thread still carries over what was before them."""
_LONG = 6_000
"""Pages in the write-ahead log from which nobody commits until all of it has been carried over: 24 MiB."""
_SWEEP_SECONDS = 5.0
"""Without a request, after which it is tried again to take away what a delete left."""

_log = logging.getLogger(__name__)

Request = Append | Delete
Answer = StoreError | bool | None
Outcome = tuple[Request, Answer]
_NOTHING: list[Request] = []


class Writer:
    """Takes requests in order; `close` ends the thread after what is waiting."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        carrier: sqlite3.Connection,
        path: Path,
        told: Callable[[Iterable[str]], None],
    ) -> None:
        """Two connections to the file at `path`, or the same one twice, the second for carrying over; both are closed
        with the writer. `told`:
        called on the loop with the sessions of requests that have been settled."""
        self._connection = connection
        self._carrier = carrier
        self._when_told = told
        self._path = path
        self._transactions = Transactions(connection)
        self.using = threading.Lock()
        """Held by whoever uses the connection."""
        self._waiting: queue.SimpleQueue[list[Request] | None] = queue.SimpleQueue()
        self._untold = 0
        """Requests that went to the thread and of which nobody has been told yet."""
        self._counting = threading.Lock()
        self._in_a_row = 0
        self._is_long = False
        """The write-ahead log."""
        self._is_swept = not due(connection)
        self._has_deleted = False
        self._thread = threading.Thread(target=self._run, name="redline-log-writer", daemon=True)
        self._thread.start()

    def put(self, requests: list[Request]) -> None:
        """Requests of one loop, called on a loop. They are settled in the order in which they came."""
        if self._is_quick(requests) and self._settle_here(requests):
            return
        with self._counting:
            self._untold += len(requests)
        self._waiting.put(requests)

    def close(self) -> None:
        """Blocks until all that was put is settled."""
        self._waiting.put(None)
        self._thread.join()

    # On the loop.

    def _is_quick(self, requests: list[Request]) -> bool:
        if self._untold or self._is_long or self._in_a_row >= _MOST_IN_A_ROW or len(requests) > _FEW:
            return False
        if requests[0].loop is not asyncio.get_running_loop():  # whoever waits is told by its own
            return False
        size = 0
        for request in requests:
            if isinstance(request, Delete) or request.durable:
                return False
            for row in request.rows:
                size += len(row[-1])
        return size <= _SMALL

    def _settle_here(self, requests: list[Request]) -> bool:
        """False: it could not be done at once, and nothing was written."""
        if not self.using.acquire(blocking=False):
            return False
        try:
            answers = self._transactions.append([each for each in requests if isinstance(each, Append)], at_once=True)
        except (sqlite3.Error, StoreError):
            return False  # the thread tries again, and what it meets is the answer
        finally:
            self.using.release()
        self._in_a_row += 1
        if self._in_a_row == _IN_A_ROW:
            self._waiting.put([])  # nothing to commit: to carry over
        self._resolve(list(zip(requests, answers, strict=True)))
        return True

    def _told(self, outcomes: list[Outcome]) -> None:
        with self._counting:
            self._untold -= len(outcomes)
        self._resolve(outcomes)

    def _resolve(self, outcomes: list[Outcome]) -> None:
        for request, answer in outcomes:
            try:
                request.settled(answer)  # type: ignore[arg-type]  # an append is never answered by a bool, nor a delete by None
            except Exception:  # one waiter's fault shall not leave the others waiting
                _log.exception("a waiter for the log failed")
        self._when_told(request.session for request, _ in outcomes)

    # On the thread.

    def _run(self) -> None:
        if not self._is_swept:
            self._sweep(QUICK)  # what an earlier process could not
        while (requests := self._next()) is not None:
            group, ending = self._gather(requests)
            if group:
                self._commit(group)
            elif requests is not _NOTHING:
                self._carry_over()
            if requests is _NOTHING:
                self._sweep(0)
            if ending:
                break
        if not self._is_swept:
            self._sweep(BEARABLE if self._has_deleted else QUICK)
        with self.using:
            self._carrier.close()
            self._connection.close()

    def _commit(self, group: list[Request]) -> None:
        outcomes: list[Outcome] = []
        with self.using:
            for run in _runs(group):
                outcomes += self._settle(run)
        self._in_a_row = 0
        self._is_long = False
        self._tell(outcomes)

    def _next(self) -> list[Request] | None:
        """What came in, None at the end, or `_NOTHING`: it is time to try again to sweep."""
        try:
            return self._waiting.get(timeout=None if self._is_swept else _SWEEP_SECONDS)
        except queue.Empty:
            return _NOTHING

    def _sweep(self, limit: int) -> None:
        """`limit`: see `sweep`; 0: only empty the write-ahead log, where that is what is left to do."""
        with self.using:
            self._is_swept = sweep(self._connection, self._path, limit)

    def _carry_over(self) -> None:
        """The log begins anew only when no page of it is left to carry over, which may not happen while the loop goes
        on: if it grows long, the next commit is the thread's, with nobody beside it."""
        self._in_a_row = 0
        try:
            _, pages, _ = self._carrier.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error as error:
            _log.info("the write-ahead log was not carried over: %s", error)
            pages = _LONG
        self._is_long = pages >= _LONG

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
            answer = self._transactions.delete(run[0].session)
            self._has_deleted = True
            self._is_swept = sweep(self._connection, self._path, BEARABLE)
            return [answer]
        return [*self._transactions.append([request for request in run if isinstance(request, Append)])]

    def _tell(self, outcomes: list[Outcome]) -> None:
        """Hand the outcomes to the loops that wait for them: one wake-up a loop."""
        by_loop: dict[asyncio.AbstractEventLoop, list[Outcome]] = {}
        for outcome in outcomes:
            by_loop.setdefault(outcome[0].loop, []).append(outcome)
        for loop, theirs in by_loop.items():
            try:
                loop.call_soon_threadsafe(self._told, theirs)
            except (
                RuntimeError
            ):  # the loop was closed while its events were on their way; they are committed all the same
                _log.debug("nobody waits any more for %d outcomes", len(theirs))
                with self._counting:
                    self._untold -= len(theirs)


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
