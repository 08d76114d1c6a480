"""Cutting off what both sides share at their head and tail, at the speed of comparing memory.

Most edits change a few lines of a large file. What stays after the cut is the middle, with whole lines around it: the
context of the hunks, and enough neighbours that a group of changed lines settles where it would in the whole file.
"""

from __future__ import annotations

from dataclasses import dataclass

STEP = 1 << 16
"""Bytes compared at once: a block and its copy stay in the second-level cache."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the middle lies. `before[start:old_end]` and `after[start:new_end]` begin and end at line boundaries."""

    start: int
    old_end: int
    new_end: int


def common_head(before: bytes, after: bytes) -> int:
    """How many bytes are equal at the start."""
    limit = min(len(before), len(after))
    at, width = 0, 1024
    while at < limit and before.startswith(after[at : at + width], at):
        at += width
        width = min(width * 4, STEP)
    while width > 1 and at < limit:
        half = width // 2
        if before.startswith(after[at : at + half], at):
            at += half
            width -= half
        else:
            width = half
    return min(at, limit)


def common_tail(before: bytes, after: bytes, head: int) -> int:
    """How many bytes are equal at the end, without touching the first `head` bytes of either side."""
    limit = min(len(before), len(after)) - head
    old_end, new_end = len(before), len(after)
    got, width = 0, 1024
    while got < limit and before.endswith(after[max(new_end - got - width, 0) : new_end - got], 0, old_end - got):
        got += width
        width = min(width * 4, STEP)
    while width > 1 and got < limit:
        half = width // 2
        if before.endswith(after[max(new_end - got - half, 0) : new_end - got], 0, old_end - got):
            got += half
            width -= half
        else:
            width = half
    return min(got, limit)


def cut(before: bytes, after: bytes, head: int, tail: int, lines: int) -> Cut:
    """The middle with at least `lines` whole common lines on each side, or all there are."""
    start = _line_start(before, head, lines)
    old_end = _line_end(before, len(before) - tail, lines)
    return Cut(start, old_end, old_end + len(after) - len(before))


def _line_start(data: bytes, position: int, lines: int) -> int:
    """Start of the line that lies at least `lines` full lines before `position`."""
    reach = 48 * lines
    while True:
        start = position - reach
        if start <= 0:
            return 0
        start = data.find(b"\n", start, position) + 1
        if start and data.count(b"\n", start, position) >= lines:
            return start
        reach *= 4


def _line_end(data: bytes, position: int, lines: int) -> int:
    """End of the line that lies at least `lines` full lines after the one at `position`."""
    reach = 48 * lines
    while True:
        end = position + reach
        if end >= len(data):
            return len(data)
        end = data.rfind(b"\n", position, end) + 1
        if end and data.count(b"\n", position, end) > lines:
            return end
        reach *= 4
