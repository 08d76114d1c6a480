"""An editor for tests: starts the real `redline acp`, speaks raw lines to it, and keeps state as the protocol says."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

ZED = {"fs": {"readTextFile": False, "writeTextFile": False}, "_meta": {"terminal_output": True}}


@dataclass
class Held:
    """What a client holds of one session: text appends, the fields of a call replace."""

    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    text: dict[str, str] = field(default_factory=lambda: {"user": "", "agent": "", "thought": ""})
    terminals: dict[str, str] = field(default_factory=dict)
    exits: dict[str, Any] = field(default_factory=dict)
    plan: list[Any] = field(default_factory=list)
    title: str = ""
    notes: dict[str, Any] = field(default_factory=dict)
    """The `_meta` of each call, put together from all that was told of it, without output of terminals."""
    commands: list[str] = field(default_factory=list, compare=False)
    others: list[Any] = field(default_factory=list)
    early: list[str] = field(default_factory=list)
    """Calls of which an update came before they had begun: the protocol forbids it."""

    def take(self, update: Mapping[str, Any]) -> None:
        word = update["sessionUpdate"]
        if word.endswith("_chunk"):
            content = update["content"]
            who = word.split("_")[1] if word.startswith("agent_thought") else word.split("_")[0]
            self.text[who] += content["text"] if content["type"] == "text" else f"<{json.dumps(content)}>"
        elif word in ("tool_call", "tool_call_update"):
            fields = {name: value for name, value in update.items() if name not in ("sessionUpdate", "_meta")}
            if word == "tool_call_update":
                self.early += [update["toolCallId"]] if update["toolCallId"] not in self.calls else []
            self.calls.setdefault(update["toolCallId"], {}).update(fields)
            meta = update.get("_meta") or {}
            known = self.notes.get(update["toolCallId"], {})
            notes = joined(known, {name: one for name, one in meta.items() if not name.startswith("terminal_")})
            self.notes.update({update["toolCallId"]: notes} if notes else {})
            if "terminal_output" in meta:
                said = meta["terminal_output"]
                self.terminals[said["terminal_id"]] = self.terminals.get(said["terminal_id"], "") + said["data"]
            if "terminal_exit" in meta:
                self.exits[meta["terminal_exit"]["terminal_id"]] = meta["terminal_exit"]
        elif word == "plan":
            self.plan = update["entries"]
        elif word == "available_commands_update":
            self.commands = [one["name"] for one in update["availableCommands"]]
        elif word == "session_info_update":
            self.title = update["title"]
        else:
            self.others.append(update)


def joined(known: Any, new: Any) -> Any:
    """Two JSON values, the second one over the first, objects key by key."""
    if not isinstance(known, dict) or not isinstance(new, dict):
        return new
    return {**known, **{name: joined(known.get(name), one) for name, one in new.items()}}


@dataclass
class Editor:
    """A running `redline acp` and the client in front of it."""

    process: asyncio.subprocess.Process
    held: dict[str, Held] = field(default_factory=dict)
    updates: list[dict[str, Any]] = field(default_factory=list)
    enveloped: list[dict[str, Any]] = field(default_factory=list)
    """Content of those whose message has a `_meta` beside the update."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    withdrawn: list[Any] = field(default_factory=list)
    serve: dict[str, Callable[[dict[str, Any]], Any]] = field(default_factory=dict)
    """What it answers to requests, by method; None from it: no answer at all."""
    heard: list[dict[str, Any]] = field(default_factory=list)
    """Notifications other than updates, and errors without an id."""
    errors: str = ""
    _number: int = 0
    _waiting: dict[int, asyncio.Future[Any]] = field(default_factory=dict)

    async def send(self, message: Mapping[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        raw = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(raw + b"\n")
        await self.process.stdin.drain()

    async def begin(self, method: str, **params: Any) -> asyncio.Future[Any]:
        self._number += 1
        answer = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        answer.number = self._number  # type: ignore[attr-defined]
        await self.send({"id": self._number, "method": method, "params": params})
        return answer

    async def ask(self, method: str, **params: Any) -> Any:
        """The result; an error is raised as a `Refused`."""
        return await asyncio.wait_for(await self.begin(method, **params), 60)

    async def notify(self, method: str, **params: Any) -> None:
        await self.send({"method": method, "params": params})

    async def initialize(self, capabilities: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return await self.ask("initialize", protocolVersion=1, clientCapabilities=capabilities or {})

    async def new(self, workspace: Path) -> str:
        answer = await self.ask("session/new", cwd=str(workspace), mcpServers=[])
        return str(answer["sessionId"])

    async def prompt(self, session: str, text: str = "Go on.") -> dict[str, Any]:
        self.held.setdefault(session, Held()).text["user"] += text
        return await self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    async def read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            await self._take(json.loads(line))
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(EOFError("redline acp is gone"))

    async def listen(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.errors += line.decode()

    async def _take(self, message: dict[str, Any]) -> None:
        if message.get("method") == "session/update":
            params = message["params"]
            self.updates.append(params["update"])
            self.enveloped += (
                [params["update"]["content"]] if "_meta" in params and "content" in params["update"] else []
            )
            self.held.setdefault(params["sessionId"], Held()).take(params["update"])
        elif "method" in message and "id" in message:
            await self._serve(message)
        elif message.get("method") == "$/cancel_request":
            self.withdrawn.append(message["params"]["requestId"])
        elif message.get("id") in self._waiting:
            answer = self._waiting.pop(message["id"])
            if "error" in message:
                answer.set_exception(Refused(message["error"]))
            else:
                answer.set_result(message["result"])
        else:
            self.heard.append(message)

    async def _serve(self, message: dict[str, Any]) -> None:
        self.asked.append(message)
        if message["method"] == "session/request_permission":  # what it says of its call is news of that call, too
            held, told = self.held.setdefault(message["params"]["sessionId"], Held()), message["params"]["toolCall"]
            if told["toolCallId"] in held.calls:
                held.take({"sessionUpdate": "tool_call_update", **told})
        serve = self.serve.get(message["method"])
        if serve is None:
            error = {"code": -32601, "message": "Method not found"}
            await self.send({"id": message["id"], "error": error})
            return
        try:
            result = serve(message["params"])
        except Refused as refused:
            await self.send({"id": message["id"], "error": refused.error})
            return
        if result is not None:
            await self.send({"id": message["id"], "result": result})


class Refused(Exception):  # noqa: N818
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass
class Place:
    """A workspace, a data folder and scripts."""

    folder: Path
    workspace: Path

    def script(self, *turns: list[dict[str, Any]], **more: Any) -> str:
        path = self.folder / f"script-{len(list(self.folder.glob('script-*')))}.json"
        path.write_text(json.dumps({"turn": [{"step": steps} for steps in turns], **more}))
        return f"script:{path}"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("REDLINE_")}
        data = self.folder / "data"
        return {**kept, "REDLINE_DATA": str(data), "REDLINE_CONFIG": str(self.folder / "none.toml")}

    @asynccontextmanager
    async def editor(
        self, *arguments: str, capabilities: Mapping[str, Any] | None = None, greet: bool = True
    ) -> AsyncIterator[Editor]:
        command = [sys.executable, "-m", "redline", "acp", *arguments]
        async with running(command, self.folder, self.environment) as editor:
            if greet:
                await editor.initialize(capabilities)
            yield editor


@asynccontextmanager
async def running(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> AsyncIterator[Editor]:
    """An editor in front of any agent of the protocol."""
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, cwd=folder,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        limit=64 * 2**20,
    )  # fmt: skip
    editor = Editor(process)
    reading = [asyncio.create_task(editor.read()), asyncio.create_task(editor.listen())]
    try:
        yield editor
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 20)
        except TimeoutError:
            process.kill()
            await process.wait()
        for task in reading:
            with suppress(EOFError):
                await task


def make_place(folder: Path) -> Place:
    workspace = folder / "work"
    workspace.mkdir()
    return Place(folder, workspace)


def choosing(answers: list[bool]) -> Callable[[dict[str, Any]], Any]:
    """Answers questions one after the other, each with an option of the agent that says so for this once."""

    def answer(params: dict[str, Any]) -> Any:
        verb = "allow" if answers and answers.pop(0) else "reject"
        kinds = {one["kind"]: one["optionId"] for one in reversed(params["options"])}
        chosen = kinds.get(f"{verb}_once") or kinds.get(f"{verb}_always")
        if chosen is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    return answer


async def until(happened: Any) -> None:
    for _ in range(1500):
        if happened():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen within thirty seconds")


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def allow(option: str) -> Callable[[dict[str, Any]], Any]:
    return lambda _: {"outcome": {"outcome": "selected", "optionId": option}}


def diffs(content: Sequence[Mapping[str, Any]]) -> list[tuple[Any, str]]:
    return [(one["oldText"], one["newText"]) for one in content if one["type"] == "diff"]


def said(content: Sequence[Mapping[str, Any]]) -> str:
    blocks = [one["content"] for one in content if one["type"] == "content"]
    return "\n".join(block["text"] for block in blocks if "text" in block)
