"""Files on the wire: what became of one, what is there now, and what an undo would do."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from redline.surfaces.dashboard.contract.changes import Called, Change, NetTotal, Problem, Wire


class UndoSelection(Wire):
    """Without any: the last turn that changed files. `path` alone: all that the session did to that file."""

    turn: int | None = Field(None, ge=1, le=2**53)
    call: str | None = None
    path: str | None = None
    """Absolute, or relative to the workspace."""
    hunk: int | None = Field(None, ge=1, le=2**53)
    """From 1; of a selection that is one change."""


class UndoPreview(Wire):
    plan: str
    """What `POST …/undo` carries out: exactly this, or nothing where a file has changed meanwhile."""
    of: list[Called]
    changes: list[Change]
    """As they would land. Empty: everything already is as it was."""
    notes: list[str]


class Undo(Wire):
    plan: str


class UndoDone(Wire):
    turn: int
    """That the undo is; undoing it is the way back."""
    changes: list[Change]
    notes: list[str]


class TouchedFile(Wire):
    net: NetTotal
    on_disk: Literal["same", "changed", "missing", "unknown"]
    """Whether what the agent left is what is there now."""
    as_before: bool
    """It was changed, and is left as it was at first: `net` has nothing to count."""
    secret: bool
    """The file is one of secrets: `GET /api/file-diff` refuses it."""


class TouchedFiles(Wire):
    files: list[TouchedFile]


class FileDiff(Wire):
    """The live `git diff HEAD` of one file. A file of secrets has none: the request is refused with SECRET_FILE."""

    path: str
    name: str
    state: Literal["clean", "modified", "untracked", "not_in_git", "failed"]
    change: Change | None
    """Of `modified` and `untracked`: from HEAD to what is on disk."""
    problem: Problem | None
    """Of `failed`."""


class Sides(Wire):
    """Both states of a file in whole, for context around hunks."""

    path: str
    available: bool
    """False: the bytes are not kept, are no text, are too large to show, or `secret`."""
    secret: bool
    """The file is one of secrets, which is never shown as a whole."""
    masked: bool
    """Secrets are masked, so line contents differ from the disk."""
    old: str | None
    """null: there was no file, or it is not available."""
    new: str | None


class NetChange(Wire):
    """What became of one file, from its first state to its last."""

    change: Change
    """With all its hunks."""
    sides: Sides
