"""What an agent reports by itself: the diffs that a client which follows the protocol is left with, held against what
happened.

A call's content is replaced by each update that has one, and kept by those that have none, as the protocol says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Hearsay:
    said: str
    """What there is, in a few words."""
    true: bool
    """It says what happened, all of it and nothing else."""


@dataclass(frozen=True)
class _Diff:
    path: str
    old: str | None
    new: str
    status: str


def hearsay(
    updates: Sequence[Mapping[str, Any]], before: Mapping[str, bytes], after: Mapping[str, bytes], folder: Path
) -> Hearsay:
    """Judge the session updates of one turn, or those of its replay."""
    diffs = _diffs(updates)
    finished = [diff for diff in diffs if diff.status == "completed"]
    open_ended = [diff for diff in diffs if diff.status not in ("completed", "failed")]
    files = {name: data.decode() for name, data in before.items()}
    wanted = {name: data.decode() for name, data in after.items()}
    notes: list[str] = []
    kinds: list[str] = []
    for diff in finished:
        kind, note = _take(diff, files, wanted, folder)
        kinds.append(kind)
        notes += [note] if note else []
    if open_ended:
        notes.append(f"{_count(len(open_ended), 'diff')} in a call that never ends")
    said = _summary(kinds) or ("" if open_ended else "no diff")
    true = files == wanted and not notes
    if files != wanted and not notes and kinds:
        notes.append("not what is on disk")
    return Hearsay("; ".join(part for part in (said, *dict.fromkeys(notes)) if part), true)


def _diffs(updates: Sequence[Mapping[str, Any]]) -> list[_Diff]:
    calls: dict[str, dict[str, Any]] = {}
    for update in updates:
        if update.get("sessionUpdate") in ("tool_call", "tool_call_update"):
            call = calls.setdefault(str(update.get("toolCallId")), {})
            call.update({key: update[key] for key in ("content", "status") if update.get(key) is not None})
    return [
        _Diff(str(block.get("path")), block.get("oldText"), str(block.get("newText")), call.get("status") or "pending")
        for call in calls.values()
        for block in call.get("content") or ()
        if block.get("type") == "diff"
    ]


def _take(diff: _Diff, files: dict[str, str], wanted: Mapping[str, str], folder: Path) -> tuple[str, str]:
    """Apply a diff to the files as far as it can be; what kind it is, and what is wrong with it."""
    path = Path(diff.path)
    if not path.is_absolute():
        note = "the path is not absolute"
    else:
        note = "" if path.is_relative_to(folder) else "the path is elsewhere"
    name = str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name
    held = files.get(name)
    if not diff.old:
        if held is not None:
            files[name] = diff.new
            return "whole text", "an overwrite told as a creation"
        files[name] = diff.new
        return "whole text", note
    if held is None:
        return "diff", "of a file that is not there"
    if diff.old == held:
        if not diff.new and name not in wanted:
            del files[name]
        else:
            files[name] = diff.new
        return "whole file", note
    places = held.count(diff.old)
    kind = "snippet" if "\n" not in diff.old.rstrip("\n") else "hunk"
    if places == 1:
        files[name] = held.replace(diff.old, diff.new)
        return kind, note
    return kind, "fits no place" if not places else f"fits {places} places, says not which"


def _summary(kinds: Sequence[str]) -> str:
    return ", ".join(_count(kinds.count(kind), kind) for kind in dict.fromkeys(kinds))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
