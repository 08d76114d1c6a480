"""Lines of a file as a model is shown them: numbered, whole where possible, odd bytes as escapes.

The number and an arrow stand before each line, as in `12→text`: everything after the arrow is the file's own, tabs and
spaces included, so no prefix can be taken for indentation.

A line that has to be cut is cut between words where it can be. The door of the log masks secrets in whole lines; half
of one, cut off in its middle, might no longer look like one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from redline.sessions import key_blocks
from redline.sessions.gate import escaped

LINE_LIMIT = 2000
"""Characters shown of one line."""

_WORD_TAIL = re.compile(r"[A-Za-z0-9+/_=.~:@-]{1,1000}\Z")


def decoded(data: bytes) -> str:
    """UTF-8; what is not stands as `\\xE9`."""
    return escaped(data.decode("utf-8", "surrogateescape"))


def cut_line(line: str, limit: int = LINE_LIMIT) -> str:
    """The line, or its head and how many characters were left out."""
    if len(line) <= limit:
        return line
    head = line[:limit]
    between_words = _WORD_TAIL.sub("", head)
    head = between_words or head
    return f"{head}… [{len(line) - len(head)} more characters]"


def numbered(number: int, line: str) -> str:
    return f"{number}→{line}"


def masked_keys(lines: Sequence[str]) -> dict[int, str]:
    """Lines that lie inside a private key, by number from 1, with their masked form.

    A key is the one secret that is known by the lines around it. Whoever shows a part of a file has to look at the
    whole, because from the middle of a key alone the door of the log could not tell what it is.
    """
    text = "\n".join(lines)
    if not any(anchor in text for anchor in key_blocks.ANCHORS):
        return {}
    return key_blocks.mask_blocks(text)


def outside_key(lines: Sequence[str], first: int) -> int:
    """`first`, or the line that opens the private key inside which it lies."""
    if first == 1 or first not in masked_keys(lines):
        return first
    return next(
        (at for at in range(first - 1, 0, -1) if any(anchor in lines[at - 1] for anchor in key_blocks.ANCHORS)), first
    )


@dataclass(frozen=True, slots=True)
class Window:
    """Some of a file's lines, ready to show."""

    text: str
    shown: int
    """Lines shown."""
    cut: int
    """Of those, lines that were too long to show whole."""


def window(lines: Sequence[str], first: int, count: int, *, byte_limit: int) -> Window:
    """`count` lines from line `first` (counted from 1), as many as fit into `byte_limit` bytes, one at the least."""
    shown: list[str] = []
    used = cut = 0
    for number, line in enumerate(lines[first - 1 : first - 1 + count], first):
        entry = numbered(number, cut_line(line))
        used += len(entry.encode()) + 1
        if shown and used > byte_limit:
            break
        cut += len(line) > LINE_LIMIT
        shown.append(entry)
    return Window("\n".join(shown), len(shown), cut)
