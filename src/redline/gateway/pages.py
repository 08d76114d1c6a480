"""The rows of a session by pages, so that a long one opens at its end at once.

A page is folded from whole turns: a row is put together from all events of its turn, so a fold that begins with a turn
gives the same rows as one of the whole log. What reaches across turns is added: the session's own facts from before,
and later undos, which mark what they took back. Of a very long turn only those events are read that the rows of the
page are made of (`gateway.long_turns`).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from redline.gateway.long_turns import LONG_TURN, LongTurn
from redline.gateway.roster import GatewayError
from redline.sessions.events import Event
from redline.transcript.fold import Transcript

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.changes.record import FileChange
    from redline.sessions.sqlite import SqliteStore
    from redline.sessions.store import Damaged
    from redline.transcript.presenters import Presenters
    from redline.transcript.rows import AnyRow

TAIL_EVENTS = 1000
"""Events at the end that are folded at least when a session is opened, if it has so many."""
PART_EVENTS = 1000
"""Events of a very long turn that are folded at once."""
_KEPT_TURNS = 64
_KEPT_OUTLINES = 4
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
        self._turns: OrderedDict[tuple[int, int, int], list[AnyRow]] = OrderedDict()
        self._long: OrderedDict[int, LongTurn] = OrderedDict()
        self._undos = 0

    async def tail(self, events: int = TAIL_EVENTS) -> tuple[Transcript, int]:
        """The last turns with `events` events at least, and the `seq` at which their rows begin. Of a very long turn
        only the end."""
        store, session = self._store, self._session
        end = await store.tail(session)
        start = following = end + 1
        while start > 1 and end - start < events:
            following = start
            start, _ = await store.turn_bounds(session, start - 1)
        transcript = Transcript(session, self._present)
        facts = await store.of_types(session, _FACTS, before=start)
        await _fed(transcript, [one for one in facts if isinstance(one, Event)])  # the others have rows of their own
        after = start - 1
        if following - start > LONG_TURN:
            turn = await self._outlined(start, following)
            after, start = following - 1, max(start, following - max(1, events - (end + 1 - following)))
            await _fed(transcript, await store.at(session, turn.end(start)))
            transcript.leave_out(turn.left_out(start))
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
            until = following or await self._store.tail(self._session) + 1
            low = start if until - start <= LONG_TURN else max(start, end - PART_EVENTS)
            rows = await self._turn(start, until, low, end, undone_after)
            found = [row for row in rows if low <= row.seq < end] + found
            end = low
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
        until = following or await self._store.tail(self._session) + 1
        if until - start > LONG_TURN:
            wanted = (await self._outlined(start, until)).row(id_)
            rows = await self._folded(await self._store.at(self._session, wanted), until)
        else:
            rows = await self._turn(start, until, start, until, undone_after)
        return next((row for row in rows if row.id == id_), None)

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
        until = following or await self._store.tail(self._session) + 1
        if turn is not None and until - start > LONG_TURN:
            events = await self._store.at(self._session, (await self._outlined(start, until)).changes())
        else:
            events = await self._store.of_types(self._session, _CHANGES, after=start - 1, before=following)
        await _fed(transcript, events)
        return transcript.landed(turn)

    async def _turn(self, start: int, until: int, low: int, high: int, undone_after: int) -> list[AnyRow]:
        """The rows of the turn from `start` until `until`, those from `low` to before `high` at least."""
        if undone_after != self._undos:
            self._turns.clear()
            self._undos = undone_after
        part = (start, until, 0) if low == start and until - start <= LONG_TURN else (low, until, high)
        if (rows := self._turns.get(part)) is None:
            rows = self._turns[part] = await self._folded(await self._events(start, until, low, high), until)
        self._turns.move_to_end(part)
        while len(self._turns) > _KEPT_TURNS:
            self._turns.popitem(last=False)
        return rows

    async def _events(self, start: int, until: int, low: int, high: int) -> list[Event | Damaged]:
        store, session = self._store, self._session
        if until - start > LONG_TURN:
            turn = await self._outlined(start, until)
            return await store.at(session, turn.end(low) if high >= until else turn.part(low, high))
        after = start - 1
        events: list[Event | Damaged] = []
        while after < until - 1 and (page := await store.read(session, after=after, limit=min(500, until - 1 - after))):
            events += page
            after = page[-1].seq
        return events

    async def _outlined(self, start: int, until: int) -> LongTurn:
        turn = self._long.pop(start, None) or LongTurn(start)
        self._long[start] = turn
        while len(self._long) > _KEPT_OUTLINES:
            self._long.popitem(last=False)
        while turn.until < until:  # by pieces, so that nobody else waits long for the interpreter
            before = min(until, turn.until + LONG_TURN)
            turn.extend(await self._store.outline(self._session, after=turn.until - 1, before=before))
        return turn

    async def _folded(self, events: list[Event | Damaged], until: int) -> list[AnyRow]:
        transcript = Transcript(self._session, self._present)
        undone = await self._store.of_types(self._session, ("change/reverted",), after=until - 1)
        await _fed(transcript, [*events, *undone])
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
