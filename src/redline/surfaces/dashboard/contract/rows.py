"""Rows on the wire."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from redline.surfaces.dashboard.contract.changes import (
    Block,
    Called,
    Change,
    Location,
    NetTotal,
    PartUndone,
    Problem,
    Wire,
)
from redline.transcript.rows import ToolStatus
from redline.views import Kind


class RowHead(Wire):
    id: str
    """Stable, live and reloaded. It may hold any character: encode it in an address."""
    turn: int
    """0: outside any turn."""
    seq: int
    """Of its first event: rows stand in this order."""
    revision: int
    """Never take a row instead of one with a higher revision; with the same, the later one holds."""
    at: int


class UserRow(RowHead):
    kind: Literal["user"]
    text: str
    attachments: list[Block]


class AgentRow(RowHead):
    kind: Literal["agent"]
    text: str
    """Markdown."""
    covered_fences: list[int]
    """Lines, from 0, on which a diff fence opens that says nothing that the turn's applied changes do not show."""


class ThoughtRow(RowHead):
    kind: Literal["thought"]
    text: str


class ToolRow(RowHead):
    kind: Literal["tool"]
    call: str
    name: str
    """Of the tool; empty: a foreign agent's."""
    tool_kind: Kind
    """What the call says of itself: no evidence of anything."""
    status: ToolStatus
    title: str
    description: str | None
    card: Literal["generic", "terminal", "diff"]
    locations: list[Location]
    content: list[Block]
    output: str
    """Of a command: what it printed so far."""
    cut: bool
    """A part of `output` (its beginning) or `content` (its end) was left out here; `GET …/row` has it."""
    exit_code: int | None
    signal: str | None
    time_limit: int | None
    """Of a command that ran into it: its seconds."""
    note: str | None
    """Beside or instead of hunks: "unchanged", or why there is no text basis."""
    proposed: list[Change]
    """Not on disk. Where there are `changes`, those are what became of it."""
    changes: list[Change]
    """On disk, and only those."""
    error: Problem | None
    warnings: list[str]
    permission: Literal["asked", "allow_once", "allow_session", "reject", "cancelled", "unavailable"] | None
    reverted: bool
    """All of its changes were taken back."""
    reverted_paths: list[str]
    reverted_hunks: list[PartUndone]
    """Of changes that stand otherwise."""
    has_raw: bool
    """`GET …/row` has what the foreign agent sent."""


class RevertRow(RowHead):
    """An undo."""

    kind: Literal["revert"]
    call: str
    of: list[Called]
    changes: list[Change]
    reverted: bool


class FoundRow(RowHead):
    """Changes found on disk that no call reported."""

    kind: Literal["found"]
    changes: list[Change]
    during: list[str]
    reverted_paths: list[str]
    """Of its changes, the paths that an undo took back: all of them, or a part."""


class PlanEntry(Wire):
    content: str
    status: str


class PlanRow(RowHead):
    kind: Literal["plan"]
    entries: list[PlanEntry]


class Choice(Wire):
    id: str
    kind: str
    """`allow_once`, `allow_always` or `reject_once`."""
    name: str


class PermissionRow(RowHead):
    """A request that waits for an answer (`outcome` null, while its turn runs) or got one."""

    kind: Literal["permission"]
    request: str
    call: str
    title: str
    changes: list[Change]
    note: str
    """Why there is no preview, or that the file changed since the last answer and it is asked again."""
    options: list[Choice]
    outcome: str | None
    by: str | None


class NoticeRow(RowHead):
    kind: Literal["notice"]
    level: Literal["info", "warning", "error"]
    problem: Problem


class TurnEndRow(RowHead):
    kind: Literal["turn_end"]
    reason: Literal["completed", "cancelled", "failed", "limit", "interrupted"]
    error: Problem | None
    models: list[str]
    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars; null: unknown."""
    net: list[NetTotal]
    partial: bool
    """Every number is a lower bound."""


class OtherRow(RowHead):
    """An event that this version does not know, a damaged one, or a row that cannot be shown."""

    kind: Literal["other"]
    title: str
    why: Literal["unknown", "damaged", "unshown"]


Row = Annotated[
    UserRow
    | AgentRow
    | ThoughtRow
    | ToolRow
    | RevertRow
    | FoundRow
    | PlanRow
    | PermissionRow
    | NoticeRow
    | TurnEndRow
    | OtherRow,
    Field(discriminator="kind"),
]


class RowDetails(Wire):
    """A row with nothing left out: all recorded hunks, the whole output, what a foreign agent sent."""

    row: Row
    raw: str | None
    """Indented JSON."""
