"""What an undo took back, marked where it was made: on calls, on what was found, and on earlier undos."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redline.transcript.rows import AnyRow, FoundRow, RevertRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from redline.changes.record import FileChange
    from redline.transcript.call import Call
    from redline.transcript.standing import Standing


class Marks:
    """Those that one undo leaves. `show` puts a call's row in its place again."""

    def __init__(
        self,
        standing: Standing,
        calls: Mapping[tuple[int, str], Call],
        show: Callable[[Call], AnyRow],
        revision: int,
    ) -> None:
        self._standing = standing
        self._calls = calls
        self._show = show
        self._revision = revision

    def of(self, undo: RevertRow) -> list[AnyRow]:
        """The rows that are changed by the undo, in order. Undoing an undo puts back what that one had taken."""
        return self._mark(undo, taken_back=True, seen=frozenset((undo.id,)))

    def _mark(self, undo: RevertRow, *, taken_back: bool, seen: frozenset[str]) -> list[AnyRow]:
        paths = {path for change in undo.changes for path in (change.path, change.old_path) if path}
        changed: list[AnyRow] = []
        for turn, name in undo.of:
            earlier = self._standing.get(f"revert:{turn}:{name}")
            if isinstance(earlier, RevertRow) and earlier.id not in seen:
                changed.append(self._standing.put(replace(earlier, reverted=taken_back, revision=self._revision)))
                changed += self._mark(earlier, taken_back=not taken_back, seen=seen | {earlier.id})
            if not name:
                changed += self._mark_found(turn, paths, taken_back=taken_back)
            call = self._calls.get((turn, name))
            if call is None:
                continue
            own = _own(call.changes, paths)
            call.reverted = call.reverted | own if taken_back else call.reverted - own
            changed.append(self._show(call))
        for turn, name, hunk in undo.hunks:
            if (call := self._calls.get((turn, name))) is not None:
                part = {(path, hunk) for path in _own(call.changes, paths)}
                call.reverted_hunks = call.reverted_hunks | part if taken_back else call.reverted_hunks - part
                changed.append(self._show(call))
        return changed

    def _mark_found(self, turn: int, paths: set[str], *, taken_back: bool) -> list[AnyRow]:
        changed: list[AnyRow] = []
        for row in [row for row in self._standing.all() if isinstance(row, FoundRow) and row.turn == turn]:
            own = _own(row.changes, paths)
            marked = own.union(row.reverted_paths) if taken_back else set(row.reverted_paths) - own
            if marked != set(row.reverted_paths):
                marks = tuple(sorted(marked))
                changed.append(self._standing.put(replace(row, reverted_paths=marks, revision=self._revision)))
        return changed


def _own(changes: Iterable[FileChange], paths: set[str]) -> set[str]:
    """The paths of those changes that concern one of `paths`."""
    return {change.path for change in changes if {change.path, change.old_path} & paths}
