"""Which changes of a session still stand, and which of them an undo is about. Pure, over the events of a log.

An undo takes changes back and is itself a change. Undoing an undo makes what it had taken back stand again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redline.changes.codec import from_json, kept_place
from redline.changes.record import ON_DISK

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.sessions.events import Event

_WITH_CHANGES = ("tool/result", "workspace/changed", "change/reverted")
NO_CALL = ""
"""In the place of a call: the change was found on disk in that turn, and no call is known that made it."""


@dataclass(frozen=True, slots=True)
class Taken:
    """One change that an undo took back, as `took` of `change/reverted` and `reverts` of `file/intent` keep it."""

    turn: int
    call: str
    seq: int
    """Of the event that holds the change."""
    index: int
    """In its `changes`."""
    hunk: int | None = None
    """From 1: only this hunk was taken back. None: the whole change."""

    @property
    def change(self) -> tuple[int, int]:
        return (self.seq, self.index)

    def to_json(self) -> dict[str, Any]:
        data = {"turn": self.turn, "call": self.call, "seq": self.seq, "index": self.index}
        return data if self.hunk is None else {**data, "hunk": self.hunk}


@dataclass(frozen=True, slots=True)
class Made:
    """One change that landed."""

    turn: int
    call: str
    seq: int
    index: int
    change: FileChange
    took: tuple[Taken, ...] | None = None
    """Of an undo: what it took back in this file. None: the change of a call."""
    beside: bool = False
    """It was found while another session was at work there, and may be that one's."""

    @property
    def id(self) -> tuple[int, int]:
        return (self.seq, self.index)

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(path for path in (self.change.path, self.change.old_path) if path is not None)

    @property
    def is_partial_undo(self) -> bool:
        return self.took is not None and any(taken.hunk is not None for taken in self.took)

    def taken(self, hunk: int | None = None) -> Taken:
        return Taken(self.turn, self.call, self.seq, self.index, hunk)


@dataclass(slots=True)
class History:
    """All changes that landed, in order, and which of them were taken back."""

    made: dict[tuple[int, int], Made] = field(default_factory=dict)
    undone: set[tuple[int, int]] = field(default_factory=set)
    _observed: dict[tuple[int, str], list[Made]] = field(default_factory=dict)
    """What was found of each foreign call, as its last event has it."""

    @classmethod
    async def read(cls, events: AsyncIterator[Event]) -> History:
        history = cls()
        async for event in events:
            history.take(event)
        return history

    def take(self, event: Event) -> None:
        observed, beside = event.data.get("observed") is True, bool(event.data.get("beside"))
        if event.type not in _WITH_CHANGES and not (event.type == "tool/update" and observed):
            return
        turn = event.data.get("turn")
        call = NO_CALL if event.type == "workspace/changed" else event.data.get("call")
        if not isinstance(turn, int) or not isinstance(call, str):
            return
        took = _taken(event.data.get("took")) if event.type == "change/reverted" else None
        changes = event.data.get("changes")
        before, now = self._observed.get((turn, call), []), list[Made]()
        for index, value in enumerate(changes if isinstance(changes, list) else []):
            place = kept_place(value)
            if place is not None:
                now += before[place : place + 1]
                continue
            try:
                change = from_json(value)
            except ValueError:  # one that cannot be read can be neither shown nor taken back
                continue
            if change.provenance in ON_DISK:
                of = None if took is None else self._of(took, change)
                made = Made(turn, call, event.seq, index, change, of, beside)
                self.made[made.id] = made
                now.append(made)
        if observed:  # all that was found of the call so far: what is not in it any more was a step on the way
            self._observed[turn, call] = now
            for made in before:
                if made not in now:
                    del self.made[made.id]
        for taken in took or ():
            if taken.hunk is None:
                self._mark(taken.change, undone=True)

    def _of(self, took: Sequence[Taken], change: FileChange) -> tuple[Taken, ...]:
        """What an undo took back in the file of one of its changes."""
        paths = {change.path, change.old_path}
        return tuple(
            taken for taken in took if taken.change in self.made and not paths.isdisjoint(self.made[taken.change].paths)
        )

    def _mark(self, change: tuple[int, int], *, undone: bool) -> None:
        made = self.made.get(change)
        if made is None:
            return
        if undone:
            self.undone.add(change)
        else:
            self.undone.discard(change)
        for taken in made.took or ():
            if taken.hunk is None:
                self._mark(taken.change, undone=not undone)

    def standing(self) -> list[Made]:
        """What was not taken back, oldest first, undos among it."""
        return [made for made in self.made.values() if made.id not in self.undone]

    def of_turn(self, turn: int) -> list[Made]:
        return self._with_parts([made for made in self.standing() if made.turn == turn])

    def of_call(self, call: str, turn: int | None) -> list[Made]:
        """Ids of calls may repeat from turn to turn: the last one is meant, unless a turn is named."""
        own = [made for made in self.standing() if made.call == call and turn in (None, made.turn)]
        return self._with_parts([made for made in own if made.turn == own[-1].turn])

    def of_last_turn(self) -> list[Made]:
        """The last turn in which files were changed and that still stands. An undo is not meant: to undo one, name
        it."""
        own = [made for made in self.standing() if made.took is None]
        own = [made for made in own if not made.beside] or own
        return self.of_turn(own[-1].turn) if own else []

    def of_calls(self) -> list[Made]:
        return self._with_parts([made for made in self.standing() if made.took is None])

    def _with_parts(self, chosen: Sequence[Made]) -> list[Made]:
        """With the undos of single hunks of them: taken back together, they leave the state before."""
        ids = {made.id for made in chosen}
        parts = [
            made
            for made in self.standing()
            if made.id not in ids and made.is_partial_undo and any(taken.change in ids for taken in made.took or ())
        ]
        return sorted([*chosen, *parts], key=lambda made: made.id)


def along_path(made: Sequence[Made], names: Sequence[str]) -> list[Made]:
    """Those that changed the file that now has one of these names, under its earlier names too."""
    known = set(names)
    found: list[Made] = []
    for one in reversed(made):
        if known.isdisjoint(one.paths):
            continue
        found.append(one)
        if one.change.old_path is not None:
            known.add(one.change.old_path)
    return found[::-1]


def calls_of(taken: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The `of` of `change/reverted`, from its `took`: the calls that lost a whole change, once each. One that lost a
    hunk only still stands, and must not be drawn as taken back."""
    calls = dict.fromkeys((one.get("turn"), one.get("call")) for one in taken if one.get("hunk") is None)
    return [{"turn": turn, "call": call} for turn, call in calls]


def _taken(value: object) -> list[Taken]:
    if not isinstance(value, list):
        return []
    return [
        Taken(one["turn"], one["call"], one["seq"], one["index"], _hunk(one))
        for one in value
        if isinstance(one, Mapping)
        and all(isinstance(one.get(name), int) for name in ("turn", "seq", "index"))
        and isinstance(one.get("call"), str)
    ]


def _hunk(one: Mapping[str, Any]) -> int | None:
    value = one.get("hunk")
    return value if isinstance(value, int) else None
