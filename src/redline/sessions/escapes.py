"""What stands between a secret and its neighbours without being text: colours, escapes of strings and of addresses.

The rules ask what stands before a token, since every short prefix stands inside some longer word; and a colour ends in
a letter (`\\x1b[32m`), as does the escape of a line's end in a string (`\\n`), or of a sign in an address (`%3D`).
Letters beyond ASCII are no part of any token either, and in Chinese nothing stands between the words.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"(?:\x1b|\\+(?:x1[bB]|u001[bB]|033|e)|\^\[|\u241b)\[[0-?]{0,64}[ -/]{0,8}[@-~]"  # a terminal's, raw or written out
    r"|\\+(?:u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|x[0-9A-Fa-f]{2}|[0-7]{3}|[abefnrtv0])"
    r"|%[0-9A-Fa-f]{2}"
    r"|[^\x00-\x7f]+"
)


def blanked(line: str) -> str:
    """The line with each of them as spaces, as long as before; the same object if there are none."""
    return _ESCAPES.sub(_blank, line)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])
