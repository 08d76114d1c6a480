"""Fitting the hunks of a patch to a file: where each belongs, and the bytes that come out.

A hunk that names its line is taken there if its lines are there; else it must fit one place only. A hunk without a line
number must fit one place only, or the first below the lines that it names as its anchors. Nothing is guessed: no blank
is ignored, no nearest place chosen.

Bytes outside the hunks are copied. Where the file has CRLF and the patch was written with plain newlines, context keeps
its own ending and a new line takes that of the line above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redline.changes.compare import lines_of
from redline.files.error import FileError
from redline.files.text import BOM, is_binary
from redline.tools.counting import counted

_COUNTED = 20
"""Places listed for a hunk that fits several."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One hunk, whatever form it came in."""

    lines: tuple[str, ...]
    """Each beginning with ' ', '-' or '+'."""
    start: int | None = None
    """Index of its first old line (from 0), where the patch names it; of one without old lines, of the line that
    follows it."""
    anchors: tuple[str, ...] = ()
    at_end: bool = False

    @property
    def old(self) -> list[str]:
        return [line[1:] for line in self.lines if line[0] != "+"]


def fitted(path: str, before: bytes, pieces: Sequence[Piece], final_newline: bool | None) -> bytes:
    """The bytes after. `final_newline` None: as it is in `before`.

    Raises `FileError`: NOT_TEXT, NO_MATCH, AMBIGUOUS.
    """
    if is_binary(before):
        raise FileError("NOT_TEXT", f"{path} is binary, so no hunk fits it.", "Use write or a shell command.")
    returns = any(line.endswith("\r") for piece in pieces for line in piece.lines)
    if returns or b"\r\n" not in before:
        try:
            return _fitted(path, before, pieces, final_newline, as_is=True)
        except FileError:
            if not returns and not before.startswith(BOM):
                raise
    bom = BOM if before.startswith(BOM) else b""
    plain = [Piece(tuple(map(_plain, piece.lines)), piece.start, piece.anchors, piece.at_end) for piece in pieces]
    return bom + _fitted(path, before.removeprefix(BOM), plain, final_newline, as_is=False)


def _plain(line: str) -> str:
    text = line[1:].removesuffix("\r")
    return line[0] + text.removeprefix("\ufeff")


def _fitted(path: str, before: bytes, pieces: Sequence[Piece], final_newline: bool | None, *, as_is: bool) -> bytes:
    raw = lines_of(before)
    seen = raw if as_is else [line.removesuffix("\r") for line in raw]
    result: list[str] = []
    at = 0
    for number, piece in enumerate(pieces, 1):
        place = _place(f"{path}, hunk {number}", seen, piece, at)
        result += raw[at:place]
        at = place
        for line in piece.lines:
            if line[0] == "+":
                result.append(line[1:] if as_is else line[1:] + _ending(raw, at))
                continue
            if line[0] == " ":
                result.append(raw[at])
            at += 1
    result += raw[at:]
    ended = before.endswith(b"\n") or not before if final_newline is None else final_newline
    text = "\n".join(result) + ("\n" if result and ended else "")
    return text.encode("utf-8", "surrogateescape")


def _ending(raw: list[str], at: int) -> str:
    """The carriage return that a new line before line `at` takes, or none."""
    near = raw[at - 1] if at > 0 else raw[0] if raw else ""
    return "\r" if near.endswith("\r") else ""


def _place(name: str, lines: list[str], piece: Piece, floor: int) -> int:
    old = piece.old
    if piece.start is not None:
        if floor <= piece.start <= len(lines) - len(old) and lines[piece.start : piece.start + len(old)] == old:
            return piece.start
        if not old:
            raise FileError(
                "NO_MATCH",
                f"{name} adds lines at line {piece.start + 1}, which is past the end or above the hunk before it.",
                "Read the file again and give lines of context.",
            )
        return _only(name, old, _places(lines, old, floor))
    for anchor in piece.anchors:
        floor = _below_anchor(name, lines, anchor, floor)
    if piece.at_end:
        end = len(lines) - len(old)
        return _only(name, old, [end] if end >= floor and lines[end:] == old else [])
    if not old:
        if piece.anchors or not lines:
            return floor
        raise FileError(
            "AMBIGUOUS",
            f"{name} adds lines but does not say where.",
            "Give lines of context, an @@ line that names the line above, or *** End of File.",
        )
    places = _places(lines, old, floor)
    return _only(name, old, places[:1] if piece.anchors else places)


def _places(lines: list[str], old: list[str], floor: int) -> list[int]:
    found: list[int] = []
    at = floor - 1
    try:
        while len(found) <= _COUNTED:
            at = lines.index(old[0], at + 1)
            if lines[at : at + len(old)] == old:
                found.append(at)
    except ValueError:
        pass
    return found


def _only(name: str, old: list[str], places: list[int]) -> int:
    if len(places) == 1:
        return places[0]
    if places:
        shown = ", ".join(str(place + 1) for place in places[:5]) + (", …" if len(places) > 5 else "")
        raise FileError(
            "AMBIGUOUS", f"{name} fits in {len(places)} places (from lines {shown}).", "Give more lines of context."
        )
    do = "does" if len(old) == 1 else "do"
    raise FileError(
        "NO_MATCH",
        f"{name} does not fit: its {counted(len(old), 'old line')} {do} not stand in the file together, below the hunk "
        "before it.",
        "Read the file again and copy the lines exactly; hunks go in the order of the file.",
    )


def _below_anchor(name: str, lines: list[str], anchor: str, floor: int) -> int:
    places = [at for at in range(floor, len(lines)) if lines[at].strip() == anchor]
    if len(places) == 1:
        return places[0] + 1
    code, what = (
        ("AMBIGUOUS", f"in {len(places)} places") if places else ("NO_MATCH", "nowhere below the hunk before it")
    )
    raise FileError(
        "AMBIGUOUS" if code == "AMBIGUOUS" else "NO_MATCH",
        f"{name}: the line that its @@ names is {what}.",
        "Name a line that the file has once, or give more lines of context instead.",
    )
