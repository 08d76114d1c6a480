"""A minimal ACP client, without Redline: what an agent says by itself. It offers no fs and no terminal."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interop.agents import Prepared

_LIMIT = 64 * 2**20


@dataclass
class RawRun:
    """One process of an agent. `updates` are those of the session, in order; `asked` the permission requests."""

    prepared: Prepared
    workspace: Path
    answer: str = "allow"
    updates: list[Mapping[str, Any]] = field(default_factory=list)
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    session: str = ""
    stderr: str = ""

    async def __aenter__(self) -> RawRun:
        self._stderr = asyncio.create_task(asyncio.sleep(0))
        self._process = await asyncio.create_subprocess_exec(
            *self.prepared.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.workspace,
            env=dict(self.prepared.environment),
            limit=_LIMIT,
            start_new_session=True,
        )
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._hear())]
        return self

    async def __aexit__(self, *_: object) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._process.returncode is not None:
                break
            try:
                os.killpg(self._process.pid, number)
                await asyncio.wait_for(self._process.wait(), 3)
            except (ProcessLookupError, TimeoutError):
                continue
        for task in self._tasks:
            task.cancel()

    async def start(self, load: str = "") -> None:
        offered = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        await self.request("initialize", {"protocolVersion": 1, "clientCapabilities": offered})
        place = {"cwd": str(self.workspace), "mcpServers": []}
        if load:
            await self.request("session/load", {"sessionId": load, **place})
            self.session = load
        else:
            self.session = (await self.request("session/new", place))["sessionId"]

    async def set_mode(self, mode: str) -> None:
        await self.request("session/set_mode", {"sessionId": self.session, "modeId": mode})

    async def prompt(self, text: str) -> Any:
        content = [{"type": "text", "text": text}]
        return await self.request("session/prompt", {"sessionId": self.session, "prompt": content})

    async def request(self, method: str, params: Mapping[str, Any], seconds: float = 90) -> Any:
        number = len(self._waiting) + 1
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._send({"id": number, "method": method, "params": params})
        try:
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            raise TimeoutError(f"{method} was not answered in {seconds} s; stderr: {self.stderr[-2000:]}") from None

    async def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await self._process.stdin.drain()

    async def _hear(self) -> None:
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(65536):
            self.stderr = (self.stderr + data.decode(errors="replace"))[-20_000:]

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if "method" not in message:
                self._settle(message)
            elif message["method"] == "session/update":
                self.updates.append(message["params"]["update"])
            elif "id" in message:
                await self._serve(message)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError(f"the agent ended; stderr: {self.stderr[-2000:]}"))

    def _settle(self, message: Mapping[str, Any]) -> None:
        waiting = self._waiting.get(message.get("id", 0))
        if waiting is None or waiting.done():
            return
        if "error" in message:
            waiting.set_exception(RuntimeError(json.dumps(message["error"])[:2000]))
        else:
            waiting.set_result(message.get("result"))

    async def _serve(self, message: Mapping[str, Any]) -> None:
        if message["method"] != "session/request_permission":
            await self._send({"id": message["id"], "error": {"code": -32601, "message": "not offered"}})
            return
        self.asked.append(message["params"])
        options = message["params"]["options"]
        chosen = next((o for o in options if str(o.get("kind")).startswith(f"{self.answer}_once")), None)
        chosen = chosen or next((o for o in options if str(o.get("kind")).startswith(self.answer)), None)
        outcome = {"outcome": "selected", "optionId": chosen["optionId"]} if chosen else {"outcome": "cancelled"}
        await self._send({"id": message["id"], "result": {"outcome": outcome}})
