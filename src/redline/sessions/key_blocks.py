"""Private keys over several lines: PEM, OpenSSH, PGP and PuTTY blocks, indented, quoted or in a diff.

The markers are no secret and stay, so a reader sees what was there; each line of the body becomes a mark. A block ends
at its END marker, or at the first line that cannot be its body, so that code which only names a marker is left alone.
"""

from __future__ import annotations

import re

from redline.sessions.marks import OPEN, mark

KIND = "private-key"
ANCHORS = ("PRIVATE KEY", "Private-Lines:")
"""A text without any of them holds no block."""

_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_PUTTY = re.compile(r"Private-Lines: ?\d{1,4}")
_PUTTY_END = re.compile(r"Private-(?:MAC|Hash): ?")
_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Comment|Version|Hash|Charset|Subject|Key-Derivation|Argon2-[A-Za-z]+): ?")
# What may stand around a body line: a diff sign, an indent, a quote or comment sign, a line number, `path:12:`.
_BEFORE = r"(?P<before>[ +\-]?+(?:\S{1,200}[:\-])?(?:\s*\d{1,7}\s?[:|→\t\-])?[\s#>*|;]*(?://\s?)?[\"'`(]{0,3})"
_AFTER = r"(?P<after>(?:\\{1,4}[nr])*[\"'`]{0,3}[\s,;+.)\\]*)"
_BODY = re.compile(_BEFORE + r"(?P<body>=?[A-Za-z0-9+/]{16,}={0,3})" + _AFTER)
_SHORT = re.compile(_BEFORE + r"(?P<body>=?[A-Za-z0-9+/]{2,}={0,3})" + _AFTER)
_BLANK = re.compile(r"[ +\-]?[\s#>*|;]*(?:\\[nr])*")
# A whole key on one line, as in JSON: its line ends are written as `\n`.
_INLINE = re.compile(r"(?:\\{1,4}[nr]|[A-Za-z0-9+/=\s])+")
_RUN = re.compile(r"[A-Za-z0-9+/]{16}")


class KeyBlock:
    """Feed it lines in order; it knows whether it stands inside a key."""

    def __init__(self) -> None:
        self.open = False
        self._body_seen = False

    def mask(self, line: str) -> str:
        """The line with what belongs to a private key masked."""
        if not self.open:
            return self._outside(line)
        end = _END.search(line)
        if end or _PUTTY_END.search(line):
            self.open = False
            return self._outside(line) if end is None or _BEGIN.search(line) else self._closing(line, end.start())
        body = (_SHORT if self._body_seen else _BODY).fullmatch(line)
        if body:
            self._body_seen = True
            return body["before"] + mark(KIND) + body["after"]
        if OPEN in line or _HEADER.search(line) or _BLANK.fullmatch(line):
            return line
        self.open = False
        return self._outside(line)

    def _outside(self, line: str) -> str:
        begin = _BEGIN.search(line)
        if begin is None:
            if _PUTTY.search(line):
                self._start()
            return line
        end = _END.search(line, begin.end())
        inside = line[begin.end() : end.start() if end else len(line)]
        if end is None:
            self._start()
        if not _RUN.search(inside):
            return line
        if end is None:
            key = _INLINE.match(inside)
            length = len(key[0]) if key else 0
        else:
            length = len(inside) if _INLINE.fullmatch(inside) else 0
        if not _RUN.search(inside[:length]):
            return line
        self._body_seen = True
        at = begin.end()
        return line[:at] + mark(KIND) + self._outside_rest(line[at + length :])

    def _outside_rest(self, rest: str) -> str:
        return self._outside(rest) if _BEGIN.search(rest) else rest

    def _closing(self, line: str, at: int) -> str:
        """The key's last characters before an END marker on the same line."""
        head = line[:at]
        sign = head[:1] if head[:1] in (" ", "+", "-") else ""
        body = head[len(sign) :]
        return sign + mark(KIND) + line[at:] if _RUN.search(body) and _INLINE.fullmatch(body) else line

    def _start(self) -> None:
        self.open = True
        self._body_seen = False


def mask_blocks(text: str) -> dict[int, str]:
    """All lines that hold a part of a private key: line number from 1, and the masked line."""
    masked: dict[int, str] = {}
    lines = text.split("\n")
    block = KeyBlock()
    for number, line in enumerate(lines, 1):
        ending = "\r" if line.endswith("\r") else ""
        bare = line[:-1] if ending else line
        was_open = block.open
        shown = block.mask(bare)
        if shown != bare:
            masked[number] = shown + ending
        elif not was_open and not block.open and "-END " in bare and _END.search(bare):
            _mask_backwards(lines, number, masked)
    return masked


def _mask_backwards(lines: list[str], end: int, masked: dict[int, str]) -> None:
    """A block whose BEGIN is out of sight: the lines before its END that look like a body."""
    for number in range(end - 1, 0, -1):
        if number in masked:
            return
        line = lines[number - 1].rstrip("\r")
        body = (_SHORT if number == end - 1 else _BODY).fullmatch(line)
        if body is None:
            return
        masked[number] = (
            body["before"] + mark(KIND) + body["after"] + ("\r" if lines[number - 1].endswith("\r") else "")
        )
