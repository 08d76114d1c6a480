"""What a call amounts to, from all that its agent has said of it, however it was told.

Agents report the same edit in many shapes: whole texts, a fragment, a few lines around it, a patch, only the arguments,
JSON inside a text. All of it is the agent's word. It tells what the agent means to do and to which files, and nothing
of what became of it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from redline.agents.acp.places import absolute
from redline.changes.acp import from_blocks
from redline.changes.arguments import from_arguments
from redline.changes.shorten import shortened
from redline.views import Kind

if TYPE_CHECKING:
    from redline.agents.acp.normalise import Fields
    from redline.changes.record import FileChange

PROPOSAL_LIMIT = 64 * 1024
"""Bytes of hunks of a proposal: the word of an agent is worth less room than what it did."""

_KINDS: Mapping[str, Kind] = {
    "read": "read", "edit": "edit", "delete": "delete", "move": "move", "search": "search", "execute": "execute",
    "think": "think", "fetch": "fetch", "other": "other",
}  # fmt: skip
_PATH_KEYS = (
    "path", "file_path", "filePath", "filepath", "fileName", "filename", "file", "target_file", "absolute_path",
    "notebook_path", "source", "destination", "src", "dst", "old_path", "new_path", "oldPath", "newPath",
)  # fmt: skip
_LOOKING = ("read", "search", "fetch", "think")
_CHANGING = ("edit", "delete", "move")
_JSON_TEXT = 1 << 20
_TITLE = 1000
"""Characters; some name every file that a patch changes."""
_SIDE_CHANNELS = ("detailedContent", "diff", "patch")


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
    proposed = list(reading.changes) or _from_words(name, kind, fields, given, text)
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


def _from_words(name: str, kind: Kind, fields: Fields, given: object, text: str) -> list[FileChange]:
    """Where no block is a diff: from the arguments, else from the side channels, else from JSON within the text."""
    tool = name or _line(fields.get("title")).partition(":")[0]
    if changes := from_arguments(tool, given, kind):
        return changes
    output = fields.get("rawOutput")
    if isinstance(output, Mapping) and kind not in _LOOKING:  # some show the file that was read as a patch
        for channel in (output, output.get("metadata"), output.get("details")):
            for key in _SIDE_CHANNELS:
                value = channel.get(key) if isinstance(channel, Mapping) else None
                if isinstance(value, str) and (changes := from_arguments(None, value)):
                    return changes
    inside = _json_within(text)
    return from_arguments(tool, inside, kind) if inside is not None else []


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
            found.append(
                {
                    "path": absolute(one["path"], workspace),
                    **known,
                    **{name: held for name, held in one.items() if name not in ("path", "line")},
                }
            )
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
