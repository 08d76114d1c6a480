"""One message of an agent in, what it says out. Stateless: what came before it changes nothing here.

Agents report the same edit in many shapes: whole texts, a fragment, a few lines around it, a patch, only the arguments,
JSON inside a text. All of it is the agent's word. It tells what the agent means to do and to which files, and nothing
of what became of it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from redline.agents.acp.places import absolute
from redline.changes.acp import from_blocks
from redline.changes.arguments import from_arguments
from redline.changes.shorten import shortened
from redline.views import Kind

if TYPE_CHECKING:
    from redline.changes.record import FileChange

Fields = Mapping[str, Any]

PROPOSAL_LIMIT = 64 * 1024
"""Bytes of hunks of a proposal: the word of an agent is worth less room than what it did."""

ENVELOPE = "redline:message"
"""The key in the `_meta` of an update under which is kept what its message holds beside it, such as a `_meta`."""
CONTENT = "redline:content"
"""The key in what is kept beside a text under which stands what its block held besides: of a block of text the further
fields, of a link the whole block, with its type."""
UPDATE = "redline:update"
"""Likewise the further fields of its update."""
FURTHER = "further"
"""Among the fields of a call: those that the protocol does not know."""

_KINDS: Mapping[str, Kind] = {
    "read": "read", "edit": "edit", "delete": "delete", "move": "move", "search": "search", "execute": "execute",
    "think": "think", "fetch": "fetch", "other": "other",
}  # fmt: skip
_PATH_KEYS = (
    "path", "file_path", "filePath", "filepath", "fileName", "filename", "file", "target_file", "absolute_path",
    "notebook_path", "source", "destination", "src", "dst", "old_path", "new_path", "oldPath", "newPath",
)  # fmt: skip
_CALL_FIELDS = ("title", "kind", "status", "content", "locations", "rawInput", "rawOutput", "_meta", "name")
_LOOKING = ("read", "search", "fetch", "think")
_CHANGING = ("edit", "delete", "move")
_JSON_TEXT = 1 << 20
_TITLE = 1000
"""Characters; some name every file that a patch changes."""
_SIDE_CHANNELS = ("detailedContent", "diff", "patch")


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


def has_diff(content: object) -> bool:
    """Some block of a call's content is a diff."""
    return isinstance(content, list) and any(isinstance(one, Mapping) and one.get("type") == "diff" for one in content)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the fields of a call amount to, however they were told."""

    title: str
    kind: Kind
    name: str
    """Of the agent's tool; empty: it did not say."""
    proposed: tuple[FileChange, ...]
    """What it means to change: `reported`, unanchored, paths made absolute."""
    malformed: tuple[str, ...]
    named: frozenset[str]
    """Paths that it mentions."""
    intended: frozenset[str]
    """Paths that it means to change."""
    existing: frozenset[str]
    """Of these, the ones that had some text before, by its word."""
    locations: tuple[Mapping[str, Any], ...]
    command: str | None
    is_shell: bool
    """It runs something that may change any file."""
    only_looks: bool
    """It is said to change nothing."""
    edits: bool
    """It is said to change files."""
    text: str
    """What its content says in words."""
    terminals: tuple[str, ...]


def evidence(fields: Fields, workspace: str, diffs: Sequence[object] = ()) -> Evidence:
    """`diffs`: the last diff blocks of the call, where its content has none any more."""
    kind = _KINDS.get(str(fields.get("kind")), "other")
    name = _tool_name(fields)
    content = _items(fields.get("content"))
    given, text = fields.get("rawInput"), _words(content)
    command = _command(given)
    reading = from_blocks([*(content if has_diff(content) else diffs)])
    proposed = list(reading.changes) or _from_words(name, fields, given, text, looks_only=kind in _LOOKING)
    changes = tuple(_placed(change, workspace) for change in proposed)
    targets = {path for change in changes for path in (change.path, change.old_path) if path}
    mentioned = {absolute(path, workspace) for path in _mentioned(fields, given, text)}
    mentioned.discard(absolute(".", workspace))  # some name the folder in which they work
    terminals = tuple(
        str(one["terminalId"]) for one in content if isinstance(one, Mapping) and one.get("type") == "terminal"
        and isinstance(one.get("terminalId"), str)
    )  # fmt: skip
    edits = kind in _CHANGING
    return Evidence(
        title=_line(fields.get("title")) or name or kind,
        kind="execute" if kind == "other" and (command or terminals) else kind,
        name=name,
        proposed=changes,
        malformed=reading.malformed,
        named=frozenset(mentioned | targets),
        intended=frozenset(targets | (mentioned if edits else set())),
        existing=frozenset(change.path for change in changes if change.old_path is None and _had_text(change)),
        locations=_locations(fields, workspace),
        command=command,
        is_shell=kind == "execute" or command is not None or bool(terminals),
        only_looks=kind in _LOOKING,
        edits=edits,
        text=text,
        terminals=terminals,
    )


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


def _tool_name(fields: Fields) -> str:
    meta = fields.get("_meta")
    meta = meta if isinstance(meta, Mapping) else {}
    inner = meta.get("claudeCode")
    for value in (fields.get("name"), meta.get("toolName"), inner.get("toolName") if isinstance(inner, Mapping) else 0):
        if isinstance(value, str) and value:
            return value
    return ""


def _line(value: object) -> str:
    return " ".join(value.split())[:_TITLE] if isinstance(value, str) else ""


def _command(given: object) -> str | None:
    if not isinstance(given, Mapping):
        return None
    command = given.get("command") or given.get("cmd") or given.get("commands")
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        if len(command) == 3 and command[1] in ("-c", "-lc"):
            return str(command[2])
        return shlex.join(command)
    if not isinstance(command, str) or not command or any(isinstance(given.get(key), str) for key in _PATH_KEYS[:9]):
        return None
    return command


def _from_words(name: str, fields: Fields, given: object, text: str, *, looks_only: bool) -> list[FileChange]:
    """Where no block is a diff: from the arguments, else from the side channels, else from JSON within the text."""
    tool = name or _line(fields.get("title")).partition(":")[0]
    if changes := from_arguments(tool, given):
        return changes
    output = fields.get("rawOutput")
    if isinstance(output, Mapping) and not looks_only:  # some show the file that was read as a patch
        for channel in (output, output.get("metadata"), output.get("details")):
            for key in _SIDE_CHANNELS:
                value = channel.get(key) if isinstance(channel, Mapping) else None
                if isinstance(value, str) and (changes := from_arguments(None, value)):
                    return changes
    inside = _json_within(text)
    return from_arguments(tool, inside) if inside is not None else []


def _json_within(text: str) -> Any:
    if not text.startswith("{") or len(text) > _JSON_TEXT:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    edit = value.get("edit")
    return {**value, **edit} if isinstance(edit, Mapping) else value


def _words(content: Iterable[object]) -> str:
    found = []
    for block in content:
        inner = block.get("content") if isinstance(block, Mapping) and block.get("type") == "content" else block
        if isinstance(inner, Mapping) and isinstance(inner.get("text"), str):
            found.append(inner["text"])
    return "\n".join(found)


def _mentioned(fields: Fields, given: object, text: str) -> set[str]:
    found = {one["path"] for one in _list(fields.get("locations")) if isinstance(one.get("path"), str)}
    for value in (given, _json_within(text)):
        if isinstance(value, Mapping):
            found |= {value[key] for key in _PATH_KEYS if isinstance(value.get(key), str)}
            for inner in (*_list(value.get("files")), *_list(value.get("edits"))):
                found |= {inner[key] for key in _PATH_KEYS if isinstance(inner.get(key), str)}
    meta = fields.get("_meta")
    own = meta.get("claudeCode") if isinstance(meta, Mapping) else None
    response = own.get("toolResponse") if isinstance(own, Mapping) else None
    if isinstance(response, Mapping) and isinstance(response.get("filePath"), str):
        found.add(response["filePath"])
    return {path for path in found if path.strip() and "\0" not in path and len(path) < 4096}


def _locations(fields: Fields, workspace: str) -> tuple[Mapping[str, Any], ...]:
    found = []
    for one in _list(fields.get("locations")):
        if isinstance(one.get("path"), str):
            line = one.get("line")
            known = {"line": line} if isinstance(line, int) and not isinstance(line, bool) and line > 0 else {}
            found.append({"path": absolute(one["path"], workspace), **known, **_without(one, "path", "line")})
    return tuple(found)


def _placed(change: FileChange, workspace: str) -> FileChange:
    placed = replace(
        change,
        path=absolute(change.path, workspace),
        old_path=None if change.old_path is None else absolute(change.old_path, workspace),
        provenance="reported",
        anchored=False if change.hunks else change.anchored,
    )
    return shortened(placed, PROPOSAL_LIMIT)


def _had_text(change: FileChange) -> bool:
    return any(line[0] != "+" for hunk in change.hunks for line in hunk.lines)


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _list(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
