"""Secrets that are known by where they stand: `password = …`, a URL's password, an authorization header, a flag.

Nothing is judged by entropy. A value counts as a secret if its name says so and it does not look like what code and
documents put there instead: a reference, a call, a type, a placeholder, a sentence. What that leaves out is listed in
`docs/redaction.md`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from redline.sessions import secret_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redline.sessions.secret_tokens import Span

_LONG_VALUE = 64
"""Characters; what looks like a name inside a longer value is not judged by itself."""
_NAME = (
    r"(?=[PSTCAEMKpstcaem])"  # six times as fast: the engine tries the alternatives at no other letter
    r"(?P<name>(?:pass(?:word|wd|phrase|code|wort)?|pwd|secret|token|credentials?|authorization"
    r"|(?:api|access|secret|private|auth|account|encryption|signing|master|shared|service|subscription)[_.\- ]?key"
    r"|(?-i:(?<=[A-Z0-9]_)KEY)))"
)
_SUFFIX = (
    r"(?:[_.\-]?(?:prod|production|dev|development|staging|stage|test|live|base|value|primary|secondary|main|old|new"
    r"|default|db|admin|root|v?\d{1,2}))?"
)
_KEY = re.compile(_NAME + _SUFFIX + r"(?![A-Za-z0-9_])", re.IGNORECASE | re.ASCII)
_SEPARATOR = re.compile(
    r"(?:\\{0,4}[\"'`])?\s{0,8}[\])]?\s{0,8}"
    r"(?P<sign>\(|value\s{0,4}=|:\s{0,8}(?:&(?:'\w{1,20}\s)?)?"
    r"[A-Za-z_][\w\[\]| .<>]{0,40}=|:=|=>|[=!]==?|[?+]=|=|:|,(?=\s{0,8}[\"'])|>)"
    r"\s{0,16}"
)
_QUOTED = re.compile(r"(?P<prefix>[rbufRBUF]{1,2}|@|L)?(?P<quote>\\{0,4}(?:\"\"\"|'''|[\"'`]))")
_BARE = re.compile(r"[^\s\"'`,;&<>(){}\[\]|\\]{1,1024}")
_ENV_LINE = re.compile(
    r"[ +\-]?\s*(?:(?:export|set|setenv|declare -x|ENV|ARG|-|-e|--env)\s+)?[\"']?"
    r"(?P<key>[A-Z][A-Z0-9_]*)(?P<sign>=|:\s+)(?P<value>[^\s\"'`].*)"
)
_ELEMENT = re.compile(r"<[\w.:\-]*$")
_WHOLE_LINE_KEY = re.compile(r"[ +\-]?\s*(?:-\s+)?[\"']?[\w.\-]{0,200}")
_SETTING = re.compile(
    r"[ +\-]?(?P<indent>\s*)(?:-\s+)?(?P<key>[\w.\-]{1,200})\s*[=:]\s*"
    r"(?P<value>[^\s\"'`(){}\[\]<>\\]{4,256})(?:\s+[#;].*|\s*)"
)
"""A line of a settings file and nothing else: `db.password = …`, `password: …`. Code has more to say on most lines."""
_OBJECTS = re.compile(
    r"(?:self|this|cls|args|opts?|options|params|props|state|req|request|res|response|form|user|account|data|obj|event)\."
)
"""What code assigns members of."""
_LINE_END = re.compile(r"\s*(?:#.*)?$")

_URL = re.compile(r"(?<=://)[^\s:/@\"'<>`\\\[\](){}]*:(?P<secret>[^\s/\"'<>`]{1,512})@")
_HEADER = re.compile(
    r"(?i:\b(?:proxy-)?authorization)[\"']?\s{0,4}[\])]?\s{0,4}[:=,]\s{0,4}\\{0,4}[\"'`]?\s{0,4}(?:[a-z]{1,2}[\"'])?"
    r"(?i:bearer|basic|(?:api-?)?(?:token|key)|digest)\s{1,4}(?P<secret>[^\s\"'`,;<>\\{}()$]{4,})"
)
_BEARER = re.compile(r"(?i:\bbearer)\s{1,4}(?P<secret>(?=[A-Za-z._~+/\-]{0,64}[0-9])[A-Za-z0-9._~+/\-]{16,}={0,2})")
_FLAG = re.compile(
    r"(?<!\S)--?(?:[a-z]+-){0,3}(?:password|passwd|pwd|secret|token|api-?key|access-key|secret-key)\s{1,4}"
    r"(?:[\"'](?P<quoted>[^\"']{4,})[\"']|(?P<secret>[^\s\"'\-][^\s\"']{3,}))",
    re.IGNORECASE,
)
_USER = re.compile(
    r"(?:^|(?<=\s))(?:-[a-zA-Z]{0,4}u|--user)(?:=|\s{0,8})[\"']?"
    r"(?:(?P<user>[^\s:\"']{1,200})[\"']?:[\"']?(?P<secret>[^\s\"'`]{3,200})|:(?P<alone>[^\s\"'`]{3,200})"
    r"|(?P<only>[^\s:\"']{3,200}):(?=[\"'\s]))"
)
_SET = re.compile(r"(?:ENV|setx)\s{1,8}(?P<key>\w{1,100})\s{1,8}(?P<secret>[^\s\"'=]{4,200})")
_NETRC = re.compile(r"\blogin\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(?P<secret>\S{3,200})")

_COMMANDS = ("login", "ENV ", "setx ", "curl")


def spans(line: str) -> Iterator[Span]:
    """What is to be masked in a line, in no order."""
    lowered = line.lower()
    if "://" in line:
        for match in _URL.finditer(line):
            if (
                not secret_values.is_reference(match["secret"])
                and match["secret"].lower() not in secret_values.NO_PASSWORDS
            ):
                yield *match.span("secret"), "url-password"
    for word, pattern in (("authorization", _HEADER), ("bearer", _BEARER)):
        for match in pattern.finditer(line) if word in lowered else ():
            if not secret_values.is_placeholder(match["secret"]):
                yield *match.span("secret"), "authorization"
    if " -" in line or line[:2].lstrip("+ ").startswith("-") or any(word in line for word in _COMMANDS):
        yield from _command_line(line)
    yield from _assigned(line)


def is_secret(name: str, value: str) -> bool:
    """In data, a value under a key: would its value be masked in `"name": "value"`?"""
    key = last_key(name)
    return key is not None and secret_values.is_secret(family(key), value, bare=False, tight=False)


def _command_line(line: str) -> Iterator[Span]:
    for match in _FLAG.finditer(line):
        group = "quoted" if match["quoted"] else "secret"
        if secret_values.has_digit_and_letter(match[group]) and not secret_values.is_placeholder(match[group]):
            yield *match.span(group), "password"
    for match in _USER.finditer(line) if "curl" in line or line.lstrip(" +").startswith("-") else ():
        group = next(name for name in ("secret", "alone", "only") if match[name])
        value = match[group]
        if secret_values.is_placeholder(value) or value.isdigit() or value == match["user"]:
            continue
        if group != "only" or (
            len(value) >= 8 and secret_values.has_digit_and_letter(value)
        ):  # a key may stand for the user's name
            yield *match.span(group), "password"
    for match in _NETRC.finditer(line) if "login" in line else ():
        if not secret_values.is_placeholder(match["secret"]):
            yield *match.span("secret"), "password"
    for match in _SET.finditer(line):
        key = last_key(match["key"])
        if key is not None and secret_values.is_secret(family(key), match["secret"], bare=True, tight=True):
            yield *match.span("secret"), kind(key)


def _assigned(line: str) -> Iterator[Span]:
    env = _ENV_LINE.fullmatch(line)
    key = _environment_key(env) if env else None
    if env and key is not None:
        value = re.split(r"\s+#", env["value"].rstrip(), maxsplit=1)[0].rstrip("\"' \t")
        if value and secret_values.is_environment_secret(key, value):
            start = env.start("value")
            yield start, start + len(value), kind(key)
        return
    passed = 0
    for match in _KEY.finditer(line):
        if match.start() < passed or _inside_word(line, match):
            continue
        separator = _SEPARATOR.match(line, match.end())
        if separator is None:
            continue
        value = _value(line, match, separator)
        if value is None:
            continue
        start, end, secret = value
        if secret:
            yield start, end, kind(match["name"])
        if secret or end - start > _LONG_VALUE:
            passed = end


def _value(line: str, key: re.Match[str], separator: re.Match[str]) -> tuple[int, int, bool] | None:
    """Where the value stands, and whether it is a secret; None where no value can stand."""
    at = separator.end()
    sign = separator["sign"]
    group = family(key["name"])
    if sign == ">" and not _ELEMENT.search(line, max(0, key.start() - _LONG_VALUE), key.start()):
        return None
    quoted = _QUOTED.match(line, at)
    if sign == "(" and (quoted is None or not _is_setter(line, key.start())):
        return None
    if quoted:
        start = quoted.end()
        end = _closing(line, quoted["quote"], start)
        value = line[start:end]
        prefix = (quoted["prefix"] or "").lower()
        if ("f" in prefix and "{" in value) or ("r" in prefix and "[" in value):  # a format, an expression
            return None
        if sign in (",", "(") and group != "password" and not secret_values.is_long_token(value):
            return None
        if sign == "," and group == "password":
            return None
        return start, end, secret_values.is_secret(group, value, bare=False, tight=sign not in (":", "(", ">"))
    if sign in (",", "=>") or sign.startswith(("!", "==")):
        return None
    bare = _BARE.match(line, at)
    following = line[bare.end() : bare.end() + 1] if bare else ""
    if bare is None or following in ("(", "[", "{", "|") or (sign == ">" and following != "<"):
        return None
    if group == "password" and (setting := _SETTING.fullmatch(line)) and setting.start("value") == at:
        start, end = setting.span("value")
        is_plain = len(setting["indent"]) < 2 and not _OBJECTS.match(setting["key"])
        if secret_values.is_setting(setting["value"], plain=is_plain or sign == ":"):
            return start, end, True
    spaced = sign != ":" and line[separator.end() - 1] == " "
    if sign == ":":
        alone = _WHOLE_LINE_KEY.fullmatch(line, 0, key.end()) and _LINE_END.match(line, bare.end())
        spaced = alone is None
    return *bare.span(), secret_values.is_secret(group, bare[0], bare=True, tight=not spaced)


def _closing(line: str, quote: str, start: int) -> int:
    """Where the quoted value ends: at its quote, escaped ones passed over, or else at the line's end."""
    end = line.find(quote, start)
    while end > 0 and line[end - 1] == "\\" and not quote.startswith("\\"):
        end = line.find(quote, end + 1)
    return len(line) if end < 0 else end


def _is_setter(line: str, at: int) -> bool:
    """`.password("…")`, `setPassword("…")`, `with_token("…")`."""
    return (
        line[max(0, at - 1) : at] == "."
        or re.search(r"(?:set|with)_?$", line[max(0, at - 5) : at], re.IGNORECASE) is not None
    )


def _environment_key(env: re.Match[str]) -> str | None:
    if env["key"] == "KEY":
        return "key" if env["sign"] == "=" else None
    key = last_key(env["key"])
    if key is None or env["sign"] == "=" or family(key) == "password":
        return key
    return None


def _inside_word(line: str, match: re.Match[str]) -> bool:
    """`compass`, `monkey`: a name of ours at the end of another word. `dbpassword` and `accessToken` are names."""
    name = match["name"]
    before = line[match.start() - 1 : match.start()]
    return name.lower() in ("pass", "pwd", "credentials") and before.isalpha() and before.islower() == name[0].islower()


def last_key(name: str) -> str | None:
    """The part that says that it names a secret, where a name ends with such; else None."""
    for match in _KEY.finditer(name):
        if match.end() == len(name) and not _inside_word(name, match):
            return match["name"]
    return None


def family(name: str) -> str:
    """What `secret_values.is_secret` calls it."""
    if name == "KEY":
        return name
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
