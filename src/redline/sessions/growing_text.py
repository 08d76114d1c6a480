"""The door for a text that is still being written: what may be shown of it now, so that no secret appears in pieces.

What comes out, joined, is the mask of the whole text. The end is held back for as long as what follows could still make
a secret of it: the token that is being written; the rest of a line that names a secret (`password = …`); and lines that
may be the body of a private key. What is held back comes out, masked, once it is decided, at the latest at the end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from redline.sessions.redaction import LineMasker

if TYPE_CHECKING:
    from redline.sessions.redaction import Redactor

LONG_LINE = 4_096
"""Characters; more of one line is shown only when the line is whole, since each look costs its length."""

_WIDE_END = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef](?=[^\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]*\\Z)")
"""Scripts without spaces end a token with each character, unless it may be in a value or an address."""
_SIGNS = re.compile(
    r"(?P<login>login)|(?P<bearer>bearer)|(?P<whole>curl|-----? ?|begin|private-)"
    r"|(?P<name>pass|pwd|secret|token|credential|authoriz|key)",
    re.IGNORECASE,
)
_NAME_SETTLED = re.compile(
    # The rest of the word, what may stand between it and a sign, and then no sign: prose, not an assignment.
    r"[\w.\-]*(?:\\{0,4}[\"'`])?\s*[\])]?\s*(?:[^\s\w:=!?+,>\"'`\\\])]|(?<=[\s.\])\"'`])\w|,\s*[^\s\"'\\])"
)
_LOGIN_SETTLED = re.compile(r"\S|\s+\S+\s+[^\sp]")
_BEARER_SETTLED = re.compile(r"\S*\s+\S+\s")
_BODY = re.compile(r".{0,260}?[A-Za-z0-9+/]{16,}+={0,3}+[^A-Za-z0-9]*+(?:[nr][^A-Za-z0-9]*+)*+")
_LAST_BODY = re.compile(r"[^A-Za-z0-9]*\S+[^A-Za-z0-9]*")
_END = re.compile(r"-{4} ?END ")


class GrowingText:
    """Feed it the pieces of one text; it gives back what is now certain, masked."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._lines = LineMasker(redactor)
        self._line = ""
        """The line that is being written, as it came."""
        self._beyond: list[str] = []
        """What of it came after `LONG_LINE` characters."""
        self._shown = ""
        """What of its mask has been given out."""
        self._settled = 0
        """How many of its characters that is."""
        self._bodies: list[str] = []
        """Whole lines that will be a private key's if an END marker follows."""

    def feed(self, piece: str) -> str:
        """A further piece; what may be shown now."""
        *ended, rest = piece.split("\n")
        out = [self._whole(self._taken() + line) for line in ended]
        if len(self._line) > LONG_LINE:
            self._beyond.append(rest)
        elif rest:
            self._line += rest
            out.append(self._part())
        return "".join(out)

    def end(self) -> str:
        """The rest of the text."""
        rest = self._whole(self._taken())
        return (rest + self._released())[:-1]

    def _taken(self) -> str:
        line = self._line + "".join(self._beyond)
        self._line, self._beyond = "", []
        return line

    def _whole(self, line: str) -> str:
        """A line has ended: what to show of it and of those before it, with line ends."""
        inside = self._lines.open
        masked = self._lines.mask(line)
        if not inside and not self._shown and masked == line and self._may_be_body(line):
            self._bodies.append(line)
            return ""
        if self._bodies and _END.search(line):
            before = "\n".join([*self._bodies, line])
            self._bodies = []
            return self._redactor.mask(before) + "\n"
        before = self._released()
        return before + self._rest_of(masked) + "\n"

    def _may_be_body(self, line: str) -> bool:
        return (_BODY if not self._bodies else _LAST_BODY).fullmatch(line) is not None

    def _released(self) -> str:
        bodies, self._bodies = self._bodies, []
        return "".join(line + "\n" for line in bodies)

    def _rest_of(self, masked: str) -> str:
        shown, self._shown, self._settled = self._shown, "", 0
        if masked.startswith(shown):
            return masked[len(shown) :]
        # The line turned out otherwise than its beginning looked; go on from where the two part.
        same = next((at for at, pair in enumerate(zip(shown, masked, strict=False)) if pair[0] != pair[1]), len(masked))
        return masked[same:]

    def _part(self) -> str:
        """What may be shown of a line before its end."""
        if self._lines.open or self._bodies or len(self._line) > LONG_LINE:
            return ""
        end = _settled(self._line, self._settled)
        line = self._line[:end]
        if end == self._settled or _BODY.fullmatch(line):
            return ""
        masked = self._redactor.mask_line(line)
        if not masked.startswith(self._shown):
            return ""
        fresh, self._shown, self._settled = masked[len(self._shown) :], masked, end
        return fresh


def _settled(line: str, since: int) -> int:
    """How many characters at the beginning of the line cannot become part of a secret, whatever follows; of `since`
    that is known."""
    end = _word_start(line, since)
    at = since if end > since else len(line)
    while sign := _SIGNS.search(line, at):
        if not _is_settled(line, sign):
            return max(since, min(end, _word_start(line[: sign.start()], since)))
        at = sign.end()
    return end


def _word_start(line: str, since: int) -> int:
    """Where the last token of the line begins."""
    start = len(line) - len(_last_word(line[since:]))
    if not any(sign in line[start:] for sign in "=:@/"):
        wide = _WIDE_END.search(line, start)
        start = wide.end() if wide else start
    return start


def _last_word(text: str) -> str:
    """Empty if white space is last."""
    return "" if not text or text[-1].isspace() else text.rsplit(None, 1)[-1]


def _is_settled(line: str, sign: re.Match[str]) -> bool:
    """What follows the sign shows that it opens no secret."""
    if sign["whole"]:
        return False
    if sign["login"]:
        return _LOGIN_SETTLED.match(line, sign.end()) is not None
    if sign["bearer"]:
        return _BEARER_SETTLED.match(line, sign.end()) is not None
    if _last_word(line[: sign.start()]).startswith("-"):
        return False
    return _NAME_SETTLED.match(line, sign.end()) is not None
