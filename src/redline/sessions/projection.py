"""What a run of events does to the tables beside the log: pure, and the same for every store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from redline.sessions.events import Event

_APPLIED = frozenset({"result", "observed"})
_NOT_APPLIED = frozenset({"rejected", "unknown"})
_UNCOUNTED = ("binary", "unknown")
"""File types whose lines nobody counts."""


@dataclass(slots=True)
class Projection:
    """What to add to a session's summary, and what its other tables need, for consecutive events of one session. None:
    as it is."""

    workspace: str | None = None
    agent: str | None = None
    title: str | None = None
    turns: int = 0
    """The highest turn that started; 0: none."""
    added: int = 0
    removed: int = 0
    exact: bool = True
    at_least: bool = False
    """What `added` and `removed` are, as in `Summary`."""
    closed: bool | None = None
    used_at: int | None = None
    """When the session was last used: it is no use of it to be closed."""
    turn_starts: list[tuple[int, int]] = field(default_factory=list)
    """(turn, seq)."""
    intents: list[tuple[int, int, str] | tuple[int, str]] = field(default_factory=list)
    """In order: (seq, turn, call) opens one, (turn, call) closes all of that call."""

    def left_open(self) -> list[int]:
        """The `seq` of the intents that no later event closes."""
        opened: dict[int, tuple[int, str]] = {}
        for step in self.intents:
            if len(step) == 3:
                opened[step[0]] = step[1:]
            else:
                opened = {seq: call for seq, call in opened.items() if call != step}
        return list(opened)


def project(events: Sequence[Event]) -> Projection | None:
    """None: nothing but the session's end and the time of its last use moves, as with most events.

    Values of unexpected shapes count as absent: a log is read whatever an agent put into it.
    """
    projection = None
    for event in events:
        if (step := _STEPS.get(event.type)) is not None:
            projection = projection or Projection()
            step(projection, event)
    if projection is not None:
        projection.used_at = next((event.at for event in reversed(events) if event.type != "session/closed"), None)
    return projection


def _opened(projection: Projection, _event: Event) -> None:
    projection.closed = False


def _closed(projection: Projection, _event: Event) -> None:
    projection.closed = True


def _started(projection: Projection, event: Event) -> None:
    projection.closed = False
    projection.workspace = _text(event.data.get("workspace"), projection.workspace)
    projection.agent = _text(event.data.get("agent"), projection.agent)


def _state(projection: Projection, event: Event) -> None:
    projection.title = _text(event.data.get("title"), projection.title)


def _turn(projection: Projection, event: Event) -> None:
    projection.closed = False
    turn = _count(event.data.get("turn"))
    projection.turns = max(projection.turns, turn)
    projection.turn_starts.append((turn, event.seq))


def _intent(projection: Projection, event: Event) -> None:
    projection.intents.append((event.seq, _count(event.data.get("turn")), str(event.data.get("call"))))


def _finished(projection: Projection, event: Event) -> None:
    projection.intents.append((_count(event.data.get("turn")), str(event.data.get("call"))))
    if event.data.get("status") in _NOT_APPLIED:
        return
    for change in _changes(event.data.get("changes")):
        if change.get("provenance", "result") in _APPLIED:
            projection.added += _count(change.get("added"))
            projection.removed += _count(change.get("removed"))
            projection.exact = projection.exact and change.get("exact") is not False
            projection.at_least = projection.at_least or change.get("file_type") in _UNCOUNTED


_STEPS = {
    "session/started": _started,
    "session/closed": _closed,
    "agent/started": _opened,
    "session/state": _state,
    "turn/started": _turn,
    "file/intent": _intent,
    "tool/result": _finished,
    "change/reverted": _finished,
}


def _changes(value: Any) -> Iterable[Mapping[str, Any]]:
    return [change for change in value if isinstance(change, dict)] if isinstance(value, list) else []


def _text(value: Any, otherwise: str | None) -> str | None:
    return value if isinstance(value, str) else otherwise


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0
