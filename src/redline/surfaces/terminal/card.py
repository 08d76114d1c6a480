"""The card of a change, on disk or not: one head, its facts, its lines."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rich.text import Text

from redline.surfaces.terminal import lines
from redline.surfaces.terminal.look import ADDED, HIDDEN, QUIET, REMOVED, STRONG, Glyphs
from redline.surfaces.terminal.visible import hidden_kinds, pieces, visible
from redline.transcript.rows import NetTotal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redline.changes.record import Fact, FileChange, Operation
    from redline.surfaces.terminal.sheet import Frame

FOLD_LINES = 200
"""Diff lines of one file above which its card is folded."""
FOLDED_LINES = 12
"""Lines that a folded card still shows."""

DONE: Mapping[Operation, str] = {"add": "Created", "modify": "Edited", "delete": "Deleted", "move": "Moved"}
ASKED: Mapping[Operation, str] = {"add": "Create", "modify": "Edit", "delete": "Delete", "move": "Move"}
FACTS: Mapping[Fact, str] = {
    "bom_added": "BOM added",
    "bom_removed": "BOM removed",
    "final_newline_added": "final newline added",
    "final_newline_removed": "final newline removed",
    "line_endings_changed": "line ends changed",
    "made_executable": "made executable",
    "made_not_executable": "no longer executable",
}
_ENDINGS = {"lf": "LF", "crlf": "CRLF", "mixed": "mixed", "none": "none"}


@dataclass(frozen=True, slots=True)
class Setting:
    """Where something is drawn: what paths are relative to, and how to see more."""

    workspace: str = ""
    session: str = ""
    whole: bool = False
    """Nothing is folded or cut."""

    def path(self, path: str) -> str:
        """Relative to the workspace, or as it is outside of it. Not yet visible-escaped."""
        if self.workspace:
            try:
                return str(PurePosixPath(path).relative_to(self.workspace))
            except ValueError:
                return path
        return path

    def command(self, path: str) -> str | None:
        """The command that shows a file's change whole; None where the path cannot be typed."""
        shown = self.path(path)
        if not self.session or visible(shown) != shown:
            return None
        return f"redline diff {self.session} --file {shlex.quote(shown)}"


def head(
    change: FileChange,
    setting: Setting,
    glyphs: Glyphs,
    *,
    applied: bool,
    coloured: bool | None = None,
    word: str | None = None,
    status: str = "",
) -> Text:
    """`Edited src/a.py  −1 +2 · BOM removed · applied`. `coloured`: if not as `applied` says."""
    text = Text()
    text.append((DONE if applied else ASKED)[change.operation] if word is None else word, style=STRONG)
    text.append(" ")
    if change.old_path is not None:
        text.append_text(path_text(setting.path(change.old_path))).append(f" {glyphs.arrow} ")
    text.append_text(path_text(setting.path(change.path)))
    counts = count_text(change, glyphs, coloured=applied if coloured is None else coloured)
    if counts.plain:
        text.append("  ").append_text(counts)
    for fact in _facts(change):
        text.append(f" {glyphs.dot} {fact}")
    if status:
        text.append(f" {glyphs.dot} {status}", style="" if applied else STRONG)
    return text


def path_text(path: str) -> Text:
    text = Text(style=STRONG)
    for piece in pieces(path):
        text.append(piece.text, style=HIDDEN if piece.stands_for_hidden else "")
    return text


def count_text(change: FileChange | NetTotal, glyphs: Glyphs, *, coloured: bool, at_least: bool = False) -> Text:
    """`−1 +2`; `≈−100 ≈+300` where the counts are bounds; nothing where no line changed or nobody can count."""
    if change.file_type in ("binary", "unknown") or not (change.added or change.removed):
        return Text()
    bound = glyphs.at_least if at_least else "" if change.exact else glyphs.about
    text = Text()
    text.append(f"{bound}{glyphs.minus}{change.removed}", style=REMOVED if coloured else "")
    text.append(" ")
    text.append(f"{bound}+{change.added}", style=ADDED if coloured else "")
    return text


def _facts(change: FileChange) -> list[str]:
    facts = [FACTS[fact] for fact in change.facts if fact != "line_endings_changed"]
    if "line_endings_changed" in change.facts and change.before and change.after:
        facts.append(f"line ends changed from {_ENDINGS[change.before.eol]} to {_ENDINGS[change.after.eol]}")
    elif lines.hides_returns(change):
        facts.append("CRLF line ends")
    if change.operation == "add" and change.after is not None and change.after.executable:
        facts.append("executable")
    if any(side is not None and side.bom for side in (change.before, change.after)) and "bom" not in " ".join(
        change.facts
    ):
        facts.append("BOM")
    if change.file_type in ("binary", "symlink"):
        facts.append({"binary": "binary file", "symlink": "symbolic link"}[change.file_type])
    if change.redacted:
        facts.append("secrets masked")
    if not change.anchored:
        facts.append("place in the file unknown")
    return facts


def draw_lines(
    frame: Frame,
    change: FileChange,
    setting: Setting,
    glyphs: Glyphs,
    *,
    applied: bool,
    coloured: bool | None = None,
    explain: bool = True,
) -> None:
    """The lines of a change inside its frame, with the warnings that they need. `explain`: say why there are none."""
    _warn(frame, change, setting, glyphs)
    if not change.hunks:
        if explain:
            _without_hunks(frame, change)
        return
    total = lines.count(change)
    folded = not setting.whole and total > FOLD_LINES
    shown = lines.items(change, whole=setting.whole)
    kept = list(islice(shown, FOLDED_LINES) if folded else shown)
    frame.lines(kept, coloured=applied if coloured is None else coloured)
    if folded:
        places = "1 place" if len(change.hunks) == 1 else f"{len(change.hunks)} places"
        more = f"{glyphs.skip} {total - FOLDED_LINES} more lines in {places}"
        frame.note(_with_hint(more, change, setting, applied=applied))
    elif change.truncated:
        frame.note(_with_hint(f"{glyphs.skip} the log keeps only this much of it", change, setting, applied=applied))


def _with_hint(text: str, change: FileChange, setting: Setting, *, applied: bool) -> Text:
    command = setting.command(change.path) if applied else None
    hint = Text().append(text, style=QUIET)
    return hint.append(f". All of it: {command}") if command else hint


def _without_hunks(frame: Frame, change: FileChange) -> None:
    before, after = change.before, change.after
    if change.file_type == "binary" and (before or after):
        sizes = [f"{side.size} bytes" for side in (before, after) if side is not None]
        frame.note(Text(" become ".join(sizes), style=QUIET))
    elif change.file_type == "unknown":
        frame.note(Text("No text to compare, and no patch: too large, or its bytes are not kept.", style=QUIET))
    elif change.truncated:
        frame.note(Text("Too large for the log.", style=QUIET))
    elif change.operation == "add":
        frame.note(Text("An empty file.", style=QUIET))


def _warn(frame: Frame, change: FileChange, setting: Setting, glyphs: Glyphs) -> None:
    kinds = lines.warnings(change) | hidden_kinds(setting.path(change.path))
    kinds |= hidden_kinds(setting.path(change.old_path)) if change.old_path else frozenset()
    if kinds:
        words = ", ".join(sorted(kinds))
        frame.note(Text(f"{glyphs.warning} Holds {words} characters; they are shown as marks.", style=STRONG))


def total(parts: Sequence[NetTotal]) -> NetTotal:
    """The sum over the files that can be counted; a bound where one of its parts is."""
    counted = [part for part in parts if part.counted]
    return NetTotal(
        path="",
        operation="modify",
        added=sum(part.added for part in counted),
        removed=sum(part.removed for part in counted),
        exact=all(part.exact for part in counted),
    )
