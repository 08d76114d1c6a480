"""The runner on real parts (disk, SQLite, store of bytes), with small tools; only the person is played."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from redline.changes.codec import from_json
from redline.files.local import LocalFiles
from redline.files.seam import (
    Action,
    Delete,
    DeleteLines,
    EditText,
    Files,
    Move,
    Replace,
    Target,
    Write,
    WriteBytes,
)
from redline.sessions.log import SessionLog
from redline.sessions.redaction import Redactor
from redline.sessions.sqlite import SqliteStore
from redline.tools.permission import PermissionOutcome, PermissionRequest
from redline.tools.runner import Call, CallResult, Runner
from redline.tools.tool import Step, Tool, ToolContext, ToolError, ToolOutput, Toolset, text_block
from redline.views import DiffCall, ToolCallView
from redline.workspace.store import ByteStore

if TYPE_CHECKING:
    from pathlib import Path

    from redline.changes.record import FileChange
    from redline.sessions.events import Event

Answer = PermissionOutcome | Callable[[PermissionRequest], PermissionOutcome | Awaitable[PermissionOutcome]]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PathOnly(_Strict):
    path: str


class ReadFile(Tool[PathOnly]):
    name = "read"
    description = "Read a file."
    kind = "read"
    parameters = PathOnly

    async def reads(self, arguments: PathOnly, files: Files) -> Sequence[Target]:
        return [await files.resolve(arguments.path)]

    async def execute(self, arguments: PathOnly, context: ToolContext) -> Sequence[Mapping[str, Any]]:
        content = await context.read(await context.files.resolve(arguments.path))
        return [text_block(content.text if content.text is not None else f"{content.size} bytes")]


class StepTool(Tool[Any]):
    """Applies what it plans."""

    async def execute(self, arguments: Any, context: ToolContext) -> Any:
        for step in await self.plan(arguments, context.files):
            await context.apply(step)
        return [text_block("done")]

    def present_call(self, arguments: Mapping[str, Any], proposed: Sequence[FileChange]) -> ToolCallView | None:
        return DiffCall(f"{self.name} {arguments.get('path', '')}", proposed)


class WriteArguments(_Strict):
    path: str
    content: str


class WriteFile(StepTool):
    name = "write"
    description = "Write a file."
    kind = "edit"
    parameters = WriteArguments

    async def plan(self, arguments: WriteArguments, files: Files) -> Sequence[Step]:
        return [Step(await files.resolve(arguments.path), Write(arguments.content))]


class EditArguments(_Strict):
    path: str
    old: str
    new: str
    replace_all: bool = False


class EditFile(StepTool):
    name = "edit"
    description = "Edit a file."
    kind = "edit"
    parameters = EditArguments

    async def plan(self, arguments: EditArguments, files: Files) -> Sequence[Step]:
        edit = Replace(arguments.old, arguments.new, arguments.replace_all)
        return [Step(await files.resolve(arguments.path), EditText((edit,)))]


class CutArguments(_Strict):
    path: str
    first: int
    last: int


class CutLines(StepTool):
    name = "cut"
    description = "Delete lines by number."
    kind = "edit"
    parameters = CutArguments

    async def plan(self, arguments: CutArguments, files: Files) -> Sequence[Step]:
        return [Step(await files.resolve(arguments.path), EditText((DeleteLines(arguments.first, arguments.last),)))]


class DeleteFile(StepTool):
    name = "delete"
    description = "Delete a file."
    kind = "delete"
    parameters = PathOnly

    async def plan(self, arguments: PathOnly, files: Files) -> Sequence[Step]:
        return [Step(await files.resolve(arguments.path), Delete())]


class MoveArguments(_Strict):
    path: str
    to: str


class MoveFile(StepTool):
    name = "move"
    description = "Move a file."
    kind = "move"
    parameters = MoveArguments

    async def plan(self, arguments: MoveArguments, files: Files) -> Sequence[Step]:
        return [Step(await files.resolve(arguments.path), Move(await files.resolve(arguments.to)))]


class Several(_Strict):
    writes: dict[str, str | None]
    """Path to content; None: delete."""
    all_or_nothing: bool = False
    then_raise: str = ""
    chmod: bool = False


class SeveralFiles(Tool[Several]):
    name = "several"
    description = "Change several files."
    kind = "edit"
    parameters = Several

    async def plan(self, arguments: Several, files: Files) -> Sequence[Step]:
        steps = []
        for path, content in arguments.writes.items():
            action: Action = Delete() if content is None else Write(content)
            if arguments.chmod and content is not None:
                action = WriteBytes(content.encode(), executable=True)
            steps.append(Step(await files.resolve(path), action))
        return steps

    async def execute(self, arguments: Several, context: ToolContext) -> Any:
        steps = await self.plan(arguments, context.files)
        if arguments.all_or_nothing:
            await context.apply_all(steps)
        else:
            for step in steps:
                await context.apply(step)
        if arguments.then_raise:
            raise RuntimeError(arguments.then_raise)
        return [text_block("done")]


class ScriptArguments(_Strict):
    command: str


class Script(Tool[ScriptArguments]):
    """A command that a test plays by a function, so that anything can happen while it runs."""

    name = "script"
    description = "Run a command."
    kind = "execute"
    parameters = ScriptArguments
    asks = True

    def __init__(self) -> None:
        self.body: Callable[[ScriptArguments, ToolContext], Awaitable[Any]] | None = None

    async def execute(self, arguments: ScriptArguments, context: ToolContext) -> Any:
        return [text_block("done")] if self.body is None else await self.body(arguments, context)


class Free(Tool[ScriptArguments]):
    """A tool of somebody else's: what it returns, and how it is drawn, is up to the test."""

    name = "free"
    description = "Anything."
    kind = "other"
    parameters = ScriptArguments

    def __init__(self) -> None:
        self.output: Any = ToolOutput([text_block("done")])
        self.fault: BaseException | None = None
        self.presenter_fault: Exception | None = None

    async def execute(self, arguments: ScriptArguments, context: ToolContext) -> Any:
        if self.fault is not None:
            raise self.fault
        return self.output

    def present_result(self, arguments: Mapping[str, Any], result: Any) -> Any:
        if self.presenter_fault is not None:
            raise self.presenter_fault
        return None


@dataclass
class RunnerBench:
    """One session in one workspace."""

    folder: Path
    files: LocalFiles
    bytes: ByteStore
    store: SqliteStore
    log: SessionLog
    runner: Runner
    redactor: Redactor
    script: Script
    free: Free
    answer: Answer = "allow_once"
    requests: list[PermissionRequest] = field(default_factory=list)
    turn: int = 1
    _count: int = 0

    @classmethod
    async def open(cls, folder: Path, *, session: str | None = None, files: Any = None) -> RunnerBench:
        workspace = folder / "workspace"
        workspace.mkdir(exist_ok=True, parents=True)
        local = files or LocalFiles([workspace])
        store = SqliteStore.open(folder / "log.db")
        redactor = Redactor()
        kept = ByteStore(folder / "bytes")
        if session is None:
            log = await SessionLog.create(store, redactor)
            await log.append("session/started", {"workspace": str(workspace), "agent": "builtin", "surface": "test"})
        else:
            log = await SessionLog.open(store, redactor, session)
        script, free = Script(), Free()
        toolset = Toolset(
            [
                ReadFile(), WriteFile(), EditFile(), CutLines(), DeleteFile(), MoveFile(), SeveralFiles(), script, free,
            ]
        )  # fmt: skip
        bench: RunnerBench

        async def permission(request: PermissionRequest) -> PermissionOutcome:
            bench.requests.append(request)
            answer = bench.answer(request) if callable(bench.answer) else bench.answer
            return answer if isinstance(answer, str) else await answer

        runner = Runner(toolset, local, kept, log, permission, redactor, workspace=workspace)
        bench = cls(folder, local, kept, store, log, runner, redactor, script, free)
        return bench

    async def reopen(self) -> RunnerBench:
        await self.store.close()
        again = await RunnerBench.open(self.folder, session=self.log.session)
        await again.runner.restore()
        again.turn, again._count = self.turn, self._count
        return again

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def put(self, name: str, text: str | bytes) -> Path:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def text(self, name: str) -> str:
        return (self.workspace / name).read_bytes().decode()

    async def start_turn(self, turn: int) -> None:
        self.turn = turn
        await self.log.append("turn/started", {"turn": turn, "source": "test", "rule": ""})

    async def end_turn(self) -> None:
        await self.log.append("turn/ended", {"turn": self.turn, "reason": "completed"})

    def call_of(self, name: str, **arguments: Any) -> Call:
        self._count += 1
        return Call(f"c{self._count}", name, arguments)

    async def call(self, name: str, **arguments: Any) -> CallResult:
        [result] = await self.runner.run(self.turn, [self.call_of(name, **arguments)])
        return result

    async def run(self, *calls: Call) -> list[CallResult]:
        return await self.runner.run(self.turn, calls)

    async def seen(self, name: str, text: str | bytes) -> Path:
        """A file that the model has read."""
        path = self.put(name, text)
        assert not (await self.call("read", path=name)).is_error
        return path

    async def events(self, kind: str | None = None) -> list[Event]:
        return [event async for event in self.log.events() if kind in (None, event.type)]

    async def last(self, kind: str) -> dict[str, Any]:
        return (await self.events(kind))[-1].data

    async def logged_changes(self, kind: str = "tool/result") -> list[FileChange]:
        return [from_json(change) for change in (await self.last(kind))["changes"]]

    async def until(self, kind: str) -> None:
        """Wait for an event of this type."""
        arrived = asyncio.Event()
        leave = self.log.subscribe(lambda event: arrived.set() if event.type == kind else None)
        try:
            await asyncio.wait_for(arrived.wait(), 10)
        finally:
            leave()


async def opened(folder: Path) -> AsyncIterator[RunnerBench]:
    bench = await RunnerBench.open(folder)
    yield bench
    await bench.store.close()


__all__ = ["Answer", "RunnerBench", "ToolError", "opened"]
