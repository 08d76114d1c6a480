"""What can be chosen about the built-in agent, and what makes one for a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redline.agents.builtin.agent import BuiltinAgent
from redline.agents.builtin.mcp import McpServers
from redline.tools.runner import Runner
from redline.workspace.observe import Observer

if TYPE_CHECKING:
    from pathlib import Path

    from redline.agents.agent import Host
    from redline.files.seam import Files
    from redline.sessions.log import SessionLog
    from redline.sessions.redaction import Redactor
    from redline.tools.tool import Toolset
    from redline.workspace.store import ByteStore


@dataclass(frozen=True, slots=True)
class BuiltinOptions:
    """What a user can choose about the built-in agent."""

    model: str
    """A model string; see `model.py`."""
    base_url: str = ""
    """Of an OpenAI-compatible server; empty: OPENAI_BASE_URL or the provider's own."""
    prompt: Path | None = None
    """A file that replaces the built-in system prompt."""
    step_limit: int = 100
    """Model requests in one turn."""
    formatters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Commands that format what calls have changed, by pattern of paths."""


@dataclass(frozen=True, slots=True)
class BuiltinFactory:
    """Makes built-in agents (an `AgentFactory`) with the files, bytes and tools that they work with."""

    options: BuiltinOptions
    files: Files
    store: ByteStore
    redactor: Redactor
    toolset: Toolset
    servers: Sequence[Mapping[str, Any]] = ()
    """MCP servers; see `mcp.McpServers`."""

    def __call__(self, *, log: SessionLog, host: Host, workspace: Path) -> BuiltinAgent:
        observer = Observer(workspace, self.store, log.session, self.redactor)
        runner = Runner(
            self.toolset, self.files, self.store, log, host.permission, self.redactor,
            workspace=workspace, observer=observer, formatters=self.options.formatters,
        )  # fmt: skip

        def images(blob: str) -> bytes | None:
            return self.store.get(log.session, blob)

        servers = McpServers(self.servers, workspace)
        return BuiltinAgent(self.options, log, runner, self.toolset, images, workspace, servers)
