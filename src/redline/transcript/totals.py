"""Net totals of a run of changes, from the records alone: no bytes are read, so they are the same live and on replay.

Summing each change's counts would be wrong as soon as two of them touch the same line. So the changes of a file are
laid on each other: the file is a list of pieces, each either a run of its first lines (whose text need not be known)
or lines that were added since; a hunk cuts pieces out and puts lines in. What is left between runs of first lines at
the end is the net change, and comparing only those gaps cancels what was changed back.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from redline.changes.compare import compare
from redline.changes.record import FileChange
from redline.transcript.ends import Net, net_files
from redline.transcript.rows import NetTotal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redline.changes.record import Fact, FileType, Side

_ENDLESS = 1 << 60
"""Length of the last run: how many lines a file has beyond its hunks does not matter."""


def net_totals(changes: Iterable[FileChange]) -> tuple[NetTotal, ...]:
    """One entry a file whose first and last state differ, sorted by path: the same files as those of `net_changes`."""
    return tuple(_total(net) for net in net_files(changes))


def _total(net: Net) -> NetTotal:
    added, removed, exact = _counts(net)
    types = [change.file_type for change in net.steps or ()] + [net.first.file_type, net.last.file_type]
    return NetTotal(
        path=net.path,
        old_path=net.old_path,
        operation=net.operation,
        added=added,
        removed=removed,
        exact=exact,
        counted=all(kind in ("text", "symlink") for kind in types),
        file_type=(net.last if net.last.exists else net.first).file_type,
        facts=_facts(net),
    )


def _facts(net: Net) -> tuple[Fact, ...]:
    kind: FileType = "binary" if "binary" in (net.first.file_type, net.last.file_type) else "text"
    return FileChange(
        net.path,
        net.operation,
        before=net.first.side,
        after=net.last.side,
        old_path=net.old_path,
        old_type=net.old_type,
        file_type=net.last.file_type if net.old_type is not None else kind,
    ).facts


def _counts(net: Net) -> tuple[int, int, bool]:
    """Added and removed lines, and whether they are those of a comparison of the first state with the last."""
    first, last = (state.side.lines if state.side is not None else None for state in (net.first, net.last))
    if net.operation == "add" and last is not None:
        return last, 0, True
    if net.operation == "delete" and first is not None:
        return 0, first, True
    if net.old_type is not None and first is not None and last is not None:
        return last, first, True
    if net.steps is None:
        return last or 0, first or 0, False
    return _counts_of_steps(net.steps)


def _counts_of_steps(steps: Sequence[FileChange]) -> tuple[int, int, bool]:
    added, removed = sum(change.added for change in steps), sum(change.removed for change in steps)
    exact = all(change.exact for change in steps)
    if len(steps) == 1:
        return added, removed, exact
    # Two masked lines may look equal and not be.
    readable = all(change.anchored and not change.truncated and not change.redacted for change in steps)
    if exact and readable and all(_joins(one, two) for one, two in pairwise(steps)):
        try:
            return (*_laid_on_each_other(steps), True)
        except ValueError:
            pass
    return added, removed, False


def _joins(one: FileChange, two: FileChange) -> bool:
    """The second change began where the first had ended."""
    if one.after is None or two.before is None:
        return one.after is None and two.before is None
    return one.after.blob == two.before.blob


@dataclass(slots=True)
class _Piece:
    start: int
    """Of a run of first lines: the number of its first one. Of added lines: 0."""
    length: int
    lines: tuple[str, ...] = ()


def _laid_on_each_other(steps: Sequence[FileChange]) -> tuple[int, int]:
    pieces = [_Piece(1, _ENDLESS)]
    gone: dict[int, str] = {}
    for change in steps:
        pieces = _after(pieces, change, gone)
    added = removed = 0
    next_line = 1
    new: list[str] = []
    for piece in pieces:
        if not piece.start:
            new.extend(piece.lines)
            continue
        old = [gone[line] for line in range(next_line, piece.start)]
        plus, minus = _gap(old, new)
        added, removed, new, next_line = added + plus, removed + minus, [], piece.start + piece.length
    return added, removed


def _gap(old: list[str], new: list[str]) -> tuple[int, int]:
    if not old or not new:
        return len(new), len(old)
    hunks = compare(_bytes(old), _bytes(new))
    lines = [line[0] for hunk in hunks for line in hunk.lines]
    return lines.count("+"), lines.count("-")


def _bytes(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _after(pieces: list[_Piece], change: FileChange, gone: dict[int, str]) -> list[_Piece]:
    """The pieces once the change is made; `gone` learns the text of first lines that are cut out. ValueError where a
    hunk does not fit what is known."""
    result: list[_Piece] = []
    rest = pieces[::-1]
    position = 1
    for hunk in change.hunks:
        # A side without lines starts at the line before the place.
        old_line = hunk.old_start if hunk.old_lines else hunk.old_start + 1
        new_line = hunk.new_start
        result.extend(_take(rest, old_line - position))
        for line in hunk.lines:
            if line[0] == "+":
                result.append(_Piece(0, 1, (line[1:] + _ending(change.after, new_line),)))
                new_line += 1
                continue
            text = line[1:] + _ending(change.before, old_line)
            old_line += 1
            (taken,) = _take(rest, 1)
            if taken.lines and taken.lines[0] != text:
                raise ValueError("the hunks do not follow each other")
            if line[0] == " ":
                result.append(taken)
                new_line += 1
            elif taken.start:
                gone[taken.start] = text
        position = old_line
    return result + rest[::-1]


def _ending(side: Side | None, line: int) -> str:
    """What tells the last line of a side without a final newline from the same line with one."""
    return "\0without newline" if side is not None and not side.final_newline and side.lines == line else ""


def _take(rest: list[_Piece], count: int) -> list[_Piece]:
    """Cut `count` lines off the front of the pieces (kept in reverse)."""
    if count < 0:
        raise ValueError("the hunks overlap")
    taken: list[_Piece] = []
    while count:
        if not rest:
            raise ValueError("a hunk lies beyond the end")
        piece = rest.pop()
        if piece.length > count:
            first, second = _split(piece, count)
            rest.append(second)
            piece = first
        taken.append(piece)
        count -= piece.length
    return taken


def _split(piece: _Piece, at: int) -> tuple[_Piece, _Piece]:
    if piece.start:
        return _Piece(piece.start, at), _Piece(piece.start + at, piece.length - at)
    return _Piece(0, at, piece.lines[:at]), _Piece(0, piece.length - at, piece.lines[at:])
