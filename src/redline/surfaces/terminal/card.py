"""The card of a change, on disk or not: one head, its facts, its lines."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rich.text import Text

from redline.surfaces import words
from redline.surfaces.terminal import lines
from redline.surfaces.terminal.look import ADDED, HIDDEN, QUIET, REMOVED, STRONG, Glyphs
from redline.surfaces.visible import pieces, visible
from redline.transcript.rows import RevertRow, ToolRow

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.surfaces.terminal.sheet import Frame
    from redline.transcript.rows import AnyRow, NetTotal

FOLD_LINES = 200
"""Diff lines of one file above which its card is folded."""
FOLDED_LINES = 12
"""Lines that a folded card still shows."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where something is drawn: what paths are relative to, and how to see more."""

    workspace: str = ""
    session: str = ""
    whole: bool = False
    """Nothing is folded or cut."""
    turn: int = 0
    call: str = ""
    """Of what is drawn; 0 and empty: it belongs to none."""

    def of(self, row: AnyRow) -> Setting:
        """The same for what a row shows."""
        return replace(self, turn=row.turn, call=row.call if isinstance(row, (ToolRow, RevertRow)) else "")

    def path(self, path: str) -> str:
        """Relative to the workspace, or as it is outside of it. Not yet visible-escaped."""
        if self.workspace:
            try:
                return str(PurePosixPath(path).relative_to(self.workspace))
            except ValueError:
                return path
        return path

    def command(self, path: str) -> tuple[str, str] | None:
        """The command that shows a file's change whole, and what that is: empty for exactly this change, else "the net
        change of …", since of what belongs to no call nothing smaller can be named. None where a name in it cannot be
        typed."""
        shown = self.path(path)
        if not self.session or any(visible(name) != name for name in (shown, self.call)):
            return None
        typed, net = ["redline", "diff", self.session], "the net change of the session"
        if self.turn:
            typed, net = [*typed, "--turn", str(self.turn)], "the net change of the turn"
        if self.call:
            typed, net = [*typed, "--call", self.call], ""
        return shlex.join([*typed, "--file", shown]), net


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
    usual = words.done(change) if applied else words.ASKED[change.operation]
    text.append(usual if word is None else word, style=STRONG)
    text.append(" ")
    if change.old_path is not None:
        text.append_text(path_text(setting.path(change.old_path))).append(f" {glyphs.arrow} ")
    text.append_text(path_text(setting.path(change.path)))
    counts = count_text(change, glyphs, coloured=applied if coloured is None else coloured)
    if counts.plain:
        text.append("  ").append_text(counts)
    for fact in words.facts(change):
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
    counts = words.counts(change, at_least=at_least, minus=glyphs.minus, about=glyphs.about, least=glyphs.at_least)
    if counts is None:
        return Text()
    removed, added = counts
    text = Text(removed, style=REMOVED if coloured else "")
    return Text().append_text(text).append(" ").append(added, style=ADDED if coloured else "")


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
    found = setting.command(change.path) if applied else None
    hint = Text().append(text, style=QUIET)
    if found is None:
        return hint
    command, net = found
    # On a line of its own, where it is likeliest to be whole.
    return hint.append(f". {'All of it' if not net else net.capitalize()}:\n{command}")


def _without_hunks(frame: Frame, change: FileChange) -> None:
    said = words.without_hunks(change)
    if said:
        frame.note(Text(said, style=QUIET))


def _warn(frame: Frame, change: FileChange, setting: Setting, glyphs: Glyphs) -> None:
    kinds = words.hidden(change, setting.path)
    if kinds:
        named = ", ".join(sorted(kinds))
        frame.note(Text(f"{glyphs.warning} Holds {named} characters; they are shown as marks.", style=STRONG))
