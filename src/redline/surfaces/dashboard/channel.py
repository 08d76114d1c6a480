"""A channel: one session as all tabs of the dashboard see it. What changes is encoded once and shared as bytes."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.place import Place, text
from redline.surfaces.dashboard.rows import covered_lines, may_fold, shown_row
from redline.surfaces.dashboard.states import state
from redline.transcript.rows import AgentRow, ThoughtRow, TurnEndRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import BaseModel

    from redline.gateway.room import Room
    from redline.surfaces.dashboard.stream import Stream
    from redline.tools.permission import PermissionOutcome, PermissionRequest
    from redline.transcript.rows import AnyRow, SessionState

NAME = "dashboard"
FLUSH_SECONDS = 0.03
"""What changes within it reaches the tabs together."""
_KEPT_BYTES = 16 * 2**20
"""Of encoded rows."""


def event(name: str, data: BaseModel) -> bytes:
    """One server-sent event; JSON holds no line break."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data.model_dump_json().encode())


@dataclass(slots=True)
class _Live:
    """A row that is just being written."""

    turn: int
    kind: Literal["agent", "thought"]
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    sent: int = 0
    """Pieces that the tabs have."""

    def add(self, piece: str) -> None:
        self.pieces.append(piece)
        self.length += len(piece)

    def whole(self) -> str:
        return "".join(self.pieces)


class Channel:
    """A surface of the gateway (`gateway.audience.Audience`). `close` detaches it."""

    name = NAME
    shows_changes = True

    def __init__(self, room: Room) -> None:
        self.room = room
        self.place = Place(room.session, str(room.workspace))
        self.streams: set[Stream] = set()
        self._encoded: OrderedDict[str, tuple[object, bytes]] = OrderedDict()
        self._encoded_size = 0
        self._live: dict[str, _Live] = {}
        self._rows: dict[str, AnyRow] = {}
        self._state: wire.SessionState | None = None
        self._flushing: asyncio.TimerHandle | None = None
        self._flushed_at = 0.0
        self._seq = room.seq
        self._subscription = room.attach(self)

    # What the gateway tells.

    async def show(self, rows: Sequence[AnyRow], state: SessionState) -> None:  # noqa: ARG002 - the room has more
        for row in rows:
            self._rows[row.id] = row
            if isinstance(row, TurnEndRow):
                self._live = {id_: live for id_, live in self._live.items() if live.turn != row.turn}
                # Which of its diffs are covered is certain now.
                of_turn = (one for one in self.room.rows if one.turn == row.turn and may_fold(one))
                self._rows.update((one.id, one) for one in of_turn)
        self._soon()

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None:
        live = self._live.get(row)
        if live is None:
            live = self._live[row] = _Live(turn, cast("Literal['agent', 'thought']", kind))
        live.add(text)
        self._soon()

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None:  # noqa: ARG002 - its row shows it
        """The row is the question; the answer comes by `Room.answer`. Whoever opens the page later can still give
        it."""
        await asyncio.Event().wait()
        return None

    # What the tabs are sent.

    def join(self, stream: Stream, after: int) -> None:
        """Send a tab what it lacks since the event `after`, then what comes."""
        self.flush()
        self.streams.add(stream)
        self.catch_up(stream, after)

    def catch_up(self, stream: Stream, after: int) -> None:
        """The rows that changed since, as they are now, the text that is being written, and the state."""
        changed = self.room.changed_after(after)
        parts = []
        if changed is None:
            parts.append(event("reset", wire.StreamReset(session=self.room.session, problem=None)))
        elif changed:
            parts.append(self._rows_event(changed))
        for row, live in self._live.items():
            parts.append(self._text_event(row, live, live.whole(), replace=True))
        self._state = state(self.room)
        parts.append(event("state", wire.StreamState(session=self.room.session, state=self._state)))
        stream.push(self.room.session, self.room.seq, b"".join(parts))

    def flush(self) -> None:
        """Send what has changed since the last time."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        self._flushed_at = asyncio.get_running_loop().time()
        rows, self._rows = self._rows, {}
        parts = []
        if rows:
            parts.append(self._rows_event(rows.values()))
        for row, live in self._live.items():
            if live.sent < len(live.pieces) and row not in rows:
                parts.append(self._text_event(row, live, "".join(live.pieces[live.sent :]), replace=False))
            live.sent = len(live.pieces)
        now = state(self.room)
        if self._state is None or now != self._state.model_copy(update={"seq": now.seq}):
            parts.append(event("state", wire.StreamState(session=self.room.session, state=now)))
        self._state = now
        if self._subscription.waiting == 0:
            self._seq = self.room.seq  # else a row of an earlier event may still be on its way here
        if parts:
            self.send(b"".join(parts))

    def send(self, data: bytes) -> None:
        for stream in self.streams:
            stream.push(self.room.session, self._seq, data)

    def fail(self, problem: wire.Problem) -> None:
        """Say why something that was accepted did not happen."""
        self.send(event("reset", wire.StreamReset(session=self.room.session, problem=problem)))

    def close(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
        self._subscription.close()

    def _soon(self) -> None:
        if self._flushing is None:
            loop = asyncio.get_running_loop()
            self._flushing = loop.call_at(max(loop.time(), self._flushed_at + FLUSH_SECONDS), self.flush)

    # Encoding.

    def _rows_event(self, rows: Iterable[AnyRow]) -> bytes:
        """The same bytes as those of a `StreamRows`, put together from rows that are encoded already."""
        session = wire.StreamRows(session=self.room.session, rows=[]).model_dump_json().encode()
        body = b",".join(self._encode(row) for row in sorted(rows, key=lambda row: row.seq))
        return b"event: rows\ndata: " + session.removesuffix(b"[]}") + b"[" + body + b"]}\n\n"

    def _encode(self, row: AnyRow) -> bytes:
        written = self._written(row)
        covered: tuple[int, ...] = ()
        if isinstance(row, AgentRow) and may_fold(row):
            covered = covered_lines(written or row.text, self.room.landed_here(row.turn), self.place.workspace)
        version = (row.revision, None if written is None else len(written), covered)
        known = self._encoded.pop(row.id, None)
        if known is None or known[0] != version:
            self._encoded_size -= 0 if known is None else len(known[1])
            shown = shown_row(self.place, row, covered=covered)
            if written is not None:
                shown = shown.model_copy(update={"text": text(written)})
            known = (version, shown.model_dump_json().encode())
            self._encoded_size += len(known[1])
        self._encoded[row.id] = known
        while self._encoded_size > _KEPT_BYTES and len(self._encoded) > 1:
            self._encoded_size -= len(self._encoded.popitem(last=False)[1][1])
        return known[1]

    def _written(self, row: AnyRow) -> str | None:
        """The text of a row of which more is shown already than is committed."""
        live = self._live.get(row.id)
        if live is None or not isinstance(row, AgentRow | ThoughtRow) or live.length == len(row.text):
            return None
        if live.length < len(row.text):
            if not self._subscription.text_waits(row.id):  # a piece was dropped on the way here
                live.pieces, live.length, live.sent = [row.text], len(row.text), 1
            return None
        return live.whole()

    def _text_event(self, row: str, live: _Live, piece: str, *, replace: bool) -> bytes:
        return event(
            "text",
            wire.StreamText(
                session=self.room.session,
                row=text(row),
                turn=live.turn,
                kind=live.kind,
                text=text(piece),
                replace=replace,
            ),
        )
