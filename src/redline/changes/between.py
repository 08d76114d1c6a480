"""From two changes of one state of a file to the change that leads from the one's result to the other's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.changes.apply import apply_hunks
from redline.changes.compare import comparison
from redline.changes.record import FileChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redline.changes.record import Side

_UNSEEN = "\0"
"""Begins a line that neither change shows: no line of a text holds it."""


def between(first: FileChange, second: FileChange) -> FileChange | None:
    """The change from what `first` left to what `second` left of the file that both began with.

    All that differs there stands in the hunks of the two, with its context. None: they did not begin with the same, the
    second left what the first had left, or their hunks do not say it all.
    """
    if _begin(first) != _begin(second) or not (_is_whole(first) and _is_whole(second)):
        return None
    left, leaves = first.operation != "delete", second.operation != "delete"
    if not left and not leaves:
        return None
    start = _start(first, second)
    try:
        texts = [
            apply_hunks(start, change.hunks, final_newline=change.after is None or change.after.final_newline)
            for change in (first, second)
        ]
    except ValueError:
        return None
    found = comparison(*texts)
    if any(line[1:].startswith(_UNSEEN) for hunk in found.hunks for line in hunk.lines):
        return None
    moved = left and leaves and first.path != second.path
    if not found.hunks and not moved and _state(first.after) == _state(second.after):
        return None
    return FileChange(
        path=second.path if leaves else first.path,
        operation="add" if not left else "delete" if not leaves else "move" if moved else "modify",
        hunks=found.hunks,
        added=found.added,
        removed=found.removed,
        file_type=second.file_type,
        old_path=first.path if moved else None,
        before=first.after,
        after=second.after,
        provenance=second.provenance,
    )


def _begin(change: FileChange) -> tuple[str, object]:
    return change.old_path or change.path, _state(change.before)


def _state(side: Side | None) -> object:
    return None if side is None else (side.blob, side.executable)


def _is_whole(change: FileChange) -> bool:
    plain = change.file_type in ("text", "symlink") and change.old_type is None
    return plain and change.anchored and not change.truncated and not change.redacted


def _start(first: FileChange, second: FileChange) -> bytes:
    """What both began with, as far as they show it; what they do not show stands for itself."""
    known: dict[int, str] = {}
    for change in (first, second):
        known.update(_old_lines(change))
    lines = [known.get(number, f"{_UNSEEN}{number}") for number in range(1, max(known, default=0) + 1)]
    ends = "\n" if lines and (first.before is None or first.before.final_newline) else ""
    return ("\n".join(lines) + ends).encode("utf-8", "surrogateescape")


def _old_lines(change: FileChange) -> Iterator[tuple[int, str]]:
    for hunk in change.hunks:
        texts = [line[1:] for line in hunk.lines if line[:1] in (" ", "-")]
        yield from enumerate(texts, hunk.old_start)
