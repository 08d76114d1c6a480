"""A link that became a file, or a file that became a link.

git tells it as two changes of one path, the old one deleted and the new one added, and so does the log: undo, recovery
and patches know no other kinds of steps. A reader is told it as the one thing that it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redline.changes.record import FileChange, Hunk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def joined(changes: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """The changes of one call or one look, each change of type as one `modify` with its `old_type`, where its second
    half stood. A deletion that nothing of another type follows at its path stays what it is."""
    gone: dict[str, int] = {}
    result: list[FileChange | None] = []
    for change in changes:
        at = gone.pop(change.path, None)
        before = None if at is None else result[at]
        if at is not None and before is not None and change.operation == "add" and _differ(before, change):
            result[at] = None
            result.append(_join(before, change))
            continue
        if change.operation == "delete":
            gone[change.path] = len(result)
        result.append(change)
    return tuple(change for change in result if change is not None)


def halves(change: FileChange) -> tuple[FileChange, ...]:
    """As git tells it: a change of type as its deletion and its addition, every other as it is."""
    if change.old_type is None:
        return (change,)
    both = replace(change, old_type=None)
    return (
        replace(
            both, operation="delete", file_type=change.old_type, after=None, added=0,
            hunks=tuple(_side_of(hunk, "-") for hunk in change.hunks if hunk.old_lines),
        ),
        replace(
            both, operation="add", before=None, removed=0,
            hunks=tuple(_side_of(hunk, "+") for hunk in change.hunks if hunk.new_lines),
        ),
    )  # fmt: skip


def halves_of(changes: Iterable[FileChange]) -> list[FileChange]:
    return [half for change in changes for half in halves(change)]


def _differ(before: FileChange, after: FileChange) -> bool:
    """One of them is a link. From text to binary is no change of type: both are files."""
    return (before.file_type == "symlink") != (after.file_type == "symlink")


def _join(before: FileChange, after: FileChange) -> FileChange:
    return replace(
        after,
        operation="modify",
        old_type=before.file_type,
        hunks=_one_hunk(before.hunks, after.hunks),
        removed=before.removed,
        exact=before.exact and after.exact,
        truncated=before.truncated or after.truncated,
        redacted=before.redacted or after.redacted,
        before=before.before,
    )


def _one_hunk(removed: Sequence[Hunk], added: Sequence[Hunk]) -> tuple[Hunk, ...]:
    """All that went and all that came: nothing of a link goes on in a file."""
    old = tuple(line for hunk in removed for line in hunk.lines)
    new = tuple(line for hunk in added for line in hunk.lines)
    return (Hunk(1 if old else 0, len(old), 1 if new else 0, len(new), (*old, *new)),) if old or new else ()


def _side_of(hunk: Hunk, sign: str) -> Hunk:
    lines = tuple(line for line in hunk.lines if line[0] == sign)
    if sign == "-":
        return Hunk(hunk.old_start, len(lines), 0, 0, lines)
    return Hunk(0, 0, hunk.new_start, len(lines), lines)
