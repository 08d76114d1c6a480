"""Whether what is given to a secret's name is one, or what code and documents put there instead."""

from __future__ import annotations

import re

from redline.sessions.marks import OPEN

LONGEST = 4_096
"""Characters of a quoted value; longer ones are texts."""

_REFERENCE = re.compile(
    r"\$\w+(?:[/:.\-].*)?|<.*>|@\w+@|\{.*\}|%[A-Za-z_]*%?|@\w.*\}|!\w+.*|\[.*\]|__\w+__|\(\?.*"
    r"|(?:op|vault|ssm|sops|keychain|keyring|arn|file|env|https?|secretsmanager|projects)[:/].*|ENC\[.*|(?:~|\.{0,2})/[\w.@/\-]+"
)
_INTERPOLATED = re.compile(r"[$#%]\{[^}]*\}|\{\{.*\}\}|[$%]\([^)]*\)|\{\{[^}]*$")
_WORD = r"(?:[a-z]{1,24}[0-9]{0,2}|[0-9]{1,2})"
_NAME_AGAIN = re.compile(
    rf"(?:{_WORD}-)*(?:my|the|new|old|db|app|user|client|server|access|refresh|auth|api|session|csrf|xsrf|id|test)?"
    rf"(?:password|passwd|passphrase|secret|token|credential|api-?key)(?:s|izer)?[0-9]{{0,2}}(?:-{_WORD})*"
)
"""`token = "x-csrf-token2"` repeats a name, of words and small numbers; it is hardly one's secret."""
_BETWEEN_WORDS = re.compile(r"[-_./:]+|(?<=[a-z0-9])(?=[A-Z])")
_STAND_IN = re.compile(
    r"your|example|placeholder|change[_-]?me|dummy|redacted|todo|insert|replace|sample|xxxx|none|null|undefined|true"
    r"|false|required|optional|string|anonymous|goes-?here|unknown|default|hidden|masked|prompt"
)
_STAND_IN_START = ("your", "changeme", "change-me", "change_me", "example", "placeholder", "dummy", "xxx")
_AWS_SECRET = re.compile(r"[A-Za-z0-9/+]{40}")
"""It may begin with a slash, as a path does."""
_SOME_KEY = re.compile(r"(?=(?:[^0-9]*[0-9]){3})(?=.*[A-Za-z])[A-Za-z0-9+/=_\-]{16,}")
"""Of `STRIPE_KEY`: the name alone says little, and `CACHE_KEY` is no secret."""
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*")
_PATH = re.compile(r"[a-z0-9._\-]+(?:/[a-z0-9._\-]+)+")
_CODE_NAME = re.compile(
    # With parts, or a word that people number: a variable, a type, an algorithm.
    r".*[_.>:].*|[a-z]+(?:[A-Z][a-z]*)+\d{1,3}"
    r"|(?i:u?int|float|double|char|n?varchar|byte|str|string|text|utf|sha|md|base|bytes?|hash|hashed|crypt|bcrypt|scrypt"
    r"|argon|pbkdf|aes|des|rsa|hmac|blake|key|value|val|var|arg|args|param|user|tmp|temp|new|old|foo|bar|baz|qux|pw|pwd"
    r"|pass|item|data|input|output|field|line|col|row|msg|word|option|opt|res|result|resp|response|req|request|match"
    r"|group|part|plain|clear|raw|salt|seed|first|second|test|buf|buffer|ptr|obj|node|num|number|name|func|fn|expr)"
    r"s?\d{1,4}[a-z]{0,3}"
)
_EXPRESSION = re.compile(r"[A-Za-z_][\w.]*(?:(?:[-+*/%|&^]|\|\||&&|\?\?|==|!=)[A-Za-z_][\w.]*)+")
"""`first+second2`: names with something between them."""
_QUERY = re.compile(r"&\w+=")
_SHORTEST_SETTING = 5
_SHORTEST_ANYWHERE = 8
NO_PASSWORDS = frozenset({"password", "pass", "passwd", "pwd", "test"})
_SPECIAL = frozenset("@!#$%^&*+~?")
_SPACE = re.compile(r"\s")
_DIGIT = re.compile(r"[0-9]")
_LETTER = re.compile(r"[A-Za-z]")


def is_environment_secret(key: str, value: str) -> bool:
    """`KEY=value` alone on its line, the name in capitals: whatever stands there is a value, not an expression."""
    if len(value) < 3 or is_placeholder(value) or value.endswith((",", "(", "{", "\\")):
        return False
    if re.match(r"[A-Za-z_][\w.]*\(", value):
        return False
    if key == "key":
        return len(value) >= 6 and has_digit_and_letter(value)
    if key == "KEY":
        return _SOME_KEY.fullmatch(value) is not None
    if value.isupper() and value.isidentifier() and not _DIGIT.search(value):  # the name of another constant
        return False
    return _LETTER.search(value) is not None or len(value) >= 6


def is_secret(family: str, value: str, *, bare: bool, tight: bool) -> bool:
    """`family`: password, secret, key, or KEY where the name says no more than that. `bare`: not quoted. `tight`: its
    place makes it a value rather than a word, type or label."""
    if not 4 <= len(value) <= LONGEST:
        return False
    if family == "KEY":
        return _SOME_KEY.fullmatch(value) is not None
    strong = has_digit_and_letter(value)
    special = not _SPECIAL.isdisjoint(value)
    if not strong and (family != "password" or (bare and not special)):
        return False
    if _SPACE.search(value) or is_placeholder(value) or _PATH.fullmatch(value):
        return False
    if bare and _IDENTIFIER.fullmatch(value):
        digits = len(_DIGIT.findall(value))
        if "." in value or "::" in value or "->" in value:
            return strong and digits >= 4 and len(value) >= 24
        if family == "password" and tight:
            return strong
        return strong and ((len(value) >= 8 and digits >= 3) or len(value) >= (16 if tight else 20))
    if family == "password":
        if strong or (special and len(value) >= 6):
            return not bare or tight or len(value) >= 8
        if value.isdigit():
            return not bare and tight
        return not bare and value.isalpha() and value.isascii() and len(value) >= (6 if tight else 14)
    if not bare and _IDENTIFIER.fullmatch(value) and "." in value:
        return strong and any(len(part) > 20 for part in value.split("."))
    return strong and len(value) >= (6 if family == "secret" and not bare else 8)


def is_setting(value: str, *, plain: bool) -> bool:
    """A password that is all there is on its line behind its name, not quoted: in a settings file a value, in code a
    name or an expression. `plain`: nothing around it says that this is code."""
    if not has_digit_and_letter(value) or value.endswith((",", ";", "|", "\\")) or _QUERY.search(value):
        return False
    if is_placeholder(value) or _PATH.fullmatch(value):
        return False
    if _IDENTIFIER.fullmatch(value):
        return plain and len(value) >= _SHORTEST_SETTING and _CODE_NAME.fullmatch(value) is None
    return _EXPRESSION.fullmatch(value) is None and (plain or len(value) >= _SHORTEST_ANYWHERE)


def is_long_token(value: str) -> bool:
    """As in `set("x-api-key", "…")`: lists of names and of words are far more common than secrets."""
    return len(value) >= 20 and not (value.islower() and "-" in value)


def is_placeholder(value: str) -> bool:
    if len(set(value)) <= 1 or OPEN in value or is_reference(value):
        return True
    lowered = value.lower()
    if lowered in NO_PASSWORDS or set(lowered) <= set("*x.-_•#?0 "):
        return True
    if lowered.startswith(_STAND_IN_START):
        return True
    if not _DIGIT.search(lowered) and _STAND_IN.search(lowered):
        return True
    return len(value) < 32 and _NAME_AGAIN.fullmatch(_BETWEEN_WORDS.sub("-", value).lower()) is not None


def is_reference(value: str) -> bool:
    if _INTERPOLATED.search(value):
        return True
    return _REFERENCE.fullmatch(value.rstrip("\"'`")) is not None and _AWS_SECRET.fullmatch(value) is None


def has_digit_and_letter(value: str) -> bool:
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None
