"""A view: one session as its log shows it, whoever runs it, for any number of surfaces.

The last turns are folded and kept up to date; what lies before comes by pages. While nobody here runs the session, its
log is watched, so that what another process adds appears within a second.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redline.gateway.fanout import Fanout, Subscription

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from redline.changes.record import FileChange
    from redline.gateway.archive import Archive
    from redline.gateway.audience import Audience
    from redline.gateway.pages import Pages
    from redline.transcript.fold import Transcript
    from redline.transcript.rows import AnyRow, SessionState

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in order."""

    rows: Sequence[AnyRow]
    before: int | None
    """What the page with earlier rows is asked for by; None: this is the beginning."""
    seq: int
    """The rows are those after this event."""


class View:
    """What of a session can be seen; `gateway.room.Room` adds what can be done."""

    def __init__(
        self, archive: Archive, session: str, workspace: Path, pages: Pages, tail: Transcript, start: int
    ) -> None:
        """`tail`: the last turns, folded, which begin with the event `start`."""
        self.session = session
        self.workspace = workspace
        self.fanout = Fanout(tail, self._fault)
        self._archive = archive
        self._pages = pages
        self._start = start
        self._used = time.monotonic()
        self._watching: asyncio.Task[None] | None = None
        self.watch()

    @property
    def state(self) -> SessionState:
        return self.fanout.transcript.state

    @property
    def rows(self) -> list[AnyRow]:
        """Those of the tail."""
        return self.fanout.transcript.rows

    @property
    def seq(self) -> int:
        """The last event that the rows show."""
        return self.fanout.transcript.seq

    def attach(self, surface: Audience, *, after: int | None = None) -> Subscription:
        """Let a surface see the session and answer for it. It first gets the rows of the tail that changed after the
        event `after` (None: only what comes from now on). `Subscription.close` detaches it."""
        self._use()
        return self.fanout.subscribe(surface, after=self.seq if after is None else after)

    def changed_after(self, after: int) -> list[AnyRow] | None:
        """The rows that changed after the event `after`; None: not all of them are at hand, get the pages again."""
        if after < self._start - 1:
            return None
        return [row for row in self.rows if row.revision > after]

    async def page(self, *, before: int | None = None, limit: int = 100) -> Page:
        """The last rows, or the last before a `Page.before`; `limit` of them, a few more where several begin with one
        event."""
        self._use()
        seq = self.seq
        # Of a very long turn the tail knows more rows than those of its end: what the turn is summed up from.
        tail = sorted((row for row in self.rows if row.seq >= self._start), key=lambda row: row.seq)
        rows = tail if before is None else [row for row in tail if row.seq < before]
        if len(rows) <= limit and self._start > 1:  # one more than asked for tells whether there are earlier ones
            end = self._start if before is None else min(before, self._start)
            rows = await self._pages.before(end, limit + 1 - len(rows), self._undone) + rows
        first = max(0, len(rows) - limit)
        while first > 0 and rows[first - 1].seq == rows[first].seq:
            first -= 1
        kept = rows[first:]
        return Page(kept, kept[0].seq if first else None, seq)

    async def row(self, id_: str) -> AnyRow | None:
        """A row by its id, also one of before the tail."""
        self._use()
        return self.fanout.transcript.row(id_) or await self._pages.row(id_, self._undone)

    async def landed(self, turn: int | None = None) -> list[FileChange]:
        """The changes on disk, of one turn or of all, in the order in which they landed. Raises `GatewayError`
        NO_TURN."""
        return await self._pages.landed(turn)

    def landed_here(self, turn: int) -> list[FileChange]:
        """Of a turn of the tail, without a look at the log."""
        return self.fanout.transcript.landed(turn)

    def kept(self, blob: str) -> bytes | None:
        """Bytes of before or after a change; None: they are not kept. Blocks."""
        return self._archive.bytes.get(self.session, blob)

    @property
    def _undone(self) -> int:
        """The last undo that the tail shows."""
        return max((row.seq for row in self.rows if row.kind == "revert"), default=0)

    # Watching the log.

    def watch(self) -> None:
        """Show what the log gets, from whichever process."""
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def unwatch(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})
            self._watching = None

    def watch_again(self) -> None:
        """Where a fault of the store ended it."""
        if self._watching is not None and self._watching.done() and not self._watching.cancelled():
            if (error := self._watching.exception()) is not None:
                _log.error("Session %s could not be watched", self.session, exc_info=error)
            self.watch()

    async def _watch(self) -> None:
        async for event in self._archive.store.watch(self.session, after=self.seq):
            self.fanout.take(event)

    def _use(self) -> None:
        self._used = time.monotonic()

    def _fault(self, name: str, error: Exception) -> None:
        _log.error("The surface %s failed", name, exc_info=error)
