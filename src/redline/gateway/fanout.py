"""Fan-out: each surface gets the rows of a session at its own pace.

What waits for a slow surface is which rows have changed, not every version of them: when it is ready, it gets each of
those rows as it is now. So what waits is bounded by the transcript, and nobody waits for a surface.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from redline.transcript.rows import agent_row_id, thought_row_id

if TYPE_CHECKING:
    from redline.gateway.audience import Audience
    from redline.sessions.events import Event
    from redline.sessions.store import Damaged
    from redline.sessions.stream import TextDelta
    from redline.transcript.fold import Transcript

WAITING_LIMIT = 64
"""Things that may wait for a surface one by one; above it they are merged, and streamed text is left to the rows."""

TEXT_LIMIT = 64 * 1024
"""Characters of streamed text that may wait for a surface."""

Fault = Callable[[str, Exception], None]
"""Told of a surface that raised, by name."""


@dataclass(slots=True)
class _Rows:
    """Row ids, each once, in the order of their first change since the last delivery."""

    ids: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class _Text:
    row: str
    turn: int
    kind: str
    text: str


class Fanout:
    """The subscriptions of one session. Everything but delivery happens at once, inside the log's own call."""

    def __init__(self, transcript: Transcript, fault: Fault = lambda _name, _error: None) -> None:
        self._transcript = transcript
        self._fault = fault
        self._subscriptions: list[Subscription] = []

    @property
    def transcript(self) -> Transcript:
        return self._transcript

    @property
    def surfaces(self) -> list[Audience]:
        return [subscription.surface for subscription in self._subscriptions]

    def subscribe(self, surface: Audience, *, after: int = 0) -> Subscription:
        """Attach a surface. It first gets every row that changed after the event `after` (0: all; the transcript's
        last: none), then all that comes."""
        subscription = Subscription(surface, self._transcript, self._fault, self._leave)
        subscription.add_rows([row.id for row in self._transcript.rows if row.revision > after])
        self._subscriptions.append(subscription)
        return subscription

    def take(self, event: Event | Damaged) -> None:
        """A listener of the session log. An event that was taken before is passed over."""
        if event.seq <= self._transcript.seq:
            return
        ids = [row.id for row in self._transcript.apply(event)]
        for subscription in self._subscriptions:
            subscription.add_rows(ids)

    def touch(self) -> None:
        """Something beside the rows has changed: every surface is shown the session's state again."""
        for subscription in self._subscriptions:
            subscription.add_rows([])

    def take_text(self, delta: TextDelta) -> None:
        """A listener of the session log's text."""
        for subscription in self._subscriptions:
            subscription.add_text(delta)

    async def drain(self, seconds: float) -> bool:
        """Wait until every surface has been shown what there is, but no longer than `seconds`. True: all have."""
        waiting = [asyncio.create_task(subscription.idle()) for subscription in self._subscriptions]
        if not waiting:
            return True
        _, late = await asyncio.wait(waiting, timeout=seconds)
        for task in late:
            task.cancel()
        return not late

    async def close(self, seconds: float = 2.0) -> None:
        """Deliver what waits, for `seconds` at most, and detach every surface."""
        await self.drain(seconds)
        for subscription in list(self._subscriptions):
            subscription.close()

    def _leave(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)


class Subscription:
    """One surface's place in the stream of rows."""

    def __init__(
        self, surface: Audience, transcript: Transcript, fault: Fault, leave: Callable[[Subscription], None]
    ) -> None:
        self.surface = surface
        self._transcript = transcript
        self._fault = fault
        self._leave = leave
        self._waiting: deque[_Rows | _Text] = deque()
        self._text_size = 0
        self._streamed: set[str] = set()
        """Rows whose streamed text was taken from its first character on."""
        self._unstreamed: set[str] = set()
        """Rows of which some streamed text was dropped: their text comes with the rows only."""
        self._more = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task = asyncio.get_running_loop().create_task(self._deliver())

    @property
    def waiting(self) -> int:
        """How many deliveries wait."""
        return len(self._waiting)

    def text_waits(self, row: str) -> bool:
        """Streamed text of this row was taken, and is still to be delivered."""
        return any(isinstance(item, _Text) and item.row == row for item in self._waiting)

    def add_rows(self, ids: list[str]) -> None:
        if not ids:
            self._add(_Rows())  # the session's state may have changed
            return
        self._add(_Rows(dict.fromkeys(ids)))

    def add_text(self, delta: TextDelta) -> None:
        agent = delta.type == "assistant/message"
        row = (agent_row_id if agent else thought_row_id)(delta.turn, delta.message)
        if row not in self._streamed:
            if delta.offset or row in self._unstreamed:
                return  # what began before this surface was there would have a gap
            self._streamed.add(row)
        self._text_size += len(delta.text)
        self._add(_Text(row, delta.turn, "agent" if agent else "thought", delta.text))

    async def idle(self) -> None:
        """Wait until nothing waits and nothing is being shown."""
        await self._idle.wait()

    def close(self) -> None:
        """Detach at once; what waits is not delivered."""
        self._leave(self)
        self._task.cancel()
        self._idle.set()

    def _add(self, item: _Rows | _Text) -> None:
        last = self._waiting[-1] if self._waiting else None
        if isinstance(item, _Rows) and isinstance(last, _Rows):
            last.ids.update(item.ids)
        elif isinstance(item, _Text) and isinstance(last, _Text) and last.row == item.row:
            last.text += item.text
        else:
            self._waiting.append(item)
        if len(self._waiting) > WAITING_LIMIT or self._text_size > TEXT_LIMIT:
            self._merge()
        self._idle.clear()
        self._more.set()

    def _merge(self) -> None:
        """The surface is slow: forget the steps and keep which rows to show."""
        rows = _Rows()
        for item in self._waiting:
            if isinstance(item, _Rows):
                rows.ids.update(item.ids)
            else:
                self._unstreamed.add(item.row)
                self._streamed.discard(item.row)
        self._waiting = deque([rows])
        self._text_size = 0

    async def _deliver(self) -> None:
        while True:
            while self._waiting:
                item = self._waiting.popleft()
                try:
                    await self._show(item)
                except Exception as error:
                    self._fault(self.surface.name, error)
            self._more.clear()
            self._idle.set()
            await self._more.wait()

    async def _show(self, item: _Rows | _Text) -> None:
        if isinstance(item, _Text):
            self._text_size -= len(item.text)
            await self.surface.stream(item.row, item.turn, item.kind, item.text)
            return
        found = (self._transcript.row(id_) for id_ in item.ids)
        rows = sorted((row for row in found if row is not None), key=lambda row: row.seq)
        await self.surface.show(rows, self._transcript.state)
