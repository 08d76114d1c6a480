"""One session's log as its writer sees it: through the gate and the door, committed, and only then told.

A listener gets an event after the store has it; so whatever was shown is there after a crash. The one exception is the
text that a model is just writing (`stream.py`), which has listeners of its own.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Protocol

from redline.sessions.door import Door, door, masked
from redline.sessions.events import DURABLE, EVENT_TYPES, Event
from redline.sessions.gate import Admitted, GateError, admit
from redline.sessions.redaction import Redactor
from redline.sessions.store import Damaged, Store, StoreError, is_session_name
from redline.sessions.stream import TextDelta, TextStream

if TYPE_CHECKING:
    from pathlib import Path

LARGE_EVENT = 64 * 2**10
"""Bytes above which masking runs on a thread, so that other sessions go on meanwhile."""

_log = logging.getLogger(__name__)


class BlobSink(Protocol):
    """The private store of bytes, for one session."""

    async def put(self, data: bytes) -> str | None:
        """Keep the bytes durably; their blob id, or None where they are over a bound."""
        ...


class _Pending:
    """An event on its way to the store: an `Entrant` of the door."""

    __slots__ = (
        "admitted", "at", "done", "durable", "error", "event", "log", "passed", "redactor", "seq", "store", "told",
        "type",
    )  # fmt: skip
    seq: int
    at: int
    told: asyncio.Future[Event]

    def __init__(self, log: SessionLog, type: str, admitted: Admitted, *, durable: bool, passed: bool = False) -> None:  # noqa: A002
        self.log = log
        self.redactor = log.redactor
        self.store = log.store
        self.type = type
        self.admitted = admitted
        self.durable = durable
        self.passed = passed
        self.event: Event | None = None
        self.done = False
        self.error: BaseException | None = None

    def through(self, data: Any, error: BaseException | None) -> None:
        """Past the door: on to the store. Whatever goes wrong is told to the appender, which waits for nothing else."""
        if error is None:
            try:
                self.event = event = Event(self.log.session, self.seq, self.at, self.type, data)
                self.store.submit((event,), durable=self.durable, settled=self.answered)
            except Exception as fault:
                error = fault
        if error is not None:
            self.answered(error)

    def answered(self, error: BaseException | None) -> None:
        """By the store."""
        self.error = error
        self.done = True
        self.log.settle()


class SessionLog:
    """Use `create` or `open`. One writer a session: whoever appends holds its `Lease`."""

    def __init__(self, store: Store, redactor: Redactor, session: str, last: int, blobs: BlobSink | None) -> None:
        self.store = store
        self.session = session
        self.redactor = redactor
        self.leases: Path | None = None
        """The folder of the leases, which tell the sessions that run; None: nobody knows it."""
        self._blobs = blobs
        self._committed = last
        self._numbered = last
        self._latest = 0
        self._order = asyncio.Lock()
        self._door: Door | None = None
        self._queued = 0
        """Appends that hold or await the order."""
        self._pending: deque[_Pending] = deque()
        self._failure: BaseException | None = None
        self._settled = asyncio.Event()
        self._listeners: list[Callable[[Event], None]] = []
        self._text_listeners: list[Callable[[TextDelta], None]] = []

    @classmethod
    async def create(
        cls, store: Store, redactor: Redactor, *, session: str | None = None, blobs: BlobSink | None = None
    ) -> SessionLog:
        """A new session; it exists from its first event on. `ValueError` for a name that cannot be a file's."""
        name = new_session_name() if session is None else session
        if not is_session_name(name):
            raise ValueError(f"{name!r} cannot name a session: use letters, digits, '.', '_' and '-', at most 128")
        return cls(store, redactor, name, 0, blobs)

    @classmethod
    async def open(cls, store: Store, redactor: Redactor, session: str, *, blobs: BlobSink | None = None) -> SessionLog:
        """A session that is there, else `StoreError` NO_SESSION."""
        last = await store.tail(session)
        if not last:
            raise StoreError("NO_SESSION", f"There is no session {session}.", "List them with: redline sessions")
        return cls(store, redactor, session, last, blobs)

    @property
    def seq(self) -> int:
        """The last event that is committed; 0: none yet."""
        return self._committed

    async def append(self, type: str, data: dict[str, Any], *, durable: bool | None = None) -> Event:  # noqa: A002
        """Commit one event and tell the listeners; calls are committed in the order in which they began.

        `data` is copied before anything else happens. Returns the event as the log holds it: masked, without lone
        surrogates, large strings of agents left out. `durable` None: as `events.DURABLE` says. Raises `GateError` or
        `StoreError`, and nothing was written; the next append may succeed. A caller that is cancelled may find the
        event committed all the same.
        """
        flushed = type in DURABLE if durable is None else durable
        pending = _Pending(self, type, self._admit(type, data), durable=flushed)
        return await (self._begin(pending) if self._is_quick(pending) else self._append_in_turn(pending))

    async def append_masked(self, type: str, data: dict[str, Any]) -> Event:  # noqa: A002
        """As `append`, for text that has passed the door already."""
        pending = _Pending(self, type, self._admit(type, data), durable=type in DURABLE, passed=True)
        return await (self._begin(pending) if self._is_quick(pending) else self._append_in_turn(pending))

    def subscribe(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call it with each event once committed, in order. Returns what ends that. A listener that raises is
        logged."""
        return _join(self._listeners, listener)

    def subscribe_text(self, listener: Callable[[TextDelta], None]) -> Callable[[], None]:
        """Call it with text at once, before it is committed."""
        return _join(self._text_listeners, listener)

    def text(self, type: str, turn: int, message: str) -> TextStream:  # noqa: A002
        """A stream for `assistant/message` or `assistant/thought`."""
        return TextStream(self, type, turn, message)

    def tell_text(self, delta: TextDelta) -> None:
        _tell(self._text_listeners, delta)

    async def page(self, *, before: int | None = None, limit: int = 500) -> list[Event | Damaged]:
        """The last `limit` events with `seq < before`; see `Store.page`."""
        return await self.store.page(self.session, before=before, limit=limit)

    async def events(self, *, after: int = 0) -> AsyncIterator[Event]:
        """All events with `seq > after` that can be read, in order, in pages."""
        while page := await self.store.read(self.session, after=after):
            for item in page:
                if isinstance(item, Event):
                    yield item
            after = page[-1].seq

    def _admit(self, type: str, data: dict[str, Any]) -> Admitted:  # noqa: A002
        if type not in EVENT_TYPES:
            raise GateError("type", f"{type!r} is not a type of event")
        if not isinstance(data, dict):
            raise GateError("", "an event's data is an object")
        return admit(data, omit=self._blobs is not None)

    async def _keep(self, admitted: Admitted) -> None:
        for omitted in admitted.omitted:
            assert self._blobs is not None
            blob = await self._blobs.put(omitted.data)
            if blob is not None:
                omitted.place["blob"] = blob

    def _is_quick(self, pending: _Pending) -> bool:
        """As in most cases: the event needs nothing that takes time, and no other waits for such."""
        admitted = pending.admitted
        slow = admitted.omitted or (admitted.size > LARGE_EVENT and not pending.passed)
        return not slow and not self._queued and self._failure is None

    async def _append_in_turn(self, pending: _Pending) -> Event:
        self._queued += 1
        try:
            async with self._order:
                await self._prepare(pending)
                told = self._begin(pending)
        finally:
            self._queued -= 1
        return await told

    async def _prepare(self, pending: _Pending) -> None:
        await self._keep(pending.admitted)
        if pending.admitted.size > LARGE_EVENT and not pending.passed:
            pending.admitted.value = await asyncio.to_thread(masked, self.redactor, pending.admitted)
            pending.passed = True
        while self._failure is not None:
            await self._settled.wait()

    def _begin(self, pending: _Pending) -> asyncio.Future[Event]:
        """Number the event and send it to the door."""
        self._numbered += 1
        self._latest = max(self._latest, time.time_ns() // 1_000_000)
        pending.seq, pending.at = self._numbered, self._latest
        loop = asyncio.get_running_loop()
        if self._door is None or self._door.loop is not loop:
            self._door = door()
        pending.told = loop.create_future()
        self._pending.append(pending)
        self._door.enter(pending)
        return pending.told

    def settle(self) -> None:
        """Tell, in order, what the store has answered; called when it has."""
        while self._pending and self._pending[0].done:
            pending = self._pending.popleft()
            told, event = pending.told, pending.event
            if pending.error is None and event is not None:
                self._committed = event.seq
                _tell(self._listeners, event)
                if not told.done():
                    told.set_result(event)
                continue
            # What follows a failed event cannot be committed either, and fails for the same reason.
            self._failure = self._failure or pending.error
            self._settled.clear()
            if self._failure is not None and not told.done():
                told.set_exception(self._failure)
                told.exception()
        if self._failure is not None and not self._pending:
            self._failure = None
            self._numbered = self._committed
            self._settled.set()


def new_session_name() -> str:
    """Sorts by time and can be typed: `20260131-142755-k3f9qa`."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + "".join(secrets.choice(letters) for _ in range(6))


def _join(listeners: list[Any], listener: Any) -> Callable[[], None]:
    entry = [listener]
    listeners.append(entry)

    def leave() -> None:
        if entry in listeners:
            listeners.remove(entry)

    return leave


def _tell(listeners: list[Any], what: object) -> None:
    for (listener,) in tuple(listeners):
        try:
            listener(what)
        except Exception:  # one listener's fault shall not stop the log or the others
            _log.exception("a listener of the session log failed")
