"""A gateway with a scripted model, and the desk of a platform before it."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redline.cli.config import Config
from redline.cli.roster import ConfiguredRoster
from redline.gateway.archive import Archive
from redline.gateway.gateway import Gateway
from redline.surfaces.chat.cards import Setting
from redline.surfaces.chat.desk import Desk, Person, Rules
from redline.surfaces.chat.places import Places
from redline.tools.builtin import builtin_toolset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from redline.sessions.events import Event
    from redline.surfaces.chat.platform import Platform

ADA = Person("U1", "Ada")
MALLORY = Person("U666", "Mallory")


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def step(text: str = "", *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"text": text, "call": list(calls), **more}


def scripted(folder: Path, *turns: Sequence[dict[str, Any]]) -> str:
    """A model that plays these turns, each a list of steps."""
    path = folder / f"script-{len(list(folder.glob('script-*')))}.json"
    path.write_text(json.dumps({"turn": [{"step": list(steps)} for steps in turns]}))
    return f"script:{path}"


@dataclass
class House:
    """One process's gateway over a data folder."""

    folder: Path
    gateway: Gateway
    places: Places
    approval: str = "all"
    desks: list[Desk] = field(default_factory=list)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def rules(self, **more: Any) -> Rules:
        given = {"allow": frozenset({ADA.id}), "folders": {"app": str(self.workspace)}, **more}
        return Rules(**given)

    async def desk(self, platform: Platform, **rules: Any) -> Desk:
        desk = Desk(platform, self.gateway, self.places, self.rules(**rules))
        self.desks.append(desk)
        await desk.start()
        return desk

    async def events(self, *types: str) -> list[Event]:
        found: list[Any] = []
        for summary in await self.gateway.archive.list():
            found += await self.gateway.archive.store.read(summary.session, limit=10_000)
        return [event for event in found if not types or event.type in types]


@asynccontextmanager
async def house(folder: Path, model: str, *, approval: Any = "all") -> AsyncIterator[House]:
    (folder / "workspace").mkdir(exist_ok=True)
    config = Config(model=model, data=folder / "data", approval=approval)
    archive = Archive.open(config.data)
    gateway = Gateway(archive, ConfiguredRoster(config), builtin_toolset().by_name)
    places = Places.open(config.data)
    made = House(folder, gateway, places, approval)
    try:
        yield made
    finally:
        for desk in made.desks:
            await desk.close()
        await gateway.close()
        await archive.close()
        places.close()


__all__ = ["ADA", "MALLORY", "House", "Setting", "call", "house", "scripted", "step"]
