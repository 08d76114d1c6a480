"""Diffs that a model still writes in its text: which of them say nothing that a card does not show already."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from redline.changes.parse import parse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from redline.changes.record import FileChange

_OPENING = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")
_DIFF_WORDS = frozenset({"diff", "patch", "udiff"})


def fence_is_covered(fence: str, changes: Sequence[FileChange], workspace: Path | None = None) -> bool:
    """True if every changed line of a diff stands in the changes applied in its turn, under the path that it names.

    `fence` is the diff without its fence lines. Anything less (no path, a line too many, text that is no diff, a line
    that occurs more often than it was applied) is not covered, and the diff stays visible.
    """
    try:
        written = parse(fence)
    except ValueError:
        return False
    lines = [_changed_lines(change) for change in written]
    if not written or not all(lines):
        return False
    wanted: Counter[tuple[str, str]] = Counter()
    for change, changed in zip(written, lines, strict=True):
        path = _applied_path(change, changes, workspace)
        if path is None:
            return False
        wanted.update((path, line) for line in changed)
    applied = Counter((change.path, line) for change in changes for line in _changed_lines(change))
    return all(applied[key] >= count for key, count in wanted.items())


def covered_fences(text: str, changes: Sequence[FileChange], workspace: Path | None = None) -> list[tuple[int, int]]:
    """The spans of a reply's diff fences (fence lines included) that may be folded away; see `fence_is_covered`."""
    return [
        (fence.start, fence.end)
        for fence in fences(text)
        if fence.closed and fence.language in _DIFF_WORDS and fence_is_covered(fence.body, changes, workspace)
    ]


class Fence(NamedTuple):
    """A fenced block of a text in Markdown."""

    start: int
    end: int
    """Where it stands in the text, fence lines included."""
    language: str
    """The first word after the opening fence, in lower case."""
    body: str
    """With its last newline."""
    closed: bool
    """False: the text ends inside of it."""


def fences(text: str) -> list[Fence]:
    found: list[Fence] = []
    opened: tuple[int, int, str, str] | None = None
    place = 0
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        bare = line.rstrip("\r\n")
        if opened is None:
            match = _OPENING.match(bare)
            if match:
                word = (match["info"].split() or [""])[0].lower()
                opened = (place, place + len(line), match["fence"], word)
        elif _closes(bare, opened[2]):
            start, body, _, word = opened
            found.append(Fence(start, place + len(line), word, text[body:place], closed=True))
            opened = None
        place += len(line)
    if opened is not None:
        start, body, _, word = opened
        found.append(Fence(start, len(text), word, text[body:], closed=False))
    return found


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]} and len(line) - len(line.lstrip(" ")) <= 3


def _changed_lines(change: FileChange) -> list[str]:
    return [line for hunk in change.hunks for line in hunk.lines if line[:1] in ("-", "+")]


def _applied_path(written: FileChange, changes: Sequence[FileChange], workspace: Path | None) -> str | None:
    """The path of the applied change that a diff names, with or without git's `a/` and `b/`, absolute or relative."""
    root = str(workspace) if workspace is not None else "/"
    names = {written.path, re.sub(r"^[ab]/", "", written.path)}
    candidates = {posixpath.normpath(posixpath.join(root, name)) for name in names if name}
    return next((change.path for change in changes if change.path in candidates), None)
