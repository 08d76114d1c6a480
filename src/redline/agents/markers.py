"""The markers that frame Redline's own words to a model, and how imitations of them are made harmless.

A rule or a note of Redline's reaches a model between markers, so that the model can tell it from what a user typed or a
tool returned. That only holds while nobody else can write them: text from outside goes through `neutralised` first.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

Frame = Literal["rule", "note"]

REPLACEMENT = "(imitated marker removed)"

_INVISIBLE = [0x00AD, 0x034F, 0x061C, 0x180E, 0x3164, 0xFEFF]
_INVISIBLE += [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10)]
_DASHES = [*range(0x2010, 0x2016), 0x2043, 0x2212, 0xFE58, 0xFE63, 0xFF0D, 0x005F]
_FOLDING: dict[int, str | None] = {**dict.fromkeys(_INVISIBLE), **dict.fromkeys(_DASHES, "-")}

_MARKER = re.compile(r"\[[\s/\-]*redline[\s\-]*(?:rule|note)[^\]\n]{0,40}\]")


def framed(frame: Frame, text: str) -> str:
    """`text` between the markers of a rule or a note."""
    return f"[REDLINE-{frame.upper()}]\n{text.strip()}\n[/REDLINE-{frame.upper()}]"


def neutralised(text: str) -> str:
    """The text with every imitation of a marker replaced, and nothing else changed.

    Imitations are found whatever their letter case, spacing, kind of dash, width of letters, or invisible characters
    strewn in.
    """
    plain = text.lower() if text.isascii() else _folded(text)
    if _MARKER.search(plain) is None:
        return text
    letters, places = _folded_with_places(text)
    pieces: list[str] = []
    end = 0
    for match in _MARKER.finditer(letters):
        pieces += [text[end : places[match.start()]], REPLACEMENT]
        end = places[match.end() - 1] + 1
    return "".join([*pieces, text[end:]])


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text.translate(_FOLDING)).translate(_FOLDING).lower()


def _folded_with_places(text: str) -> tuple[str, list[int]]:
    """The folded text, and for each of its characters the index in `text` that it comes from."""
    letters: list[str] = []
    places: list[int] = []
    for index, character in enumerate(text):
        for letter in _folded(character):
            letters.append(letter)
            places.append(index)
    return "".join(letters), places
