"""Changes on the wire, and what they are made of."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from redline.changes.record import Fact, FileType, LineEnding, Operation, Provenance

CARD_LINES = 400
"""Diff lines of a file, context included, up to which a row carries its hunks."""

ROW_LINES = 10_000
ROW_CHARACTERS = 1_000_000
"""Of the hunks of a row, over all its changes: those beyond it come without, as the long ones do."""

OUTPUT_LIMIT = 16_000
"""Characters of a call's output (the last ones) and of its content (the first ones) that its row carries."""

Hidden = Literal["control", "bidirectional", "invisible"]


class Wire(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Problem(Wire):
    """What went wrong: a stable code, a sentence, and what to do next. Also the body of every failed request."""

    code: str
    message: str
    remedy: str = ""
    lines: list[str] = []
    """Of a refused undo: the lines that stand in the way, as hunk lines under `path:line`."""


class Side(Wire):
    """A file before or after a change."""

    blob: str
    size: int
    """In bytes."""
    executable: bool
    eol: LineEnding
    bom: bool
    final_newline: bool
    utf8: bool
    lines: int | None


class Hunk(Wire):
    """The numbers of a unified diff's `@@` header, and its lines, each beginning with ' ', '-' or '+'."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: list[str]


class ChangedFile(Wire):
    """What is said of a file in each change of it, single or net."""

    path: str
    """Absolute: what requests about the file name."""
    name: str
    """For people: relative to the workspace where it lies inside."""
    old_path: str | None
    old_name: str | None
    operation: Operation
    file_type: FileType
    added: int
    removed: int
    exact: bool
    """False: the counts are bounds (≈)."""
    facts: list[Fact]
    """What changed besides lines."""


class Change(ChangedFile):
    """What happened to one file."""

    provenance: Provenance
    """`result` and `observed` are on disk; `proposed` and `reported` are not, and are not counted."""
    anchored: bool
    """False: no line numbers are known."""
    truncated: bool
    """The record holds a part of the hunks only; the counts are those of the whole, unless `at_least`."""
    at_least: bool
    """What was cut off before it reached us could not be counted: the counts are lower bounds (≥)."""
    redacted: bool
    """Some line is masked."""
    hidden: list[Hidden]
    """Kinds of characters, in the paths and the changed lines, that a reader does not see and should be warned of."""
    before: Side | None
    after: Side | None
    hunks: list[Hunk]
    diff_lines: int
    """Lines of all recorded hunks, context included."""
    hunks_omitted: bool
    """The row carries a summary only; `GET …/row` has the hunks."""


class NetTotal(ChangedFile):
    """What a turn did to one file, from its first state to its last."""

    counted: bool
    """False: there is no text basis, so there are no counts."""


class Block(Wire):
    """A block of content: text, or an image, or the name of something else."""

    type: str
    text: str | None
    image: str | None
    """Of an image: where to get it."""


class Location(Wire):
    path: str
    name: str
    line: int | None


class PartUndone(Wire):
    """A hunk that was taken back by itself."""

    path: str
    hunk: int
    """From 1."""


class Called(Wire):
    turn: int
    call: str
