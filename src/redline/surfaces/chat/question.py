"""Parts of a question: what would be done, whole, and the buttons."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redline.gateway.permissions import options
from redline.surfaces import words
from redline.surfaces.chat import cards
from redline.surfaces.chat.parts import Buttons, Choice, Part, Text, Verbatim
from redline.surfaces.visible import visible, visible_prose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redline.changes.record import FileChange
    from redline.surfaces.chat.cards import Setting
    from redline.tools.permission import PermissionRequest


def question(
    request: PermissionRequest, setting: Setting, token: str, offered: Sequence[Mapping[str, str]] | None = None
) -> list[Part]:
    """What is asked, whole: every line of every change, or the file of it, stands before the buttons. What cannot be
    shown whole has no buttons: nobody may say yes to lines that were not shown. `offered`: its options as the log has
    them."""
    asks = f"May this be done? {cards.short(visible(request.title or request.tool))}"
    parts: list[Part] = [Text(asks, "strong")]
    if request.note:
        parts.append(Text(f"▲ {visible_prose(request.note)}", "strong"))
    command = (request.arguments or {}).get("command")
    if not request.changes and isinstance(command, str):
        parts.append(Verbatim(cards.visible_lines(command), label="The command", language="sh"))
        description = (request.arguments or {}).get("description")
        if isinstance(description, str) and description:
            parts.append(Text(words.agent_says(description), "quiet"))
    if len(request.changes) > 1:
        files = len({change.path for change in request.changes})
        parts.append(Text(f"{len(request.changes)} changes in {files} file{'s' * (files > 1)}:"))
    parts += cards.several(request.changes, setting, words.ASKED)
    if request.paths and not request.changes:
        paths = ", ".join(setting.path(path) for path in request.paths)
        parts.append(Text(f"▲ There is no preview of what would happen to {paths}.", "strong"))
    buttons = Buttons(token, tuple(_choice(option) for option in offered or options(request)), asks)
    if reasons := [reason for change in request.changes if (reason := _unseen(change, setting))]:
        said = "\n".join([*(f"▲ {reason}" for reason in reasons), "Answer in the dashboard or the terminal."])
        buttons = replace(buttons, settled=said)
    parts.append(buttons)
    return parts


def _unseen(change: FileChange, setting: Setting) -> str:
    """Why not all of what would be written is shown; empty: it is."""
    path = setting.path(change.path)
    if change.truncated:
        return f"Only a part of the change of {path} can be shown: its bytes are over the bounds of what is kept."
    before, after = change.before, change.after
    writes = after is not None and (before is None or before.blob != after.blob)
    reasons = {"binary": "it is binary", "unknown": "it is too large to be compared"}
    if writes and (reason := reasons.get(change.file_type)):
        return f"What would be written to {path} cannot be shown: {reason}."
    return ""


def _choice(option: Mapping[str, str]) -> Choice:
    return Choice(option["id"], option["name"], "no" if option["kind"].startswith("reject") else "yes")
