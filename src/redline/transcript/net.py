"""The net change of a turn or a session: of each file from its first state to its last.

Only the two ends are compared, so what was changed back does not show, a file that was created and deleted again is
left out, and a detour through other names is one move. The bytes come from whoever keeps them, by blob id; where they
are not at hand the change says so and shows no hunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redline.changes.compare import describe, without_basis
from redline.changes.patch import PatchItem
from redline.transcript.fold import Transcript

if TYPE_CHECKING:
    from redline.changes.record import FileChange, FileType, Operation, Side
    from redline.sessions.events import Event
    from redline.sessions.store import Damaged

Read = Callable[[str], bytes | None]
"""The bytes of a blob by its id, or None where they are not kept."""


@dataclass(slots=True)
class _State:
    """One end of a path: whether a file is there, and what is known of it."""

    exists: bool
    side: Side | None = None
    file_type: FileType = "text"


def landed(events: Iterable[Event | Damaged], *, turn: int | None = None) -> list[FileChange]:
    """The changes on disk of a log, or of one turn of it, in the order in which they landed: those of calls, those
    found on disk, and those of undo."""
    transcript = Transcript("", {})
    for event in events:
        transcript.apply(event)
    return transcript.landed(turn)


def net_changes(changes: Iterable[FileChange], read: Read) -> list[FileChange]:
    """One change a file whose ends differ, sorted by path."""
    return [item.change for item in net_items(changes, read)]


def net_items(changes: Iterable[FileChange], read: Read) -> list[PatchItem]:
    """The same with the true bytes beside each change, as a patch needs them. Where `change.file_type` is `unknown`
    the bytes of a side are missing, and no patch can be made of it."""
    first, last, origin = _ends(changes)
    moved = {
        source: path
        for path, source in origin.items()
        if source != path and first[source].exists and not last[source].exists and not first[path].exists
    }
    items = []
    for path in sorted(first):
        if path in moved:
            continue
        old_path = origin.get(path, path)
        if moved.get(old_path) == path:
            items.append(_item(path, first[old_path], last[path], read, old_path=old_path))
        elif _differ(first[path], last[path]):
            items.append(_item(path, first[path], last[path], read))
    return items


_Ends = tuple[dict[str, _State], dict[str, _State], dict[str, str]]


def _ends(changes: Iterable[FileChange]) -> _Ends:
    """By path: the first state, the last one, and (of what exists) the path where its content was at the beginning."""
    first: dict[str, _State] = {}
    last: dict[str, _State] = {}
    origin: dict[str, str] = {}
    for change in changes:
        before = _State(change.operation != "add", change.before, change.file_type)
        after = _State(change.operation != "delete", change.after, change.file_type)
        source = change.old_path if change.operation == "move" and change.old_path else change.path
        if source not in first:
            first[source] = before
            if before.exists:
                origin[source] = source
        if source != change.path:
            first.setdefault(change.path, _State(False))
            last[source] = _State(False)
            held = origin.pop(source, None)
            origin.pop(change.path, None)
            if held is not None:
                origin[change.path] = held
        elif not after.exists:
            origin.pop(change.path, None)
        last[change.path] = after
    return first, last, origin


def _differ(first: _State, last: _State) -> bool:
    if first.exists != last.exists:
        return True
    if not first.exists:
        return False
    if first.side is None or last.side is None:
        return True
    return (first.side.blob, first.side.executable) != (last.side.blob, last.side.executable)


def _item(path: str, first: _State, last: _State, read: Read, *, old_path: str | None = None) -> PatchItem:
    before, before_known = _bytes(first, read)
    after, after_known = _bytes(last, read)
    if not before_known or not after_known:
        operation: Operation = "add" if not first.exists else "delete" if not last.exists else "modify"
        if old_path is not None:
            operation = "move"
        change = without_basis(path, operation, first.side, last.side, old_path=old_path)
        return PatchItem(change, before, after)
    change = describe(
        path,
        before,
        after,
        old_path=old_path,
        before_executable=first.side is not None and first.side.executable,
        after_executable=last.side is not None and last.side.executable,
        file_type="symlink" if "symlink" in (first.file_type, last.file_type) else None,
    )
    return PatchItem(change, before, after)


def _bytes(state: _State, read: Read) -> tuple[bytes | None, bool]:
    """The bytes, and whether that answer is right (None is right for a file that is not there)."""
    if not state.exists:
        return None, True
    data = read(state.side.blob) if state.side is not None else None
    return data, data is not None
