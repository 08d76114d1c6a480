"""The rows of a session by pages, so that a long one opens at its end at once.

A page is folded from whole turns: a row is put together from all events of its turn, so a fold that begins with a turn
gives the same rows as one of the whole log. What reaches across turns is added: the session's own facts from before,
and later undos, which mark what they took back.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from redline.gateway.roster import GatewayError
from redline.transcript.fold import Transcript

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.changes.record import FileChange
    from redline.sessions.events import Event
    from redline.sessions.sqlite import SqliteStore
    from redline.sessions.store import Damaged
    from redline.transcript.presenters import Presenters
    from redline.transcript.rows import AnyRow

TAIL_EVENTS = 1000
"""Events at the end that are folded at least when a session is opened, if it has so many."""
_KEPT_TURNS = 64
_AT_ONCE = 200
"""Events that are folded on the loop itself."""
_FACTS = ("session/started", "session/state", "agent/started")
_CHANGES = ("tool/call", "tool/update", "tool/result", "workspace/changed", "change/reverted")
"""What tells which changes are on disk."""
_BY_SEQ = ("user", "found", "notice", "other")
"""Kinds of rows whose id holds a `seq`; that of the others holds a turn."""


class Pages:
    """The pages of one session. Turns that were folded are kept, the ones used last."""

    def __init__(self, store: SqliteStore, session: str, present: Presenters) -> None:
        self._store = store
        self._session = session
        self._present = present
        self._turns: OrderedDict[tuple[int, int], list[AnyRow]] = OrderedDict()
        self._undos = 0

    async def tail(self, events: int = TAIL_EVENTS) -> tuple[Transcript, int]:
        """The last turns with `events` events at least, and the `seq` at which they begin."""
        store, session = self._store, self._session
        end = await store.tail(session)
        start = end + 1
        while start > 1 and end - start < events:
            start, _ = await store.turn_bounds(session, start - 1)
        transcript = Transcript(session, self._present)
        await _fed(transcript, await store.of_types(session, _FACTS, before=start))
        after = start - 1
        while page := await store.read(session, after=after):
            await _fed(transcript, page)
            after = page[-1].seq
        return transcript, start

    async def before(self, end: int, limit: int, undone_after: int) -> list[AnyRow]:
        """The last rows with `seq < end`, `limit` of them at least if there are so many; whole turns. `undone_after`:
        undos up to this event are looked at."""
        found: list[AnyRow] = []
        while end > 1 and len(found) < limit:
            start, following = await self._store.turn_bounds(self._session, end - 1)
            rows = await self._turn(start, following, undone_after)
            found = [row for row in rows if row.seq < end] + found
            end = start
        return found

    async def row(self, id_: str, undone_after: int) -> AnyRow | None:
        """One row by its id, wherever it is."""
        kind, _, rest = id_.partition(":")
        number = rest.partition(":")[0]
        if not number.isascii() or not number.isdigit() or len(number) > 15:
            return None
        seq: int | None = int(number)
        if kind not in _BY_SEQ:
            seq = await self._store.turn_start(self._session, int(number)) if int(number) else 1
        if not seq:
            return None
        start, following = await self._store.turn_bounds(self._session, seq)
        return next((row for row in await self._turn(start, following, undone_after) if row.id == id_), None)

    async def landed(self, turn: int | None) -> list[FileChange]:
        """The changes on disk, of one turn or of all, in the order in which they landed. Raises `GatewayError`
        NO_TURN."""
        start, following = 1, None
        if turn is not None:
            found = await self._store.turn_start(self._session, turn)
            if found is None:
                raise GatewayError("NO_TURN", f"This session has no turn {turn}.", "Load the session again.")
            start, following = await self._store.turn_bounds(self._session, found)
        transcript = Transcript(self._session, {})
        await _fed(transcript, await self._store.of_types(self._session, _CHANGES, after=start - 1, before=following))
        return transcript.landed(turn)

    async def _turn(self, start: int, following: int | None, undone_after: int) -> list[AnyRow]:
        """The rows of the events from `start` until `following`."""
        if undone_after != self._undos:
            self._turns.clear()
            self._undos = undone_after
        until = following or await self._store.tail(self._session) + 1
        if (rows := self._turns.get((start, until))) is None:
            rows = self._turns[start, until] = await self._folded(start, until)
        self._turns.move_to_end((start, until))
        while len(self._turns) > _KEPT_TURNS:
            self._turns.popitem(last=False)
        return rows

    async def _folded(self, start: int, until: int) -> list[AnyRow]:
        store, session = self._store, self._session
        transcript = Transcript(session, self._present)
        after = start - 1
        events: list[Event | Damaged] = []
        while after < until - 1 and (page := await store.read(session, after=after, limit=min(500, until - 1 - after))):
            events += page
            after = page[-1].seq
        events += await store.of_types(session, ("change/reverted",), after=until - 1)
        await _fed(transcript, events)
        return sorted((row for row in transcript.rows if row.seq < until), key=lambda row: row.seq)


async def _fed(transcript: Transcript, events: Sequence[Event | Damaged]) -> None:
    """A long fold is done beside the loop, so that nobody else waits for it."""

    def feed() -> None:
        for event in events:
            transcript.apply(event)

    if len(events) < _AT_ONCE:
        feed()
    else:
        await asyncio.to_thread(feed)
