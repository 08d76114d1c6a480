"""Asking before a change is made or a command is run.

The question stands inside a frame whose bars only Redline draws, below the whole proposed change; no text of a file
can reach the first column, where the question's own end is. The default is no.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from redline.surfaces.terminal import card
from redline.surfaces.terminal.card import Setting
from redline.surfaces.terminal.look import HIDDEN, QUIET, STRONG
from redline.surfaces.visible import pieces, visible, visible_prose
from redline.surfaces.words import agent_says

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redline.surfaces.terminal.sheet import Frame, Sheet
    from redline.tools.permission import PermissionOutcome, PermissionRequest

VIEW = "view"
"""An answer that is none: show the change in a pager, then ask again."""

_YES: Mapping[str, PermissionOutcome] = {"y": "allow_once", "yes": "allow_once"}
_SESSION = ("s", "session")
_NO = ("n", "no", "")


def draw_request(sheet: Sheet, request: PermissionRequest, setting: Setting, *, names_folder: bool = False) -> None:
    """Everything but the last line, which `question` gives."""
    setting = Setting(setting.workspace, setting.session, whole=True)
    frame = sheet.frame(solid=True)
    frame.head(Text("May this be done? ", style=STRONG).append_text(_title(request)))
    if names_folder:
        frame.note(Text(f"In {visible(setting.workspace)}", style=STRONG))
    if request.note:
        frame.note(Text(f"{sheet.glyphs.warning} {visible_prose(request.note)}", style=STRONG))
    _command(frame, request)
    _proposal(frame, request, setting, sheet)
    frame.blank()
    frame.note(_choices(request, setting))


def question(request: PermissionRequest, bottom: str) -> str:
    """The line on which the answer is typed."""
    if is_unseen(request):
        return f"{bottom} Allow? [yes/N] "
    return f"{bottom} Allow? [{'y/s' if request.allow_session else 'y'}/N] "


def answer(line: str | None, request: PermissionRequest) -> PermissionOutcome | str | None:
    """The outcome that a typed line means; VIEW; None: it means nothing, ask again. The end of input is a no."""
    if line is None:
        return "reject"
    said = line.strip().lower()
    if said in _NO:
        return "reject"
    if said in ("v", "view"):
        return VIEW
    if is_unseen(request):
        return "allow_once" if said == "yes" else None
    if said in _SESSION and request.allow_session:
        return "allow_session"
    return _YES.get(said)


def is_unseen(request: PermissionRequest) -> bool:
    """It names files, and there is no preview of what would happen to them: a short "y" is not enough."""
    return bool(request.paths) and not request.changes


def _title(request: PermissionRequest) -> Text:
    return Text(visible(request.title or request.tool))


def _command(frame: Frame, request: PermissionRequest) -> None:
    """A shell command whole, each of its lines behind the bar."""
    command = (request.arguments or {}).get("command")
    if request.changes or not isinstance(command, str):
        return
    for at, line in enumerate(command.split("\n")):
        text = Text("  " if at else "$ ", style=STRONG)
        for piece in pieces(line):
            text.append(piece.text, style=HIDDEN if piece.stands_for_hidden else "")
        frame.verbatim(text)
    description = (request.arguments or {}).get("description")
    if isinstance(description, str) and description:
        frame.section(Text(agent_says(description), style=QUIET))


def _proposal(frame: Frame, request: PermissionRequest, setting: Setting, sheet: Sheet) -> None:
    files = {change.path for change in request.changes}
    if len(request.changes) > 1:
        count = f"{len(request.changes)} changes in {len(files)} file{'s' * (len(files) > 1)}:"
        frame.note(Text(count, style=STRONG))
    for change in request.changes:
        if len(request.changes) > 1:
            frame.blank()
        frame.section(card.head(change, setting, sheet.glyphs, applied=False, coloured=True))
        card.draw_lines(frame, change, setting, sheet.glyphs, applied=False, coloured=True)
    if is_unseen(request):
        paths = ", ".join(visible(setting.path(path)) for path in request.paths)
        frame.note(Text(f"{sheet.glyphs.warning} There is no preview of what would happen to {paths}.", style=STRONG))


def _choices(request: PermissionRequest, setting: Setting) -> Text:
    text = Text()
    text.append("[yes]" if is_unseen(request) else "[y]", style=STRONG)
    text.append(" once, without a preview   " if is_unseen(request) else " once   ")
    if request.allow_session and not is_unseen(request):
        on = ", ".join(visible(setting.path(path)) for path in request.paths)
        what = f"{visible(request.tool)} on {on}" if on else f"{visible(request.tool)} with exactly this command"
        text.append("[s]", style=STRONG).append(f" for this session: {what}   ")
    text.append("[n]", style=STRONG).append(" no")
    if request.changes:
        text.append("   [v]", style=STRONG).append(" view in a pager")
    return text
