"""Secrets that stand in statements of their own: of SQL, of calls that set one name, of clients on a command line.

As in `secret_assignments`, the name (or the statement) says that a value is a secret, and `secret_values` whether the
value looks like one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from redline.sessions import secret_values
from redline.sessions.secret_assignments import family, kind, last_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redline.sessions.secret_tokens import Span

_QUOTED = r"(?P<quote>\\{0,4}[\"'])(?P<secret>[^\"'\n]{4,400}?)(?P=quote)"
_SQL = re.compile(
    r"(?i:\bidentified\s{1,4}(?:with\s{1,4}\S{1,60}\s{1,4})?(?:by|as)|\bpassword)\s{1,4}'(?P<secret>[^']{4,200})'"
)
_CALLS = (
    # `define('DB_PASSWORD', '…')`, `os.Setenv("API_KEY", "…")`, `map.put("password", "…")`
    re.compile(
        r"\b(?:define|const|set_?env|putenv|set_var|SetEnvironmentVariable|setProperty|setdefault|setItem|put|set|of|entry"
        r"|insert)\(\s{0,4}\\{0,4}[\"'](?P<key>[\w.\-]{1,100})\\{0,4}[\"']\s{0,4},\s{0,4}" + _QUOTED,
        re.IGNORECASE,
    ),
    re.compile(r"#\s{0,8}define\s{1,16}(?P<key>\w{1,100})\s{1,64}(?:L|u8?|U)?" + _QUOTED),
    # `{"name": "API_KEY", "value": "…"}`, as containers are given their environment
    re.compile(
        r"\bname\\{0,4}[\"']?\s{0,4}[:=]\s{0,4}\\{0,4}[\"']?(?P<key>[\w.\-]{1,100})\\{0,4}[\"']?\s{0,4},\s{0,4}"
        r"\\{0,4}[\"']?value\\{0,4}[\"']?\s{0,4}[:=]\s{0,4}" + _QUOTED,
        re.IGNORECASE,
    ),
)
_CLIENTS = (
    re.compile(r"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^|;&\n]{0,400}?\s-p(?P<secret>[^\s\"'\-][^\s\"']{3,200})"),
    re.compile(r"\bredis-cli\b[^|;&\n]{0,400}?\s(?:-a|--pass)\s{1,4}(?P<secret>[^\s\"'\-][^\s\"']{3,200})"),
    re.compile(r"\bdocker\s{1,4}login\b[^|;&\n]{0,400}?\s-p\s{0,4}(?P<secret>[^\s\"'\-][^\s\"']{3,200})"),
    re.compile(r"\bsshpass\s{1,4}-p\s{0,4}[\"']?(?P<secret>[^\s\"'\-][^\s\"']{3,200})"),
)


def spans(line: str) -> Iterator[Span]:
    """What is to be masked in a line, in no order."""
    for match in _SQL.finditer(line):
        if secret_values.is_secret("password", match["secret"], bare=False, tight=True):
            yield *match.span("secret"), "password"
    for pattern in _CALLS:
        for match in pattern.finditer(line):
            key = last_key(match["key"])
            if key is not None and secret_values.is_secret(family(key), match["secret"], bare=False, tight=True):
                yield *match.span("secret"), kind(key)
    for pattern in _CLIENTS:
        for match in pattern.finditer(line):
            value = match["secret"]
            if secret_values.has_digit_and_letter(value) and not secret_values.is_placeholder(value):
                yield *match.span("secret"), "password"
