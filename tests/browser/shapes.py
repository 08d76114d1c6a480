"""Changes of every size and kind, and what the page has to make of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from redline.changes.compare import describe
from redline.changes.record import FileChange

CARD_LINES = 400
"""Diff lines of a file up to which its card is drawn whole."""

CODE = b"""import json


def load(path):
    with open(path) as file:
        return json.load(file)


def total(items):
    return sum(item["price"] for item in items)
"""
CHANGED = CODE.replace(b'sum(item["price"] for item in items)', b'round(sum(item["price"] for item in items), 2)')


def edit(workspace: Path, name: str = "shop.py") -> FileChange:
    """The last line of ten: five diff lines, with their context."""
    return describe(str(workspace / name), CODE, CHANGED)


def create(workspace: Path, name: str, lines: int) -> FileChange:
    """A new file, so that its diff has exactly so many lines."""
    return describe(str(workspace / name), None, b"".join(b"row %d\n" % line for line in range(lines)))


def shortened(workspace: Path, name: str = "short.txt") -> FileChange:
    """The log keeps a part of it: hunks of 50 lines, counted as 9,000 by whoever saw the whole."""
    whole = create(workspace, name, 50)
    return replace(whole, truncated=True, added=9_000)


def inexact(workspace: Path, name: str = "huge.txt") -> FileChange:
    """Too large to compare: one block, and totals that are bounds."""
    rewritten = describe(str(workspace / name), b"a\n" * 30, b"b\n" * 30)
    return replace(rewritten, exact=False)
