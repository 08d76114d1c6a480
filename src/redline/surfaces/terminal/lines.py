"""The lines of a change, ready to be drawn: numbered, paired, every character visible.

Nothing is compared here. Two lines are taken as partners where a run of removed lines is followed by a run of added
ones of the same length, and what they share at the head and the tail is left unmarked; that costs one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from redline.surfaces import words
from redline.surfaces.visible import Piece, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redline.changes.record import FileChange, Hunk, Side

TAB = 4
PAIR_LIMIT = 400
"""Characters of a line above which no part of it is marked."""
RUN_LIMIT = 60
"""Lines of a run above which no partners are looked for."""
LINE_LIMIT = 1000
"""Characters of a line that are drawn where it need not be whole."""
WINDOW = 160
"""Characters kept on either side of the changed part of a line that is cut."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a hunk."""

    sign: str
    """' ', '-' or '+'."""
    old: int | None
    new: int | None
    pieces: tuple[Piece, ...]
    changed: tuple[int, int] | None = None
    """Characters of the visible text, from and to: the part that differs from the line's partner."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Between hunks: unchanged lines that are not shown; None: nobody knows how many."""

    count: int | None


@dataclass(frozen=True, slots=True)
class Remark:
    """A line of Redline's own between those of the file."""

    text: str


Item = Line | Skip | Remark
_Part = tuple[int, int]


def items(change: FileChange, *, whole: bool) -> Iterator[Item]:
    """What stands in the card, from top to bottom. `whole`: no line is cut, however long."""
    hide_return = words.hides_returns(change)
    next_old = 1
    for position, hunk in enumerate(change.hunks):
        start = hunk.old_start if hunk.old_lines else hunk.old_start + 1
        if position:
            yield Skip(start - next_old if change.anchored and start > next_old else None)
        yield from _hunk(change, hunk, hide_return=hide_return, whole=whole)
        next_old = start + hunk.old_lines


def count(change: FileChange) -> int:
    return sum(len(hunk.lines) for hunk in change.hunks)


def _hides_bom(change: FileChange) -> bool:
    """As with carriage returns: what is there before and after alike is said once, in the head."""
    sides = [side for side in (change.before, change.after) if side is not None]
    return bool(sides) and all(side.bom for side in sides)


def _hunk(change: FileChange, hunk: Hunk, *, hide_return: bool, whole: bool) -> Iterator[Item]:
    texts = [line[1:].removesuffix("\r") if hide_return else line[1:] for line in hunk.lines]
    if _hides_bom(change):
        first = words.first_lines(hunk)
        texts = [text.removeprefix("\ufeff") if at in first else text for at, text in enumerate(texts)]
    signs = "".join(line[0] for line in hunk.lines)
    partners = _partners(signs)
    old, new = hunk.old_start, hunk.new_start
    last_old = _last_line(signs, "+", change.before, hunk.old_start, hunk.old_lines)
    last_new = _last_line(signs, "-", change.after, hunk.new_start, hunk.new_lines)
    for at, (sign, text) in enumerate(zip(signs, texts, strict=True)):
        partner = texts[partners[at]] if at in partners else None
        yield _line(sign, old, new, text, partner, anchored=change.anchored, whole=whole)
        old += sign != "+"
        new += sign != "-"
        if at in (last_old, last_new):
            yield Remark("no newline at the end of the file")


def _last_line(signs: str, other: str, side: Side | None, start: int, length: int) -> int | None:
    """Where in the hunk the last line of a side stands, if that side has no final newline."""
    if side is None or side.final_newline or side.lines is None or not length or start + length - 1 != side.lines:
        return None
    return max(at for at, sign in enumerate(signs) if sign != other)


def _partners(signs: str) -> dict[int, int]:
    """Positions of removed lines to their added partners, and back."""
    found: dict[int, int] = {}
    at = 0
    while (first := signs.find("-", at)) >= 0:
        middle = first + len(signs[first:]) - len(signs[first:].lstrip("-"))
        length = middle - first
        end = middle + len(signs[middle:]) - len(signs[middle:].lstrip("+"))
        if end - middle == length <= RUN_LIMIT:
            for offset in range(length):
                found[first + offset] = middle + offset
                found[middle + offset] = first + offset
        at = end
    return found


def _line(sign: str, old: int, new: int, text: str, partner: str | None, *, anchored: bool, whole: bool) -> Line:
    part = _changed_part(text, partner) if partner is not None else None
    spaces = partner is not None and text != partner and "".join(text.split()) == "".join(partner.split())
    before = after = ""
    if not whole and len(text) > LINE_LIMIT:
        before, text, after, part = _cut(text, part)
    shown: list[Piece] = []
    marked: list[int] = []
    column = 0
    for position, run in _runs(text, part):
        if position in ("in", "out"):
            marked.append(sum(len(piece.text) for piece in shown))
        for piece in pieces_with_tabs(run, column, spaces=spaces):
            shown.append(piece)
            column += cell_len(piece.text)
    framed = [Piece(before, True)] * bool(before) + shown + [Piece(after, True)] * bool(after)
    changed = (marked[0] + len(before), marked[1] + len(before)) if len(marked) == 2 else None
    return Line(
        sign=sign,
        old=old if anchored and sign != "+" else None,
        new=new if anchored and sign != "-" else None,
        pieces=tuple(framed),
        changed=changed if changed and changed[0] < changed[1] else None,
    )


def _runs(text: str, part: _Part | None) -> list[tuple[str, str]]:
    if part is None:
        return [("all", text)]
    return [("before", text[: part[0]]), ("in", text[part[0] : part[1]]), ("out", text[part[1] :])]


def _changed_part(text: str, partner: str) -> _Part | None:
    """From and to; None where too little is shared for a mark to help."""
    head = _shared_head(text, partner)
    tail = _shared_head(text[head:][::-1], partner[head:][::-1])
    if len(text) <= PAIR_LIMIT and (head + tail) * 3 < max(len(text), len(partner)):
        return None
    return head, len(text) - tail


def _shared_head(one: str, two: str) -> int:
    """How many characters two texts begin with in common; by halving, which is fast for a line of megabytes too."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _cut(text: str, part: _Part | None) -> tuple[str, str, str, _Part | None]:
    """A line too long to draw whole: the piece around its changed part, or its beginning."""
    first, last = part if part is not None else (0, 0)
    start = max(0, first - WINDOW)
    end = min(len(text), max(min(last, first + WINDOW * 2), first) + WINDOW)
    if part is None:
        end = min(len(text), WINDOW * 3)
    before = f"[{start} characters] " if start else ""
    after = f" [{len(text) - end} more characters]" if end < len(text) else ""
    kept = (first - start, min(last, end) - start) if part is not None else None
    return before, text[start:end], after, kept


def pieces_with_tabs(text: str, column: int = 0, *, spaces: bool = False) -> list[Piece]:
    """The visible form with tabs laid out from `column`; `spaces`: tabs and spaces are themselves made visible, for a
    line that differs in nothing else."""
    if "\t" not in text and not spaces:
        return pieces(text) if text else []
    found: list[Piece] = []
    for at, run in enumerate(text.split("\t")):
        if at:
            width = TAB - column % TAB
            found.append(Piece("→".ljust(width) if spaces else " " * width, False))
            column += width
        for piece in pieces(run.replace(" ", "·") if spaces else run) if run else []:
            found.append(piece)
            column += cell_len(piece.text)
    return found
