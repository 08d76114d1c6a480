"""What the calls of a foreign agent had come to when everything was cut off.

Such an agent changes files by itself, so no intent says what it was about to do. What it had reported says which files
it meant, and the disk says what became of them: a change that was found there and that one open call alone had reported
is that call's. Nothing is said to be not applied where the disk was not looked at, or may hold it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from redline.changes.codec import from_json, kept_to_json, path_from_json, to_json
from redline.changes.compare import lines_of
from redline.tools.intent import CallKey, call_key, mappings

if TYPE_CHECKING:
    from redline.changes.record import FileChange

READ = "The end of this call was not recorded; what is said here was read from the disk."
NOT_READ = "The end of this call was not recorded, and the workspace could not be looked at."
UNSURE = {
    "code": "UNKNOWN_OUTCOME",
    "message": "This call broke off, or its end could not be recorded; what it was about may be on the disk.",
    "remedy": "Look at the files before going on.",
}
NEVER_ALLOWED = {
    "code": "NOT_ALLOWED",
    "message": "This call was never allowed, so it did not run: its turn broke off before anybody had said yes.",
    "remedy": "Ask for it again if it is still wanted.",
}
_READ_LIMIT = 4 << 20
_CHANGES = ("edit", "delete", "move")


@dataclass(slots=True)
class Missed:
    """What had changed in the workspace by the next start, and no event tells."""

    changes: list[FileChange] = field(default_factory=list)
    looked: bool = False
    """False: nobody could look, so that nothing is known of it."""
    since: int = 0
    """When the session was last heard of, in ms since 1970."""


def is_foreign(opened: Mapping[str, Any]) -> bool:
    """Of the data of a `tool/call`: tools of ours have a name."""
    return not opened.get("name") and "title" in opened


def shares(
    calls: Sequence[Mapping[str, Any]], landed: Mapping[CallKey, Collection[str]], missed: Missed
) -> dict[CallKey, list[FileChange]]:
    """Of what was missed, the changes that are certainly a call's. `calls`: the open ones that were free to change
    files. `landed`: what is known of each already, by path; a second change of one file is told as found."""
    given: dict[CallKey, list[FileChange]] = {}
    for change in missed.changes:
        touched = {_real(path) for path in (change.path, change.old_path) if path}
        meant = [call_key(call) for call in calls if touched & reported_paths(call)]
        if len(meant) == 1 and not touched & set(landed.get(meant[0], ())):
            given.setdefault(meant[0], []).append(change)
    return given


def status(
    opened: Mapping[str, Any], done: Sequence[FileChange], missed: Missed
) -> Literal["completed", "interrupted", "unknown"]:
    """How a call is closed. `done`: its changes that are on the disk; `missed`: with those that are others'."""
    reported = reported_paths(opened)
    left = reported - paths_of(done)
    if reported and not left:
        return "completed"
    if not reported and (done or opened.get("kind") not in _CHANGES):
        return "interrupted"  # a command, say: what it was to change, nobody knows
    others = paths_of(missed.changes)
    if not missed.looked or (left & others if reported else others):
        return "unknown"
    held = any(_is_held(change) for change in _reported(opened) if _real(change.path) in left)
    return "unknown" if held else "interrupted"


def result(
    opened: Mapping[str, Any],
    ended: str,
    told: Sequence[FileChange | None],
    new: Sequence[FileChange],
    missed: Missed,
) -> dict[str, Any]:
    """The data of the `tool/result` that closes a call, but for its error. `told`: the changes that the event before
    it holds; `new`: those beside them."""
    turn, call = call_key(opened)
    return {
        "turn": turn,
        "call": call,
        "name": "",
        "kind": opened.get("kind", "other"),
        "status": ended,
        "content": [],
        "changes": [*(kept_to_json(place, change) for place, change in enumerate(told)), *map(to_json, new)],
        "observed": True,
        "warnings": [READ if missed.looked else NOT_READ],
    }


def reported_paths(opened: Mapping[str, Any]) -> set[str]:
    """Links followed."""
    return {_real(path_from_json(change, "path")) for change in mappings(opened.get("proposed")) if "path" in change}


def paths_of(changes: Sequence[FileChange]) -> set[str]:
    """The same of changes, both names of a move."""
    return {_real(path) for change in changes for path in (change.path, change.old_path) if path}


def _reported(opened: Mapping[str, Any]) -> list[FileChange]:
    read = []
    for value in mappings(opened.get("proposed")):
        try:
            read.append(from_json(value))
        except (ValueError, TypeError):  # what cannot be read cannot be looked for
            continue
    return read


def _is_held(change: FileChange) -> bool:
    """The file reads as if the change had been made: also where no look at the workspace sees it, as of what git
    ignores. It may have read so before."""
    path = Path(change.path)
    try:
        if change.operation == "delete":
            return not os.path.lexists(path)
        if path.stat().st_size > _READ_LIMIT:
            return True  # nobody has looked
        lines = [line.rstrip("\r") for line in lines_of(path.read_bytes())]
    except OSError:
        return False
    text = "\n".join(["", *lines, ""])
    new = [[line[1:].rstrip("\r") for line in hunk.lines if line[:1] in (" ", "+")] for hunk in change.hunks]
    return all("\n".join(["", *part, ""]) in text for part in new if part)


def _real(path: str) -> str:
    return os.path.realpath(path)
