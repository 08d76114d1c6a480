"""The embedded store: one SQLite file in write-ahead mode, private to the user.

Writing is ordered by `writer.py`; reads run beside it on connections of their own, so that neither waits for the other.
Events are kept as plain JSON text; `docs/session-log.md` describes the tables.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic_core import to_json

from redline.sessions import queries
from redline.sessions.connections import connect, opened, opened_alone, read_carefully
from redline.sessions.events import Event
from redline.sessions.faults import store_error
from redline.sessions.projection import project
from redline.sessions.store import Damaged, Outline, StoreError, Summary
from redline.sessions.transaction import Append, Delete
from redline.sessions.writer import Request, Writer

POLL_SECONDS = 0.25
"""How often a watcher looks for what other processes committed."""
_READERS = 2

_log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


class SqliteStore:
    """A `Store` in one file. Errors are `StoreError`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, carrier: sqlite3.Connection | None) -> None:
        """`carrier` None: the one connection has the file for itself, and all goes over it."""
        self._path = path
        self._only = connection if carrier is None else None
        carrier = carrier or connection
        self._writer = Writer(connection, carrier, path, self._wake_watchers)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="redline-log-reader")
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._outgoing: dict[asyncio.AbstractEventLoop, list[Request]] = {}
        self._closed = False

    @classmethod
    def open(cls, path: Path) -> SqliteStore:
        """Open or create; blocks for a moment. NEWER_SCHEMA, CORRUPT and PERMISSION leave the file as it was.

        On a full disk, a log that nobody else has open is opened for this process alone, which takes no space.
        """
        try:
            return cls(path, *opened(path))
        except (sqlite3.Error, OSError) as error:
            fault = store_error(error, path)
            if fault.code != "NO_SPACE" or not path.exists():
                raise fault from error
            try:
                alone = opened_alone(path)
            except sqlite3.Error:
                raise fault from error
        _log.warning("The disk is full: %s is open for this process alone", path)
        return cls(path, alone, None)

    def submit(self, events: Sequence[Event], *, durable: bool, settled: Callable[[StoreError | None], None]) -> None:
        session, first = events[0].session, events[0].seq
        if len(events) > 1 and [each[:2] for each in events] != [(session, first + n) for n in range(len(events))]:
            raise ValueError("one append takes consecutive events of one session")
        rows = [(session, seq, v, at, kind, to_json(data).decode()) for _, seq, at, kind, data, v in events]
        loop = asyncio.get_running_loop()
        self._put(Append(session, rows, project(events), durable, loop, settled), loop)

    def flush(self) -> None:
        self._send(asyncio.get_running_loop())

    async def append(self, events: Sequence[Event], *, durable: bool) -> None:
        if events:
            done = asyncio.get_running_loop().create_future()
            self.submit(events, durable=durable, settled=lambda error: _settle(done, error))
            await done

    async def page(self, session: str, *, before: int | None = None, limit: int = 500) -> list[Event | Damaged]:
        def bounds(last: int) -> tuple[int, int]:
            end = last if before is None else min(last, before - 1)
            return max(1, end - limit + 1), end

        return await self._read(lambda connection: queries.between(connection, session, bounds))

    async def read(self, session: str, *, after: int = 0, limit: int = 500) -> list[Event | Damaged]:
        def bounds(last: int) -> tuple[int, int]:
            return after + 1, min(last, after + limit)

        return await self._read(lambda connection: queries.between(connection, session, bounds))

    async def tail(self, session: str) -> int:
        return await self._read(lambda connection: queries.tail(connection, session))

    async def watch(self, session: str, *, after: int = 0) -> AsyncIterator[Event | Damaged]:
        woken = asyncio.Event()
        self._watchers.setdefault(session, set()).add(woken)
        try:
            seen = after > 0
            while not self._closed:
                woken.clear()
                tail = await self.tail(session)
                if seen and not tail:
                    return
                seen = tail > 0
                while after < tail:
                    for item in await self.read(session, after=after):
                        yield item
                        after = item.seq
                    tail = await self.tail(session)
                with suppress(TimeoutError):
                    await asyncio.wait_for(woken.wait(), POLL_SECONDS)
        finally:
            self._watchers[session].discard(woken)
            if not self._watchers[session]:
                del self._watchers[session]

    async def sessions(self, *, limit: int = 100, before: int | None = None) -> list[Summary]:
        return await self._read(lambda connection: queries.summaries(connection, limit, before))

    async def summary(self, session: str) -> Summary | None:
        return await self._read(lambda connection: queries.summary(connection, session))

    async def turn_start(self, session: str, turn: int) -> int | None:
        return await self._read(lambda connection: queries.turn_start(connection, session, turn))

    async def turn_bounds(self, session: str, seq: int) -> tuple[int, int | None]:
        return await self._read(lambda connection: queries.turn_bounds(connection, session, seq))

    async def of_types(
        self, session: str, types: Sequence[str], *, after: int = 0, before: int | None = None
    ) -> list[Event | Damaged]:
        return await self._read(lambda connection: queries.of_types(connection, session, types, after, before))

    async def outline(self, session: str, *, after: int, before: int) -> list[Outline]:
        return await self._read(lambda connection: queries.outline(connection, session, after, before))

    async def at(self, session: str, seqs: Sequence[int]) -> list[Event | Damaged]:
        return await self._read(lambda connection: queries.at(connection, session, seqs))

    async def open_intents(self, session: str) -> list[Event]:
        return await self._read(lambda connection: queries.open_intents(connection, session))

    async def delete(self, session: str) -> bool:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[bool] = loop.create_future()
        self._put(Delete(session, loop, lambda answer: _settle(done, answer)), loop)
        return await done

    async def close(self) -> None:
        """Settles what is under way first; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        for loop in list(self._outgoing):
            self._send(loop)
        for watcher in [each for group in self._watchers.values() for each in group]:
            watcher.set()
        await asyncio.to_thread(self._shut)

    def _shut(self) -> None:
        self._readers.shutdown()
        for connection in self._opened:
            connection.close()
        self._writer.close()

    def _put(self, request: Request, loop: asyncio.AbstractEventLoop) -> None:
        """Hand it to the writer at the end of this turn of the loop, with what else comes in it: the writer is woken
        once for all."""
        self._require_open()
        waiting = self._outgoing.get(loop)
        if waiting is None:
            self._outgoing[loop] = waiting = []
            loop.call_soon(self._send, loop)
        waiting.append(request)

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        if requests := self._outgoing.pop(loop, None):
            self._writer.put(requests)

    def _wake_watchers(self, sessions: Iterable[str]) -> None:
        if self._watchers:
            for watcher in [each for session in set(sessions) for each in self._watchers.get(session, ())]:
                watcher.set()

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError("IO", f"The log {self._path} is closed.", "Open it again.")

    async def _read(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        self._require_open()
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._on_reader, work)

    def _on_reader(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        try:
            if self._only is not None:
                with self._writer.using:
                    return work(self._only)
            connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
            if connection is None:
                connection = connect(self._path)
                connection.execute("PRAGMA query_only = ON")
                read_carefully(connection)
                self._local.connection = connection
                self._opened.append(connection)
            return work(connection)
        except sqlite3.Error as error:
            raise store_error(error, self._path) from error


def _settle(done: asyncio.Future[Any], answer: StoreError | bool | None) -> None:
    if done.done():
        return
    if isinstance(answer, StoreError):
        done.set_exception(answer)
    else:
        done.set_result(answer)
