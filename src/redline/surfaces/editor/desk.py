"""The sessions of one editor: opened, listed, loaded, closed, deleted."""

from __future__ import annotations

import asyncio
import datetime
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redline.files.error import FileError
from redline.files.local import LocalFiles
from redline.protocol.connection import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, RpcError
from redline.sessions.store import StoreError, Summary
from redline.surfaces.editor.lobby import names_session
from redline.surfaces.editor.opening import begin, files_of
from redline.surfaces.editor.screen import NAME

if TYPE_CHECKING:
    from redline.files.seam import Files
    from redline.gateway.archive import OpenSession
    from redline.surfaces.editor.backing import Backing
    from redline.surfaces.editor.greeting import Abilities
    from redline.surfaces.editor.screen import Wire
    from redline.surfaces.editor.session import EditorSession

_log = logging.getLogger(__name__)
PAGE = 50
"""Sessions in one answer of `session/list`."""


class Desk:
    """Everything that needs the archive; made at the first request after `initialize`."""

    def __init__(self, backing: Backing, wire: Wire, abilities: Abilities) -> None:
        self._backing = backing
        self._wire = wire
        self._abilities = abilities
        self._open: dict[str, EditorSession] = {}
        self._opening = asyncio.Lock()

    async def new(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`session/new`."""
        workspace = folder(params)
        backing, local = self._backing, LocalFiles([workspace])
        with _told():
            opened = await backing.archive.start(
                workspace, backing.agent, model=backing.model, surface=NAME, more=backing.facts
            )
            try:
                session = await begin(
                    backing, opened, workspace, self._files(local, opened), self._wire, self._abilities, params
                )
            except RpcError:
                await backing.archive.delete(opened.log.session)  # nothing was ever said in it
                raise
        self._open[session.id] = session
        session.greet()
        return {"sessionId": session.id, **session.settings()}

    async def load(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`session/load`: everything is told before the answer."""
        session = await self._take_up(params)
        await session.replay()
        session.greet()
        return session.settings()

    async def resume(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`session/resume`: nothing is told again."""
        session = await self._take_up(params)
        session.greet()
        return session.settings()

    async def list(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`session/list`: this agent's sessions, those used last first, by pages."""
        before = _cursor(params.get("cursor"))
        place = _place(params.get("cwd"))
        found: list[Summary] = []
        while len(found) < PAGE:
            with _told():
                page = await self._backing.archive.list(limit=PAGE, before=before)
            if not page:
                return {"sessions": [_info(one) for one in found]}
            before = page[-1].updated_at
            found += [
                one
                for one in page
                if one.agent == self._backing.agent and (place is None or _place(one.workspace) == place)
            ]
        return {"sessions": [_info(one) for one in found], "nextCursor": str(before)}

    async def close(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`session/close`."""
        session = self.session(params)
        del self._open[session.id]
        with _told():
            await session.close()
        return {}

    async def delete(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """`session/delete`; one that is not there is deleted already."""
        name = _session_name(params)
        with _told():
            if name in self._open:
                await self._open.pop(name).close()
            await self._backing.archive.delete(name)
        return {}

    async def prompt(self, params: Mapping[str, Any]) -> dict[str, Any]:
        with _told():
            return await self.session(params).prompt(params)

    async def set_mode(self, params: Mapping[str, Any]) -> Any:
        session = self.session(params)
        if session.proxied is not None:
            return await session.proxied.pass_on("session/set_mode", params)
        with _told():
            await session.set_mode(params.get("modeId"))
        return {}

    async def set_option(self, params: Mapping[str, Any]) -> Any:
        session = self.session(params)
        if session.proxied is not None:
            return await session.proxied.pass_on("session/set_config_option", params)
        with _told():
            return await session.set_option(params.get("configId"), params.get("value"))

    async def pass_on(self, method: str, params: Mapping[str, Any]) -> Any:
        """What only a foreign agent can answer. Raises `RpcError`."""
        session = self.session(params)
        if session.proxied is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        return await session.proxied.pass_on(method, params)

    async def pass_word(self, method: str, params: Any) -> None:
        """A notification, likewise; nobody is told where it has no place. One that names no session concerns all."""
        named = names_session(params)
        for session in list(self._open.values()):
            if session.proxied is not None and (not named or params["sessionId"] == session.id):
                await session.proxied.pass_word(method, params)

    async def cancel(self, params: Mapping[str, Any]) -> None:
        """`session/cancel`."""
        session = self._open.get(str(params.get("sessionId")))
        if session is not None:
            await session.cancel(params)

    def session(self, params: Mapping[str, Any]) -> EditorSession:
        """The open one that a request is about. Raises `RpcError`."""
        name = _session_name(params)
        session = self._open.get(name)
        if session is None:
            raise RpcError(RESOURCE_NOT_FOUND, f"Session {name} is not open here. Load it first.", {"uri": name})
        return session

    async def leave(self) -> None:
        """The editor is gone: what runs is worked through to its end, then everything is closed."""
        for session in list(self._open.values()):
            await session.finish()
        await self.close_all()

    async def close_all(self) -> None:
        """Stop what runs and close everything."""
        for session in list(self._open.values()):
            try:
                await session.close()
            except Exception:
                _log.exception("The session %s could not be closed", session.id)
        self._open.clear()
        await self._backing.archive.close()

    def _files(self, local: LocalFiles, opened: OpenSession) -> Files:
        return files_of(local, opened, self._wire, self._abilities)

    async def _take_up(self, params: Mapping[str, Any]) -> EditorSession:
        name, workspace, backing = _session_name(params), folder(params), self._backing
        async with self._opening:
            with _told():
                summary = await backing.archive.summary(name)
                own = _own_folder(summary, workspace)
                if name in self._open and await self._open[name].goes_on_with(params):
                    return self._open[name]
                if name in self._open:
                    await self._open.pop(name).close()
                if summary.agent != backing.agent:
                    raise RpcError(INVALID_PARAMS, f"Session {name} is one of the agent {summary.agent!r}.")
                local = LocalFiles([own])
                opened = await backing.archive.resume(name, local)
                files = self._files(local, opened)
                session = await begin(backing, opened, own, files, self._wire, self._abilities, params)
            self._open[name] = session
            return session


def folder(params: Mapping[str, Any]) -> Path:
    """The workspace that a request names. Raises `RpcError`."""
    cwd = params.get("cwd")
    if not isinstance(cwd, str) or not Path(cwd).is_absolute():
        raise RpcError(INVALID_PARAMS, f"cwd is not an absolute path: {cwd!r}")
    place = Path(_real(cwd))
    if not place.is_dir():
        raise RpcError(INVALID_PARAMS, f"cwd is no folder: {cwd}")
    return place


def _own_folder(summary: Summary, workspace: Path) -> Path:
    if os.path.realpath(summary.workspace) != str(workspace):
        raise RpcError(
            INVALID_PARAMS, f"Session {summary.session} works in {summary.workspace}, and cwd is {workspace}."
        )
    return Path(summary.workspace)


def _place(cwd: object) -> str | None:
    return _real(cwd) if isinstance(cwd, str) and cwd else None


def _real(cwd: str) -> str:
    """With links followed. Raises `RpcError` for what no path may hold."""
    try:
        return os.path.realpath(cwd)
    except ValueError:  # a NUL, or half a character
        raise RpcError(INVALID_PARAMS, f"cwd is no path: {cwd!r}") from None


def _session_name(params: Mapping[str, Any]) -> str:
    name = params.get("sessionId")
    if not isinstance(name, str) or not name:
        raise RpcError(INVALID_PARAMS, "sessionId is missing")
    return name


def _cursor(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.isascii() or not value.isdigit():
        raise RpcError(INVALID_PARAMS, f"cursor is none of ours: {value!r}")
    return int(value)


def _info(summary: Summary) -> dict[str, Any]:
    when = datetime.datetime.fromtimestamp(summary.updated_at / 1000, tz=datetime.UTC)
    info = {"sessionId": summary.session, "cwd": summary.workspace, "updatedAt": when.isoformat()}
    return {**info, "title": summary.title} if summary.title else info


class _told:  # noqa: N801 - reads as a word where it is used
    """Turns the errors of the floors below into the protocol's."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (StoreError, FileError)):
            missing = error.code in ("NO_SESSION", "NOT_FOUND")
            raise RpcError(
                RESOURCE_NOT_FOUND if missing else INTERNAL_ERROR,
                f"{error.message} {error.remedy}".strip(),
                {"code": error.code},
            ) from error
