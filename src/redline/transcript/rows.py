"""The rows of a transcript: small, frozen, and all that a surface needs to draw.

A row is identified by `id`, stable live and on replay; `revision` grows with every event that changes it. A surface
keeps rows by id and takes an upsert with a higher revision instead of the one it has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redline.changes.record import Fact, FileChange, FileType, Operation
    from redline.views import ToolCallView, ToolResultView

ToolStatus = Literal[
    "proposed", "running", "completed", "applied", "failed", "rejected", "cancelled", "interrupted", "unknown"
]
"""`applied`: changes are on disk. `completed`: the call ended well and changed no file. `unknown`: nobody can say."""


def agent_row_id(turn: int, message: str) -> str:
    """The id of the row that an `assistant/message` belongs to; known before its first part is committed."""
    return f"agent:{turn}:{message}"


def thought_row_id(turn: int, message: str) -> str:
    return f"thought:{turn}:{message}"


def tool_row_id(turn: int, call: str) -> str:
    """Agents repeat call ids from turn to turn, so the id alone names no call."""
    return f"tool:{turn}:{call}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    id: str
    turn: int
    """0: outside any turn."""
    seq: int
    """Of the first event; rows are drawn in this order."""
    revision: int
    """The `seq` of the last event that changed the row."""
    at: int
    """Milliseconds since the epoch, of the first event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRow(Row):
    text: str
    attachments: Sequence[Mapping[str, Any]] = ()
    content: Sequence[Mapping[str, Any]] = ()
    """All blocks in their order, as logged: what `text` and `attachments` are taken from."""
    kind: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class Mark:
    """What a foreign agent sent beside a piece of its text, for a client of its own protocol."""

    start: int
    end: int
    """Characters of the row's text."""
    meta: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRow(Row):
    text: str
    """Markdown."""
    marks: Sequence[Mark] = ()
    kind: Literal["agent"] = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtRow(Row):
    text: str
    marks: Sequence[Mark] = ()
    kind: Literal["thought"] = "thought"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What went wrong, with a stable code and what to do next."""

    code: str
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRow(Row):
    call: str
    name: str
    status: ToolStatus
    call_view: ToolCallView
    result_view: ToolResultView | None = None
    """None until the call has ended; None after it where the call ended without a result."""
    proposed: Sequence[FileChange] = ()
    changes: Sequence[FileChange] = ()
    """On disk, and only those: counted, whatever the status (a failed call may have left part of its work)."""
    error: Problem | None = None
    warnings: Sequence[str] = ()
    permission: Literal["asked", "allow_once", "allow_session", "reject", "cancelled", "unavailable"] | None = None
    output: str = ""
    """Live output of a running call."""
    raw: Mapping[str, Any] = field(default_factory=dict)
    """Of a foreign agent's call: what it sent as `title`, `name`, `rawInput`, `rawOutput`, `locations`, `_meta` and
    `content`, and under `further` in fields that the protocol does not know, as the log keeps them; nothing of diffs
    and terminals, which are not its to tell."""
    reverted: bool = False
    """All of its changes were taken back by a later undo (and that undo still stands)."""
    reverted_paths: Sequence[str] = ()
    """Of its changes, the paths that were taken back: all of them, or a part."""
    reverted_hunks: Sequence[tuple[str, int]] = ()
    """Path and number, from 1, of the hunks that were taken back by themselves, while their change stands."""
    kind: Literal["tool"] = "tool"

    @property
    def ended(self) -> bool:
        return self.status not in ("proposed", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertRow(Row):
    """An undo: the changes that took earlier ones back."""

    call: str
    of: Sequence[tuple[int, str]]
    """Turn and call of what was taken back."""
    changes: Sequence[FileChange]
    reverted: bool = False
    """This undo was itself undone."""
    hunks: Sequence[tuple[int, str, int]] = ()
    """Turn, call and number, from 1, of each hunk that was taken back by itself."""
    kind: Literal["revert"] = "revert"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRow(Row):
    """Changes found on disk that no call reported."""

    changes: Sequence[FileChange]
    during: Sequence[str] = ()
    beside: Sequence[str] = ()
    """The other sessions that were at work in the workspace, any of which may have made the changes."""
    reverted_paths: Sequence[str] = ()
    """Of its changes, the paths that a later undo took back."""
    kind: Literal["found"] = "found"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow(Row):
    entries: Sequence[Mapping[str, str]]
    sent: Any = None
    """What a foreign agent sent, for a client of its own protocol; None: the entries are all that there is."""
    kind: Literal["plan"] = "plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRow(Row):
    """A request that waits for, or got, an answer; the whole proposed change is readable before it is answered."""

    request: str
    call: str
    title: str
    changes: Sequence[FileChange]
    options: Sequence[Mapping[str, str]]
    note: str = ""
    """Why there is no preview, or why it is asked again."""
    outcome: str | None = None
    by: str | None = None
    kind: Literal["permission"] = "permission"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeRow(Row):
    level: Literal["info", "warning", "error"]
    problem: Problem
    kind: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetTotal:
    """What a turn did to one file from its first state to its last, in numbers."""

    path: str
    operation: Operation
    added: int
    removed: int
    exact: bool = True
    """False: the counts are upper bounds (shown with ≈)."""
    counted: bool = True
    """False: there is no text basis, so there are no counts."""
    file_type: FileType = "text"
    old_path: str | None = None
    facts: Sequence[Fact] = ()
    """What changed besides lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEndRow(Row):
    """The end of a turn: how it ended, what it used, and the net change of its files."""

    reason: Literal["completed", "cancelled", "failed", "limit", "interrupted"]
    error: Problem | None = None
    models: Sequence[str] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    context_used: int = 0
    context_size: int = 0
    """Tokens in the model's context at the end, and how many there is room for; 0: nobody said."""
    context_sent: Any = None
    """What a foreign agent sent of it, for a client of its own protocol."""
    cost: float | None = None
    """US dollars; None: unknown, at least for a part."""
    net: Sequence[NetTotal] = ()
    """One entry for each file whose first and last state differ."""
    partial: bool = False
    """The beginning of the turn was not among the events that were folded, so every number is a lower bound."""
    kind: Literal["turn_end"] = "turn_end"


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRow(Row):
    """An event of a type that this version does not know, or a damaged one."""

    title: str
    why: Literal["unknown", "damaged", "unshown"] = "unknown"
    update: Any = None
    """Of an `agent/update`: what the agent sent, as logged."""
    kind: Literal["other"] = "other"


AnyRow = (
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
    | OtherRow
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """What a surface shows around the rows."""

    session: str
    workspace: str = ""
    agent: str = ""
    model: str = ""
    title: str = ""
    turn: int = 0
    running: bool = False
    closed: bool = False
    approval: str = ""
    """How approvals are set (ask, edits, all); empty: not said yet."""
    of_agent: Mapping[str, Any] = field(default_factory=dict)
    """Of a foreign agent: its own session id, modes, options and commands, as the log keeps them."""
