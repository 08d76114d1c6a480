"""The roster: which agents there are, and how one is put to work. The command line fills it from the configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from redline.agents.agent import AgentFactory
    from redline.files.seam import Files
    from redline.gateway.archive import OpenSession
    from redline.gateway.permissions import Approval


class GatewayError(Exception):
    """What was asked for cannot be done. `code`: NO_AGENT, NO_MODEL, FOLDER, RUNNING, BUSY, NO_ROW, NO_OPTION,
    STOPPING, or the code of what an agent's maker raised."""

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        super().__init__(f"{code}: {message} {remedy}".strip())
        self.code = code
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Offer:
    """An agent that a new session may name."""

    name: str
    title: str
    installed: bool = True
    default: bool = False
    model: str = ""
    """That it starts with; empty: its own choice, or none is set."""
    needs_model: bool = False
    install: str = ""
    sign_in: str = ""
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Engaged:
    """An agent that was chosen for a session."""

    name: str
    """As the log has it."""
    model: str
    factory: Callable[[OpenSession, Files], AgentFactory]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What `session/started` keeps of it beside name and model, so that it can be engaged again."""


class Roster(Protocol):
    @property
    def approval(self) -> Approval: ...

    def offers(self) -> Sequence[Offer]: ...

    async def engage(self, name: str, model: str, workspace: Path) -> Engaged:
        """For a new session; empty: the configured agent, the configured model. Raises `GatewayError`."""
        ...

    async def engage_again(self, first: Mapping[str, Any], workspace: Path) -> Engaged:
        """For a session of before, by the data of its first event. Raises `GatewayError`."""
        ...
