"""Shortening a change for a reader or for the log: whole lines only, headers recounted, totals kept."""

from __future__ import annotations

from dataclasses import replace

from redline.changes.record import FileChange, Hunk

LOG_LIMIT = 1 << 20
"""Bytes of hunks that the record in the log keeps; patches and undo read the true bytes from the private store."""
READER_LIMIT = 64 * 1024
"""Bytes of text that a reader is given by default."""
_HEADER = 48
"""What a header line may take, at most: four numbers of nine digits and the signs."""


def shortened(change: FileChange, limit_bytes: int) -> FileChange:
    """The change with at most `limit_bytes` of hunk text (UTF-8), cut between lines; itself where it fits.

    The last kept hunk is recounted and keeps at least one changed line. A first line that alone is over the limit
    leaves no hunk. `truncated` is set and `added` and `removed` stay those of the whole.
    """
    kept: list[Hunk] = []
    left = limit_bytes
    for hunk in change.hunks:
        left -= _HEADER
        count = 0
        for line in hunk.lines:
            left -= _size(line)
            if left < 0:
                break
            count += 1
        if left < 0:
            cut = _first_lines(hunk, count)
            return replace(change, hunks=(*kept, cut) if cut else tuple(kept), truncated=True)
        kept.append(hunk)
    return change


def _first_lines(hunk: Hunk, count: int) -> Hunk | None:
    lines = hunk.lines[:count]
    signs = [line[0] for line in lines]
    added, removed = signs.count("+"), signs.count("-")
    if not added and not removed:
        return None
    context = count - added - removed
    old_lines, new_lines = context + removed, context + added
    return Hunk(
        # A side without lines starts at the line before the place.
        old_start=hunk.old_start if old_lines or not hunk.old_lines else hunk.old_start - 1,
        old_lines=old_lines,
        new_start=hunk.new_start if new_lines or not hunk.new_lines else hunk.new_start - 1,
        new_lines=new_lines,
        lines=lines,
    )


def _size(line: str) -> int:
    length = len(line) + 1
    return length if line.isascii() else len(line.encode("utf-8", "surrogatepass")) + 1
