"""Where a text that is not in a file almost is: for the remedy of a failed match, never for the match itself."""

from __future__ import annotations

import re
import unicodedata

SEARCHED = 1 << 20
"""Bytes of a file up to which a near miss is looked for."""
_QUOTES = str.maketrans("\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2212", "'''\"\"\"---")
_BLANKS = re.compile(r"\s+")


def near_lines(data: bytes, old: str, most: int = 3) -> list[int]:
    """The lines, from 1, that read like the first line of `old` once blanks, quotes, dashes, letter case and Unicode
    forms are folded. Empty: none, or the file is too large to look."""
    wanted = next((folded for line in old.split("\n") if (folded := _folded(line))), "")
    if not wanted or len(data) > SEARCHED:
        return []
    found: list[int] = []
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        if wanted in _folded(line):
            found.append(number)
            if len(found) == most:
                break
    return found


def _folded(line: str) -> str:
    return _BLANKS.sub("", unicodedata.normalize("NFKC", line).translate(_QUOTES)).casefold()
