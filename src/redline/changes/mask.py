"""Putting masked lines into a change, so that a card shows no secret and its arithmetic stays true."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redline.changes.record import FileChange, Hunk


def mask_lines(change: FileChange, old: Mapping[int, str], new: Mapping[int, str]) -> FileChange:
    """The change with lines replaced by number: `old` of the side before, `new` of the side after, from 1.

    A masked text holds no `\\n`. A context line is masked if either side says so. Sets `redacted` where a line that the
    hunks show was replaced; hunks keep their numbers and their count of lines.
    """
    if not old and not new:
        return change
    hunks = tuple(_masked(hunk, old, new) for hunk in change.hunks)
    if hunks == change.hunks:
        return change
    return replace(change, hunks=hunks, redacted=True)


def _masked(hunk: Hunk, old: Mapping[int, str], new: Mapping[int, str]) -> Hunk:
    old_line = hunk.old_start
    new_line = hunk.new_start
    lines = []
    for line in hunk.lines:
        sign = line[:1]
        text = line[1:]
        if sign != "+":
            text = old.get(old_line, text)
            old_line += 1
        if sign != "-":
            text = new.get(new_line, text)
            new_line += 1
        lines.append(sign + text)
    return replace(hunk, lines=tuple(lines))
