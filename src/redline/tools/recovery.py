"""What a session that broke off gets at its next start: every call, request and turn closed, by what is on the disk.

Nothing here trusts what was about to happen, or claims to know why nothing more was recorded: the process may have been
killed, or the log may have been full. For every intent that no result followed, the file is looked at: it holds
the bytes after, or those before, or neither. A recovery that is itself cut short is finished by the next one, because
each close is an event of its own and the end of the turn comes last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from redline.changes.codec import path_from_json, to_json
from redline.files.error import FileError
from redline.files.seam import Blob, Files, Target
from redline.tools import broken_off
from redline.tools.aftermath import Aftermath, Judged
from redline.tools.broken_off import Missed, is_foreign
from redline.tools.found import record_found
from redline.tools.intent import CallKey, Intent, call_key, mappings
from redline.tools.knowledge import seen_entries
from redline.tools.missed import look_for_missed
from redline.tools.neighbours import told_apart
from redline.tools.recorder import Recorder
from redline.tools.standing import calls_of
from redline.tools.tool import text_block
from redline.tools.unfinished import Unfinished
from redline.tools.verdict import Verdict
from redline.workspace.store import ByteStore

if TYPE_CHECKING:
    from pathlib import Path

    from redline.changes.record import FileChange
    from redline.sessions.log import SessionLog
    from redline.workspace.observe import Observer

ClosedStatus = Literal["completed", "interrupted", "unknown"]


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
    found = await Unfinished.of(log)
    if found.is_empty:
        return Recovery()
    closing = _Closing(log, store, files, found)
    await _remove_drafts(files, found.paths())
    permissions = await closing.permissions()
    opened = found.open_calls()
    calls = [await closing.call(one) for one in opened if not is_foreign(one)]
    undos = [await closing.undo(key, intents) for key, intents in found.open_undos().items()]
    calls += await closing.foreign([one for one in opened if is_foreign(one)], observer)
    for turn in found.turns:
        await log.append("turn/ended", {"turn": turn, "reason": "interrupted"}, durable=True)
    return Recovery(calls, undos, permissions, list(found.turns))


@runtime_checkable
class _LeavesDrafts(Protocol):
    """A backend that leaves temporary files when it is killed, and can take them away."""

    async def sweep(self, target: Target) -> None: ...


async def _remove_drafts(files: Files, paths: Iterable[str]) -> None:
    """Take away what was being written when the process died, beside the files that it was about."""
    if not isinstance(files, _LeavesDrafts):
        return
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

    def __init__(self, log: SessionLog, store: ByteStore, files: Files, found: Unfinished) -> None:
        self._log = log
        self._found = found
        self._aftermath = Aftermath(found.intents, files, store, log.session, Recorder(log.redactor))

    async def permissions(self) -> list[str]:
        for request, data in self._found.asked.items():
            answer = {
                "turn": data.get("turn", 0),
                "call": data.get("call", ""),
                "request": request,
                "outcome": "cancelled",
                "by": "the end of the turn",
            }
            await self._log.append("permission/answered", answer)
        return list(self._found.asked)

    async def call(self, opened: Mapping[str, Any]) -> ClosedCall:
        turn, call = call_key(opened)
        judged = await self._aftermath.of_call((turn, call))
        changes = await self._aftermath.changes(judged)
        status = _status(opened, [verdict for _, verdict in judged], changes)
        idle = not judged and self._found.never_allowed(opened)
        said = broken_off.NEVER_ALLOWED["message"] if idle else _told(status, judged, changes)
        result: dict[str, Any] = {
            "turn": turn,
            "call": call,
            "name": opened.get("name", ""),
            "kind": opened.get("kind", "other"),
            "status": status,
            "content": [text_block(said)],
            "changes": [to_json(change) for change in changes],
            "warnings": [] if idle else [broken_off.READ],
        }
        if status != "completed":
            result["error"] = broken_off.NEVER_ALLOWED if idle else _error(status)
        seen = _seen(judged)
        if seen:
            result["seen"] = seen_entries(seen)
        await self._log.append("tool/result", result, durable=True)
        return ClosedCall(turn, call, status, changes)

    async def foreign(self, opened: Sequence[Mapping[str, Any]], observer: Observer | None) -> list[ClosedCall]:
        """Calls of a foreign agent, and what else had changed in the workspace by now: each change is told once."""
        aftermath = self._aftermath
        done = {call_key(one): await aftermath.changes(await aftermath.of_call(call_key(one))) for one in opened}
        turns, missed = self._found.turns, Missed()
        if observer is not None and turns:
            landed = [change for changes in done.values() for change in changes]
            missed = await look_for_missed(self._log, observer, max(turns), landed)
        waiting = {call_key(data) for data in self._found.asked.values()}
        free = [one for one in opened if call_key(one) not in waiting]
        before = {call_key(one): self._told(call_key(one)) for one in opened}
        known = {key: broken_off.paths_of([*before[key], *changes]) for key, changes in done.items()}
        given = broken_off.shares(free, known, missed)
        closed = []
        for one in opened:
            key = call_key(one)
            new = [*done[key], *given.get(key, ())]
            status = broken_off.status(one, [*before[key], *new], missed)
            result = broken_off.result(one, status, self._found.told.get(key, ()), new, missed)
            untouched = status == "interrupted" and missed.looked and not (before[key] or new)
            if untouched and self._found.never_allowed(one):
                result["error"], result["warnings"] = broken_off.NEVER_ALLOWED, []
            elif status != "completed":
                result["error"] = broken_off.UNSURE if status == "unknown" else _error(status)
            await self._log.append("tool/result", result, durable=True)
            closed.append(ClosedCall(*key, status, [*before[key], *new]))
        told = [change for changes in given.values() for change in changes]
        if observer is not None and turns:
            rest = [change for change in missed.changes if change not in told]
            apart = await told_apart(self._log, observer.root, rest, missed.since)
            await record_found(self._log, apart.own, max(turns), durable=True)
            await record_found(self._log, apart.shared, max(turns), beside=apart.others, durable=True)
            await observer.keep(self._log.seq)
        return closed

    def _told(self, key: CallKey) -> list[FileChange]:
        return [change for change in self._found.told.get(key, ()) if change is not None]

    async def undo(self, key: CallKey, intents: Sequence[Intent]) -> ClosedCall:
        """An undo that broke off: what it had taken back by then is an undo of that much."""
        turn, call = key
        judged = await self._aftermath.of(intents)
        changes = await self._aftermath.changes(judged)
        landed = [intent for intent, verdict in judged if verdict == "applied"]
        whole = len(landed) == len(judged) == landed[0].steps if landed else False
        status: ClosedStatus = "completed" if whole else "interrupted"
        if any(verdict == "unknown" for _, verdict in judged):
            status = "unknown"
        taken = _still_taken(landed)
        event = {
            "turn": turn,
            "call": call,
            "of": calls_of(taken),
            "took": taken,
            "changes": [to_json(change) for change in changes],
            "status": status,
        }
        await self._log.append("change/reverted", event, durable=True)
        if status == "unknown":
            await self._log.append("notice/raised", {"turn": turn, "level": "warning", **_error(status)})
        return ClosedCall(turn, call, status, changes)


def _status(opened: Mapping[str, Any], verdicts: Iterable[Verdict], changes: Sequence[FileChange]) -> ClosedStatus:
    if any(verdict == "unknown" for verdict in verdicts):
        return "unknown"
    proposed = {path_from_json(change, "path") for change in mappings(opened.get("proposed"))}
    done = {change.path for change in changes}
    return "completed" if proposed and proposed <= done else "interrupted"


def _told(status: ClosedStatus, judged: Sequence[Judged], changes: Sequence[FileChange]) -> str:
    """For the model, which will read this when the session goes on."""
    lines = [f"This call broke off, or its end could not be recorded. Its outcome: {status}."]
    lines += [f"- on disk: {change.operation} {change.path} (+{change.added} -{change.removed})" for change in changes]
    words = {"applied": "", "not applied": "not applied", "unknown": "holds neither the old nor the new text; read it"}
    lines += [f"- {intent.target.path}: {words[verdict]}" for intent, verdict in judged if words[verdict]]
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


def _seen(judged: Sequence[Judged]) -> dict[str, Blob]:
    """The model knows what its own calls wrote. A move alone shows it nothing."""
    return {
        intent.target.key: intent.after.blob
        for intent, verdict in judged
        if verdict == "applied" and intent.after is not None and intent.moved_to is None
    }


def _still_taken(landed: Sequence[Intent]) -> list[Mapping[str, Any]]:
    """What the intents of an undo have taken back, less what it had put back again by then."""
    taken: dict[frozenset[str], list[Mapping[str, Any]]] = {}
    for intent in landed:
        keys = frozenset(place.key for place in intent.places)
        taken.pop(keys, None)
        if intent.reverts:
            taken[keys] = [*intent.reverts]
    return [one for each in taken.values() for one in each]
