"""The few styles of a reply that every platform has: code, strong, a heading's line.

They are found here and sent as structure, so that what an agent wrote is styled and still never reaches a platform as
markup: no mention, no link under other words. What is not closed on its line, or nested, stays as it was written.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple


class Span(NamedTuple):
    text: str
    style: Literal["", "strong", "code"] = ""


_SPAN = re.compile(
    r"(?<![`\\])`(?P<code>[^`\n]+)`(?!`)"
    r"|(?<![*\\])\*\*(?=[^\s*])(?P<strong>[^*`\n]+?)(?<=\S)\*\*(?!\*)"
    r"|^\#{1,6} +(?P<heading>[^`*\n]+?) *$",
    re.MULTILINE,
)


def spans(text: str) -> list[Span]:
    """Joined, they are the text without the marks of what was found."""
    found: list[Span] = []
    place = 0
    for match in _SPAN.finditer(text):
        if match.start() > place:
            found.append(Span(text[place : match.start()]))
        found.append(
            Span(match["code"], "code") if match["code"] else Span(match["strong"] or match["heading"], "strong")
        )
        place = match.end()
    if place < len(text) or not found:
        found.append(Span(text[place:]))
    return found
