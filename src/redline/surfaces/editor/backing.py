"""What stands behind the editor surface: the archive, and the agent that works in its sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redline.agents.agent import AgentFactory
    from redline.files.seam import Files
    from redline.gateway.archive import Archive, OpenSession
    from redline.gateway.permissions import Approval
    from redline.transcript.presenters import Presenters


@dataclass(frozen=True, slots=True)
class Backing:
    """Made once in a process, when the editor first needs it: making it loads what takes time."""

    archive: Archive
    agent: str
    """As it stands in the log; sessions of other agents are not this one's to list or load."""
    model: str
    approval: Approval
    """Of a new session."""
    present: Presenters
    factory: Callable[[OpenSession, Files], AgentFactory]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Of the agent, for a new session's first event."""
    foreign: bool = False
    """Its factory is an `AcpFactory`."""


OpenBacking = Callable[[], Awaitable[Backing]]
