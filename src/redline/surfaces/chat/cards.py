"""Parts of a change: its head, its lines, and the whole of it as a file."""

from __future__ import annotations

import contextlib
import posixpath
import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from redline.changes.patch import unified
from redline.surfaces import words
from redline.surfaces.applicable import section, why_not_a_patch
from redline.surfaces.chat.parts import File, Part, Text, Verbatim
from redline.surfaces.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from redline.changes.record import FileChange, Operation

Shown = Literal["none", "summary", "full"]

HEAD_LIMIT = 40
"""Changes that have a head of their own although the room for heads and lines is used up."""
NAME_LIMIT = 160
"""Characters of a path or a title in a head; its middle is left out."""

_ODD = re.compile(r"[^\n\t\x20-\x7e]")


@dataclass(frozen=True, slots=True)
class Setting:
    """How changes are shown in a chat."""

    shown: Shown = "full"
    """`full`: head and lines. `summary`: heads, and at the end the turn's changes as one file. `none`: only the turn's
    net list."""
    change_limit: int = 6000
    """Characters of one change's lines above which it is a head and a file."""
    turn_limit: int = 12000
    """Characters of all heads and lines of a turn above which further changes go into a file."""
    workspace: str = ""

    def path(self, path: str) -> str:
        """Relative to the workspace, or as it is outside of it; every character visible."""
        if self.workspace:
            with contextlib.suppress(ValueError):
                path = str(PurePosixPath(path).relative_to(self.workspace))
        return short(visible(path))


def short(text: str, limit: int = NAME_LIMIT) -> str:
    """The text with its middle left out where it is long."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 3]}…{text[len(text) - limit + limit // 3 + 1 :]}"


def head(change: FileChange, setting: Setting, word: str, status: str = "") -> str:
    """`Edited src/a.py  −1 +2 · BOM removed · applied`."""
    old = f"{setting.path(change.old_path)} → " if change.old_path is not None else ""
    counts = words.counts(change)
    counted = f"  {counts[0]} {counts[1]}" if counts else ""
    return " · ".join(
        [f"{word} {old}{setting.path(change.path)}{counted}", *words.facts(change), *([status] * bool(status))]
    )


def whole(change: FileChange, setting: Setting, said: str) -> list[Part]:
    """Head and every line that the log holds."""
    return [*warning(setting, change), *_lines(change, setting, said)]


def bounded(change: FileChange, setting: Setting, said: str, room: int, remark: str = "") -> tuple[list[Part], int]:
    """Head and lines where they fit in `room` characters and the setting's limit, else the head, a word about it and
    the file with the remark; and how many characters of lines are shown."""
    if setting.shown == "none":
        return [], 0
    if setting.shown == "summary":
        return [Text(said, "strong")], 0
    size = sum(len(line) + 1 for hunk in change.hunks for line in hunk.lines)
    if size <= min(room, setting.change_limit):
        return whole(change, setting, said), size
    # No word of a file: the chat may refuse it, which is then said below in its place.
    held = "; the log keeps a part of it only" if change.truncated else ""
    summary = Text(f"{count(change)}, too long for a message{held}.", "quiet")
    return [*warning(setting, change), Text(said, "strong"), summary, diff_file([change], setting, remark)], 0


def several(changes: Sequence[FileChange], setting: Setting, said: Mapping[Operation, str]) -> Iterator[Part]:
    """All of them: each with its head and lines, or its file; of very many the last ones in one file. `said`: what a
    head says of each operation."""
    full = replace(setting, shown="full")
    room = setting.turn_limit
    for number, change in enumerate(changes):
        if room <= 0 and number >= HEAD_LIMIT:
            yield from warning(setting, *changes[number:])
            yield Text(f"And {len(changes) - number} more, too many for messages.", "strong")
            yield diff_file(changes[number:], full)
            return
        above = head(change, setting, said[change.operation])
        shown, size = bounded(change, full, above, room)
        room -= size + len(above)
        yield from shown


def count(change: FileChange) -> str:
    lines = sum(len(hunk.lines) for hunk in change.hunks)
    places = "1 place" if len(change.hunks) == 1 else f"{len(change.hunks)} places"
    return f"{lines} line{'s' * (lines != 1)} in {places}"


def diff_file(changes: Sequence[FileChange], setting: Setting, remark: str = "", name: str = "") -> File:
    """The changes as one `.diff` that `git apply` takes in the workspace, the remark above each. What is not at hand
    as it truly is (masked, cut, not UTF-8) stands there as remarks, which git passes over: whole for a reader, nothing
    to apply."""
    lines = [line for change in changes for line in _diff_lines(change, setting, remark)]
    first = re.sub(r"[^A-Za-z0-9._-]+", "_", posixpath.basename(changes[0].path))[-60:].lstrip(".") or "change"
    usual = f"{first}.diff" if len(changes) == 1 else f"{len(changes)}-changes.diff"
    return File(name or usual, "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))


def _diff_lines(change: FileChange, setting: Setting, remark: str) -> Iterator[str]:
    if remark:
        yield f"# {setting.path(change.path)}: {remark}"
    reason = why_not_a_patch(change)
    if reason is None:
        yield from section(change, setting.workspace or None)
        return
    yield f"# {setting.path(change.path)}: {reason}"
    for line in unified(change, limit=None).rstrip("\n").split("\n"):
        yield f"# {line}"


def merged(files: Sequence[File]) -> File:
    """Several `.diff` files as one, which is a diff of several files."""
    if len(files) == 1:
        return files[0]
    return File(f"{len(files)}-changes.diff", b"".join(file.content for file in files))


def hunk_text(change: FileChange) -> str:
    """The hunks as a chat shows them: every hidden character visible, tabs kept, no newline at the end. Empty where
    there are none."""
    if not change.hunks:
        return ""
    text = "\n".join(unified(change, limit=None).split("\n")[2:-1])
    if words.hides_returns(change):
        text = text.replace("\r\n", "\n").removesuffix("\r")
    return visible_lines(text)


def visible_lines(text: str) -> str:
    """Every hidden character visible but tabs and newlines, which are what they look like."""
    if _ODD.search(text) is None:
        return text
    return "\n".join(
        line if _ODD.search(line) is None else "\t".join(visible(run) for run in line.split("\t"))
        for line in text.split("\n")
    )


def _lines(change: FileChange, setting: Setting, said: str) -> Iterator[Part]:
    text = hunk_text(change)
    if text:
        yield Verbatim(text, head=said, label=setting.path(change.path))
    else:
        yield Text(said, "strong")
        if reason := words.without_hunks(change):
            yield Text(reason, "quiet")


def warning(setting: Setting, *changes: FileChange) -> Iterator[Part]:
    """Of characters that a reader does not see."""
    kinds = {kind for change in changes for kind in words.hidden(change, setting.path)}
    if kinds:
        yield Text(f"▲ Holds {', '.join(sorted(kinds))} characters; they are shown as marks.", "strong")
