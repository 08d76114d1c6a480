"""The net change of a turn or a session: of each file from its first state to its last.

Only the two ends are compared, so what was changed back does not show, a file that was created and deleted again is
left out, and a detour through other names is one move. The bytes come from whoever keeps them, by blob id; where they
are not at hand the change says so and shows no hunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from redline.changes.compare import describe, without_basis
from redline.changes.patch import PatchItem
from redline.changes.retype import joined
from redline.transcript.ends import Net, State, net_files
from redline.transcript.fold import Transcript

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.sessions.events import Event
    from redline.sessions.store import Damaged

Read = Callable[[str], bytes | None]
"""The bytes of a blob by its id, or None where they are not kept."""


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
    return [_item(net, read) for net in net_files(changes)]


def _item(net: Net, read: Read) -> PatchItem:
    before, before_known = _bytes(net.first, read)
    after, after_known = _bytes(net.last, read)
    first, last = net.first.side, net.last.side
    if net.old_type is not None:
        was = _item(replace(net, last=State(False)), read)
        now = _item(replace(net, first=State(False)), read)
        (change,) = joined([was.change, now.change])
        return PatchItem(change, before, after)
    if not before_known or not after_known:
        return PatchItem(without_basis(net.path, net.operation, first, last, old_path=net.old_path), before, after)
    change = describe(
        net.path,
        before,
        after,
        old_path=net.old_path,
        before_executable=first is not None and first.executable,
        after_executable=last is not None and last.executable,
        file_type="symlink" if "symlink" in (net.first.file_type, net.last.file_type) else None,
    )
    return PatchItem(change, before, after)


def _bytes(state: State, read: Read) -> tuple[bytes | None, bool]:
    """The bytes, and whether that answer is right (None is right for a file that is not there)."""
    if not state.exists:
        return None, True
    data = read(state.side.blob) if state.side is not None else None
    return data, data is not None
