"""Secrets that are known by where they stand: `password = …`, a URL's password, an authorization header, a flag.

Nothing is judged by entropy. A value counts as a secret if its name says so and it does not look like what code and
documents put there instead: a reference, a call, a type, a placeholder, a sentence. What that leaves out is listed in
`docs/redaction.md`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from redline.sessions.marks import OPEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redline.sessions.secret_tokens import Span

_NAME = (
    r"(?P<name>(?:pass(?:word|wd|phrase|code|wort)?|pwd|secret|token|credentials?|authorization"
    r"|(?:api|access|secret|private|auth|account|encryption|signing|master|shared|service|subscription)[_.\- ]?key"
    r"|(?<![A-Za-z0-9_.\-])key))"
)
_SUFFIX = (
    r"(?:[_.\-]?(?:prod|production|dev|development|staging|stage|test|live|base|value|primary|secondary|main|old|new"
    r"|default|db|admin|root|v?\d{1,2}))?"
)
_KEY = re.compile(_NAME + _SUFFIX + r"(?![A-Za-z0-9_])", re.IGNORECASE)
_SEPARATOR = re.compile(
    r"(?:\\{0,4}[\"'`])?\s{0,8}[\])]?\s{0,8}"
    r"(?P<sign>:\s{0,8}[A-Za-z_][\w\[\]| .]{0,40}=|:=|=>|[=!]==?|[?+]=|=|:|,(?=\s{0,8}[\"'])|>)\s{0,16}"
)
_QUOTED = re.compile(r"(?P<prefix>[rbufRBUF]{1,2}|@|L)?(?P<quote>\\{0,4}(?:\"\"\"|'''|[\"'`]))")
_BARE = re.compile(r"[^\s\"'`,;&<>(){}\[\]|\\]+")
_ENV_LINE = re.compile(
    r"[ +\-]?\s*(?:(?:export|set|setenv|declare -x|ENV|ARG|-e|--env)\s+)?"
    r"(?P<key>[A-Z][A-Z0-9_]*)=(?P<value>[^\s\"'`].*)"
)
_WHOLE_LINE_KEY = re.compile(r"[ +\-]?\s*(?:-\s+)?[\"']?[\w.\-]*$")

_URL = re.compile(r"(?<=://)[^\s:/@\"'<>`]*:(?P<secret>[^\s/\"'<>`]{1,512})@")
_HEADER = re.compile(
    r"(?i:\b(?:proxy-)?authorization)[\"']?\s{0,4}[\])]?\s{0,4}[:=,]\s{0,4}\\{0,4}[\"'`]?\s{0,4}(?:[a-z]{1,2}[\"'])?"
    r"(?i:bearer|basic|token|digest|apikey)\s{1,4}(?P<secret>[^\s\"'`,;<>\\{}()$]{4,})"
)
_BEARER = re.compile(r"(?i:\bbearer)\s{1,4}(?P<secret>(?=[A-Za-z._~+/\-]{0,64}[0-9])[A-Za-z0-9._~+/\-]{16,}={0,2})")
_FLAG = re.compile(
    r"(?<!\S)--?(?:[a-z]+-){0,3}(?:password|passwd|pwd|secret|token|api-?key|access-key|secret-key)\s{1,4}"
    r"(?:[\"'](?P<quoted>[^\"']{4,})[\"']|(?P<secret>[^\s\"'\-][^\s\"']{3,}))",
    re.IGNORECASE,
)
_CURL = re.compile(r"\bcurl\b.{0,2000}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,200}:(?P<secret>[^\s\"']{3,200})")
_NETRC = re.compile(r"\blogin\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(?P<secret>\S{3,200})")

_REFERENCE = re.compile(
    r"\$\{?\w.*|\$\(.*|<.*|\{.*|%\(.*|%[A-Za-z_]*%?|@\w.*\}|!\w+.*|#\{.*|\[.*|__\w+__"
    r"|(?:op|vault|ssm|sops|keychain|keyring|arn|file|env|https?|secretsmanager|projects)[:/].*|ENC\[.*|(?:~|\.{0,2})/[\w.@/\-]+"
)
_INTERPOLATED = ("${", "{{", "#{", "$(", "%(")
_FAMILY_WORDS = ("password", "passwd", "passphrase", "secret", "token", "credential", "apikey", "api_key", "api-key")
_PLACEHOLDERS = (
    "your", "example", "placeholder", "changeme", "change_me", "change-me", "dummy", "redacted", "todo", "insert",
    "replace", "sample", "xxxx", "none", "null", "undefined", "true", "false", "required", "optional", "string",
    "anonymous", "goes-here", "goeshere", "unknown", "default", "hidden", "masked", "prompt", "user:pass",
)  # fmt: skip
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*")
_PATH = re.compile(r"[a-z0-9._\-]+(?:/[a-z0-9._\-]+)+")
_SPECIAL = frozenset("@!#$%^&*+~?")
_DIGIT = re.compile(r"[0-9]")
_LETTER = re.compile(r"[A-Za-z]")


def spans(line: str) -> Iterator[Span]:
    """What is to be masked in a line, in no order."""
    for match in _URL.finditer(line):
        if not _is_reference(match["secret"]) and match["secret"].lower() not in ("password", "pass", "passwd", "pwd"):
            yield *match.span("secret"), "url-password"
    for pattern in (_HEADER, _BEARER):
        for match in pattern.finditer(line):
            if not _is_placeholder(match["secret"]):
                yield *match.span("secret"), "authorization"
    if "-" in line or "login" in line:
        yield from _command_line(line)
    yield from _assigned(line)


def is_secret(name: str, value: str) -> bool:
    """In data, a value under a key: would its value be masked in `"name": "value"`?"""
    key = _last_key(name)
    return key is not None and _judge(_family(key), value, bare=False, tight=False)


def _command_line(line: str) -> Iterator[Span]:
    for match in _FLAG.finditer(line):
        group = "quoted" if match["quoted"] else "secret"
        if _has_digit_and_letter(match[group]) and not _is_placeholder(match[group]):
            yield *match.span(group), "password"
    for pattern in (_CURL, _NETRC):
        for match in pattern.finditer(line):
            if not _is_placeholder(match["secret"]):
                yield *match.span("secret"), "password"


def _assigned(line: str) -> Iterator[Span]:
    env = _ENV_LINE.fullmatch(line)
    if env:
        key = _last_key(env["key"])
        if key is not None:
            value = re.split(r"\s+#", env["value"].rstrip(), maxsplit=1)[0].rstrip()
            if value and _judge_env(key, value):
                start = env.start("value")
                yield start, start + len(value), kind(key)
        if key is not None or "=" not in env["value"]:
            return
    for match in _KEY.finditer(line):
        if _inside_word(line, match):
            continue
        separator = _SEPARATOR.match(line, match.end())
        if separator is None:
            continue
        found = _value(line, match, separator)
        if found is not None:
            yield *found, kind(match["name"])


def _value(line: str, key: re.Match[str], separator: re.Match[str]) -> tuple[int, int] | None:
    at = separator.end()
    sign = separator["sign"]
    family = _family(key["name"])
    quoted = _QUOTED.match(line, at)
    if quoted:
        start = quoted.end()
        end = line.find(quoted["quote"], start)
        end = len(line) if end < 0 else end
        value = line[start:end]
        if "f" in (quoted["prefix"] or "").lower() and "{" in value:
            return None
        tight = sign not in (":", ",", ">") or family == "passphrase"
        if key["name"].lower() == "key" and not tight:
            return None
        return (start, end) if _judge(family, value, bare=False, tight=tight) else None
    if sign in (",", "=>") or key["name"].lower() == "key" or sign.startswith(("!", "==")):
        return None
    bare = _BARE.match(line, at)
    if bare is None or line[bare.end() : bare.end() + 1] in ("(", "[", "{", "|"):
        return None
    spaced = sign != ":" and line[separator.end() - 1] == " "
    if sign == ":":
        whole = _WHOLE_LINE_KEY.match(line[: key.end()]) is not None
        spaced = not whole or not re.match(r"\s*(?:#.*)?$", line[bare.end() :])
    return bare.span() if _judge(family, bare[0], bare=True, tight=not spaced) else None


def _judge_env(key: str, value: str) -> bool:
    """`KEY=value` alone on its line, the name in capitals: whatever stands there is a value, not an expression."""
    if len(value) < 3 or _is_placeholder(value) or value.endswith((",", "(", "{", "\\")):
        return False
    if re.match(r"[A-Za-z_][\w.]*\(", value):
        return False
    if key.lower() == "key":
        return len(value) >= 6 and _has_digit_and_letter(value)
    return bool(_LETTER.search(value) or len(value) >= 6) and not (value.isupper() and value.isidentifier())


def _judge(family: str, value: str, *, bare: bool, tight: bool) -> bool:
    """`bare`: not quoted. `tight`: its place makes it a value rather than a word, type or label."""
    if len(value) < 4 or len(value) > 4096 or any(c.isspace() for c in value) or _is_placeholder(value):
        return False
    if _PATH.fullmatch(value):
        return False
    strong = _has_digit_and_letter(value)
    special = not _SPECIAL.isdisjoint(value)
    if bare and _IDENTIFIER.fullmatch(value):
        digits = len(_DIGIT.findall(value))
        if "." in value or "::" in value or "->" in value:
            return strong and digits >= 4 and len(value) >= 24
        if family == "password" and tight:
            return strong
        return strong and len(value) >= 8 and digits >= 3
    if family == "password":
        if strong or (special and len(value) >= 6):
            return not bare or tight or len(value) >= 8
        if value.isdigit():
            return not bare and tight
        return not bare and value.isalpha() and value.isascii() and len(value) >= (6 if tight else 14)
    if not bare and _IDENTIFIER.fullmatch(value) and "." in value:
        return strong and any(len(part) > 20 for part in value.split("."))
    return strong and len(value) >= (6 if family == "secret" and not bare else 8)


def _is_placeholder(value: str) -> bool:
    if len(set(value)) <= 1 or OPEN in value or _is_reference(value):
        return True
    lowered = value.lower()
    if set(lowered) <= set("*x.-_•#?0 "):
        return True
    if lowered.startswith(
        ("your", "changeme", "change-me", "change_me", "example", "placeholder", "dummy", "xxx", "<")
    ):
        return True
    if not _DIGIT.search(lowered) and any(word in lowered for word in _PLACEHOLDERS):
        return True
    return len(value) < 32 and any(word in lowered for word in _FAMILY_WORDS)


def _is_reference(value: str) -> bool:
    return (_REFERENCE.fullmatch(value) is not None and not re.fullmatch(r"[A-Za-z0-9/+]{40}", value)) or any(
        sign in value for sign in _INTERPOLATED
    )


def _inside_word(line: str, match: re.Match[str]) -> bool:
    """`compass`, `monkey`: a name of ours at the end of another word. `dbpassword` and `accessToken` are names."""
    name = match["name"]
    before = line[match.start() - 1 : match.start()]
    return name.lower() in ("pass", "pwd", "credentials") and before.isalpha() and before.islower() == name[0].islower()


def _last_key(name: str) -> str | None:
    for match in _KEY.finditer(name):
        if match.end() == len(name) and not _inside_word(name, match):
            return match["name"]
    return None


def _family(name: str) -> str:
    lowered = name.lower()
    if lowered == "passphrase":
        return "password"
    if lowered.startswith(("pass", "pwd")):
        return "password"
    return "secret" if lowered == "secret" else "key"


def kind(name: str) -> str:
    """How the mark of a value under this name is called."""
    lowered = name.lower()
    if lowered.startswith(("pass", "pwd")):
        return "password"
    if lowered.endswith("key"):
        return "key"
    return {"token": "token", "authorization": "authorization"}.get(lowered, "secret")


def _has_digit_and_letter(value: str) -> bool:
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None
