"""One message of an agent in, what it says out. Stateless: what came before it changes nothing here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Fields = Mapping[str, Any]

ENVELOPE = "redline:message"
"""The key in the `_meta` of an update under which is kept what its message holds beside it, such as a `_meta`."""
CONTENT = "redline:content"
"""The key in what is kept beside a text under which stands what its block held besides: of a block of text the further
fields, of a link the whole block, with its type."""
UPDATE = "redline:update"
"""Likewise the further fields of its update."""
FURTHER = "further"
"""Among the fields of a call: those that the protocol does not know."""

_CALL_FIELDS = ("title", "kind", "status", "content", "locations", "rawInput", "rawOutput", "_meta", "name")


@dataclass(frozen=True, slots=True)
class Text:
    kind: Literal["agent", "thought"]
    text: str
    message: str | None
    """An id, from the few agents that give one."""
    meta: Any = None
    """Its `_meta`, with what its block holds beside the text under `CONTENT`."""
    alone: bool = False
    """It stands for a block of another type, and does not go on in the next one."""


@dataclass(frozen=True, slots=True)
class CallSaid:
    """A `tool_call`, a `tool_call_update`, or the `toolCall` of a permission request."""

    call: str
    starts: bool
    fields: Fields
    """What is present in it and not null, untouched."""


@dataclass(frozen=True, slots=True)
class Plan:
    entries: list[dict[str, str]]
    sent: Fields
    """The update."""


@dataclass(frozen=True, slots=True)
class State:
    """Something of the session that lasts: its title, mode, options, commands."""

    data: dict[str, Any]
    further: dict[str, Any] = field(default_factory=dict)
    """By the name of what it is, what the update held besides."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the session has used by now."""

    used: int
    size: int
    """Tokens in the context of the model, and how many there is room for."""
    cost: float | None
    """US dollars of the whole session; None: it did not say."""
    sent: Fields
    """The update."""


@dataclass(frozen=True, slots=True)
class Other:
    """What this version does not know: kept as it is."""

    update: Any


Said = Text | CallSaid | Plan | State | Usage | Other | None
"""None: nothing that concerns the session's content. The echo of the user's own words is such: the log has them from
whoever said them, before the agent was asked, and would show them twice."""


def said(update: object) -> Said:
    """What one `session/update` says."""
    if not isinstance(update, Mapping):
        return Other(update)
    match update.get("sessionUpdate"):
        case "agent_message_chunk" | "agent_thought_chunk" as word:
            return _text(update, "agent" if word == "agent_message_chunk" else "thought")
        case "tool_call" | "tool_call_update" as word:
            return call_said(update, starts=word == "tool_call") or Other(update)
        case "plan" if isinstance(update.get("entries"), list):
            entries = [_entry(one) for one in update["entries"] if isinstance(one, Mapping)]
            return Plan(entries, update)
        case "available_commands_update":
            return _state("commands", update.get("availableCommands") or [], update, "availableCommands")
        case "current_mode_update" if isinstance(update.get("currentModeId"), str):
            return _state("mode", update["currentModeId"], update, "currentModeId")
        case "config_option_update":
            return _state("options", update.get("configOptions") or [], update, "configOptions")
        case "session_info_update":
            title = update.get("title")
            known = title if isinstance(title, str) and title.strip() else None
            return _state("title", known, update, "title")
        case "usage_update":
            return _usage(update)
        case "user_message_chunk":
            return None
    return Other(update)


def with_envelope(params: Fields) -> object:
    """The update of a message, with what the message itself says beside it."""
    update, envelope = params.get("update"), _without(params, "sessionId", "update")
    if not envelope or not isinstance(update, Mapping):
        return update
    own = update.get("_meta")
    return {**update, "_meta": {**(own if isinstance(own, Mapping) else {}), ENVELOPE: envelope}}


def call_said(update: Fields, *, starts: bool) -> CallSaid | None:
    """None: it names no call."""
    call = update.get("toolCallId")
    if isinstance(call, int) and not isinstance(call, bool):
        call = str(call)
    if not isinstance(call, str) or not call:
        return None
    present = {key: update[key] for key in _CALL_FIELDS if update.get(key) is not None}
    further = _without(update, "sessionUpdate", "toolCallId", *_CALL_FIELDS)
    return CallSaid(call, starts, {**present, FURTHER: further} if further else present)


def _text(update: Fields, kind: Literal["agent", "thought"]) -> Said:
    content = update.get("content")
    if not isinstance(content, Mapping):
        return Other(update)
    message = update.get("messageId")
    message = message if isinstance(message, str) else None
    if content.get("type") == "text" and isinstance(content.get("text"), str):
        if not content["text"]:
            return None  # if it says anything, then to the client, and nothing to a reader
        return Text(kind, content["text"], message, _beside(update, _without(content, "type", "text")))
    uri = content.get("uri")
    if content.get("type") == "resource_link" and isinstance(uri, str):
        return Text(kind, str(content.get("name") or uri), message, _beside(update, dict(content)), alone=True)
    return Other(update)


def _beside(update: Fields, content: Fields) -> Any:
    """What stands beside a text. `content`: of that, what its block holds."""
    meta, further = update.get("_meta"), _without(update, "sessionUpdate", "content", "messageId", "_meta")
    kept = {name: one for name, one in ((CONTENT, content), (UPDATE, further)) if one}
    return {**(meta if isinstance(meta, Mapping) else {}), **kept} if kept else meta


def _without(value: Fields, *names: str) -> dict[str, Any]:
    return {name: one for name, one in value.items() if name not in names}


def _state(name: str, value: Any, update: Fields, key: str) -> State:
    further = _without(update, "sessionUpdate", key)
    return State({} if value is None else {name: value}, {name: further} if further else {})


def _usage(update: Fields) -> Usage | Other:
    used, size, cost = update.get("used"), update.get("size"), update.get("cost")
    if type(used) is not int or type(size) is not int:
        return Other(update)
    amount = cost.get("amount") if isinstance(cost, Mapping) and cost.get("currency") == "USD" else None
    known = isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount < 1e9
    return Usage(max(used, 0), max(size, 0), float(amount) if known and amount is not None else None, update)


def _entry(entry: Fields) -> dict[str, str]:
    return {key: str(entry[key]) for key in ("content", "priority", "status") if isinstance(entry.get(key), str)}
