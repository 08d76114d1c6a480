"""Slash commands of a session of the built-in agent: what Redline itself answers, without the model.

What they say is said to this editor alone and is no part of the session; what they do, such as an undo, is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redline.changes.mask import mask_lines
from redline.changes.patch import unified
from redline.surfaces.editor import words
from redline.tools.refusal import UndoRefused
from redline.transcript.net import net_items

if TYPE_CHECKING:
    from redline.gateway.conversation import Conversation

_FILE = {"hint": "a file, or nothing for all"}
COMMANDS: Sequence[Mapping[str, Any]] = (
    {"name": "diff", "description": "Show what this session has changed, from first to last", "input": _FILE},
    {"name": "undo", "description": "Take back the changes of the last turn, or of one file", "input": _FILE},
)


def asked(prompt: object) -> tuple[str, str] | None:
    """The command that a prompt is, and what follows its name; None: it is for the model."""
    first = prompt[0] if isinstance(prompt, list) and len(prompt) == 1 else None
    text = first.get("text") if isinstance(first, Mapping) and first.get("type") == "text" else None
    if not isinstance(text, str) or not text.startswith("/"):
        return None
    name, _, rest = text[1:].strip().partition(" ")
    return (name, rest.strip()) if any(one["name"] == name for one in COMMANDS) else None


async def answer(command: str, rest: str, conversation: Conversation, workspace: str) -> str:
    """Carry it out; what the editor is told, as Markdown. Empty: what was done tells itself."""
    path = _place(rest, workspace) if rest else None
    if command == "undo":
        return await _undo(conversation, path)
    return _diff(conversation, path)


def _place(name: str, workspace: str) -> str:
    return os.path.normpath(Path(workspace) / name)


async def _undo(conversation: Conversation, path: str | None) -> str:
    try:
        done = await conversation.undo(path=path)
    except UndoRefused as refusal:
        lines = words.fenced("\n".join(refusal.lines)) if refusal.lines else ""
        return "\n\n".join(part for part in (f"{refusal.code}: {refusal.message} {refusal.remedy}", lines) if part)
    return "\n\n".join(done.notes)


def _diff(conversation: Conversation, path: str | None) -> str:
    session = conversation.session

    def kept(blob: str) -> bytes | None:
        return session.store.get(session.log.session, blob)

    items = net_items(conversation.transcript.landed(), kept)
    items = [one for one in items if path is None or path in (one.change.path, one.change.old_path)]
    mask = session.redactor.mask_lines
    changes = [
        mask_lines(one.change, mask(one.before or b""), mask(one.after or b"")) if one.change.hunks else one.change
        for one in items
    ]
    text = "\n".join(unified(change) for change in changes)
    return words.fenced(text, "diff") if text.strip() else "Nothing has changed."
