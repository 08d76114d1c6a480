"""The event stream on the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from redline.surfaces.dashboard.contract.changes import Problem, Wire
from redline.surfaces.dashboard.contract.rows import Row
from redline.surfaces.dashboard.contract.sessions import SessionState, SessionSummary


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
    subscribe: tuple[Subscription, ...] = ()
    unsubscribe: tuple[str, ...] = ()


class StreamEvents(Wire):
    """Not an answer of its own: what the stream's `data:` holds under each `event:` name."""

    hello: StreamHello
    rows: StreamRows
    state: StreamState
    text: StreamText
    sessions: StreamSessions
    reset: StreamReset
