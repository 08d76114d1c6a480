"""Sessions on the wire: their states and lists, what a new one needs, and what is done in one."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from redline.surfaces.dashboard.contract.changes import Wire
from redline.surfaces.dashboard.contract.rows import Row

Runs = Literal["here", "elsewhere", "nobody"]
Doing = Literal["", "running", "asking"]


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
    exact: bool
    """False: the counts are about right (≈)."""
    at_least: bool
    """The counts are lower bounds (≥)."""
    runs: Runs
    doing: Doing
    """A turn runs, or waits for an answer to its question. Empty: neither, or another process runs it unseen here."""


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
    text: str = Field(min_length=1, max_length=1_000_000, pattern=r"\S")


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
