"""Which events of a very long turn the rows of a part of it are made of.

A row is put together from all events of what it is about: a call, a message. So a part of a turn is folded from the
events in it, and from all others, earlier and later, of the calls and messages that have one in it. What a turn is
summed up from (changes, usage) is added where its end is shown. Which those are is told by an outline of the turn,
which is read without decoding its events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redline.sessions.store import Outline

LONG_TURN = 5_000
"""Events of a turn above which it is read in parts."""

_ALWAYS = frozenset(
    {
        "session/started", "session/state", "session/closed", "agent/started", "agent/exited", "turn/started",
        "turn/ended", "user/message", "usage/updated", "plan/updated", "workspace/changed", "change/reverted",
    }
)  # fmt: skip
"""Few in any turn, and about all of it."""
_OF_CALLS = ("tool/call", "tool/update", "tool/result", "permission/asked", "permission/answered", "file/intent")
_OF_MESSAGES = ("assistant/message", "assistant/thought")
_ENDS = ("tool/result",)

Entity = tuple[str, int, str]
"""`call` or `message`, its turn, its id."""


class LongTurn:
    """The outline of one turn so far; `extend` it as the turn grows."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.until = start
        """The outline is that of the events before this one."""
        self._always: list[int] = []
        self._events: dict[Entity, list[int]] = {}
        self._of: dict[int, Entity] = {}
        self._ended: set[Entity] = set()
        self._changing: set[Entity] = set()
        self._requests: dict[str, Entity] = {}

    def extend(self, outlines: Sequence[Outline]) -> None:
        """Take what follows, without a gap."""
        for one in outlines:
            self.until = one.seq + 1
            if one.type in _ALWAYS:
                self._always.append(one.seq)
            elif (entity := _entity(one)) is not None:
                self._events.setdefault(entity, []).append(one.seq)
                self._of[one.seq] = entity
                if one.type in _ENDS:
                    self._ended.add(entity)
                if one.has_changes:
                    self._changing.add(entity)
                if one.request:
                    self._requests[one.request] = entity

    def part(self, low: int, high: int) -> list[int]:
        """The `seq` of the events that make the rows which begin with `low <= seq < high`, all but the turn's end."""
        return self._with(range(low, high), {self._of[seq] for seq in range(low, high) if seq in self._of})

    def end(self, low: int) -> list[int]:
        """The same for the rows from `low` on, the turn's end among them, and for what may still come: the calls that
        have not ended are there, wherever they began."""
        there = {self._of[seq] for seq in range(low, self.until) if seq in self._of}
        return self._with(range(low, self.until), there | self._changing | self._open())

    def row(self, id_: str) -> list[int]:
        """The same for one row by its id; of one that is about the whole turn, what it is summed up from."""
        kind, _, rest = id_.partition(":")
        turn, _, name = rest.partition(":")
        if kind in ("turn_end", "plan"):
            return self.changes()
        if kind == "permission":
            entity = self._requests.get(name)
        else:
            entity = ("call" if kind == "tool" else "message", int(turn), name)
        if entity is not None and entity in self._events:
            return self._with((), {entity})
        return self._with((int(turn),), set())

    def changes(self) -> list[int]:
        """The `seq` of the events that tell what is on disk."""
        return self._with((), self._changing)

    def left_out(self, low: int) -> set[tuple[int, str]]:
        """The calls and messages that `end` leaves out, by turn and id."""
        fed = {self._of[seq] for seq in self.end(low) if seq in self._of}
        return {(turn, name) for _, turn, name in self._events.keys() - fed}

    def _open(self) -> set[Entity]:
        return {entity for entity in self._events if entity[0] == "call" and entity not in self._ended}

    def _with(self, window: Iterable[int], entities: set[Entity]) -> list[int]:
        seqs = {*self._always, *window}
        for entity in entities:
            seqs.update(self._events[entity])
        return sorted(seqs)


def _entity(one: Outline) -> Entity | None:
    if one.type in _OF_CALLS:
        return ("call", one.turn, one.call)
    if one.type in _OF_MESSAGES and one.message:
        return ("message", one.turn, one.message)
    return None
