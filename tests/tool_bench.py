"""A bench for tools: one workspace, the real runner, log, store of bytes and disk; only the person is played."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redline.files.local import LocalFiles
from redline.sessions.log import SessionLog
from redline.sessions.redaction import Redactor
from redline.sessions.sqlite import SqliteStore
from redline.tools.builtin import builtin_toolset
from redline.tools.permission import PermissionOutcome, PermissionRequest
from redline.tools.runner import Call, CallResult, Runner
from redline.tools.tool import Tool, ToolResult, Toolset
from redline.views import ToolCallView, ToolResultView
from redline.workspace.store import ByteStore


@dataclass
class Done:
    """One call that has ended, with its two cards as replayed from the log."""

    result: CallResult
    call_view: ToolCallView | None
    view: ToolResultView | None
    proposed: list[Any]
    logged: dict[str, Any]
    """The data of its `tool/result`."""

    @property
    def text(self) -> str:
        return "\n".join(str(block["text"]) for block in self.result.content)

    @property
    def change(self) -> Any:
        [change] = self.result.changes
        return change

    @property
    def code(self) -> str | None:
        return self.result.error.code if self.result.error else None


@dataclass
class Bench:
    workspace: Path
    log: SessionLog
    store: SqliteStore
    runner: Runner
    toolset: Toolset
    requests: list[PermissionRequest] = field(default_factory=list)
    answer: PermissionOutcome | Callable[[PermissionRequest], PermissionOutcome] = "allow_once"
    turn: int = 1
    _calls: int = 0

    @classmethod
    async def open(cls, folder: Path, *, toolset: Toolset | None = None, basis_limit: int | None = None) -> Bench:
        workspace = folder / "workspace"
        workspace.mkdir(parents=True, exist_ok=True)
        files = LocalFiles([workspace]) if basis_limit is None else LocalFiles([workspace], basis_limit=basis_limit)
        store = SqliteStore.open(folder / "log.db")
        redactor = Redactor()
        log = await SessionLog.create(store, redactor)
        tools = toolset or builtin_toolset()
        bench: Bench

        async def permission(request: PermissionRequest) -> PermissionOutcome:
            bench.requests.append(request)
            return bench.answer(request) if callable(bench.answer) else bench.answer

        bytes_ = ByteStore(folder / "bytes")
        runner = Runner(tools, files, bytes_, log, permission, redactor, workspace=workspace)
        bench = cls(workspace, log, store, runner, tools)
        return bench

    def put(self, name: str, data: bytes | str) -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def bytes_of(self, name: str) -> bytes:
        return (self.workspace / name).read_bytes()

    async def call(self, name: str, **arguments: Any) -> Done:
        [done] = await self.calls((name, arguments))
        return done

    async def read_first(self, path: str, name: str, **arguments: Any) -> Done:
        """What a model does that keeps to the rules: read, then change."""
        assert (await self.call("read", path=path)).code is None
        return await self.call(name, path=path, **arguments)

    async def calls(self, *wanted: tuple[str, dict[str, Any]]) -> list[Done]:
        calls = []
        for name, arguments in wanted:
            self._calls += 1
            calls.append(Call(f"call-{self._calls}", name, arguments))
        results = await self.runner.run(self.turn, calls)
        return [await self._done(result) for result in results]

    async def _done(self, result: CallResult) -> Done:
        from redline.changes.codec import from_json

        started: dict[str, Any] = {}
        ended: dict[str, Any] = {}
        async for event in self.log.events():
            if event.data.get("call") == result.call.id:
                if event.type == "tool/call":
                    started = event.data
                elif event.type == "tool/result":
                    ended = event.data
        tool: Tool[Any] = self.toolset.by_name[result.call.name]
        arguments = started["arguments"] if isinstance(started["arguments"], dict) else {}
        proposed = [from_json(change) for change in started["proposed"]]
        changes = [from_json(change) for change in ended["changes"]]
        kept = ToolResult(ended["content"], ended["status"] != "completed", changes, ended.get("meta"))
        call_view = tool.present_call(arguments, proposed)
        return Done(result, call_view, tool.present_result(arguments, kept), proposed, ended)
