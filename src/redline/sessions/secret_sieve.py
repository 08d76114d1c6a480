"""The fast look that a clean text costs: which lines might hold a secret at all.

It works on UTF-8 bytes with the few primitives that run at memory speed (`translate`, `lower`, `find`), because nearly
all text is clean. Every token that the rules know holds a run of 20 or more characters of `A-Za-z0-9_-`, so the runs
are cut out first and only they are searched for the tokens' prefixes; names such as `password`, and `://`, are searched
for in the whole text and looked at once more where they stand.
"""

from __future__ import annotations

import re
from bisect import bisect_right

_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_MAP = bytes(0x77 if byte in _WORD else 0x20 for byte in range(256))
_RUN = b"w" * 20
_CONTEXT = 48
"""Bytes before a run that may belong to its token: `SG.`, a bot's number, a webhook's path."""

_PREFIXES = (
    b"AKIA", b"ASIA", b"ABIA", b"ACCA", b"A3T", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_",
    b"glpat-", b"gldt-", b"glft-", b"glsoat-", b"glrt-", b"GR1348941", b"glcbt-", b"glimt-", b"glptt-", b"glagent-",
    b"gloas-", b"xox", b"xapp-", b"hooks.slack", b"k_live_", b"k_test_", b"whsec_", b"SG.", b"SK", b"npm_", b"_auth",
    b"_password", b"pypi-A", b"hf_", b"api_org_", b"sk-", b"AIza", b"GOCSPX-", b"ya29.", b"1//0", b"AccountKey=",
    b"AccessKey=", b"sig=", b"webhooks/", b"-us", b"sq0csp-", b"eyJ", b"do_v1_", b"doo_v1_", b"dop_v1_", b"dor_v1_",
    b"shpat_", b"shpca_", b"shppa_", b"shpss_", b"dapi", b"dckr_", b"hvs.", b"hvb.", b"hvr.", b"lin_", b"rubygems_",
    b"crates_io_", b"cio", b"ntn_", b"secret_", b"gsk_", b"xai-", b"pplx-", b"r8_", b"nvapi-", b"tvly-", b"fw_",
    b"lsv2_", b"sntrys_", b"sbp_", b"glsa_", b"glc_", b"nfp_", b"PMAK-", b"figd_", b"pat_", b"pat-", b"AGE-SECRET",
)  # fmt: skip
_SHAPES = (
    re.compile(rb"[0-9]:[0-9A-Za-z_-]{35}"),  # Telegram
    re.compile(rb"\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27}"),  # Discord
)
_NAMES = (b"pass", b"pwd", b"secret", b"token", b"key", b"credential", b"uthoriz", b"earer ")
_ASSIGNED = re.compile(
    rb"(?:word|wd|phrase|code|wort|s|ation|)(?:[_.-]?[a-z0-9]{1,11})?(?:\\{0,4}[\"'`])?[ \t]{0,8}[\])]?[ \t]{0,8}"
    rb"(?:[=:>,]|[?+!]=)[=>]{0,2}[ \t]{0,16}[^\s]{3}"
)
_SPACED = re.compile(rb"(?:word|wd|)[ \t]{1,8}[^\s]{3}")
_URL = re.compile(rb"[^\s:/@\"'<>`]*:[^\s/\"'<>`]{1,512}@")


def token_places(data: bytes) -> list[int]:
    """Offsets in UTF-8 text near which a token with a form of its own may stand."""
    mapped = data.translate(_MAP)
    starts: list[int] = []
    """Where each piece stands in the text, and in the joined pieces."""
    places: list[int] = []
    pieces: list[bytes] = []
    length = end = 0
    at = mapped.find(_RUN)
    while at >= 0:
        start = max(end, at - _CONTEXT)
        end = mapped.find(b" ", at + len(_RUN))
        end = len(data) if end < 0 else end
        piece = data[start : end + 1]
        starts.append(start)
        places.append(length)
        pieces.append(piece)
        length += len(piece) + 1
        at = mapped.find(_RUN, end)
    found: list[int] = []
    if pieces:
        joined = b"\n".join(pieces)
        for prefix in _PREFIXES:
            at = joined.find(prefix)
            while at >= 0:
                found.append(at)
                at = joined.find(prefix, at + 1)
        for shape in _SHAPES:
            found += [match.start() for match in shape.finditer(joined)]
    offsets = []
    for at in found:
        piece_index = bisect_right(places, at) - 1
        offsets.append(starts[piece_index] + at - places[piece_index])
    at = data.find(b"Q~")  # Azure's client secrets have dots and tildes, so that no long run is sure
    while at >= 0:
        offsets.append(at)
        at = data.find(b"Q~", at + 2)
    return sorted(offsets)


def name_places(data: bytes) -> list[int]:
    """Offsets in UTF-8 text where a name is given a value, or a URL has a password."""
    lowered = data.lower()
    offsets: list[int] = []
    for name in _NAMES:
        at = lowered.find(name)
        while at >= 0:
            after = at + len(name)
            if name == b"earer " or _ASSIGNED.match(lowered, after) or _is_flag(lowered, at, after):
                offsets.append(at)
            at = lowered.find(name, after)
    at = lowered.find(b"://")
    while at >= 0:
        if _URL.match(lowered, at + 3):
            offsets.append(at)
        at = lowered.find(b"://", at + 3)
    at = lowered.find(b"curl ")
    while at >= 0:
        offsets.append(at)
        at = lowered.find(b"curl ", at + 5)
    return sorted(offsets)


def _is_flag(lowered: bytes, at: int, after: int) -> bool:
    """`--password hunter2`, or a line of `.netrc`."""
    if not _SPACED.match(lowered, after):
        return False
    return lowered[at - 1 : at] == b"-" or lowered.rfind(b"login", max(0, at - 220), at) >= 0
