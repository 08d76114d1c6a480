"""Commands that an agent has its client run (`terminal/*`): in the workspace, bounded, ended with the agent."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from redline.agents.acp.command import from_a_line_on
from redline.agents.acp.places import absolute, is_within
from redline.agents.acp.process import Child
from redline.protocol.connection import INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError

OUTPUT_LIMIT = 1 << 20
"""Bytes kept of an output, whatever the agent asks for."""
_REMEMBERED = 64
"""Terminals that were released, whose output is still shown."""


class Terminal:
    def __init__(self, child: Child, limit: int) -> None:
        self.child = child
        self.truncated = False
        self._limit = limit
        self._kept = bytearray()
        self._reading = asyncio.get_running_loop().create_task(self._read())

    async def wait(self) -> Mapping[str, Any]:
        await self.child.wait()
        await asyncio.wait({self._reading}, timeout=0.3)
        return self.ending or {}

    @property
    def ending(self) -> Mapping[str, Any] | None:
        code = self.child.exit_code
        if code is None:
            return None
        return {"exitCode": code if code >= 0 else None, "signal": None if code >= 0 else _name(-code)}

    @property
    def output(self) -> str:
        """The end of it, whole characters only."""
        data = bytes(self._kept)
        while data and self.truncated and data[0] & 0xC0 == 0x80:
            data = data[1:]
        return data.decode("utf-8", "replace")

    @property
    def shown(self) -> str:
        """The same for the log."""
        return from_a_line_on(self.output) if self.truncated else self.output

    async def end(self) -> None:
        await self.child.end(0.5)
        self._reading.cancel()

    async def _read(self) -> None:
        while chunk := await self.child.stdout.read(64 * 1024):
            self._kept += chunk
            if len(self._kept) > self._limit:
                self.truncated = True
                del self._kept[: len(self._kept) - self._limit]


class Terminals:
    """Those of one agent."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._open: dict[str, Terminal] = {}
        self._released: dict[str, tuple[str, Mapping[str, Any] | None]] = {}
        self._count = 0

    async def create(self, params: Mapping[str, Any]) -> dict[str, Any]:
        line = command_line(params)
        folder = self.folder(params)
        given = params.get("outputByteLimit")
        limit = min(given, OUTPUT_LIMIT) if isinstance(given, int) and given > 0 else OUTPUT_LIMIT
        environment = dict(os.environ)
        for entry in params.get("env") or ():
            if isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
                environment[entry["name"]] = str(entry.get("value", ""))
        try:
            child = await Child.start(["/bin/sh", "-c", line], folder=folder, environment=environment, merged=True)
        except (OSError, ValueError) as error:
            raise RpcError(INTERNAL_ERROR, f"The command could not be started: {error}") from error
        self._count += 1
        name = f"terminal-{self._count}"
        self._open[name] = Terminal(child, limit)
        return {"terminalId": name}

    async def output(self, params: Mapping[str, Any]) -> dict[str, Any]:
        terminal = self._of(params)
        result: dict[str, Any] = {"output": terminal.output, "truncated": terminal.truncated}
        if terminal.ending is not None:
            result["exitStatus"] = dict(terminal.ending)
        return result

    async def ended(self, name: str) -> None:
        """Wait until the command of a terminal has ended, whoever has released it meanwhile."""
        if (terminal := self._open.get(name)) is not None:
            await terminal.wait()

    async def wait_for_exit(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return dict(await self._of(params).wait())

    async def kill(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The command ends; its output can still be asked for."""
        terminal = self._of(params)
        terminal.child.signal_group(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await terminal.wait()
        await terminal.child.end(0.0)
        return {}

    async def release(self, params: Mapping[str, Any]) -> dict[str, Any]:
        terminal = self._of(params)
        del self._open[str(params["terminalId"])]
        await terminal.end()
        self._remember(str(params["terminalId"]), terminal)
        return {}

    def known(self, name: str) -> tuple[str, Mapping[str, Any] | None] | None:
        """The output of a terminal, released or not, and how its command ended."""
        terminal = self._open.get(name)
        return self._released.get(name) if terminal is None else (terminal.shown, _exit(terminal))

    async def close(self) -> None:
        """End all that still runs."""
        terminals, self._open = self._open, {}
        await asyncio.gather(*(terminal.end() for terminal in terminals.values()), return_exceptions=True)
        for name, terminal in terminals.items():
            self._remember(name, terminal)

    def _remember(self, name: str, terminal: Terminal) -> None:
        """What is shown of one that is gone."""
        self._released[name] = (terminal.shown, _exit(terminal))
        while len(self._released) > _REMEMBERED:
            del self._released[next(iter(self._released))]

    def _of(self, params: Mapping[str, Any]) -> Terminal:
        terminal = self._open.get(str(params.get("terminalId")))
        if terminal is None:
            raise RpcError(RESOURCE_NOT_FOUND, f"There is no terminal {params.get('terminalId')!r}.")
        return terminal

    def folder(self, params: Mapping[str, Any]) -> Path:
        """Where the command is to run. Raises `RpcError` where that is outside of the workspace."""
        given = params.get("cwd")
        if not isinstance(given, str) or not given:
            return self._workspace
        folder = os.path.realpath(absolute(given, str(self._workspace)))
        if not is_within(folder, os.path.realpath(self._workspace)):
            raise RpcError(INVALID_PARAMS, f"{given} is outside the workspace {self._workspace}.")
        return Path(folder)


def command_line(params: Mapping[str, Any]) -> str:
    """What is to be run, as a shell takes it: some agents send a whole line as the command. Raises `RpcError`."""
    command, arguments = params.get("command"), params.get("args") or []
    if not isinstance(command, str) or not command or not all(isinstance(one, str) for one in arguments):
        raise RpcError(INVALID_PARAMS, "command is missing, or args are not texts")
    return command if not arguments else shlex.join([command, *arguments])


def _exit(terminal: Terminal) -> dict[str, Any] | None:
    ending = terminal.ending
    return None if ending is None else {"exit_code": ending["exitCode"], "signal": ending["signal"]}


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
