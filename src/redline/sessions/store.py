"""What a store of session logs does. Every store passes the suite in `tests/sessions/store_contract.py`."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from redline.sessions.events import Event

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")


def is_session_name(name: str) -> bool:
    """Letters, digits, `.`, `_` and `-`, at most 128: a name that is also a safe file name."""
    return _NAME.match(name) is not None


class StoreError(Exception):
    """`code`: NEWER_SCHEMA, SECOND_WRITER, NO_SESSION, NO_SPACE, PERMISSION, BUSY, CORRUPT, IO."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(f"{code}: {message} {remedy}")
        self.code = code
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Summary:
    """One session in a list; read without reading events."""

    session: str
    workspace: str
    agent: str
    title: str
    started_at: int
    """Milliseconds since the epoch, like all times here."""
    updated_at: int
    last_seq: int
    turns: int
    added: int
    """Lines of applied changes, summed over the session's results."""
    removed: int
    closed: bool
    exact: bool = True
    """False: some change was too large to compare line by line, so the counts are about right (≈)."""
    at_least: bool = False
    """True: the lines of some change could not be counted, so the counts are lower bounds (≥)."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A row that could not be read: it costs itself only."""

    session: str
    seq: int
    reason: str


class Outline(NamedTuple):
    """What an event is about, told without decoding it; empty or 0 where it names none, or cannot be read."""

    seq: int
    type: str
    turn: int
    call: str
    message: str
    request: str
    has_changes: bool


class Store(Protocol):
    def submit(self, events: Sequence[Event], *, durable: bool, settled: Callable[[StoreError | None], None]) -> None:
        """`append` without the wait: `settled` is called once on the running loop, in the order of the calls."""
        ...

    def flush(self) -> None:
        """Go on at once with what this turn of the running loop has submitted, instead of at the end of the turn."""
        ...

    async def append(self, events: Sequence[Event], *, durable: bool) -> None:
        """Add events of one session, `seq` continuing its tail, else `StoreError("SECOND_WRITER")` and nothing is
        written. The first event of a session creates it. Returns once committed (flushed, if durable): the events
        then survive the death of this process.

        Calls are committed in the order in which they began. One that is cancelled may still be committed."""
        ...

    async def page(self, session: str, *, before: int | None = None, limit: int = 500) -> list[Event | Damaged]:
        """The last `limit` events with `seq < before` (None: of all), in order."""
        ...

    async def read(self, session: str, *, after: int = 0, limit: int = 500) -> list[Event | Damaged]:
        """The first `limit` events with `seq > after`, in order."""
        ...

    async def tail(self, session: str) -> int:
        """The last `seq`; 0: no such session. Sees what other processes committed."""
        ...

    def watch(self, session: str, *, after: int = 0) -> AsyncIterator[Event | Damaged]:
        """Events with `seq > after` as they are committed, by whichever process, within a second; ends when the
        session is deleted."""
        ...

    async def sessions(self, *, limit: int = 100, before: int | None = None) -> list[Summary]:
        """Newest first by `updated_at` (those strictly earlier than `before`); a few more than `limit` where several
        share the last one's time, so that paging by it misses none."""
        ...

    async def summary(self, session: str) -> Summary | None: ...

    async def turn_start(self, session: str, turn: int) -> int | None:
        """The `seq` of that turn's `turn/started`, without a scan."""
        ...

    async def turn_bounds(self, session: str, seq: int) -> tuple[int, int | None]:
        """The `seq` of the last `turn/started` at or before `seq` (1: there is none), and of the first one after it
        (None: there is none), without a scan."""
        ...

    async def of_types(
        self, session: str, types: Sequence[str], *, after: int = 0, before: int | None = None
    ) -> list[Event | Damaged]:
        """The events of these types with `after < seq < before`, in order; the others are passed over unread."""
        ...

    async def outline(self, session: str, *, after: int, before: int) -> list[Outline]:
        """One for each event with `after < seq < before`, in order: some microseconds each."""
        ...

    async def at(self, session: str, seqs: Sequence[int]) -> list[Event | Damaged]:
        """The events with these `seq`, in the order of `seqs`."""
        ...

    async def open_intents(self, session: str) -> list[Event]:
        """`file/intent` events whose call has no `tool/result` or `change/reverted` yet, without a scan of the log."""
        ...

    async def delete(self, session: str) -> bool:
        """False: there was none."""
        ...

    async def close(self) -> None: ...
