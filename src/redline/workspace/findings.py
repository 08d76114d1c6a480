"""Findings: what differences between a snapshot and the disk amount to, paired into moves and described as changes."""

# Paths are bytes here, as names on disk need not be text.
# ruff: noqa: PTH118

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redline.changes.compare import blob_id, describe, without_basis
from redline.changes.record import FileChange, Side
from redline.changes.shorten import LOG_LIMIT
from redline.workspace.index_file import EXECUTABLE
from redline.workspace.logged import as_logged
from redline.workspace.moves import End, moves
from redline.workspace.state import NOTHING, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pygit2

    from redline.changes.record import Operation
    from redline.sessions.redaction import Redactor
    from redline.workspace.difference import Difference

_HUNKS = 32 << 20
"""Bytes of hunks of all findings of one look; what comes after has `_FEW` of each file, and its true totals."""
_FEW = 4 << 10


@dataclass(frozen=True, slots=True)
class Found:
    """One change that was found on the disk."""

    change: FileChange
    """As the log keeps it: masked, cut, provenance `observed`."""
    before: bytes | None
    """The true bytes; None: there was no file, or they are not at hand (then `change.before` says what is known)."""
    after: bytes | None


def findings(differences: Sequence[Difference], root: bytes, git: pygit2.Repository, redactor: Redactor) -> list[Found]:
    """In the order of their paths. `root`: of the workspace; `git`: a repository that has the blobs."""
    by_path = {difference.path: difference for difference in differences}
    origins = moves(
        git,
        [_end(one.path, one.before) for one in differences if one.is_gone],
        [_end(one.path, one.after) for one in differences if one.is_come],
    )
    left_behind = set(origins.values())
    result: list[Found] = []
    budget = _HUNKS
    for difference in sorted(differences, key=lambda one: one.path):
        if difference.path in left_behind:
            continue
        origin = by_path.get(origins.get(difference.path, b""))
        for found in _told(root, difference, origin, redactor, LOG_LIMIT if budget > 0 else _FEW):
            budget -= sum(len(line) for hunk in found.change.hunks for line in hunk.lines)
            result.append(found)
    return result


def _told(root: bytes, one: Difference, origin: Difference | None, redactor: Redactor, limit: int) -> list[Found]:
    """One change, or two where a file has become a link or a link a file."""
    before, after = one.before if origin is None else origin.before, one.after
    path = _absolute(root, one.path)
    old_path = None if origin is None else _absolute(root, origin.path)
    links = [side.kind == "symlink" for side in (before, after) if side.kind != "none"]
    if origin is None and len(set(links)) == 2:
        return [
            _one(path, None, before, NOTHING, redactor, limit),
            _one(path, None, NOTHING, after, redactor, limit),
        ]
    if one.is_guess:
        side = _side(after)
        change = without_basis(path, "modify", None, side, provenance="observed")
        return [Found(change, None, after.data)]
    return [_one(path, old_path, before, after, redactor, limit)]


def _one(path: str, old_path: str | None, before: State, after: State, redactor: Redactor, limit: int) -> Found:
    known = all(side.kind == "none" or side.data is not None for side in (before, after))
    if not known:
        operation = _operation(before, after, old_path)
        change = without_basis(path, operation, _side(before), _side(after), old_path=old_path, provenance="observed")
        return Found(change, before.data, after.data)
    change = describe(
        path,
        before.data,
        after.data,
        old_path=old_path,
        before_executable=before.mode == EXECUTABLE,
        after_executable=after.mode == EXECUTABLE,
        file_type="symlink" if "symlink" in (before.kind, after.kind) else None,
        provenance="observed",
    )
    return Found(as_logged(change, before.data, after.data, redactor, limit=limit), before.data, after.data)


def _absolute(root: bytes, path: bytes) -> str:
    return os.fsdecode(os.path.join(root, path))


def _end(path: bytes, state: State) -> End:
    assert state.blob is not None
    data = state.data
    # Of a file whose line ends git had converted, the bytes and not git's blob are what can be found again.
    blob = state.blob if data is None else bytes.fromhex(blob_id(data))
    return End(path, state.mode, blob, len(data) if data is not None else 0)


def _side(state: State) -> Side | None:
    """What is known of a side whose bytes may not be at hand; no blob: it was never read."""
    if state.kind == "none":
        return None
    blob = "" if state.blob is None else state.blob.hex()
    size = len(state.data) if state.data is not None else state.facts.st_size if state.facts is not None else 0
    return Side(blob, size, executable=state.mode == EXECUTABLE)


def _operation(before: State, after: State, old_path: str | None) -> Operation:
    if before.kind == "none":
        return "add"
    if after.kind == "none":
        return "delete"
    return "modify" if old_path is None else "move"
