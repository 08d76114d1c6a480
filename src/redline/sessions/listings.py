"""What stands before a line where it is listed: its number, its file, a colour, the sign of a quotation or a comment.

`grep -n`, `cat -n` and our own `read` show lines so, and a setting is known by being all there is on its line.
"""

from __future__ import annotations

import re

_COLOUR = r"(?:\x1b\[[0-9;]{0,32}[mK])"
_NUMBER = rf"(?:[^\s:\x1b]{{1,200}}{_COLOUR}*:{_COLOUR}*)?[0-9]{{1,9}}{_COLOUR}*(?:→|[:\-]|\t|[ ]{{1,2}}[|│][ ]?)"
_FILE = r"[^\s:=\x1b]{0,200}[/.][^\s:=\x1b]{1,200}:(?=\S)"
"""As `grep` names it without numbers."""
_QUOTATION = r"(?:[><|│][ ]?){1,8}|(?:#|//)[ ]?"
_BEFORE = re.compile(rf"{_COLOUR}*[ \t]{{0,12}}(?:{_NUMBER}|{_FILE}|{_QUOTATION})?(?:{_COLOUR}*[+\-]?{_COLOUR}+)?")
_BEHIND = re.compile(rf"{_COLOUR}+\r?\Z")


def bounds(line: str) -> tuple[int, int] | None:
    """Where the line itself begins and ends; None: nothing stands beside it."""
    before = _BEFORE.match(line)
    start = before.end() if before is not None and before[0].strip() else 0
    behind = _BEHIND.search(line, max(start, len(line) - 200)) if line.endswith(("m", "K", "\r")) else None
    end = len(line) if behind is None else behind.start()
    return None if (start, end) == (0, len(line)) else (start, end)
