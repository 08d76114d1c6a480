"""The one rule of what of a change may go to the log: its lines masked on the whole texts, then cut to the limit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redline.changes.mask import mask_lines
from redline.changes.shorten import LOG_LIMIT, shortened
from redline.sessions.marks import hidden

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from redline.changes.record import FileChange, Hunk
    from redline.sessions.redaction import Redactor

_REMNANT = 8
"""Characters of a secret from which a part of it is masked: less is too common to be told from other text."""


def as_logged(
    change: FileChange, before: bytes | None, after: bytes | None, redactor: Redactor, *, limit: int = LOG_LIMIT
) -> FileChange:
    """`change` as the log keeps it; `before` and `after` are the true bytes of its sides, where there are such.

    Secrets are looked for in the whole texts, so that one which begins above a hunk is seen, and what an edit left of
    one in the lines beside it is masked with it; then the hunks are cut to `limit` bytes.
    """
    if change.hunks:
        masked = mask_lines(change, *_masks(change, before or b"", after or b"", redactor))
        if masked is not change:
            pairs = zip(change.hunks, masked.hunks, strict=True)
            change = replace(masked, hunks=tuple(_without_remnants(true, shown) for true, shown in pairs))
    return shortened(change, limit)


def _without_remnants(true: Hunk, shown: Hunk) -> Hunk:
    """The masked hunk without the beginnings and ends of its secrets: a token whose first characters were replaced is
    no token any more, and most of it still stands in the new line."""
    secrets: dict[str, str] = {}
    for line, masked in zip(true.lines, shown.lines, strict=True):
        if line != masked:
            secrets |= hidden(line[1:], masked[1:])
    whole = "\n".join(shown.lines)  # most secrets leave nothing: one look at all lines tells
    ends = {end for secret in secrets for end in (secret[:_REMNANT], secret[-_REMNANT:]) if len(end) == _REMNANT}
    met = ends.intersection(whole[at : at + _REMNANT] for at in range(len(whole) - _REMNANT + 1))
    left = {secret: mark for secret, mark in secrets.items() if met & {secret[:_REMNANT], secret[-_REMNANT:]}}
    if not left:
        return shown
    lines = []
    for line in shown.lines:
        text = line[1:]
        for secret, mark in left.items():
            for at_end in (True, False):
                remnant = _longest(secret, text, ends=at_end)
                text = text.replace(remnant, mark) if remnant else text
        lines.append(line[0] + text)
    return replace(shown, lines=tuple(lines))


def _longest(secret: str, text: str, *, ends: bool) -> str:
    """The longest end, or beginning, of the secret that the text holds; empty where it is too short to tell."""
    if len(secret) < _REMNANT or (secret[-_REMNANT:] if ends else secret[:_REMNANT]) not in text:
        return ""
    low, high = _REMNANT, len(secret)
    while low < high:
        middle = (low + high + 1) // 2
        if (secret[-middle:] if ends else secret[:middle]) in text:
            low = middle
        else:
            high = middle - 1
    return secret[-low:] if ends else secret[:low]


def _masks(
    change: FileChange, before: bytes, after: bytes, redactor: Redactor
) -> tuple[Mapping[int, str], Mapping[int, str]]:
    """The masked lines of both sides, of those that the hunks show at least.

    Only a private key makes a line a secret by what stands in other lines. A text without any is not looked at again:
    what its hunks show is judged line by line, so the cost hardly depends on its length.
    """
    if redactor.may_hold_block(before) or redactor.may_hold_block(after):
        return redactor.mask_lines(before), redactor.mask_lines(after)
    shown = "\n".join([line[1:] for hunk in change.hunks for line in hunk.lines])
    masked = redactor.mask_lines(shown.encode("utf-8", "surrogateescape"))
    old: dict[int, str] = {}
    new: dict[int, str] = {}
    for number, (sign, old_line, new_line) in enumerate(_numbered(change.hunks) if masked else (), 1):
        if number in masked and sign != "+":
            old[old_line] = masked[number]
        if number in masked and sign != "-":
            new[new_line] = masked[number]
    return old, new


def _numbered(hunks: Sequence[Hunk]) -> Iterator[tuple[str, int, int]]:
    """Of each line its sign, and the numbers of the next line of either side."""
    for hunk in hunks:
        old, new = hunk.old_start, hunk.new_start
        for line in hunk.lines:
            yield line[0], old, new
            old += line[0] != "+"
            new += line[0] != "-"
