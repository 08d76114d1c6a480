"""From a run of changes to the files whose first and last states differ: what every net change starts from, whether it
is then shown with its bytes or in numbers.

The two ends are compared path by path, so that what comes out can always be read as a patch. A path is a move only
where its content was at another path in the beginning, that path is free now, and this one was free then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from redline.changes.record import FileChange, FileType, Operation, Side


@dataclass(frozen=True, slots=True)
class State:
    """One end of a path: whether a file is there, and what is known of it."""

    exists: bool
    side: Side | None = None
    file_type: FileType = "text"


@dataclass(frozen=True, slots=True)
class Net:
    """One file whose ends differ."""

    path: str
    old_path: str | None
    """Of a move."""
    first: State
    last: State
    steps: tuple[FileChange, ...] | None
    """The changes that lead from the first state to the last. None: the content came from elsewhere."""

    @property
    def operation(self) -> Operation:
        if self.old_path is not None:
            return "move"
        if not self.first.exists:
            return "add"
        return "modify" if self.last.exists else "delete"

    @property
    def old_type(self) -> FileType | None:
        """Of a link that became a file, or a file that became a link: what it was."""
        return self.first.file_type if _of_other_kinds(self.first, self.last) else None


@dataclass(slots=True)
class _Trail:
    """What happened to the content that is at a path now."""

    start: str | None
    """Where it was in the beginning; None: nowhere."""
    steps: list[FileChange] = field(default_factory=list)


def net_files(changes: Iterable[FileChange]) -> list[Net]:
    """Sorted by path. What was created and deleted again, or changed back, is left out."""
    first: dict[str, State] = {}
    last: dict[str, State] = {}
    trails: dict[str, _Trail] = {}
    for change in changes:
        _follow(change, first, last, trails)
    moves = {
        trail.start: path
        for path, trail in trails.items()
        if trail.start not in (None, path)
        and last[path].exists
        and not first[path].exists
        and not last[trail.start].exists
        and not _of_other_kinds(first[trail.start], last[path])
    }
    found = []
    for path in sorted(first.keys() - moves.keys()):
        trail = trails.get(path)
        start = trail.start if trail is not None else None
        old_path = start if start is not None and moves.get(start) == path else None
        before = first[old_path or path]
        if old_path is None and not _differ(before, last[path]):
            continue
        descends = trail is not None and start == ((old_path or path) if before.exists else None)
        steps = tuple(trail.steps) if trail is not None and descends else None
        found.append(Net(path, old_path, before, last[path], steps))
    return found


def _follow(change: FileChange, first: dict[str, State], last: dict[str, State], trails: dict[str, _Trail]) -> None:
    source = change.old_path if change.operation == "move" and change.old_path else change.path
    exists = change.operation != "add"
    trail = trails.pop(source, None)
    if trail is None:
        trail = _Trail(source if exists and source not in first else None)
    first.setdefault(source, State(exists, change.before, change.old_type or change.file_type))
    if source != change.path:
        first.setdefault(change.path, State(False))
        last[source] = State(False)
    trail.steps.append(change)
    trails[change.path] = trail
    last[change.path] = State(change.operation != "delete", change.after, change.file_type)


def _differ(first: State, last: State) -> bool:
    if first.exists != last.exists:
        return True
    if not first.exists:
        return False
    if first.side is None or last.side is None:
        return True
    if (first.side.blob, first.side.executable) != (last.side.blob, last.side.executable):
        return True
    return _of_other_kinds(first, last)


def _of_other_kinds(first: State, last: State) -> bool:
    """One is a link, and the other a file."""
    return first.exists and last.exists and (first.file_type == "symlink") != (last.file_type == "symlink")
