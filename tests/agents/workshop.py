"""A real workspace, log, store of bytes and runner for a built-in agent in a test."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redline.agents.builtin.agent import BuiltinAgent
from redline.agents.builtin.factory import BuiltinFactory, BuiltinOptions
from redline.files.local import LocalFiles
from redline.sessions.log import SessionLog
from redline.sessions.redaction import Redactor
from redline.sessions.sqlite import SqliteStore
from redline.tools.builtin import builtin_toolset
from redline.workspace.store import ByteStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from redline.agents.agent import Stop
    from redline.sessions.events import Event
    from redline.tools.permission import PermissionOutcome, PermissionRequest


@dataclass
class Yes:
    """A host that allows everything and remembers what it was asked."""

    asked: list[PermissionRequest] = field(default_factory=list)

    async def permission(self, request: PermissionRequest) -> PermissionOutcome:
        self.asked.append(request)
        return "allow_once"


@dataclass
class Workshop:
    workspace: Path
    store: SqliteStore
    content: ByteStore
    redactor: Redactor
    log: SessionLog
    host: Any = field(default_factory=Yes)
    turn: int = 0

    def agent(self, model: str, **options: Any) -> BuiltinAgent:
        files = LocalFiles([self.workspace])
        factory = BuiltinFactory(
            BuiltinOptions(model, **options), files, self.content, self.redactor, builtin_toolset()
        )
        return factory(log=self.log, host=self.host, workspace=self.workspace)

    async def prompt(self, agent: BuiltinAgent, text: str, rule: str = "") -> Stop:
        """One turn as a conversation would run it."""
        self.turn += 1
        content = [{"type": "text", "text": text}]
        await self.log.append("turn/started", {"turn": self.turn, "source": "test", "rule": ""})
        await self.log.append("user/message", {"turn": self.turn, "content": content})
        stop = await agent.prompt(self.turn, content, rule)
        await self.log.append("turn/ended", {"turn": self.turn, "reason": stop.reason})
        return stop

    async def events(self, *types: str) -> list[Event]:
        return [event async for event in self.log.events() if not types or event.type in types]

    async def said(self) -> str:
        return "".join(event.data["text"] for event in await self.events("assistant/message"))


@asynccontextmanager
async def workshop(folder: Path) -> AsyncIterator[Workshop]:
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    store = SqliteStore.open(folder / "sessions.db")
    redactor = Redactor()
    log = await SessionLog.create(store, redactor, session="test")
    await log.append(
        "session/started", {"workspace": str(workspace), "agent": "builtin", "surface": "test", "redline": "0"}
    )
    try:
        yield Workshop(workspace, store, ByteStore(folder / "bytes"), redactor, log)
    finally:
        await store.close()
