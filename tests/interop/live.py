"""Redline with a real agent: one session in a folder of its own, prompts in, rows out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from interop.agents import LiveAgent
from interop.endpoint import Endpoint
from redline.agents.acp.choices import Choices
from redline.agents.acp.factory import AcpFactory, AcpOptions
from redline.agents.agent import Stop
from redline.files.local import LocalFiles
from redline.gateway.archive import Archive
from redline.gateway.conversation import Conversation
from redline.tools.builtin import builtin_toolset
from redline.tools.permission import PermissionOutcome, PermissionRequest
from redline.transcript.fold import rows as folded
from redline.transcript.rows import AnyRow, SessionState

TURN_SECONDS = 240.0
"""For one turn, the start of the agent included; these are seconds of a machine that does other things too."""


@dataclass
class Person:
    """A surface that answers every question in one way and keeps what it was shown."""

    answer: PermissionOutcome
    name: str = "terminal"
    shows_changes: bool = True
    shown: dict[str, AnyRow] = field(default_factory=dict)
    asked: list[PermissionRequest] = field(default_factory=list)

    async def show(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        self.shown.update((row.id, row) for row in rows)

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None:
        pass

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None:
        self.asked.append(request)
        return self.answer


@dataclass
class Live:
    """One process of Redline's with the agent."""

    conversation: Conversation
    person: Person
    archive: Archive
    stop: Stop | None = None

    @property
    def session(self) -> str:
        return self.conversation.session.log.session

    @property
    def rows(self) -> list[AnyRow]:
        return list(self.conversation.transcript.rows)

    async def prompt(self, text: str) -> Stop:
        async with asyncio.timeout(TURN_SECONDS):
            return await self.conversation.prompt(text, source="terminal")


@asynccontextmanager
async def live(
    agent: LiveAgent, endpoint: Endpoint, base: Path, *, answer: PermissionOutcome = "allow_once", session: str = ""
) -> AsyncIterator[Live]:
    """`base` holds the workspace, the agent's home and Redline's data. `session`: take this one up again."""
    workspace = base / "workspace"
    prepared = agent.prepare(base / "home", endpoint.port)
    archive = Archive.open(base / "data")
    files = LocalFiles([workspace])
    try:
        if session:
            opened = await archive.resume(session, files)
        else:
            opened = await archive.start(workspace, agent.name, surface="terminal")
        with opened:
            options = AcpOptions(agent.name, prepared.isolated, Choices(mode=agent.mode), greeting_seconds=120)
            conversation = await Conversation.begin(
                opened,
                AcpFactory(options, files, opened.store, opened.redactor),
                files=files,
                workspace=workspace,
                present=builtin_toolset().by_name,
            )
            person = Person(answer)
            subscription = conversation.attach(person)
            try:
                yield Live(conversation, person, archive)
            finally:
                await conversation.close()
                subscription.close()
    finally:
        await archive.close()


async def from_disk(base: Path, session: str) -> list[AnyRow]:
    """The rows of a session, folded from its stored log by nobody who was there."""
    archive = Archive.open(base / "data")
    try:
        events = await archive.store.read(session, limit=100_000)
        return list(folded([event for event in events if hasattr(event, "data")], builtin_toolset().by_name))
    finally:
        await archive.close()
