"""The editor's messages, each to the part that answers it. What takes time loads after `initialize` is answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from redline.protocol.connection import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Connection,
    ConnectionClosed,
    RpcError,
)
from redline.surfaces.editor.greeting import Abilities, answer
from redline.surfaces.editor.lobby import names_session

if TYPE_CHECKING:
    from redline.surfaces.editor.backing import OpenBacking
    from redline.surfaces.editor.desk import Desk
    from redline.surfaces.editor.lobby import Lobby

_log = logging.getLogger(__name__)

_METHODS = {
    "session/new": "new",
    "session/load": "load",
    "session/resume": "resume",
    "session/list": "list",
    "session/close": "close",
    "session/delete": "delete",
    "session/prompt": "prompt",
    "session/set_mode": "set_mode",
    "session/set_config_option": "set_option",
}


class Door:
    """The agent's side of the protocol (`protocol.connection.Peer`)."""

    def __init__(self, backing: OpenBacking, lobby: Lobby | None = None) -> None:
        """`lobby`: of a foreign agent, which is asked first what it can do."""
        self._open_backing = backing
        self._lobby = lobby
        self._connection: Connection | None = None
        self._abilities: Abilities | None = None
        self._making: asyncio.Task[Desk] | None = None
        self._beside: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until the editor closes its side; then the turns that run are worked through. Cancelled, it stops them."""
        self._connection = Connection(reader, writer, self)
        if self._lobby is not None:
            self._lobby.editor = self._connection
        try:
            await self._connection.run()
            desk = await self._made()
            if desk is not None:
                await desk.leave()
        except asyncio.CancelledError:
            desk = await self._made()
            if desk is not None:
                await desk.close_all()
            raise
        finally:
            self._connection.abort()
            if self._lobby is not None:
                await self._lobby.close()

    # Messages.

    async def asked(self, method: str, params: Any) -> Any:
        """Whoever's error it is that comes of it, its text passes the redactor, as all that the editor shows."""
        try:
            return await self._asked(method, params)
        except RpcError as error:
            raise _masked(error) from error
        except ConnectionClosed:
            raise
        except Exception as fault:
            _log.exception("%s could not be answered", method)
            told = f"Redline itself failed at {method}. What it wrote to stderr says where; please report it."
            raise RpcError(INTERNAL_ERROR, told) from fault

    async def _asked(self, method: str, params: Any) -> Any:
        if method == "initialize":
            return await self._greet(params)
        if self._abilities is None:
            raise RpcError(INVALID_REQUEST, f"{method} came before initialize.")
        name = _METHODS.get(method)
        if name is None:
            return await self._pass_on(method, params)
        given = {} if params is None else params
        if not isinstance(given, Mapping):
            raise RpcError(INVALID_PARAMS, "The parameters are no object.")
        work: Callable[[Mapping[str, Any]], Awaitable[Any]] = getattr(await self._desk(), name)
        return await work(given)

    async def _pass_on(self, method: str, params: Any) -> Any:
        """What is no business of ours is a foreign agent's."""
        if self._lobby is not None and not names_session(params):
            return await self._lobby.pass_on(method, params)
        if self._lobby is not None:
            return await (await self._desk()).pass_on(method, params)
        if method == "authenticate":
            wanted = params.get("methodId") if isinstance(params, Mapping) else None
            raise RpcError(INVALID_PARAMS, f"There is no way to sign in that is called {wanted!r}, and no need to.")
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")

    async def notified(self, method: str, params: Any) -> None:
        if self._making is None:
            return
        if method == "session/cancel":
            if isinstance(params, Mapping):
                # Not awaited: what ends the turn may itself wait for an answer of the editor.
                self._aside((await self._desk()).cancel(params))
        elif self._lobby is not None:
            if not names_session(params):
                await self._lobby.pass_word(method, params)
            await (await self._desk()).pass_word(method, params)

    async def faulty(self, fault: str, *, answered: bool) -> None:
        _log.warning("%s", fault)
        if self._connection is not None and not answered:
            error = {"code": -32700, "message": fault}
            await self._connection.answer_to_nobody(error)

    # Parts of the above.

    async def _greet(self, params: Any) -> dict[str, Any]:
        abilities = Abilities.of(params)
        told = answer() if self._lobby is None else await self._lobby.greet(abilities)
        self._abilities = abilities
        if self._making is None:
            self._making = asyncio.get_running_loop().create_task(self._make(self._abilities))
        return told

    async def _make(self, abilities: Abilities) -> Desk:
        await asyncio.sleep(0.01)  # the answer goes out first
        module = await asyncio.to_thread(_load)
        assert self._connection is not None
        desk: Desk = module.Desk(await self._open_backing(), self._connection, abilities)
        return desk

    async def _made(self) -> Desk | None:
        """None: nothing was ever asked for, or what was could not be made (which whoever asked was told)."""
        if self._making is None:
            return None
        await asyncio.wait({self._making})
        return None if self._making.cancelled() or self._making.exception() else self._making.result()

    async def _desk(self) -> Desk:
        assert self._making is not None
        return await asyncio.shield(self._making)

    def _aside(self, work: Awaitable[None]) -> None:
        async def carefully() -> None:
            try:
                await work
            except ConnectionClosed:
                pass
            except Exception:
                _log.exception("A notification of the editor could not be handled")

        task = asyncio.get_running_loop().create_task(carefully())
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)


def _masked(error: RpcError) -> RpcError:
    from redline.sessions.gate import as_json
    from redline.sessions.redaction import Redactor

    redactor = Redactor()
    return RpcError(error.code, redactor.mask(error.message), redactor.mask_json(as_json(error.data))[0])


def _load() -> Any:
    from redline.surfaces.editor import desk

    return desk
