"""The mark that stands where a secret was, and how to tell that a text holds one."""

from __future__ import annotations

import re
from collections import Counter

OPEN = "\u27e6"
CLOSE = "\u27e7"

_MARK = re.compile(OPEN + r"redacted [a-z0-9-]{1,40}" + CLOSE)


def mark(kind: str) -> str:
    """`⟦redacted KIND⟧`; `kind` is lower-case words joined by dashes."""
    return f"{OPEN}redacted {kind}{CLOSE}"


def holds_mask(text: str) -> bool:
    """Some part of the text is a mark of ours; asterisks and other people's placeholders are not."""
    return OPEN in text and _MARK.search(text) is not None


def hidden(text: str, masked: str) -> dict[str, str]:
    """What the marks of `masked` stand for in `text`, each with its mark; without those that cannot be told apart."""
    first, *others = _MARK.split(masked)
    found: dict[str, str] = {}
    at = len(first)
    for number, (one, after) in enumerate(zip(_MARK.findall(masked), others, strict=True), 1):
        # Searched for once and in order, so that a long line of many marks takes no longer than one reading.
        end = len(text) - len(after) if number == len(others) else text.find(after, at + 1) if after else -1
        if end <= at:
            break
        found[text[at:end]] = one
        at = end + len(after)
    return found


def new_masks(before: str | None, after: str) -> bool:
    """`after` holds a mark that `before` does not hold as often: a masked text is about to be written back."""
    if not holds_mask(after):
        return False
    return bool(Counter(_MARK.findall(after)) - Counter(_MARK.findall(before or "")))
