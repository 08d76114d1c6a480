"""The rows that stand so far, by id. One that exists keeps its place and its time, whatever is still said of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from redline.transcript import fields
from redline.transcript.rows import AnyRow, NoticeRow, OtherRow, Problem

if TYPE_CHECKING:
    from redline.sessions.events import Event
    from redline.sessions.store import Damaged

_LEVELS = ("info", "warning", "error")


class Standing:
    """Each method that makes a row puts it in its place and returns it."""

    def __init__(self) -> None:
        self._rows: dict[str, AnyRow] = {}

    def all(self) -> list[AnyRow]:
        """In the order in which they are drawn."""
        return list(self._rows.values())

    def get(self, id_: str) -> AnyRow | None:
        return self._rows.get(id_)

    def put(self, row: AnyRow) -> AnyRow:
        self._rows[row.id] = row
        return row

    def head(self, event: Event, id_: str, turn: int) -> dict[str, Any]:
        """What every row has, of the one that `event` makes or changes."""
        known = self._rows.get(id_)
        return {
            "id": id_,
            "turn": turn,
            "seq": known.seq if known else event.seq,
            "revision": event.seq,
            "at": known.at if known else event.at,
        }

    def notice(self, event: Event, level: str, problem: Problem) -> AnyRow:
        head = self.head(event, f"notice:{event.seq}", fields.number(event.data, "turn"))
        known = cast("Any", level if level in _LEVELS else "warning")
        return self.put(NoticeRow(**head, level=known, problem=problem))

    def other(
        self, event: Event, title: str, update: Any = None, *, why: Literal["unknown", "unshown"] = "unknown"
    ) -> AnyRow:
        """For an event that makes no row of a kind of its own."""
        data = event.data if isinstance(event.data, Mapping) else {}
        head = self.head(event, f"other:{event.seq}", fields.number(data, "turn"))
        return self.put(OtherRow(**head, title=title, why=why, update=update))

    def damaged(self, event: Damaged) -> AnyRow:
        """In the place of an event that cannot be read."""
        seq = event.seq
        title = f"Event {seq} of the log is damaged and is left out: {event.reason}"
        return self.put(OtherRow(id=f"other:{seq}", turn=0, seq=seq, revision=seq, at=0, title=title, why="damaged"))
