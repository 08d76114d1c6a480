"""How a foreign agent is made: which one, what is known and was chosen about it, and what it works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redline.agents.acp.agent import AcpAgent
from redline.agents.acp.choices import Choices
from redline.agents.acp.link import GREETING_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from redline.agents.agent import Host
    from redline.files.seam import Files
    from redline.sessions.log import SessionLog
    from redline.sessions.redaction import Redactor
    from redline.workspace.store import ByteStore

CANCEL_SECONDS = 5.0
"""How long an agent may take to stop a turn before it is ended."""


@dataclass(frozen=True, slots=True)
class AcpOptions:
    """Which agent, and what the user chose about it."""

    name: str
    """As it stands in the log."""
    command: Sequence[str]
    choices: Choices = field(default_factory=Choices)
    environment: Mapping[str, str] = field(default_factory=dict)
    declared: Mapping[str, Any] = field(default_factory=dict)
    """What the client behind us says that it can do, told to the agent as it is."""
    greeting: Mapping[str, Any] = field(default_factory=dict)
    """What else it says in `initialize`, likewise."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Further ones of its session, such as `mcpServers`."""
    asks_in: str = ""
    """The mode in which it asks before it changes files, where it is known not to start in it."""
    settled: bool = False
    """Whoever is in front of it, such as an editor, has settled with it what it asks: what it has us write or run is
    then not asked about once more."""
    greeting_seconds: float = GREETING_SECONDS
    cancel_seconds: float = CANCEL_SECONDS


@dataclass(frozen=True, slots=True)
class AcpFactory:
    """Makes foreign agents (an `AgentFactory`)."""

    options: AcpOptions
    files: Files
    store: ByteStore
    redactor: Redactor

    def __call__(self, *, log: SessionLog, host: Host, workspace: Path) -> AcpAgent:
        return AcpAgent(self.options, log, host, workspace, self.files, self.store, self.redactor)
