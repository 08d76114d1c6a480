"""Applying hunks to bytes, strictly: what does not fit is refused, never moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.changes.compare import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from redline.changes.record import Hunk


def apply_hunks(before: bytes, hunks: Iterable[Hunk], *, final_newline: bool) -> bytes:
    """The bytes after. `final_newline`: whether the last line of the result ends with `\\n`.

    Raises ValueError, naming the hunk, where a number or a line does not fit `before`.
    """
    old = lines_of(before)
    new: list[str] = []
    at = 0
    for number, hunk in enumerate(hunks, 1):
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        if start < at or start > len(old):
            raise ValueError(f"hunk {number}: line {hunk.old_start} is out of order or beyond the file")
        new += old[at:start]
        if len(new) != (hunk.new_start - 1 if hunk.new_lines else hunk.new_start):
            raise ValueError(f"hunk {number}: its new start {hunk.new_start} does not follow from the lines above")
        removed = [line[1:] for line in hunk.lines if line[:1] in (" ", "-")]
        added = [line[1:] for line in hunk.lines if line[:1] in (" ", "+")]
        at = start + len(removed)
        if old[start:at] != removed:
            raise ValueError(f"hunk {number}: its lines are not those at line {hunk.old_start} of the file")
        if (len(removed), len(added)) != (hunk.old_lines, hunk.new_lines):
            raise ValueError(f"hunk {number}: its header counts other lines than it holds")
        new += added
    new += old[at:]
    text = "\n".join(new)
    if new and final_newline:
        text += "\n"
    return text.encode("utf-8", "surrogateescape")
