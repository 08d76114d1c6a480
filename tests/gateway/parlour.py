"""An archive, a workspace and surfaces for a conversation in a test; the agent plays a script."""

from __future__ import annotations

import asyncio
import inspect
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redline.agents.builtin.factory import BuiltinFactory, BuiltinOptions
from redline.files.local import LocalFiles
from redline.gateway.archive import Archive, OpenSession
from redline.gateway.conversation import Conversation
from redline.tools.builtin import builtin_toolset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from redline.agents.agent import AgentFactory
    from redline.sessions.events import Event
    from redline.tools.permission import PermissionOutcome, PermissionRequest
    from redline.transcript.rows import AnyRow, SessionState


@dataclass
class Screen:
    """A surface that keeps what it was shown, and answers as it is told to."""

    name: str = "terminal"
    shows_changes: bool = True
    answer: PermissionOutcome | Callable[[PermissionRequest], Awaitable[PermissionOutcome | None]] | None = None
    rows: dict[str, AnyRow] = field(default_factory=dict)
    shown: int = 0
    """How often it was shown something."""
    streamed: list[str] = field(default_factory=list)
    asked: list[PermissionRequest] = field(default_factory=list)
    state: SessionState | None = None

    async def show(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        self.shown += 1
        self.state = state
        for row in rows:
            known = self.rows.get(row.id)
            assert known is None or row.revision >= known.revision
            self.rows[row.id] = row

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None:
        self.streamed.append(text)

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None:
        self.asked.append(request)
        return await self.answer(request) if callable(self.answer) else self.answer

    def kinds(self) -> list[str]:
        return [row.kind for row in self.rows.values()]


async def never(_: PermissionRequest) -> PermissionOutcome | None:
    """A person who does not answer."""
    await asyncio.Event().wait()
    return None


async def until(happened: Callable[[], Any]) -> None:
    """Wait for what a test needs, ten seconds at most."""
    for _ in range(1000):
        found = happened()
        if await found if inspect.isawaitable(found) else found:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen within ten seconds")


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def step(text: str = "", *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"text": text, "call": list(calls), **more}


@dataclass
class Parlour:
    folder: Path
    workspace: Path
    archive: Archive
    opened: list[OpenSession] = field(default_factory=list)

    def script(self, *turns: Sequence[dict[str, Any]], **more: Any) -> str:
        """A model that plays these turns, each a list of steps."""
        path = self.folder / f"script-{len(list(self.folder.glob('script-*')))}.json"
        path.write_text(json.dumps({"turn": [{"step": list(steps)} for steps in turns], **more}))
        return f"script:{path}"

    def factory(self, model: str) -> BuiltinFactory:
        archive = self.archive
        options = BuiltinOptions(model, step_limit=20)
        files = LocalFiles([self.workspace])
        return BuiltinFactory(options, files, archive.bytes, archive.redactor, builtin_toolset())

    async def begin(
        self, model: str = "", *, session: str = "", factory: AgentFactory | None = None, **options: Any
    ) -> Conversation:
        files = LocalFiles([self.workspace])
        if session:
            opened = await self.archive.resume(session, files)
        else:
            opened = await self.archive.start(self.workspace, "builtin", model=model, surface="terminal")
        self.opened.append(opened)
        return await Conversation.begin(
            opened,
            factory or self.factory(model),
            files=files,
            workspace=self.workspace,
            present=builtin_toolset().by_name,
            **options,
        )

    def leave(self) -> None:
        for opened in self.opened:
            opened.close()


async def events(conversation: Conversation, *types: str) -> list[Event]:
    return [event async for event in conversation.session.log.events() if not types or event.type in types]


@asynccontextmanager
async def parlour(folder: Path) -> AsyncIterator[Parlour]:
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    archive = Archive.open(folder / "data")
    made = Parlour(folder, workspace, archive)
    try:
        yield made
    finally:
        made.leave()
        await archive.close()
