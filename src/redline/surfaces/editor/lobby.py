"""A foreign agent before any session: greeted, asked what it can do, logged in to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redline.surfaces.editor.greeting import PROTOCOL, Abilities, sessions

if TYPE_CHECKING:
    from redline.agents.acp.link import Link
    from redline.surfaces.editor.screen import Wire

_OURS = ("fs", "terminal")
"""Capabilities of a client that Redline serves itself."""
_OURS_TO_SERVE = ("fs/", "terminal/")
"""Requests likewise, which have no place where there is no session."""
_NOT_OFFERED = ("fork",)
"""What an agent can do with its sessions that the log cannot follow."""


def declared(abilities: Abilities) -> dict[str, Any]:
    """What the agent is told of the editor: all that passes through. A terminal that the editor would draw for the
    agent is not offered, since its output would never reach the log."""
    given = abilities.declared or {}
    told = {name: value for name, value in given.items() if name not in _OURS}
    meta = told.get("_meta")
    if isinstance(meta, Mapping):
        told["_meta"] = {name: value for name, value in meta.items() if name != "terminal_output"}
    return told


def names_session(params: Any) -> bool:
    """A message with these parameters concerns one session. Without any, or as an array, it concerns none."""
    return isinstance(params, Mapping) and "sessionId" in params


@dataclass(slots=True)
class Lobby:
    """One process of the agent, for what belongs to no session."""

    command: Sequence[str]
    environment: Mapping[str, str]
    editor: Wire | None = None
    """Who hears what the agent says and asks while it works on a request of the editor, such as a sign-in. Otherwise
    nobody does: each session's own process says it again."""
    _working: int = 0
    """Requests of the editor that it works on."""
    _link: Link | None = None
    _reading: asyncio.Task[None] | None = None

    async def greet(self, abilities: Abilities) -> dict[str, Any]:
        """The agent's own answer to `initialize`, with what the log adds to it. Raises `RpcError`."""
        from redline.agents.acp.link import Link, LinkError
        from redline.surfaces.editor.answers import error_of

        try:
            self._link = link = await Link.open(self.command, Path.cwd(), self, environment=self.environment)
            self._reading = asyncio.get_running_loop().create_task(link.connection.run())
            await link.greet(declared(abilities), abilities.beside)
        except LinkError as problem:
            await self.close()
            raise error_of(problem) from problem
        own = dict(link.capabilities)
        kept = own.get("sessionCapabilities")
        kept = {name: value for name, value in kept.items() if name not in _NOT_OFFERED} if kept else {}
        capabilities = {**own, "loadSession": True, "sessionCapabilities": {**kept, **sessions()}}
        return {**link.greeting, "protocolVersion": PROTOCOL, "agentCapabilities": capabilities}

    async def pass_on(self, method: str, params: Any) -> Any:
        """A request that belongs to no session. Raises `RpcError`."""
        from redline.protocol.connection import INTERNAL_ERROR, ConnectionClosed, RpcError

        if self._link is None:
            raise RpcError(INTERNAL_ERROR, "The agent does not run.")
        self._working += 1
        try:
            return await self._link.connection.request(method, params, withdrawn=True)
        except ConnectionClosed:
            raise RpcError(INTERNAL_ERROR, (await self._link.death()).message) from None
        finally:
            self._working -= 1

    async def pass_word(self, method: str, params: Any) -> None:
        """A notification, likewise."""
        if self._link is not None and not self._link.connection.closed:
            await self._link.connection.notify(method, params)

    async def close(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.close()
        if self._reading is not None:
            await asyncio.wait({self._reading})
            self._reading = None

    # What the agent says (`protocol.connection.Peer`).

    async def notified(self, method: str, params: Any) -> None:
        from redline.protocol.connection import ConnectionClosed

        if self.editor is not None and self._working:
            with suppress(ConnectionClosed):
                await self.editor.notify(method, params)

    async def asked(self, method: str, params: Any) -> Any:
        from redline.protocol.connection import INTERNAL_ERROR, METHOD_NOT_FOUND, ConnectionClosed, RpcError

        if self.editor is None or not self._working or method.startswith(_OURS_TO_SERVE):
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        try:
            return await self.editor.request(method, params, withdrawn=True)
        except ConnectionClosed:
            raise RpcError(INTERNAL_ERROR, "The editor is gone.") from None

    async def faulty(self, fault: str, *, answered: bool) -> None:
        del fault, answered
