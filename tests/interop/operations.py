"""What a scripted model does, said without any agent's own tools: a script is steps, a step is what one reply asks for.

Each agent offers tools of its own; `calls_for` reads the tools that a request declares and says the same operation with
them. So one script drives every agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Look:
    """Read a file, since many agents refuse to change what they have not read. Left out where there is no such tool."""

    path: str


@dataclass(frozen=True)
class Create:
    path: str
    text: str


@dataclass(frozen=True)
class Overwrite:
    path: str
    text: str


@dataclass(frozen=True)
class Edit:
    path: str
    old: str
    """Stands exactly once in the file."""
    new: str


@dataclass(frozen=True)
class EditAll:
    """Change every place of a token. `text` is the file as it is, for agents that have to name each place."""

    path: str
    old: str
    new: str
    text: str


@dataclass(frozen=True)
class Delete:
    path: str
    text: str
    """The file as it is."""


@dataclass(frozen=True)
class Shell:
    command: str


Operation = Say | Look | Create | Overwrite | Edit | EditAll | Delete | Shell

Step = Sequence[Operation]
"""What one reply of the model asks for; several operations are parallel calls."""


@dataclass(frozen=True)
class Tool:
    """A tool that an agent declares to its model."""

    name: str
    properties: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    required: Sequence[str] = ()
    freeform: bool = False
    """It takes text instead of arguments."""


@dataclass(frozen=True)
class Call:
    name: str
    arguments: Mapping[str, Any] | str
    """Text for a freeform tool."""


class NoSuchTool(Exception):  # noqa: N818 - named for what is wrong
    """The agent declares nothing that could do an operation."""


_READ = ("Read", "read", "read_file", "ReadFile")
_WRITE = ("Write", "write", "write_file", "WriteFile")
_EDIT = ("Edit", "edit", "replace", "edit_file", "StrReplaceFile", "search_replace", "patch")
_DELETE = ("delete", "delete_file")
_PATCH = ("apply_patch",)
_SHELL = ("Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "execute", "Shell", "terminal")

_PATH = ("file_path", "filePath", "absolute_path", "path", "target_file")
_CONTENT = ("content", "contents", "text")
_OLD = ("old_string", "oldString", "old_str", "old_text")
_NEW = ("new_string", "newString", "new_str", "new_text")
_ALL = ("replace_all", "replaceAll", "allow_multiple")
_COMMAND = ("command", "cmd")


def calls_for(step: Step, tools: Mapping[str, Tool], workspace: Path) -> list[Call]:
    """The calls of one reply, in the tools that the agent declared. Raises `NoSuchTool`."""
    return [call for operation in step for call in _calls(operation, tools, workspace)]


def _calls(operation: Operation, tools: Mapping[str, Tool], workspace: Path) -> list[Call]:
    match operation:
        case Say():
            return []
        case Look(path):
            tool = _pick(tools, _READ)
            return [] if tool is None else [_fill(tool, {_PATH: str(workspace / path)})]
        case Create(path, text) | Overwrite(path, text):
            if patch := _pick(tools, _PATCH):
                return [_patch(patch, f"*** Add File: {path}", [f"+{line}" for line in text.splitlines()])]
            return [_fill(_needed(tools, _WRITE), {_PATH: str(workspace / path), _CONTENT: text})]
        case Edit(path, old, new):
            if patch := _pick(tools, _PATCH):
                lines = [*(f"-{line}" for line in old.splitlines()), *(f"+{line}" for line in new.splitlines())]
                return [_patch(patch, f"*** Update File: {path}", ["@@", *lines])]
            return [_fill(_needed(tools, _EDIT), {_PATH: str(workspace / path), _OLD: old, _NEW: new})]
        case EditAll(path, old, new, text):
            if patch := _pick(tools, _PATCH):
                sites = [line for line in text.splitlines() if old in line]
                lines = [part for site in sites for part in ("@@", f"-{site}", f"+{site.replace(old, new)}")]
                return [_patch(patch, f"*** Update File: {path}", lines)]
            values = {_PATH: str(workspace / path), _OLD: old, _NEW: new, _ALL: True}
            return [_fill(_needed(tools, _EDIT), values)]
        case Delete(path):
            if patch := _pick(tools, _PATCH):
                return [_patch(patch, f"*** Delete File: {path}", [])]
            if tool := _pick(tools, _DELETE):
                return [_fill(tool, {_PATH: str(workspace / path)})]
            return [_shell(tools, f"rm {path}")]
        case Shell(command):
            return [_shell(tools, command)]


def _pick(tools: Mapping[str, Tool], names: Sequence[str]) -> Tool | None:
    return next((tools[name] for name in names if name in tools), None)


def _needed(tools: Mapping[str, Tool], names: Sequence[str]) -> Tool:
    tool = _pick(tools, names)
    if tool is None:
        raise NoSuchTool(f"none of {', '.join(names)} is declared; declared are: {', '.join(sorted(tools))}")
    return tool


def _shell(tools: Mapping[str, Tool], command: str) -> Call:
    tool = _needed(tools, _SHELL)
    kind = next((tool.properties[name].get("type") for name in _COMMAND if name in tool.properties), "string")
    call = _fill(tool, {_COMMAND: ["bash", "-lc", command] if kind == "array" else command})
    if "sandbox_permissions" in tool.properties and isinstance(call.arguments, Mapping):
        # A sandbox needs more than an agent's installation brings; so the command asks to run outside it.
        outside = {"sandbox_permissions": "require_escalated", "justification": "May this command change the file?"}
        return Call(tool.name, {**call.arguments, **outside})
    return call


def _patch(tool: Tool, header: str, lines: Sequence[str]) -> Call:
    text = "\n".join(["*** Begin Patch", header, *lines, "*** End Patch", ""])
    if tool.freeform:
        return Call(tool.name, text)
    return _fill(tool, {("input", "patchText", "patch"): text})


def _fill(tool: Tool, values: Mapping[Sequence[str], Any]) -> Call:
    """Arguments by the names that the tool itself declares; what else it requires gets a harmless value."""
    arguments: dict[str, Any] = {}
    for names, value in values.items():
        name = next((name for name in names if name in tool.properties), None)
        if name is None:
            raise NoSuchTool(f"{tool.name} takes none of {', '.join(names)}; it takes {', '.join(tool.properties)}")
        arguments[name] = value
    for name in tool.required:
        if name not in arguments:
            arguments[name] = _harmless(tool.properties.get(name, {}))
    return Call(tool.name, arguments)


def _harmless(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    return {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}.get(
        str(schema.get("type")), "part of a scripted turn"
    )
