"""The search for a smallest change between two middles: git's own algorithm, through libgit2.

What a caller of libgit2 must know, and what is done about it here: text goes in as bytes with `FORCE_TEXT` (else a NUL
silently gives no diff); `MINIMAL` would remove the bound on work; over 1023 MiB counts as binary; equal hashes of lines
make it quadratic (`numbering`); hunk headers carry text of the file after the second `@@`, so only their numbers are
read. It cannot be stopped and holds the interpreter lock, so large middles are searched in a process of their own
(`worker`), and the limits below are ones of work, never of time: the answer does not depend on the load.
"""

from __future__ import annotations

import functools
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final

from redline.changes import numbering
from redline.changes.record import Hunk

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygit2 import Patch

CONTEXT: Final = 3
"""Lines of context around a change; sites at most twice as many lines apart share a hunk, as in git."""
BYTES_LIMIT = 1023 << 20
"""Bytes of one side of the middle; libgit2 takes more for binary."""
LINES_LIMIT = 4_000_000
"""Lines of one side of the middle; libgit2 needs some 200 bytes of memory for each."""
UNMATCHED_LIMIT = 100_000
"""Lines of one side of the middle that have no equal on the other side."""
Found = tuple[bytes | bytearray, int, int]
"""What a search gives: the hunks of a unified patch, from the first `@@` on (empty for equal sides), and how many lines
were added and removed."""
_SAMPLES = 64
_REACH = 1 << 16
_SHORT = 4096


def search(before: bytes, after: bytes) -> Found | None:
    """The smallest change that git finds.

    None where the sides are over one of the limits: the answer is then one block.
    """
    if max(len(before), len(after)) > BYTES_LIMIT:
        return None
    if _more_lines_than(LINES_LIMIT, before, after):
        return None
    # Counting costs as much as the search, so it comes first only where the sides look unlike; the answer is the same.
    counted_first = (
        _could_exceed(before, after)
        and not _look_alike(before, after)
        and _more_lines_than(UNMATCHED_LIMIT, before, after)
    )
    if counted_first and _is_unmatched(before, after):
        return None
    if numbering.would_collide(before, after):
        found = numbering.numbered_patch(before, after, patch_text)
    else:
        found = patch_text(before, after)
    # A line without an equal is a changed line: few changed lines need no counting.
    many = max(found[1:]) > UNMATCHED_LIMIT
    if many and not counted_first and _is_unmatched(before, after):
        return None
    return found


def patch_text(before: bytes, after: bytes) -> Found:
    """What libgit2 finds, without a limit."""
    patch = _make_patch()(before, after)
    data: bytes = patch.data
    start = data.find(b"\n@@ ") + 1
    _, added, removed = patch.line_stats
    return data[start:] if start else b"", added, removed


@functools.cache
def _make_patch() -> Callable[[bytes, bytes], Patch]:
    """Imported late: a program that compares nothing need not wait for the library."""
    from pygit2 import Patch
    from pygit2.enums import DiffOption

    flags = DiffOption.FORCE_TEXT | DiffOption.INDENT_HEURISTIC
    return functools.partial(Patch.create_from, flag=flags, context_lines=CONTEXT)


def hunks_of(found: Found, lines_above: int, *, finished: bool) -> tuple[Hunk, ...]:
    """Read what `search` gave. `lines_above`: lines of the file that were cut off above the middle; `finished`: both
    sides end with a newline, so that the patch holds no marker."""
    patch, added, removed = found
    if not patch:
        return ()
    text = str(patch, "utf-8", "surrogateescape")
    if finished and text.find("\n@@ ", 0, _SHORT) < 0:
        lines = text.split("\n")
        numbers = _numbers(lines[0])
        # Have the counted changes no room in another hunk? Asked because a look for one takes long in a large text.
        context = numbers[1] - removed
        if context == numbers[3] - added and len(lines) - 2 == context + added + removed:
            return (_hunk(numbers, tuple(lines[1:-1]), lines_above),)
    hunks = []
    for part in text.removesuffix("\n").split("\n@@ "):
        header, _, body = part.partition("\n")
        hunks.append(_hunk(_numbers(header), tuple(body.split("\n")), lines_above))
    if not finished:
        last = hunks[-1]  # no other can hold a marker
        hunks[-1] = replace(last, lines=tuple([line for line in last.lines if line[0] != "\\"]))
    return tuple(hunks)


_SET_OLD_START, _SET_OLD_LINES, _SET_NEW_START, _SET_NEW_LINES, _SET_LINES = (
    Hunk.__dict__[field.name].__set__ for field in fields(Hunk)
)


def _hunk(numbers: tuple[int, int, int, int], lines: tuple[str, ...], lines_above: int) -> Hunk:
    """A frozen record's own constructor takes twice as long as this, which shows in small comparisons."""
    hunk = object.__new__(Hunk)
    _SET_OLD_START(hunk, numbers[0] + lines_above)
    _SET_OLD_LINES(hunk, numbers[1])
    _SET_NEW_START(hunk, numbers[2] + lines_above)
    _SET_NEW_LINES(hunk, numbers[3])
    _SET_LINES(hunk, lines)
    return hunk


def _numbers(header: str) -> tuple[int, int, int, int]:
    """Of `@@ -1,2 +3,4 @@ …`, with or without the first sign; a missing count means 1."""
    old, new, _ = header.removeprefix("@@ ").split(" ", 2)
    old_start, _, old_lines = old.partition(",")
    new_start, _, new_lines = new.partition(",")
    return -int(old_start), int(old_lines or 1), int(new_start), int(new_lines or 1)


def _more_lines_than(limit: int, before: bytes, after: bytes) -> bool:
    return max(len(before), len(after)) > limit and max(before.count(b"\n"), after.count(b"\n")) > limit


def _could_exceed(before: bytes, after: bytes) -> bool:
    """Whether a side has, by a guess that may be half of the truth, so many lines that counting them could matter."""
    if max(len(before), len(after)) <= UNMATCHED_LIMIT:
        return False
    return 2 * max(numbering.guessed_lines(before), numbering.guessed_lines(after)) > UNMATCHED_LIMIT


def _look_alike(before: bytes, after: bytes) -> bool:
    """Whether most of some lines, picked evenly, stand near the same place on the other side."""
    found = 0
    for number in range(_SAMPLES):
        place = len(before) * number // _SAMPLES
        start = before.find(b"\n", place)
        end = before.find(b"\n", start + 1)
        if 0 <= start < end:
            near = place * len(after) // len(before)
            found += after.find(before[start : end + 1], max(near - _REACH, 0), near + _REACH) >= 0
    return found * 2 > _SAMPLES


def _is_unmatched(before: bytes, after: bytes) -> bool:
    old, new = before.split(b"\n"), after.split(b"\n")
    return _unmatched(old, set(new)) > UNMATCHED_LIMIT or _unmatched(new, set(old)) > UNMATCHED_LIMIT


def _unmatched(lines: list[bytes], other: set[bytes]) -> int:
    return len(lines) - sum(map(other.__contains__, lines))
