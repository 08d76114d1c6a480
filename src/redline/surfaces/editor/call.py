"""A tool row as a call of the protocol: pure, and the same live and on replay.

A call is told twice: when it begins, with what it is about to do, and when it has ended, with what stands on the disk.
In the client the second content replaces the first, so each says everything that there is to say at its time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from redline.agents.acp.bulk import Lost, whole
from redline.agents.acp.normalise import FURTHER
from redline.changes.acp import to_locations
from redline.surfaces.editor import words
from redline.surfaces.editor.blocks import image
from redline.surfaces.words import agent_says, ended_well
from redline.surfaces.words import ended as how_it_ended
from redline.views import DiffCall, DiffResult, GenericCall, TerminalCall, TerminalResult

if TYPE_CHECKING:
    from redline.agents.acp.bulk import Stored
    from redline.changes.record import FileChange
    from redline.transcript.rows import FoundRow, RevertRow, ToolRow

Fields = dict[str, Any]
"""Of a `tool_call` or `tool_call_update`, without its id."""

_STATUSES = {"proposed": "pending", "running": "in_progress", "completed": "completed", "applied": "completed"}
_UNDONE = {
    "rejected": "Rejected.",
    "cancelled": "Cancelled.",
    "interrupted": "Interrupted before its end.",
    "unknown": "It never said how it ended.",
    "failed": "Failed.",
}
_AS_SENT = ("name", "rawInput", "rawOutput")
"""What a foreign agent says of a call that is passed on as it is."""
_BLOCKS = ("content", "diff", "terminal")
"""The kinds of a call's content that the protocol has."""
_RAW = frozenset({"read", "search", "execute", "fetch"})
"""Kinds whose output is text of files and programs, not Markdown."""


def identity(row: ToolRow) -> str:
    """Unique in the session: agents repeat their own ids from turn to turn."""
    return f"{row.turn}:{row.call}"


def begun(row: ToolRow, workspace: str, *, terminals: bool, stored: Stored) -> Fields:
    """The call as it is proposed or running. `terminals`: the client draws terminals."""
    view = row.call_view
    shown: Fields = {"title": words.line(row.raw.get("title") or view.title) or row.name, "kind": kind_of(row)}
    shown["status"] = _STATUSES.get(row.status, "in_progress")
    if isinstance(view, DiffCall):
        shown["content"] = words.shown(view.changes)
        shown["locations"] = _of_changes(view.changes)
    elif isinstance(view, TerminalCall):
        shown["content"] = _terminal(row) if terminals else _running(row, view)
        shown["locations"] = _places(row, stored)
    else:
        output = [words.block(_said(row, row.output))] if row.output else []
        shown["content"] = output or _contents(row, view.content)
        own = [_location(one.path, one.line, workspace) for one in view.locations]
        shown["locations"] = own if row.name else _places(row, stored)
    if not isinstance(view, DiffCall):
        shown["kind"] = _own_kind(row) or shown["kind"]
    shown.update((name, whole(row.raw[name], stored)) for name in _AS_SENT if name in row.raw)
    return {**_further(row, stored), **_full(shown)}


def ended(row: ToolRow, workspace: str, *, terminals: bool, stored: Stored) -> Fields:
    """The call as it ended."""
    first = begun(row, workspace, terminals=terminals, stored=stored)
    view = row.result_view
    title = getattr(view, "title", None)
    shown: Fields = {
        "title": words.line(title) if title else first["title"],
        "kind": _own_kind(row) or first["kind"],
        "status": _STATUSES.get(row.status, "failed"),
        "content": _outcome(row, terminals=terminals, stored=stored),
        "locations": _of_changes(row.changes) or _places(row, stored) or first["locations"],
    }
    # Only now: before its end a call may still turn out to have a proposal, which says more than its arguments.
    if isinstance(row.call_view, GenericCall) and row.call_view.raw_input is not None:
        shown["rawInput"] = dict(row.call_view.raw_input)
    shown.update((name, whole(row.raw[name], stored)) for name in _AS_SENT if name in row.raw)
    return {**_further(row, stored), **shown}


def found(row: FoundRow) -> Fields:
    """A call of its own for what nobody told."""
    names = ", ".join(dict.fromkeys(PurePath(change.path).name for change in row.changes))
    during = " while several calls ran" if row.during else ""
    return {
        "title": words.line(f"Changed on disk{during}: {names}"),
        "kind": "edit",
        "status": "completed",
        "content": [*words.shown(row.changes), *_taken_back(row)],
        "locations": _of_changes(row.changes),
    }


def reverted(row: RevertRow) -> Fields:
    """An undo."""
    names = ", ".join(dict.fromkeys(PurePath(change.path).name for change in row.changes))
    return {
        "title": words.line(f"Taken back: {names}" if names else "Taken back: nothing had to change"),
        "kind": "edit",
        "status": "completed",
        "content": words.shown(row.changes),
        "locations": _of_changes(row.changes),
    }


def terminal_id(row: ToolRow) -> str:
    return identity(row)


def is_terminal(row: ToolRow) -> bool:
    return isinstance(row.call_view, TerminalCall)


def kind_of(row: ToolRow) -> str:
    view = row.call_view
    if isinstance(view, GenericCall):
        return view.kind
    if isinstance(view, TerminalCall):
        return "execute"
    operations = {change.operation for change in view.changes}
    if operations == {"delete"}:
        return "delete"
    return "move" if operations == {"move"} else "edit"


def _own_kind(row: ToolRow) -> str:
    """What a foreign agent says of the kind of a call that changed nothing; empty: no more than we do."""
    kind = row.raw.get("kind")
    return kind if isinstance(kind, str) and not row.changes else ""


def _places(row: ToolRow, stored: Stored) -> list[Any]:
    """Those that a foreign agent gives of its call."""
    places = whole(row.raw.get("locations", []), stored)
    return places if isinstance(places, list) else []


def _taken_back(row: ToolRow | FoundRow) -> list[dict[str, Any]]:
    paths = row.reverted_paths
    return [words.block(f"Taken back by a later undo: {', '.join(paths)}.")] if paths else []


def _further(row: ToolRow, stored: Stored) -> Fields:
    """What a foreign agent says of a call in fields that the protocol does not know."""
    further = whole(row.raw.get(FURTHER), stored)
    return dict(further) if isinstance(further, Mapping) and not isinstance(further, Lost) else {}


def _outcome(row: ToolRow, *, terminals: bool, stored: Stored) -> list[dict[str, Any]]:
    view = row.result_view
    notes = [*_taken_back(row), *(words.block(warning) for warning in row.warnings)]
    own, unknown = _own_blocks(row, stored)
    if row.status not in ("completed", "applied"):
        return [*_unfinished(row), *unknown, *notes]
    if not row.changes:
        notes = [*_claimed(row), *notes]
        if len(unknown) < len(own):  # all of them: only beside a diff or a terminal the known ones are told otherwise
            return [*own, *notes]
    notes = [*unknown, *notes]
    if isinstance(view, TerminalResult):
        if terminals and is_terminal(row):
            output = _terminal(row)
        else:
            output = [words.block(words.fenced(view.output, "console"))] if view.output else []
            ending = _ending(view)
            output += [words.block(ending)] if ending else []
        return [*output, *words.shown(row.changes), *notes]
    if isinstance(view, DiffResult):
        note = None if view.note is None else _sentence(view.note)
        return [*words.shown(row.changes or view.changes, note), *notes]
    content = [] if view is None else _contents(row, view.content, stored)
    return [*content, *words.shown(row.changes), *notes]


def _own_blocks(row: ToolRow, stored: Stored) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What a foreign agent's own content holds, as far as the log keeps it as it was; the second: those of it that are
    of no kind of the protocol."""
    content = row.raw.get("content")
    own = whole(content, stored) if isinstance(content, list) else []
    return own, [one for one in own if not isinstance(one, Mapping) or one.get("type") not in _BLOCKS]


def _claimed(row: ToolRow) -> list[dict[str, Any]]:
    """What a foreign agent reported of a call that ended well, and the disk does not show: words, and no diff block."""
    patch = "" if row.name else words.patch("Reported by the agent, not found as a change on the disk:", row.proposed)
    return [words.block(patch)] if patch else []


def _unfinished(row: ToolRow) -> list[dict[str, Any]]:
    """Why a call did not come to a good end; diff blocks only of what stands on the disk nevertheless."""
    told = words.told(row.error) if row.error is not None else ""
    view = row.result_view
    if not told or isinstance(view, TerminalResult):
        said = view.output if isinstance(view, TerminalResult) else _texts(getattr(view, "content", ()))
        told = "\n\n".join(part for part in (told, words.plain(said)) if part)
    blocks = [words.block(told or _UNDONE.get(row.status, "Failed."))]
    if row.changes:
        blocks += [words.block("This much of it is on the disk:"), *words.shown(row.changes)]
    landed = {change.path for change in row.changes}
    label = "Its outcome is unknown, not counted as applied:" if row.status == "unknown" else "Not applied:"
    patch = words.patch(label, [change for change in row.proposed if change.path not in landed])
    return [*blocks, words.block(patch)] if patch else blocks


def _terminal(row: ToolRow) -> list[dict[str, Any]]:
    return [{"type": "terminal", "terminalId": terminal_id(row)}]


def _running(row: ToolRow, view: TerminalCall) -> list[dict[str, Any]]:
    blocks = [words.block(agent_says(view.description))] if view.description else []
    said = row.output and row.output != view.description
    return [*blocks, words.block(words.fenced(row.output, "console"))] if said else blocks


def _ending(view: TerminalResult) -> str:
    if ended_well(view):
        return ""
    said = how_it_ended(view).replace("exit ", "exit code ", 1)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _contents(
    row: ToolRow, blocks: Sequence[Mapping[str, Any]], stored: Stored = lambda _: None
) -> list[dict[str, Any]]:
    found = []
    for one in blocks:
        inner = one.get("content") if one.get("type") == "content" else one
        if not isinstance(inner, Mapping):
            continue
        if inner.get("type") == "text" and isinstance(inner.get("text"), str) and inner["text"]:
            found.append(words.block(_said(row, inner["text"])))
        elif inner.get("type") == "image":
            data = inner["data"] if isinstance(inner.get("data"), str) else image(str(inner.get("blob", "")), stored)
            if data is None:
                found.append(words.block("(an image that is not kept any more)"))
            else:
                mime = str(inner.get("media_type") or inner.get("mimeType") or "image/png")
                found.append({"type": "content", "content": {"type": "image", "data": data, "mimeType": mime}})
    return found


def _said(row: ToolRow, text: str) -> str:
    """The words of one of our own tools are raw text of files and programs; a foreign agent's are its own Markdown."""
    return words.fenced(text) if row.name and kind_of(row) in _RAW else text


def _texts(blocks: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(str(one["text"]) for one in blocks if isinstance(one.get("text"), str))


def _of_changes(changes: Sequence[FileChange]) -> list[dict[str, Any]]:
    return [location for change in changes for location in to_locations(change)]


def _location(path: str, line: int | None, workspace: str) -> dict[str, Any]:
    placed = str(PurePath(workspace) / path)  # an absolute path stays as it is
    return {"path": placed} if line is None else {"path": placed, "line": line}


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."


def _full(shown: Fields) -> Fields:
    shown.setdefault("content", [])
    shown.setdefault("locations", [])
    return shown
