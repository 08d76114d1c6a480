"""`redline acp`: an agent for editors, on standard input and output."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redline.cli.config import load
from redline.cli.failure import Failure
from redline.cli.interrupts import carry_out
from redline.protocol.connection import INTERNAL_ERROR, RpcError
from redline.surfaces.editor.door import Door
from redline.surfaces.editor.stdio import streams

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redline.agents.acp.choices import Choices
    from redline.agents.acp.factory import AcpFactory
    from redline.cli.agents import Foreign
    from redline.cli.config import Config
    from redline.files.seam import Files
    from redline.gateway.archive import Archive, OpenSession
    from redline.surfaces.editor.backing import Backing


def acp(flags: Mapping[str, Any], *, mode: str = "", model: str = "", options: list[str] | None = None) -> int:
    """Serve one editor until it goes; the exit code. `mode`, `model` and `options` are of a foreign agent."""
    config = load(flags).config
    foreign, lobby = _foreign(config), None
    if foreign is not None:
        from redline.surfaces.editor.lobby import Lobby

        lobby = Lobby(foreign.command, foreign.environment)
    if sys.stdin.isatty():
        print("redline acp speaks the Agent Client Protocol; an editor starts it. Ctrl-C ends it.", file=sys.stderr)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="redline: %(message)s")

    async def open_backing() -> Backing:
        return await asyncio.to_thread(_backing, config, foreign, mode, model, options or [])

    with suppress(SystemExit):  # by a signal other than Ctrl-C, as editors end their agents
        carry_out(_serve(Door(open_backing, lobby)))
    return 0


async def _serve(door: Door) -> None:
    await door.serve(*await streams())


def _foreign(config: Config) -> Foreign | None:
    """None, without loading anything: the built-in agent."""
    if not config.agent_command.strip() and config.agent in ("", "builtin"):
        return None
    from redline.cli import agents

    return agents.chosen(config.agent, config.agent_command)


def _backing(config: Config, foreign: Foreign | None, mode: str, model: str, options: list[str]) -> Backing:
    from redline.cli import agents
    from redline.cli.house import said

    try:
        with said():
            if foreign is None:
                return _builtin(config, _archive(config))
            return _proxied(config, _archive(config), foreign, agents.choices(mode, model, options))
    except Failure as failure:
        told = f"{failure.message} {failure.remedy}".strip()
        raise RpcError(INTERNAL_ERROR, told, {"code": failure.code}) from failure


def _archive(config: Config) -> Archive:
    from redline.gateway.archive import Archive

    return Archive.open(config.data, file_limit=config.file_limit, cap=config.store_limit)


def _builtin(config: Config, archive: Archive) -> Backing:
    from redline.agents.builtin.agent import NAME
    from redline.cli.builtin import builtin_agent
    from redline.surfaces.editor.backing import Backing
    from redline.tools.builtin import builtin_toolset

    factory = builtin_agent(config, config.model)
    return Backing(archive, NAME, config.model, config.approval, builtin_toolset().by_name, factory)


def _proxied(config: Config, archive: Archive, foreign: Foreign, chosen: Choices) -> Backing:
    from redline.agents.acp.factory import AcpFactory
    from redline.surfaces.editor.backing import Backing

    made = replace(foreign.options(chosen), settled=True)

    def factory(session: OpenSession, files: Files) -> AcpFactory:
        return AcpFactory(made, files, session.store, session.redactor)

    return Backing(archive, foreign.name, "", config.approval, {}, factory, foreign.facts(), foreign=True)
