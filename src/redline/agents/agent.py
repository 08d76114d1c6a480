"""What an agent is, and the Host that an agent may ask.

An agent turns a prompt into events of the session log. It asks its Host for what only a person or a surface can give;
the gateway implements the Host and routes the question to whoever can answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from redline.sessions.log import SessionLog
    from redline.tools.permission import PermissionOutcome, PermissionRequest

StopReason = Literal["completed", "cancelled", "failed", "limit"]


class Host(Protocol):
    async def permission(self, request: PermissionRequest) -> PermissionOutcome:
        """`unavailable`: nobody is there to answer, which counts as no."""
        ...


@dataclass(frozen=True, slots=True)
class Stop:
    """How a turn ended."""

    reason: StopReason
    code: str = ""
    message: str = ""
    remedy: str = ""


class Agent(Protocol):
    """One agent in one session."""

    name: str
    model: str

    async def prompt(self, turn: int, content: Sequence[Mapping[str, Any]], rule: str) -> Stop:
        """Work through one turn, appending its events. `rule` is the text of the diff rule. Raises only on a bug: a
        model or network fault is a `Stop("failed", …)`. When cancelled (`asyncio.CancelledError`), running calls are
        closed in the log as cancelled before it propagates."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class ObservingAgent(Protocol):
    """An agent that looks at the workspace itself: what changes on disk is shown, whoever changes it."""

    observes: bool

    async def take_up(self) -> None:
        """Once, before the first prompt: begin to look at the workspace, so that the prompt need not wait for it."""
        ...


class AgentFactory(Protocol):
    def __call__(self, *, log: SessionLog, host: Host, workspace: Path) -> Agent: ...
