"""What is said and planned, each as one update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redline.agents.acp.bulk import is_whole
from redline.agents.acp.normalise import CONTENT, UPDATE
from redline.surfaces.editor import words

Update = dict[str, Any]
"""The `update` of a `session/update`."""

_PRIORITIES = ("high", "medium", "low")
_PLAN_STATUSES = ("pending", "in_progress", "completed")
CHUNKS = {"agent": "agent_message_chunk", "thought": "agent_thought_chunk"}


def chunk(word: str, text: str, message: str) -> Update:
    return {"sessionUpdate": word, "content": {"type": "text", "text": text}, "messageId": message}


def remark(row: str, level: str, text: str) -> Update:
    """Redline's own word among the agent's: a quotation, since the protocol has no notice."""
    mark = {"info": "ℹ", "warning": "⚠", "error": "✖"}.get(level, "⚠")
    update = chunk(CHUNKS["agent"], f"\n\n> {mark} {words.line(text)}\n\n", row)
    return {**update, "_meta": {"redline": {"notice": level}}}


def noted(chunk: Update, meta: Any) -> Update:
    """With what the agent's own message held beside the text."""
    if not isinstance(meta, Mapping):
        return {**chunk, "_meta": meta}
    own = {name: value for name, value in meta.items() if name not in (CONTENT, UPDATE)}
    beside = meta.get(CONTENT, {})
    content = dict(beside) if "type" in beside else {**chunk["content"], **beside}
    return {**chunk, **meta.get(UPDATE, {}), "content": content, **({"_meta": own} if own else {})}


def sent(update: Any, logged: Mapping[str, Any]) -> Update:
    """What an agent sent, or as much of it as is kept."""
    if is_whole(update):
        return dict(update)
    kind = str(logged.get("sessionUpdate"))
    if not kind.endswith("_chunk"):
        return dict(update)
    return {"sessionUpdate": kind, "content": {"type": "text", "text": "(a part of the message that is not kept)"}}


def entry(entry: Mapping[str, str]) -> dict[str, Any]:
    priority, status = entry.get("priority", ""), entry.get("status", "")
    return {
        "content": entry.get("content", ""),
        "priority": priority if priority in _PRIORITIES else "medium",
        "status": status if status in _PLAN_STATUSES else "pending",
    }
