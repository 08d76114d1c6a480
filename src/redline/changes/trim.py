"""Cutting off what both sides share at their head and tail, at the speed of comparing memory.

Most edits change a few lines of a large file. What stays after the cut is the middle, with whole lines around it: the
context of the hunks, and enough neighbours that a group of changed lines settles where it would in the whole file.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redline.changes.record import Hunk

STEP = 1 << 16
"""Bytes compared at once: a block and its copy stay in the second-level cache."""
_BLOCK = 512
"""Bytes in which the first difference is looked for."""
_MARGIN = 24
"""Lines that must stay between a group and the edge: context, and git's look at up to 20 blank lines."""
_FAR = 4096
"""A group so far from the edge, or so long, is not asked whether it could reach it."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the middle lies. `before[start:old_end]` and `after[start:new_end]` begin and end at line boundaries."""

    start: int
    old_end: int
    new_end: int


def common_head(before: bytes, after: bytes) -> int:
    """How many bytes are equal at the start."""
    limit = min(len(before), len(after))
    at, width = 0, _BLOCK
    while at < limit and before.startswith(after[at : at + width], at):
        at += width
        width = min(width * 4, STEP)
    while width > _BLOCK and at < limit:
        width //= 2
        if before.startswith(after[at : at + width], at):
            at += width
    if at >= limit:
        return limit
    width = min(width, limit - at)
    return at + _equal_bytes(before[at : at + width], after[at : at + width], "little")


def common_tail(before: bytes, after: bytes, head: int) -> int:
    """How many bytes are equal at the end, without touching the first `head` bytes of either side."""
    old_end, new_end = len(before), len(after)
    limit = min(old_end, new_end) - head
    got, width = 0, _BLOCK
    while got < limit and before.endswith(after[max(new_end - got - width, 0) : new_end - got], 0, old_end - got):
        got += width
        width = min(width * 4, STEP)
    while width > _BLOCK and got < limit:
        width //= 2
        if before.endswith(after[max(new_end - got - width, 0) : new_end - got], 0, old_end - got):
            got += width
    if got >= limit:
        return limit
    old_end, new_end, width = old_end - got, new_end - got, min(width, limit - got)
    return got + _equal_bytes(before[old_end - width : old_end], after[new_end - width : new_end], "big")


def _equal_bytes(one: bytes, other: bytes, order: Literal["little", "big"]) -> int:
    """How many bytes of two equally long blocks are equal, from their start (little) or end (big): a block is read as a
    number, and the lowest bit that differs tells."""
    difference = int.from_bytes(one, order) ^ int.from_bytes(other, order)
    return ((difference & -difference).bit_length() - 1) // 8 if difference else len(one)


def cut(before: bytes, after: bytes, head: int, tail: int, lines: int) -> Cut:
    """The middle with at least `lines` whole common lines on each side, or all there are.

    The whole, where the common parts are too small to be worth the cut.
    """
    if (head + tail) * 4 < len(before):
        return Cut(0, len(before), len(after))
    start = _line_start(before, head, lines)
    old_end = _line_end(before, len(before) - tail, lines + 1)
    return Cut(start, old_end, old_end + len(after) - len(before))


def tail_start(before: bytes, after: bytes, start: int, tail: int) -> int:
    """Where, in `before`, the first whole line of the common tail begins; not above `start`."""
    old, new = len(before) - tail, len(after) - tail
    at_line = (old == start or before[old - 1 : old] == b"\n") and (new == start or after[new - 1 : new] == b"\n")
    if at_line:
        return old
    following = before.find(b"\n", old) + 1
    return following or len(before)


def is_settled(hunks: Sequence[Hunk], lines_above: int, cut: Cut, before: bytes) -> bool:
    """Whether the first and last groups of changed lines lie where they would lie in the whole file.

    git moves a group along equal lines and looks at the blank lines and the indentation around each place; a group that
    could go on into what was cut off is not settled. `lines_above`: lines of the file above the middle.
    """
    if cut.start > 0 and hunks:
        context = _leading_context(hunks[0].lines)
        above = hunks[0].old_start - 1 + context - lines_above
        if not _stays_inside(hunks[0].lines, context, above, lambda: _lines_after(before, cut.start, above)[::-1]):
            return False
    if cut.old_end < len(before) and hunks:
        last = hunks[-1]
        lines = last.lines[::-1]
        context = _leading_context(lines)
        window_end = lines_above + before.count(b"\n", cut.start, cut.old_end)
        below = window_end - (last.old_start - 1 + last.old_lines - context)
        if not _stays_inside(lines, context, below, lambda: _lines_before(before, cut.old_end, below)):
            return False
    return True


def _stays_inside(lines: Sequence[str], context: int, room: int, outward: Callable[[], list[str]]) -> bool:
    """`lines`: a hunk's, from the edge inwards, with `context` lines before the group; `room`: common lines between the
    group and the edge; `outward` gives them, from the group on."""
    if room < _MARGIN:
        return False
    if room > _FAR:
        return True
    changed = list(itertools.takewhile(_is_changed, itertools.islice(lines, context, context + _FAR)))
    if len(changed) == _FAR:
        return True
    for sign in "-+":
        group = [line[1:] for line in changed if line[0] == sign]
        if not group or not context or lines[context - 1][1:] != group[-1]:
            continue
        # Moving one line outwards needs an equal line at the group's other end, which then stands beyond it.
        beyond = outward()
        sequence = [*group[::-1], *beyond]
        moved = next((at for at, line in enumerate(beyond) if line != sequence[at]), room)
        if room - moved < _MARGIN:
            return False
    return True


def _is_changed(line: str) -> bool:
    return line[0] != " "


def _lines_after(data: bytes, start: int, count: int) -> list[str]:
    end = start
    for _ in range(count):
        end = data.index(b"\n", end) + 1
    return data[start:end].decode("utf-8", "surrogateescape").split("\n")[:count]


def _lines_before(data: bytes, end: int, count: int) -> list[str]:
    start = end
    for _ in range(count):
        start = data.rfind(b"\n", 0, start - 1) + 1
    return data[start:end].decode("utf-8", "surrogateescape").split("\n")[:count]


def _leading_context(lines: Sequence[str]) -> int:
    return next(at for at, line in enumerate(lines) if line[0] != " ")


def middles(before: bytes, after: bytes, cut: Cut) -> tuple[bytes | memoryview, bytes | memoryview]:
    """The two middles, not copied."""
    if cut.start == 0 and cut.old_end == len(before):
        return before, after
    return memoryview(before)[cut.start : cut.old_end], memoryview(after)[cut.start : cut.new_end]


def _line_start(data: bytes, position: int, lines: int) -> int:
    """Start of a line with at least `lines` ends of lines between it and `position`, or of the file."""
    reach = 48 * lines
    while (start := position - reach) > 0:
        start = data.find(b"\n", start, position) + 1
        if start and data.count(b"\n", start, position) >= lines:
            return start
        reach *= 4
    return 0


def _line_end(data: bytes, position: int, lines: int) -> int:
    """End of a line with at least `lines` ends of lines between `position` and it, or of the file."""
    reach = 48 * lines
    while (end := position + reach) < len(data):
        end = data.rfind(b"\n", position, end) + 1
        if end and data.count(b"\n", position, end) >= lines:
            return end
        reach *= 4
    return len(data)
