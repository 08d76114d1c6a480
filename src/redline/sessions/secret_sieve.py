"""The fast look that a clean text costs: near which places a secret might stand at all.

Nearly all text is clean, so two automata (RE2, linear whatever the text) go over its bytes at some hundred MiB a
second: one for the forms that tokens have, one for names that are given a value. Both take in more than the rules do;
a line in which neither finds anything is not looked at again.
"""

from __future__ import annotations

import re
from typing import Any

import re2  # type: ignore[import-untyped]

from redline.sessions.key_blocks import ANCHORS

# The beginnings of tokens, each followed by some characters of its body. Counts are kept low: a long count costs the
# automaton a state for each character that it may have counted.
_BODY = r"[0-9A-Za-z_+/=.~%-]{12}"
_STARTS = (
    r"A3T", r"A[BKS]IA", "ACCA", "gh[pousr]_", "github_pat_", r"gl[a-z]{2,5}-", "GR1348941", "xox[a-z]", "xapp-",
    r"(?:services|workflows|triggers)/T", "webhooks/[0-9]", r"[rs]k_(?:live|test)_", "whsec_", r"SG\.", "SK[0-9a-f]",
    "npm_", r"_(?:authToken|auth|password)\s{0,8}=\s{0,8}", "pypi-A", "hf_", "api_org_", "sk-", "AIza", "GOCSPX-",
    r"ya29\.", "1//0", "(?:Account|Access)Key=", "sig=", "sq0csp-", "eyJ", "do[opr]_v1_", "shp(?:at|ca|pa|ss)_",
    "dapi[0-9a-f]", "dckr_", r"hv[sbr]\.", "lin_", "rubygems_", "crates_io_", "cio", "ntn_", "secret_", "gsk_", "xai-",
    "pplx-", "r8_", "nvapi-", "tvly-", "fw_", "lsv2_", "sntrys_", "sbp_", "glsa_", "glc_", "nfp_", "PMAK-", "figd_",
    "pat[_-]", "AGE-SECRET",
)  # fmt: skip
_SHAPES = (
    r"[0-9]{4}:[0-9A-Za-z_-]{12}",  # Telegram
    r"[0-9A-Za-z_-]\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{12}",  # Discord
    r"[0-9a-z]{8}-us[0-9]",  # Mailchimp
    r"[0-9]Q~",  # Azure
)
_NAMES = r"pass|pwd|secret|token|key|credential|authoriz"
_REST = r"[a-z]{0,8}(?:[_.\-][a-z0-9]{1,11}|[0-9]{1,2})?"
_SIGN = r"(?:\\{0,4}[\"'`])?[ \t]{0,8}[\])]?[ \t]{0,8}(?:[=:>,]|[?+!]=|\(\\{0,4}[\"'`]|value\s{0,4}=)"
_BLANK = r"[ \t\r\f\v]"
"""No `\n`: what is looked for stands in one line, and a line's end must not hide the beginning of the next."""
_OTHERS = (
    rf"authorization[^\n]{{0,12}}(?:bearer|basic|token|digest|key){_BLANK}",
    rf"bearer{_BLANK}+[^\s<${{]",
    rf"(?:curl|mysql|mysqldump|mysqladmin|mariadb|redis-cli|sshpass|docker{_BLANK}+login){_BLANK}",
    rf"password{_BLANK}+'[^']",
    rf"identified{_BLANK}[^\n]{{0,40}}(?:by|as){_BLANK}+'",
    rf"#{_BLANK}*define{_BLANK}+[a-z0-9_]*(?:{_NAMES})[a-z0-9_]*{_BLANK}+[lu8]*\"",
    rf"-(?:{_NAMES})[a-z-]{{0,6}}{_BLANK}+[^\s]",
    rf"login{_BLANK}+[^\s]+{_BLANK}+pass",
    rf"(?:^|{_BLANK})-u{_BLANK}*[\"']?[^\s:]+:[^\s]",
    rf"--user[ =]{_BLANK}*[\"']?[^\s:]+:[^\s]",
    rf"(?:env|setx){_BLANK}+[a-z0-9_]*(?:{_NAMES})[a-z0-9_]*{_BLANK}+[^\s=]",
    r"://[^\s:/@\"'<>`]*:[^\s/\"'<>`]+@",
)


_STRETCH = 512


def _automaton(pattern: str) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes as they are
    return re2.compile(pattern.encode(), options)


_TOKEN_FORM = f"(?:{'|'.join(_STARTS)}){_BODY}|{'|'.join(_SHAPES)}"
_NAMED_FORM = f"(?i:(?:{_NAMES}){_REST}{_SIGN})"
_OTHER_FORM = rf"(?im:{'|'.join(_OTHERS)})"
_BLOCK_FORM = "|".join(ANCHORS)
_TOKEN = _automaton(_TOKEN_FORM)
_NAMED = _automaton(_NAMED_FORM)
_OTHER = _automaton(_OTHER_FORM)
_BLOCK = _automaton(_BLOCK_FORM)
_ANY = _automaton("|".join((_TOKEN_FORM, _NAMED_FORM, _OTHER_FORM, _BLOCK_FORM)))
# After a name and its sign: wider than what the rules take for a value, but without what code is full of, which is a
# name given nothing, a sentence, or an expression that begins with a word.
_VALUE = re.compile(
    rb"[=>]{0,2}[ \t]{0,16}"
    rb"(?:[rbufl@]{0,2}\\{0,4}[\"'`]{1,3}[^\s\"'`]{4}|(?<![ \t])[^\s\"'`]{3}"
    rb"|&'\w|(?<=[ \t])(?![a-z_.]+(?:[,;(){}]|[ \t]+[^\s=]))[^\s\"'`]{3})",
    re.IGNORECASE,
)


def may_hold_any(data: bytes) -> bool:
    """Any of the others finds something; as quick as one of them, up to the first place."""
    return _ANY.search(data) is not None


def may_hold_block(data: bytes) -> bool:
    """The text may hold a private key of several lines."""
    return _BLOCK.search(data) is not None


def token_places(data: bytes) -> list[int]:
    """Offsets in UTF-8 text near which a token with a form of its own may stand."""
    return _places(data, _TOKEN)


def name_places(data: bytes) -> list[int]:
    """Offsets in UTF-8 text where a name is given a value, or a URL has a password."""
    return sorted(_places(data, _NAMED, _VALUE) + _places(data, _OTHER))


def _places(data: bytes, automaton: Any, then: re.Pattern[bytes] | None = None) -> list[int]:
    """Where the automaton finds something that `then` goes on with: one place a line, or a stretch of a long line, is
    enough, since its whole neighbourhood will be looked at."""
    found: list[int] = []
    match = automaton.search(data)
    while match is not None:
        at, after = match.span()
        if then is None or then.match(data, after):
            found.append(at)
            end = data.find(b"\n", at, at + _STRETCH)
            after = at + _STRETCH if end < 0 else end
        match = automaton.search(data, after)
    return found
