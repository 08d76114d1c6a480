"""What a session that broke off gets at its next start: every call, request and turn closed, by what is on the disk.

Nothing here trusts what was about to happen, or claims to know why nothing more was recorded: the process may have been
killed, or the log may have been full. For every intent that no result followed, the file is looked at: it holds
the bytes after, or those before, or neither. A recovery that is itself cut short is finished by the next one, because
each close is an event of its own and the end of the turn comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from redline.changes.codec import from_json, path_from_json, to_json
from redline.files.error import FileError
from redline.files.seam import Content, Files, Outcome, Target
from redline.tools.knowledge import seen_entries
from redline.tools.landed import net
from redline.tools.missed import tell_missed
from redline.tools.recorder import Recorder
from redline.tools.tool import text_block
from redline.tools.verdict import Found, Place, State, Verdict, judge, look
from redline.workspace.store import BytesError, ByteStore

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.sessions.events import Event
    from redline.sessions.log import SessionLog
    from redline.workspace.observe import Observer

ClosedStatus = Literal["completed", "interrupted", "unknown"]
CallKey = tuple[int, str]


@dataclass(frozen=True, slots=True)
class ClosedCall:
    """A call that was open, as it was closed."""

    turn: int
    call: str
    status: ClosedStatus
    """`completed`: all that was proposed is on the disk. `interrupted`: a part of it, or nothing. `unknown`: a file
    holds neither what it held before nor what the call was writing."""
    changes: Sequence[FileChange] = ()
    """On the disk."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was closed; all empty where the session had ended well."""

    calls: Sequence[ClosedCall] = ()
    undos: Sequence[ClosedCall] = ()
    permissions: Sequence[str] = ()
    """Ids of requests that nobody had answered."""
    turns: Sequence[int] = ()

    @property
    def found_nothing(self) -> bool:
        return not (self.calls or self.undos or self.permissions or self.turns)


async def recover(log: SessionLog, store: ByteStore, files: Files, *, observer: Observer | None = None) -> Recovery:
    """Close whatever a crash has left open in a session. The caller holds the session's lease.

    `observer`: of the workspace; it looks for what else changed in the turn that broke off. None: this process has an
    agent in the session, whose own looks go on. Doing it twice does nothing more. Raises `StoreError`; what was closed
    until then stays closed.
    """
    found = await _read_back(log)
    if not found.is_open:
        return Recovery()
    closing = _Closing(log, store, files, found)
    await _sweep(files, found)
    permissions = await closing.permissions()
    calls = [await closing.call(opened) for opened in found.open_calls()]
    undos = [await closing.undo(key, intents) for key, intents in found.open_undos().items()]
    if observer is not None and found.turns:
        await tell_missed(log, observer, max(found.turns))
    for turn in found.turns:
        await log.append("turn/ended", {"turn": turn, "reason": "interrupted"}, durable=True)
    return Recovery(calls, undos, permissions, list(found.turns))


@dataclass(slots=True)
class _Found:
    """What the end of a log says, from the start of its last turn on."""

    turns: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """Started and not ended."""
    calls: dict[CallKey, Mapping[str, Any]] = field(default_factory=dict)
    closed: set[CallKey] = field(default_factory=set)
    intents: list[Mapping[str, Any]] = field(default_factory=list)
    asked: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Requests without an answer."""

    @property
    def is_open(self) -> bool:
        return bool(self.turns or self.asked or self.open_calls() or self.open_undos())

    def open_calls(self) -> list[Mapping[str, Any]]:
        opened = [data for key, data in self.calls.items() if key not in self.closed]
        # An intent without its call's start: that row was damaged. The file may have changed all the same.
        for data in self.intents:
            key = _key(data)
            if "reverts" not in data and key not in self.calls and key not in self.closed:
                opened.append({"turn": key[0], "call": key[1], "name": "", "kind": "edit"})
                self.calls[key] = opened[-1]
        return opened

    def open_undos(self) -> dict[CallKey, list[Mapping[str, Any]]]:
        undos: dict[CallKey, list[Mapping[str, Any]]] = {}
        for data in self.intents:
            if "reverts" in data and _key(data) not in self.closed:
                undos.setdefault(_key(data), []).append(data)
        return undos

    def take(self, event: Event) -> None:
        data = event.data
        match event.type:
            case "turn/started" if isinstance(data.get("turn"), int):
                self.turns[data["turn"]] = data
            case "turn/ended":
                self.turns.pop(data.get("turn", 0), None)
            case "tool/call":
                self.calls.setdefault(_key(data), data)
            case "tool/update" if data.get("observed") is True:
                pass  # what was found of a foreign call is no proposal
            case "tool/update" if _key(data) in self.calls and isinstance(data.get("changes"), list):
                self.calls[_key(data)] = {**self.calls[_key(data)], "proposed": data["changes"]}
            case "tool/result" | "change/reverted":
                self.closed.add(_key(data))
            case "file/intent":
                self.intents.append(data)
            case "permission/asked":
                self.asked[str(data.get("request"))] = data
            case "permission/answered":
                self.asked.pop(str(data.get("request")), None)


async def _read_back(log: SessionLog) -> _Found:
    """The events from the start of the last turn on, or from an open intent on where that is earlier: only they can be
    open, since every start of the session recovers."""
    intents = await log.store.open_intents(log.session)
    summary = await log.store.summary(log.session)
    start = await log.store.turn_start(log.session, summary.turns) if summary is not None and summary.turns else None
    first = min([start or 1, *(event.seq for event in intents)])
    found = _Found()
    async for event in log.events(after=first - 1):
        found.take(event)
    return found


@runtime_checkable
class _Sweeps(Protocol):
    """A backend that leaves temporary files when it is killed, and can take them away."""

    async def sweep(self, target: Target) -> None: ...


async def _sweep(files: Files, found: _Found) -> None:
    """Take away what was being written when the process died, beside the files that open calls were about."""
    if not isinstance(files, _Sweeps):
        return
    proposed = (change for opened in found.open_calls() for change in _list(opened, "proposed"))
    paths = {
        path_from_json(data, name)
        for data in (*proposed, *found.intents)
        for name in ("path", "old_path", "moved_to")
        if isinstance(data.get(name), str)
    }
    for started in found.turns.values():  # an undo names its files at its start
        told = started.get("paths")
        paths |= {path for path in told if isinstance(path, str)} if isinstance(told, list) else set()
    folders: dict[Path, Target] = {}
    for path in paths:
        try:
            target = await files.resolve(path, link=True)
        except FileError:
            continue
        folders[target.real.parent] = target
    for target in folders.values():
        await files.sweep(target)


class _Closing:
    """Judges and closes, one thing at a time."""

    def __init__(self, log: SessionLog, store: ByteStore, files: Files, found: _Found) -> None:
        self._log = log
        self._store = store
        self._files = files
        self._found = found
        self._recorder = Recorder(log.redactor)

    async def permissions(self) -> list[str]:
        for request, data in self._found.asked.items():
            answer = {
                "turn": data.get("turn", 0),
                "call": data.get("call", ""),
                "request": request,
                "outcome": "cancelled",
                "by": "recovery",
            }
            await self._log.append("permission/answered", answer)
        return list(self._found.asked)

    async def call(self, opened: Mapping[str, Any]) -> ClosedCall:
        turn, call = _key(opened)
        intents = [data for data in self._found.intents if _key(data) == (turn, call)]
        judged = [(data, await self._judge(data)) for data in intents]
        changes = await self._on_disk(judged)
        status = _status(opened, [verdict for _, verdict in judged], changes)
        result: dict[str, Any] = {
            "turn": turn,
            "call": call,
            "name": opened.get("name", ""),
            "kind": opened.get("kind", "other"),
            "status": status,
            "content": [text_block(_told(status, judged, changes))],
            "changes": [to_json(change) for change in changes],
            "warnings": ["The end of this call was not recorded; what is said here was read from the disk."],
        }
        if status != "completed":
            result["error"] = _error(status)
        seen = _seen(judged)
        if seen:
            result["seen"] = seen_entries(seen)
        await self._log.append("tool/result", result, durable=True)
        return ClosedCall(turn, call, status, changes)

    async def undo(self, key: CallKey, intents: Sequence[Mapping[str, Any]]) -> ClosedCall:
        """An undo that broke off: what it had taken back by then is an undo of that much."""
        turn, call = key
        judged = [(data, await self._judge(data)) for data in intents]
        changes = await self._on_disk(judged)
        landed = [data for data, verdict in judged if verdict == "applied"]
        whole = len(landed) == len(judged) == landed[0].get("steps") if landed else False
        status: ClosedStatus = "completed" if whole else "interrupted"
        if any(verdict == "unknown" for _, verdict in judged):
            status = "unknown"
        taken = _still_taken(landed)
        event = {
            "turn": turn,
            "call": call,
            "of": _calls_of(taken),
            "took": taken,
            "changes": [to_json(change) for change in changes],
            "status": status,
        }
        await self._log.append("change/reverted", event, durable=True)
        if status == "unknown":
            await self._log.append("notice/raised", {"turn": turn, "level": "warning", **_error(status)})
        return ClosedCall(turn, call, status, changes)

    async def _judge(self, data: Mapping[str, Any]) -> Verdict:
        touched = _places(data)
        return judge(touched, [await self._after(data, place) for place in touched])

    async def _after(self, data: Mapping[str, Any], place: Place) -> Found:
        """What a place held once this intent's moment had passed: what the next intent found there, or the disk."""
        later = self._found.intents[_position(self._found.intents, data) + 1 :]
        for following in later:
            for other in _places(following):
                if other.key == place.key:
                    return other.before
        return await look(self._files, place)

    async def _on_disk(self, judged: Sequence[tuple[Mapping[str, Any], Verdict]]) -> list[FileChange]:
        """The changes that landed; several to one file as one."""
        outcomes: list[Outcome] = []
        changes: list[FileChange] = []
        for data, verdict in judged:
            if verdict == "applied":
                outcomes.append(self._outcome(data))
                changes.append(await self._change(data, outcomes[-1]))
            elif verdict == "unknown" and (copied := await self._copied(data)) is not None:
                outcomes.append(copied)
                changes.append(await self._recorder.change(copied, "result"))
        return await net(outcomes, changes, self._recorder)

    async def _change(self, data: Mapping[str, Any], outcome: Outcome) -> FileChange:
        try:
            return from_json(data.get("change"))
        except ValueError:
            return await self._recorder.change(outcome, "result")

    async def _copied(self, data: Mapping[str, Any]) -> Outcome | None:
        """A move that was cut in two: the new file is there and the old one still is. None: it was not that."""
        touched = _places(data)
        if len(touched) != 2:
            return None
        source, target = touched
        there = [await self._after(data, place) for place in touched]
        if judge([target], there[1:]) != "applied" or judge([source], there[:1]) != "not applied":
            return None
        outcome = self._outcome(data)
        assert outcome.moved_to is not None
        return Outcome(outcome.moved_to, "create", None, outcome.after)

    def _outcome(self, data: Mapping[str, Any]) -> Outcome:
        before, after = self._content(data, "before"), self._content(data, "after")
        target = Target(Path(path_from_json(data, "path")), Path(path_from_json(data, "real")), _is_link(data))
        moved = None
        if isinstance(data.get("moved_to"), str):
            moved = Target(Path(path_from_json(data, "moved_to")), Path(_moved_real(data)))
        return Outcome(target, _operation(data), before, after, moved_to=moved)

    def _content(self, data: Mapping[str, Any], side: Literal["before", "after"]) -> Content | None:
        blob = data.get(side)
        if not isinstance(blob, str):
            return None
        try:
            kept = self._store.get(self._log.session, blob)
        except BytesError:
            kept = None
        known = _side(data, side)
        size = known.get("size", 0) if kept is None else len(kept)
        return Content(blob, size if isinstance(size, int) else 0, bool(known.get("executable")), kept)


def _places(data: Mapping[str, Any]) -> list[Place]:
    """The places of an intent, as `verdict.places` gives those of an outcome."""
    path, key = path_from_json(data, "path"), path_from_json(data, "real")
    before, after = _state(data, "before"), _state(data, "after")
    moved = data.get("moved_to")
    if not isinstance(moved, str):
        return [Place(path, key, before, after, _is_link(data))]
    return [Place(path, key, before, None), Place(path_from_json(data, "moved_to"), _moved_real(data), None, after)]


def _is_link(data: Mapping[str, Any]) -> bool:
    change = data.get("change")
    return isinstance(change, Mapping) and change.get("file_type") == "symlink"


def _moved_real(data: Mapping[str, Any]) -> str:
    moved = data.get("moved")
    return path_from_json(moved, "real") if isinstance(moved, Mapping) else path_from_json(data, "moved_to")


def _state(data: Mapping[str, Any], side: Literal["before", "after"]) -> State | None:
    blob = data.get(side)
    return State(blob, bool(_side(data, side).get("executable"))) if isinstance(blob, str) else None


def _side(data: Mapping[str, Any], side: Literal["before", "after"]) -> Mapping[str, Any]:
    change = data.get("change")
    value = change.get(side) if isinstance(change, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _status(opened: Mapping[str, Any], verdicts: Iterable[Verdict], changes: Sequence[FileChange]) -> ClosedStatus:
    if any(verdict == "unknown" for verdict in verdicts):
        return "unknown"
    proposed = {path_from_json(change, "path") for change in _list(opened, "proposed")}
    done = {change.path for change in changes}
    return "completed" if proposed and proposed <= done else "interrupted"


def _told(
    status: ClosedStatus, judged: Sequence[tuple[Mapping[str, Any], Verdict]], changes: Sequence[FileChange]
) -> str:
    """For the model, which will read this when the session goes on."""
    lines = [f"This call broke off, or its end could not be recorded. Its outcome: {status}."]
    lines += [f"- on disk: {change.operation} {change.path} (+{change.added} -{change.removed})" for change in changes]
    words = {"applied": "", "not applied": "not applied", "unknown": "holds neither the old nor the new text; read it"}
    lines += [f"- {data.get('path')}: {words[verdict]}" for data, verdict in judged if words[verdict]]
    if not judged:
        lines.append("It had not begun to change any file by the file tools.")
    return "\n".join(lines)


def _error(status: ClosedStatus) -> dict[str, str]:
    if status == "unknown":
        message = (
            "This call broke off, or its end could not be recorded; a file now holds neither what it held before nor "
            "what was written."
        )
        return {"code": "UNKNOWN_OUTCOME", "message": message, "remedy": "Read the file before going on."}
    return {
        "code": "INTERRUPTED",
        "message": "This call broke off, or its end could not be recorded.",
        "remedy": "Check what is on disk, then do the rest.",
    }


def _seen(judged: Sequence[tuple[Mapping[str, Any], Verdict]]) -> dict[str, str]:
    """The model knows what its own calls wrote. A move alone shows it nothing."""
    return {
        path_from_json(data, "real"): data["after"]
        for data, verdict in judged
        if verdict == "applied" and isinstance(data.get("after"), str) and not isinstance(data.get("moved_to"), str)
    }


def _still_taken(landed: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What the intents of an undo have taken back, less what it had put back again by then."""
    taken: dict[frozenset[str], list[Mapping[str, Any]]] = {}
    for data in landed:
        keys = frozenset(place.key for place in _places(data))
        taken.pop(keys, None)
        if _list(data, "reverts"):
            taken[keys] = _list(data, "reverts")
    return [one for each in taken.values() for one in each]


def _calls_of(taken: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The calls of what was taken back, once each."""
    calls = dict.fromkeys((one.get("turn"), one.get("call")) for one in taken)
    return [{"turn": turn, "call": call} for turn, call in calls]


def _operation(data: Mapping[str, Any]) -> Literal["create", "update", "delete", "move"]:
    value = data.get("operation")
    return value if value in ("create", "update", "delete", "move") else "update"


def _position(intents: Sequence[Mapping[str, Any]], data: Mapping[str, Any]) -> int:
    return next(number for number, other in enumerate(intents) if other is data)


def _key(data: Mapping[str, Any]) -> CallKey:
    turn = data.get("turn")
    return (turn if isinstance(turn, int) else 0, str(data.get("call")))


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    value = data.get(name)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
