"""A stream: the one event stream of a tab, for all sessions that it looks at.

Its queue is bounded. A tab that is too slow for it loses the queue, not what was in it: when it is ready it gets each
row that has changed as it is then, from the cursor of what was really sent.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from redline.sessions.store import is_session_name
from redline.surfaces.dashboard import contract as wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

QUEUE_LIMIT = 256
"""Pieces that may wait for a tab."""
QUEUE_BYTES = 8 * 2**20
SUBSCRIPTION_LIMIT = 32
"""Sessions on one stream: their cursors travel in a header."""


class Stream:
    def __init__(self, identity: str, *, listing: bool, catch_up: Callable[[Stream, str, int], None]) -> None:
        """`catch_up(stream, session, after)` pushes what has changed since."""
        self.identity = identity
        self.listing = listing
        """It hears of changes in the list of sessions."""
        self.cursors: dict[str, int] = {}
        """Of each session: the event up to which the tab has been sent everything."""
        self._catch_up = catch_up
        self._queue: deque[tuple[str, int, bytes]] = deque()
        self._size = 0
        self._lagging: dict[str, None] = {}
        self._more = asyncio.Event()
        self._ended = False

    def push(self, session: str, seq: int, data: bytes) -> None:
        """Add bytes of whole events; `session` empty: of no session. With them the tab has all up to `seq`."""
        if session in self._lagging:
            return
        if self._queue and (len(self._queue) >= QUEUE_LIMIT or self._size + len(data) > QUEUE_BYTES):
            self._lag(session)
            return
        self._queue.append((session, seq, data))
        self._size += len(data)
        self._more.set()

    def end(self) -> None:
        """No more comes: the response ends."""
        self._ended = True
        self._more.set()

    def forget(self, session: str) -> None:
        """The tab does not look at it any more."""
        self.cursors.pop(session, None)
        self._lagging.pop(session, None)
        self._queue = deque(one for one in self._queue if one[0] != session)
        self._size = sum(len(data) for _, _, data in self._queue)

    async def chunks(self) -> AsyncIterator[bytes]:
        """What is to be sent, each time everything that waits, with the cursors after it as the event's id."""
        while not self._ended:
            if not self._queue and self._lagging:
                session = next(iter(self._lagging))
                del self._lagging[session]
                self._catch_up(self, session, self.cursors.get(session, 0))
            if not self._queue:
                self._more.clear()
                await self._more.wait()
                continue
            parts = []
            while self._queue:
                session, seq, data = self._queue.popleft()
                parts.append(data)
                if session in self.cursors:
                    self.cursors[session] = max(self.cursors[session], seq)
            self._size = 0
            # An event of an id alone is not shown to the page, and remembered by the browser.
            parts.append(b"id: %s\n\n" % cursor(self.cursors).encode())
            yield b"".join(parts)

    def _lag(self, session: str) -> None:
        for waiting, _, _ in self._queue:
            if waiting:
                self._lagging[waiting] = None
        if session:
            self._lagging[session] = None
        self._queue.clear()
        self._size = 0
        self._more.set()


def cursor(cursors: dict[str, int]) -> str:
    """As `Last-Event-ID` gives it back: `session:seq`, comma-separated."""
    return ",".join(f"{session}:{seq}" for session, seq in cursors.items())


def subscriptions(said: str) -> list[wire.Subscription]:
    """Of a cursor, or of a query; what is none is left out, and a session counts once."""
    found: dict[str, wire.Subscription] = {}
    for one in said.split(",")[:SUBSCRIPTION_LIMIT]:
        session, _, seq = one.strip().rpartition(":")
        if is_session_name(session) and seq.isascii() and seq.isdigit() and len(seq) < 16:
            found[session] = wire.Subscription(session=session, after=int(seq))
    return list(found.values())
