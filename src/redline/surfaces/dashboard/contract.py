"""What goes over the wire: the shape of every answer, request and stream event of the dashboard.

The OpenAPI document is made from these models (`openapi.py`), and the page's types from that, so that neither side can
drift. Every field is always there; null says that there is nothing. Times are milliseconds since the epoch. Text is
data: nothing in it is markup, and a byte that is not UTF-8 stands in it as `\\xNN`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from redline.changes.record import Fact, FileType, LineEnding, Operation, Provenance
from redline.transcript.rows import ToolStatus
from redline.views import Kind

CARD_LINES = 400
"""Diff lines of a file, context included, up to which a row carries its hunks."""

ROW_LINES = 10_000
ROW_CHARACTERS = 1_000_000
"""Of the hunks of a row, over all its changes: those beyond it come without, as the long ones do."""

OUTPUT_LIMIT = 16_000
"""Characters of a call's output (the last ones) and of its content (the first ones) that its row carries."""

Hidden = Literal["control", "bidirectional", "invisible"]

Runs = Literal["here", "elsewhere", "nobody"]


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


class Change(Wire):
    """What happened to one file."""

    path: str
    """Absolute: what requests about the file name."""
    name: str
    """For people: relative to the workspace where it lies inside."""
    old_path: str | None
    old_name: str | None
    operation: Operation
    file_type: FileType
    provenance: Provenance
    """`result` and `observed` are on disk; `proposed` and `reported` are not, and are not counted."""
    added: int
    removed: int
    exact: bool
    """False: the counts are bounds (≈)."""
    anchored: bool
    """False: no line numbers are known."""
    truncated: bool
    """The record holds a part of the hunks only; the counts are those of the whole, unless `at_least`."""
    at_least: bool
    """What was cut off before it reached us could not be counted: the counts are lower bounds (≥)."""
    redacted: bool
    """Some line is masked."""
    facts: list[Fact]
    hidden: list[Hidden]
    """Kinds of characters, in the paths and the changed lines, that a reader does not see and should be warned of."""
    before: Side | None
    after: Side | None
    hunks: list[Hunk]
    diff_lines: int
    """Lines of all recorded hunks, context included."""
    hunks_omitted: bool
    """The row carries a summary only; `GET …/row` has the hunks."""


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


# Rows.


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
    has_raw: bool
    """`GET …/row` has what the foreign agent sent."""


class Called(Wire):
    turn: int
    call: str


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


class NetTotal(Wire):
    """What a turn did to one file, from its first state to its last."""

    path: str
    name: str
    old_path: str | None
    old_name: str | None
    operation: Operation
    file_type: FileType
    added: int
    removed: int
    exact: bool
    counted: bool
    """False: there is no text basis, so there are no counts."""
    facts: list[Fact]
    """What changed besides lines."""


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


# Sessions.


class SessionState(Wire):
    session: str
    workspace: str
    agent: str
    model: str
    title: str
    turn: int
    running: bool
    """A turn runs."""
    closed: bool
    approval: str
    """`ask`, `edits` (commands are asked for), `all` (nothing is asked); empty: not said yet."""
    mode: str
    """Of a foreign agent: the mode it is in, such as one in which it asks nothing."""
    runs: Runs
    """By whom. `elsewhere`: it can be read here, and not prompted. `nobody`: the next prompt takes it up."""
    waiting: int
    """Prompts that wait for the end of the running turn."""
    seq: int
    """The state is that after this event."""


class SessionSummary(Wire):
    session: str
    workspace: str
    agent: str
    title: str
    started_at: int
    updated_at: int
    turns: int
    added: int
    removed: int
    runs: Runs


class SessionPage(Wire):
    sessions: list[SessionSummary]
    """The one used last first."""
    before: int | None
    """Of the next page; null: there is none."""


class RowPage(Wire):
    session: str
    rows: list[Row]
    """In order, the newest at the end."""
    before: int | None
    """Of the page with earlier rows; null: this is the beginning."""
    seq: int
    """The rows are those after this event: subscribe with it."""


class Agent(Wire):
    name: str
    """What a new session names."""
    title: str
    installed: bool
    default: bool
    model: str
    """That a new session starts with; empty: the agent's own choice, or none is set."""
    needs_model: bool
    """Without a model it cannot work."""
    install: str
    """The command that installs it."""
    sign_in: str
    notes: str


class Agents(Wire):
    agents: list[Agent]


class Folders(Wire):
    here: str
    """Where the server was started."""
    home: str
    recent: list[str]
    """Of sessions, the one used last first; those that still exist."""


class NewSession(Wire):
    folder: str
    agent: str = ""
    """Empty: the default one."""
    model: str = ""
    """Empty: the configured one, or the agent's own choice."""
    prompt: str = ""
    """Its first turn; empty: none yet."""


class Prompt(Wire):
    text: str = Field(min_length=1, max_length=1_000_000)


class Accepted(Wire):
    """The work goes on; what comes of it arrives on the stream."""

    accepted: Literal[True] = True


class Cancelled(Wire):
    cancelled: bool
    """False: no turn was running."""


class Answer(Wire):
    request: str
    option: str
    """Of the row's `options`."""


class Answered(Wire):
    settled: bool
    """False: somebody else had answered before, or the question was withdrawn."""


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


class TouchedFiles(Wire):
    files: list[TouchedFile]


class FileDiff(Wire):
    """The live `git diff HEAD` of one file."""

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
    """False: the bytes are not kept, are no text or are too large to show."""
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


# The stream.


class StreamHello(Wire):
    """`event: hello`, first."""

    stream: str
    """What `POST /api/stream/{stream}` names."""


class StreamRows(Wire):
    """`event: rows`: rows that are new or changed. Replace those of the same id."""

    session: str
    rows: list[Row]


class StreamState(Wire):
    """`event: state`."""

    session: str
    state: SessionState


class StreamText(Wire):
    """`event: text`: a further piece of a row that is just being written; the row may not have been sent yet."""

    session: str
    row: str
    turn: int
    kind: Literal["agent", "thought"]
    text: str
    replace: bool
    """True: `text` is all of it so far. False: append it."""


class StreamSessions(Wire):
    """`event: sessions`: sessions that are new or changed, and those that are gone."""

    sessions: list[SessionSummary]
    removed: list[str]


class StreamReset(Wire):
    """`event: reset`: what you have of this session may be stale; get its rows again."""

    session: str
    problem: Problem | None
    """Why nothing more will come, where it will not."""


class Subscription(Wire):
    session: str
    after: int = Field(0, ge=0, le=2**53)
    """The `seq` that you have."""


class Subscriptions(Wire):
    subscribe: list[Subscription] = []
    unsubscribe: list[str] = []


class StreamEvents(Wire):
    """Not an answer of its own: what the stream's `data:` holds under each `event:` name."""

    hello: StreamHello
    rows: StreamRows
    state: StreamState
    text: StreamText
    sessions: StreamSessions
    reset: StreamReset
