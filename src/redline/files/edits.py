"""Edits of text, done on the bytes.

A match is looked for in the LF-normalised bytes and written back into the true ones. Bytes outside a match are copied,
never decoded, so mixed line ends, a BOM and bytes that are not UTF-8 survive. Inside a match each line that stays keeps
its own ending, and a new line takes the ending of its neighbours. Nothing is folded: quotes, blanks, tabs and Unicode
forms count as typed. UTF-8 keeps characters apart on the level of bytes, so a match never starts inside a character.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from redline.files.error import FileError
from redline.files.near import near_lines
from redline.files.seam import DeleteLines, Insert, Replace
from redline.files.text import BOM, encoded, is_binary

LF, CRLF = b"\n", b"\r\n"
COUNTED_PLACES = 100
"""An ambiguous match is counted up to here, so that a pathological text costs no more."""


def edited(data: bytes, edits: Sequence[Replace | Insert | DeleteLines]) -> tuple[bytes, int]:
    """`data` with the edits done in order, each on the result of the one before, and how many places were replaced.

    All or nothing. Raises `FileError`: NOT_TEXT, NO_MATCH, AMBIGUOUS.
    """
    if is_binary(data):
        raise FileError(
            "NOT_TEXT",
            "The file is binary (it has a NUL among its first 8000 bytes), so it has no lines to edit.",
            "Write the whole file, or use a command that knows the format.",
        )
    replacements = 0
    for number, edit in enumerate(edits, 1):
        try:
            if isinstance(edit, Replace):
                data, count = _replaced(data, edit)
                replacements += count
            elif isinstance(edit, Insert):
                data = _inserted(data, edit)
            else:
                data = _without_lines(data, edit)
        except FileError as error:
            if len(edits) == 1:
                raise
            place = f"Edit {number} of {len(edits)}, so none was done: "
            raise FileError(error.code, place + error.message, error.remedy) from None
    return data, replacements


@dataclass(frozen=True, slots=True)
class _Normal:
    """The bytes with each CRLF as LF, and the way back."""

    text: bytes
    returns: Sequence[int]
    """Positions in `text` of the line ends that are CRLF in the true bytes, ascending."""

    @classmethod
    def of(cls, data: bytes) -> _Normal:
        if b"\r" not in data:
            return cls(data, ())
        pieces = data.split(CRLF)
        ends = accumulate(len(piece) + 1 for piece in pieces[:-1])
        return cls(LF.join(pieces), [end - 1 for end in ends])

    def true(self, position: int) -> int:
        return position + bisect_left(self.returns, position)


def _replaced(data: bytes, edit: Replace) -> tuple[bytes, int]:
    old = encoded(edit.old, "old text").replace(CRLF, LF)
    new = encoded(edit.new, "new text")
    bom = data.startswith(BOM)
    if not old:
        if data.removeprefix(BOM):
            raise FileError(
                "NO_MATCH",
                "The old text is empty, which names no place in a file that is not empty.",
                "Quote the text to replace, insert by line, or write the whole file.",
            )
        return (BOM + new.removeprefix(BOM) if bom else new), 1
    normal = _Normal.of(data)
    places = _places(normal.text, old, edit)
    endings = _Neighbours(data)
    pieces: list[bytes] = []
    done = 0
    for place in places:
        start, end = normal.true(place), normal.true(place + len(old))
        # A U+FEFF typed where the file's BOM already stands is that BOM, not a second one.
        fresh = new.removeprefix(BOM) if bom and start == len(BOM) else new
        pieces += (data[done:start], _with_endings(fresh, data[start:end], endings, start, end))
        done = end
    pieces.append(data[done:])
    result = b"".join(pieces)
    return (result if not bom or result.startswith(BOM) else BOM + result), len(places)


def _places(text: bytes, old: bytes, edit: Replace) -> list[int]:
    """Where `old` stands: left to right without overlap for `replace_all`, else the one place."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0 and (edit.replace_all or len(found) < COUNTED_PLACES):
        found.append(at)
        # Overlapping places count, as people count them: an edit that fits two places is refused.
        at = text.find(old, at + (len(old) if edit.replace_all else 1))
    if not found:
        raise FileError(
            "NO_MATCH",
            f"The old text {_quoted(edit.old)} is not in the file.",
            _hint(text, edit.old),
        )
    if len(found) > 1 and not edit.replace_all:
        lines = [text.count(LF, 0, place) + 1 for place in found[:5]]
        number = str(len(found)) if at < 0 else f"more than {COUNTED_PLACES}"
        shown = ", ".join(map(str, lines)) + (", …" if len(found) > len(lines) else "")
        raise FileError(
            "AMBIGUOUS",
            f"The old text {_quoted(edit.old)} is in {number} places (from lines {shown}).",
            "Add lines around it until it fits one place, or set replace_all to change every one.",
        )
    return found


def _hint(text: bytes, old: str) -> str:
    exactly = "copy the text exactly: blanks, tabs, quotes and accents count."
    near = near_lines(text, old)
    if not near:
        return f"Read the file again and {exactly}"
    lines = f"line {near[0]} reads" if len(near) == 1 else f"lines {', '.join(map(str, near))} read"
    return f"Something like it stands there: {lines} almost so. Read from there and {exactly}"


class _Neighbours:
    """The line ending that a new line takes where the match itself holds none. Asked from left to right."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._next = -1
        self._last = data.rfind(LF)

    def ending(self, start: int, end: int) -> bytes | None:
        """The ending of the line in which the match stands, else of the line above; None: the file has no line end."""
        if end <= self._last:
            if self._next < end:
                self._next = self._data.find(LF, end)
            return _ending_at(self._data, self._next)
        above = self._data.rfind(LF, 0, start)
        return _ending_at(self._data, above) if above >= 0 else None


def _ending_at(data: bytes, newline: int) -> bytes:
    return CRLF if newline > 0 and data[newline - 1] == 0x0D else LF


def _with_endings(new: bytes, old: bytes, neighbours: _Neighbours, start: int, end: int) -> bytes:
    """`new` with the line ends that belong there, given the true bytes `old` that it replaces."""
    if LF not in new:
        return new
    old_lines = old.split(LF)
    own = [CRLF if line.endswith(b"\r") else LF for line in old_lines[:-1]]
    lines = new.replace(CRLF, LF).split(LF)
    if not own:
        ending = neighbours.ending(start, end)
        return new if ending is None else ending.join(lines)
    if CRLF not in own or LF not in own:
        return own[0].join(lines)
    old_texts = [line.removesuffix(b"\r") if own[i] == CRLF else line for i, line in enumerate(old_lines[:-1])]
    ends = _mixed_endings(old_texts, own, lines[:-1])
    return b"".join(line + ending for line, ending in zip(lines, ends, strict=False)) + lines[-1]


def _mixed_endings(old: list[bytes], own: list[bytes], new: list[bytes]) -> list[bytes]:
    """An ending for each new line, from old lines whose endings differ: its own for a line that stays."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    stands: dict[bytes, list[int]] = {}
    for index in range(head, len(old) - tail):
        stands.setdefault(old[index], []).append(index)
    ends = own[:head]
    passed = head
    for index in range(head, len(new) - tail):
        # A line that stays is looked for from where the last one was. A line that is new takes the ending of the one
        # that it stands for, and where lines came or went, of the line above.
        found = stands.get(new[index], [])
        nearest = bisect_left(found, passed)
        if nearest < len(found):
            ends.append(own[found[nearest]])
            passed = found[nearest] + 1
        elif len(old) == len(new):
            ends.append(own[index])
        else:
            ends.append(ends[-1] if ends else own[0])
    return ends + own[len(own) - tail :]


def _line_starts(data: bytes) -> list[int]:
    """Where each line starts, and last where the file ends."""
    lines = data.split(LF)
    starts = list(accumulate((len(line) + 1 for line in lines[:-1]), initial=0))
    if lines[-1]:
        starts.append(len(data))
    return starts


def _inserted(data: bytes, edit: Insert) -> bytes:
    text = encoded(edit.text, "new text")
    if not text:
        return data
    bom = BOM if data.startswith(BOM) else b""
    body = data[len(bom) :]
    starts = _line_starts(body)
    count = len(starts) - 1
    if not 0 <= edit.line <= count:
        raise FileError(
            "NO_MATCH",
            f"There is no line {edit.line}: the file has {_counted(count)}.",
            "Read the file again; 0 inserts at the top.",
        )
    at = starts[edit.line]
    before, after = body[:at], body[at:]
    if bom and not at:
        text = text.removeprefix(BOM)
    near = before.rfind(LF) if LF in before else body.find(LF)
    if near >= 0:
        text = _ending_at(body, near).join(text.replace(CRLF, LF).split(LF))
    ending = _ending_at(body, near) if near >= 0 else (CRLF if CRLF in text else LF)
    if before and not before.endswith(LF):
        # The last line had no ending: it gets one, and the new last line keeps the file's habit unless it brings one.
        return bom + before + ending + text + after
    return bom + before + text + (b"" if text.endswith(LF) else ending) + after


def _counted(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


def _without_lines(data: bytes, edit: DeleteLines) -> bytes:
    bom = BOM if data.startswith(BOM) else b""
    body = data[len(bom) :]
    starts = _line_starts(body)
    count = len(starts) - 1
    if not 1 <= edit.first <= edit.last <= count:
        raise FileError(
            "NO_MATCH",
            f"There are no lines {edit.first} to {edit.last}: the file has {_counted(count)}.",
            "Read the file again; lines count from 1, and both ends are included.",
        )
    start, end = starts[edit.first - 1], starts[edit.last]
    try:
        body[start:end].decode("utf-8")
    except UnicodeDecodeError:
        raise FileError(
            "NOT_TEXT",
            f"Lines {edit.first} to {edit.last} hold bytes that are not UTF-8, which an edit must leave alone.",
            "Edit other lines, or convert the file to UTF-8 first.",
        ) from None
    return bom + body[:start] + body[end:]


def _quoted(text: str, limit: int = 80) -> str:
    """Long text is cut between words: the door of the log would not know half of a secret."""
    if len(text) <= limit:
        return repr(text)
    head = text[: limit - 1]
    whole_words = head if text[limit - 1].isspace() else re.sub(r"\S+\Z", "", head)
    return repr(whole_words + "…")
