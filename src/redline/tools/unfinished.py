"""What the log of a session says was begun and not brought to an end: turns, calls, undos and requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redline.changes.codec import from_json, kept_place, path_from_json
from redline.tools.intent import CallKey, Intent, call_key, mappings, read

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.sessions.events import Event
    from redline.sessions.log import SessionLog


@dataclass(slots=True)
class Unfinished:
    """Read from the start of the last turn on, or from an open intent on where that is earlier: only what came since
    can be open, because every start of a session recovers."""

    turns: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """Started and not ended."""
    calls: dict[CallKey, Mapping[str, Any]] = field(default_factory=dict)
    told: dict[CallKey, list[FileChange | None]] = field(default_factory=dict)
    """What was found of calls of foreign agents so far, as the last event of each has it; None: it cannot be read."""
    closed: set[CallKey] = field(default_factory=set)
    intents: list[Intent] = field(default_factory=list)
    """All of them, of closed calls as well: what a later one found tells how an earlier one ended."""
    asked: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Requests without an answer."""
    refused: set[CallKey] = field(default_factory=set)
    """Calls that were said no to, or whose question was withdrawn."""
    allowed: set[CallKey] = field(default_factory=set)
    """Calls that somebody, or a rule, has said yes to."""

    @classmethod
    async def of(cls, log: SessionLog) -> Unfinished:
        """Raises `StoreError`."""
        store, session = log.store, log.session
        intents = await store.open_intents(session)
        summary = await store.summary(session)
        start = await store.turn_start(session, summary.turns) if summary is not None and summary.turns else None
        first = min([start or 1, *(event.seq for event in intents)])
        found = cls()
        async for event in log.events(after=first - 1):
            found.take(event)
        return found

    @property
    def is_empty(self) -> bool:
        return not (self.turns or self.asked or self.open_calls() or self.open_undos())

    def open_calls(self) -> list[Mapping[str, Any]]:
        """The data of each `tool/call` that no result followed, with its newest proposal."""
        opened = [data for key, data in self.calls.items() if key not in self.closed]
        # An intent without its call's start: that row was damaged. The file may have changed all the same.
        for intent in self.intents:
            key = intent.key
            if intent.reverts is None and key not in self.calls and key not in self.closed:
                opened.append({"turn": key[0], "call": key[1], "name": "", "kind": "edit"})
                self.calls[key] = opened[-1]
        return opened

    def never_allowed(self, opened: Mapping[str, Any]) -> bool:
        """An open call was asked about, or waited to be, since questions are put one after the other; and nobody said
        yes. A call of ours has then not run."""
        key = call_key(opened)
        if key in self.allowed:
            return False
        waiting = {call_key(data) for data in self.asked.values()}
        asks = bool(opened.get("proposed")) or opened.get("kind") == "execute"
        behind = bool(waiting) and bool(opened.get("name")) and asks
        return key in waiting or key in self.refused or behind

    def open_undos(self) -> dict[CallKey, list[Intent]]:
        """The intents of each undo that broke off."""
        undos: dict[CallKey, list[Intent]] = {}
        for intent in self.intents:
            if intent.reverts is not None and intent.key not in self.closed:
                undos.setdefault(intent.key, []).append(intent)
        return undos

    def paths(self) -> set[str]:
        """The files that what is open was about, as far as it had said so."""
        proposed = [change for opened in self.open_calls() for change in mappings(opened.get("proposed"))]
        names = [(change, name) for change in proposed for name in ("path", "old_path")]
        paths = {path_from_json(change, name) for change, name in names if isinstance(change.get(name), str)}
        paths |= {place.path for intent in self.intents for place in intent.places}
        for started in self.turns.values():  # an undo names its files at its start
            told = started.get("paths")
            paths |= {path for path in told if isinstance(path, str)} if isinstance(told, list) else set()
        return paths

    def take(self, event: Event) -> None:
        """Take the next event of the log."""
        data = event.data
        match event.type:
            case "turn/started" if isinstance(data.get("turn"), int):
                self.turns[data["turn"]] = data
            case "turn/ended":
                self.turns.pop(data.get("turn", 0), None)
            case "tool/call":
                self.calls.setdefault(call_key(data), data)
            case "tool/update" if data.get("observed") is True:  # what was found of a foreign call is no proposal
                self.told[call_key(data)] = _resolved(self.told.get(call_key(data), []), data.get("changes"))
            case "tool/update" if call_key(data) in self.calls and isinstance(data.get("changes"), list):
                self.calls[call_key(data)] = {**self.calls[call_key(data)], "proposed": data["changes"]}
            case "tool/result" | "change/reverted":
                self.closed.add(call_key(data))
            case "file/intent":
                self.intents.append(read(data))
            case "permission/asked":
                self.asked[str(data.get("request"))] = data
            case "permission/answered":
                self.asked.pop(str(data.get("request")), None)
                said_yes = str(data.get("outcome")).startswith("allow")
                (self.allowed if said_yes else self.refused).add(call_key(data))


def _resolved(before: list[FileChange | None], changes: object) -> list[FileChange | None]:
    """The changes of an event, those that only name their place in the event before included."""
    found: list[FileChange | None] = []
    for value in changes if isinstance(changes, list) else []:
        place = kept_place(value)
        try:
            found.append(before[place] if place is not None else from_json(value))
        except (ValueError, TypeError, IndexError):  # the transcript says what it is
            found.append(None)
    return found
