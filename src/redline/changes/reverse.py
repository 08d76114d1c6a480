"""Turning a change round, and taking one back although the file has moved on.

Taking back works as a three-way merge whose base is what the change left behind: what happened to the file since is
compared with what has to be undone, and only places that both touch are refused.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redline.changes.compare import comparison
from redline.changes.record import Hunk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redline.changes.record import FileChange, Operation

_REVERSED: dict[Operation, Operation] = {"add": "delete", "delete": "add", "modify": "modify", "move": "move"}


class Conflict(Exception):  # noqa: N818 - it is what people call it
    """The lines of a change were themselves changed since, so it cannot be taken back by itself.

    `hunks` show what happened to them, and to no other lines: from the state that the change left to the current one,
    without context.
    """

    def __init__(self, hunks: Sequence[Hunk]) -> None:
        self.hunks = tuple(hunks)
        places = ", ".join(_place(hunk) for hunk in self.hunks)
        super().__init__(f"the changed lines have been changed again since ({places})")


def reverse(change: FileChange) -> FileChange:
    """The change from after to before: an add becomes a delete, a move goes back, `-` and `+` trade places."""
    return replace(
        change,
        path=change.path if change.old_path is None else change.old_path,
        old_path=None if change.old_path is None else change.path,
        operation=_REVERSED[change.operation],
        hunks=tuple(_reversed_hunk(hunk) for hunk in change.hunks),
        added=change.removed,
        removed=change.added,
        before=change.after,
        after=change.before,
    )


def take_back(current: bytes, before: bytes, after: bytes) -> bytes:
    """`current` without the change from `before` to `after`; what else happened to the file stays, byte for byte.

    A place that already reads as it did before is left alone. All or nothing: raises `Conflict` with the hunks that
    stand in the way. Adding, deleting and moving the file itself is the caller's to undo.
    """
    if current in (after, before):
        return before
    undo = _edits(after, before)
    since = _edits(after, current)
    lines = _lines(current)
    placed: list[_Edit] = []
    refused: list[_Edit] = []
    for edit in undo:
        meeting = [other for other in since if edit.meets(other)]
        if not meeting:
            placed.append(edit.shifted(sum(other.growth for other in since if other.is_above(edit))))
        elif edit in meeting:
            continue  # already taken back, by hand
        elif (found := _elsewhere(edit, _lines(after), lines)) is not None:
            placed.append(edit.shifted(found - edit.start))
        else:
            refused += meeting
    placed.sort(key=lambda edit: (edit.start, edit.end))
    if refused or any(second.meets(first) for first, second in itertools.pairwise(placed)):
        raise Conflict(_hunks_of(refused or since, since, after))
    for edit in reversed(placed):
        lines[edit.start : edit.end] = edit.lines
    return _joined(lines, _final_newline(current, before, after))


@dataclass(frozen=True, slots=True)
class _Edit:
    """Lines `start` to `end` (from 0, `end` not included) become `lines`."""

    start: int
    end: int
    lines: tuple[bytes, ...]

    @property
    def growth(self) -> int:
        return len(self.lines) - (self.end - self.start)

    def meets(self, other: _Edit) -> bool:
        """Both change a line, or one of them inserts inside of the other, or both insert at one place."""
        if self.start == self.end and other.start == other.end:
            return self.start == other.start
        if self.start == self.end or other.start == other.end:
            return max(self.start, other.start) < min(self.end, other.end) or (
                other.start < self.start < other.end or self.start < other.start < self.end
            )
        return self.start < other.end and other.start < self.end

    def is_above(self, other: _Edit) -> bool:
        return self.end <= other.start

    def shifted(self, by: int) -> _Edit:
        return _Edit(self.start + by, self.end + by, self.lines)


def _edits(old: bytes, new: bytes) -> list[_Edit]:
    """The changed places without context. Both sides are read with a final newline: that one is merged by itself."""
    edits = []
    for hunk in comparison(_finished(old), _finished(new)).hunks:
        at = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        for removed, added, context in _runs(hunk):
            if removed or added:
                edits.append(_Edit(at, at + removed, added))
            at += removed + context
    return edits


def _runs(hunk: Hunk) -> Iterator[tuple[int, tuple[bytes, ...], int]]:
    """Removed lines, added lines and following context lines, run by run."""
    removed, context = 0, 0
    added: list[bytes] = []
    for line in (*hunk.lines, None):
        if line is None or (context and line[0] != " "):
            yield removed, tuple(added), context
            removed, context, added = 0, 0, []
        if line is None:
            return
        if line[0] == " ":
            context += 1
        elif line[0] == "-":
            removed += 1
        else:
            added.append(line[1:].encode("utf-8", "surrogateescape"))


def _elsewhere(edit: _Edit, base: Sequence[bytes], lines: Sequence[bytes]) -> int | None:
    """Where the edit's lines stand now if they were carried elsewhere: with their context, and exactly once."""
    top = max(edit.start - 3, 0)
    wanted = b"\n" + b"\n".join(base[top : edit.end + 3]) + b"\n"
    text = b"\n" + b"\n".join(lines) + b"\n"
    found = text.find(wanted)
    if edit.start == edit.end or found < 0 or text.find(wanted, found + 1) >= 0:
        return None
    return text.count(b"\n", 0, found) + edit.start - top


def _hunks_of(edits: Sequence[_Edit], since: Sequence[_Edit], after: bytes) -> list[Hunk]:
    """One hunk for each of these edits of `after`, placed by all that were made `since`. Hunks of a whole comparison
    would show neighbouring lines that stand in nobody's way, and begin at them."""
    lines = _lines(after)
    hunks = []
    for edit in sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end)):
        start = edit.start + sum(other.growth for other in since if other != edit and other.is_above(edit))
        old, new = lines[edit.start : edit.end], edit.lines
        hunks.append(
            Hunk(
                old_start=edit.start + bool(old),
                old_lines=len(old),
                new_start=start + bool(new),
                new_lines=len(new),
                lines=(*(_shown("-", line) for line in old), *(_shown("+", line) for line in new)),
            )
        )
    return hunks


def _shown(sign: str, line: bytes) -> str:
    return sign + line.decode("utf-8", "surrogateescape")


def _final_newline(current: bytes, before: bytes, after: bytes) -> bool:
    """Taken back only while the last line is still the one that the change left."""
    was, became, is_now = (not data or data.endswith(b"\n") for data in (before, after, current))
    same_end = _lines(current)[-1:] == _lines(after)[-1:]
    return was if was != became and same_end else is_now


def _finished(data: bytes) -> bytes:
    return data if not data or data.endswith(b"\n") else data + b"\n"


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return lines


def _joined(lines: Sequence[bytes], final_newline: bool) -> bytes:
    return b"\n".join(lines) + (b"\n" if lines and final_newline else b"")


def _reversed_hunk(hunk: Hunk) -> Hunk:
    lines: list[str] = []
    waiting: list[str] = []
    for line in hunk.lines:
        if line[0] == "-":
            waiting.append("+" + line[1:])
        elif line[0] == "+":
            lines.append("-" + line[1:])
        else:
            lines += [*waiting, line]
            waiting = []
    return replace(
        hunk,
        old_start=hunk.new_start,
        old_lines=hunk.new_lines,
        new_start=hunk.old_start,
        new_lines=hunk.old_lines,
        lines=(*lines, *waiting),
    )


def _place(hunk: Hunk) -> str:
    last = hunk.new_start + max(hunk.new_lines, 1) - 1
    return f"line {hunk.new_start}" if last == hunk.new_start else f"lines {hunk.new_start} to {last}"
