"""The paginator: parts into the messages of a platform, by the platform's own measure.

Each part of a message stands alone, in a frame of its own. What is too long goes on in the next message, cut between
hunks if one ends in the second half of the room, else between lines, and inside a line only where that line alone is
longer than a message; never inside a character with its marks.

Pages are stable: adding parts at the end, or letting the last part grow, changes only the last page and what comes
after it. So what was posted is edited at one place only.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redline.surfaces.chat.parts import Buttons, File, Message, Page, Part, Piece, Text, Verbatim

if TYPE_CHECKING:
    from collections.abc import Iterable

GOES_ON = ", continued"
LINE_GOES_ON = ", the line goes on"
"""End the head of a further piece: the one that starts with a line, the one that starts inside a line."""


@dataclass(frozen=True, slots=True)
class Measure:
    """How a platform counts. The two sizes are those of a text as it is sent, escapes included, and must be additive
    over lines: a text is as large as its lines and the newlines between them."""

    limit: int
    """Of a message."""
    pieces: int
    """Parts of one message."""
    prose: Callable[[str], int]
    """Of text."""
    lines: Callable[[str], int]
    """Of lines that stand as they are."""
    frame: int
    """What every part costs beside its text: a fence with its language, a block."""


def paginate(parts: Iterable[Part], measure: Measure) -> list[Page]:
    """The pages that show the parts, in order. A file stands behind the message that was being filled when it came,
    and buttons never stand before one."""
    pages = _Pages(measure)
    for part in parts:
        pages.add(part)
    return pages.end()


class _Pages:
    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._done: list[Page] = []
        self._pieces: list[Piece] = []
        self._files: list[File] = []
        self._used = 0

    def add(self, part: Part) -> None:
        match part:
            case Text():
                self._text(part)
            case Verbatim():
                self._verbatim(part)
            case File():
                self._files.append(part)
            case Buttons():
                if self._files or not self._fits(_buttons_size(part, self._measure)):
                    self._close()
                self._buttons(part)

    def end(self) -> list[Page]:
        self._close()
        return self._done

    def _buttons(self, part: Buttons) -> None:
        """What is said in their place begins where they began: a message that holds buttons is edited, not left."""
        measure = self._measure
        if not part.settled:
            self._put(part, _buttons_size(part, measure))
            return
        ending = Text(part.settled, "strong")
        size = measure.prose(ending.text) + measure.frame
        if not self._fits(size):
            self._close()
        self._put(ending, size)

    def _close(self) -> None:
        if self._pieces:
            self._done.append(Message(tuple(self._pieces)))
        self._done += self._files
        self._pieces, self._files, self._used = [], [], 0

    def _fits(self, size: int) -> bool:
        return self._used + size <= self._measure.limit and len(self._pieces) < self._measure.pieces

    def _put(self, piece: Piece, size: int) -> None:
        self._pieces.append(piece)
        self._used += size

    def _text(self, part: Text) -> None:
        measure = self._measure
        rest = part.text
        while rest:
            last = self._pieces[-1] if self._pieces else None
            if isinstance(last, Text) and last.tone == part.tone:
                size = measure.prose("\n" + rest)
                if self._used + size <= measure.limit:
                    self._pieces[-1] = replace(last, text=f"{last.text}\n{rest}")
                    self._used += size
                    return
            elif self._fits(size := measure.prose(rest) + measure.frame):
                self._put(Text(rest, part.tone), size)
                return
            if self._pieces:
                # Short texts stay whole; a long one begins on a page of its own, too.
                self._close()
                continue
            taken, rest, _ = _cut(rest, measure.limit - measure.frame, measure.prose, words=True)
            self._put(Text(taken, part.tone), measure.prose(taken) + measure.frame)
            self._close()

    def _verbatim(self, part: Verbatim) -> None:
        measure = self._measure
        rest, head = part.text, part.head
        if not rest:
            self._text(Text(head, "strong"))
            return
        while True:
            head_size = measure.prose(head + "\n") if head else 0
            size = head_size + measure.frame + measure.lines(rest)
            if self._fits(size):
                self._put(replace(part, text=rest, head=head), size)
                return
            room = measure.limit - self._used - head_size - measure.frame
            if self._pieces and (room < measure.limit // 4 or len(self._pieces) >= measure.pieces):
                self._close()
                continue
            taken, rest, inside = _cut(rest, room, measure.lines, hunks=part.language == "diff")
            self._put(replace(part, text=taken, head=head), head_size + measure.frame + measure.lines(taken))
            self._close()
            head = f"{part.label or 'This'}{LINE_GOES_ON if inside else GOES_ON}"


def _buttons_size(part: Buttons, measure: Measure) -> int:
    return sum(measure.prose(choice.name) + measure.frame for choice in part.choices)


def _cut(
    text: str, room: int, size: Callable[[str], int], *, hunks: bool = False, words: bool = False
) -> tuple[str, str, bool]:
    """What fits in `room`, the rest, and whether the cut is inside a line (else the newline there belongs to neither).

    `hunks`: a line that begins with `@@` is a better place. `words`: so is a space, for a line that is too long.
    """
    newline = size("\n")
    at = used = 0
    hunk = -1
    while (end := text.find("\n", at)) >= 0:
        line = size(text[at:end])
        if used + line > room:
            break
        if hunks and used > room // 2 and text.startswith("@@", at):
            hunk = at
        used += line + newline
        at = end + 1
    if hunks and used > room // 2 and text.startswith("@@", at):
        hunk = at
    if hunk > 0:
        return text[: hunk - 1], text[hunk:], False
    if hunks and at:
        last = text.rfind("\n", 0, at - 1) + 1
        if text.startswith("@@", last):  # a hunk's head stands with its first line
            if last:
                return text[: last - 1], text[last:], False
            if room - used > 1:
                taken, rest, inside = _cut_inside(text[at:], room - used, size, words=words)
                return text[:at] + taken, rest, inside
    if at:
        return text[: at - 1], text[at:], False
    return _cut_inside(text, room, size, words=words)


def _cut_inside(text: str, room: int, size: Callable[[str], int], *, words: bool) -> tuple[str, str, bool]:
    low, high = 1, max(1, min(len(text), room))
    while low < high:
        middle = (low + high + 1) // 2
        if size(text[:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    if words:
        space = text.rfind(" ", low // 2, low)
        if space > 0:
            return text[:space], text[space + 1 :], False
    low = _between_characters(text, low)
    return text[:low], text[low:], True


_JOINER = "\u200d"


def _between_characters(text: str, at: int) -> int:
    """`at`, or the nearest place before it that is not inside a character with its marks."""
    place = at
    while place > 0 and at - place < 64:
        if place >= len(text) or not (_leans(text[place]) or text[place - 1] == _JOINER):
            return place or at
        place -= 1
    return at


def _leans(character: str) -> bool:
    """It is drawn onto the one before: a combining mark, a joiner, a selector, a skin tone."""
    if character < "\u0300":
        return False
    return unicodedata.category(character) in ("Mn", "Mc", "Me") or character == _JOINER or _is_tone(character)


def _is_tone(character: str) -> bool:
    return "\U0001f3fb" <= character <= "\U0001f3ff"
