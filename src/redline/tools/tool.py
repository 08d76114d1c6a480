"""What a tool is. This is a public interface: `docs/write-a-tool.md` shows one from end to end.

A tool does its work in `execute` and says how it wants to be shown in two pure presenters. Presenters take only what
the log keeps (arguments, proposal, result), do no I/O and read no clock, so a card is the same live and on replay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel

from redline.changes.record import FileChange
from redline.files.seam import Action, Content, Files, Move, Outcome, Target
from redline.views import Kind, ToolCallView, ToolResultView

ContentBlock = Mapping[str, Any]
"""For the model: `{"type": "text", "text": …}` or `{"type": "image", "data": base64, "media_type": …}`."""

Arguments = TypeVar("Arguments", bound=BaseModel)


class ToolError(Exception):
    """A call that failed, told to the model and the reader: a stable code, what was wrong, what to do next."""

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        super().__init__(f"{code}: {message} {remedy}".rstrip())
        self.code = code
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool returns when text alone is not enough."""

    content: Sequence[ContentBlock]
    """For the model."""
    changes: Sequence[FileChange] = ()
    """Of a tool that changes files behind the seam; changes made through `context.apply` are recorded anyway."""
    meta: Any = None
    """The tool's own durable presentation payload: JSON, stored without a look inside, handed back on replay."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a result presenter may know: what the log keeps."""

    content: Sequence[ContentBlock]
    is_error: bool
    changes: Sequence[FileChange]
    meta: Any = None
    """Whatever the log holds; a presenter treats a shape that it does not know as None."""


@dataclass(frozen=True, slots=True)
class Step:
    """One file operation that a call asks for: the runner previews it, asks, and applies it as approved."""

    target: Target
    action: Action

    @property
    def keys(self) -> list[str]:
        """Of the files themselves, whatever link leads to them: the one that it changes and, of a move, the new one."""
        return [self.target.key, *([self.action.to.key] if isinstance(self.action, Move) else [])]


class ToolContext(Protocol):
    """What a running call may use."""

    @property
    def workspace(self) -> Path: ...

    @property
    def files(self) -> Files:
        """For reading; mutations go through `apply`, which journals them."""
        ...

    async def apply(self, step: Step) -> Outcome:
        """Apply one planned step: bytes stored, intent committed, file replaced, change recorded on the call."""
        ...

    async def apply_all(self, steps: Sequence[Step]) -> Sequence[Outcome]:
        """Apply all steps or none, for a call that changes several files. Where one fails, those before it are taken
        back and its error is raised; what could not be taken back stays recorded on the call, as a change that
        landed."""
        ...

    async def read(self, target: Target, limit: int | None = None) -> Content:
        """Read, and remember that the model has seen this content: an edit or overwrite needs that."""
        ...

    async def progress(self, text: str) -> None:
        """Live output of a long call, shown while it runs."""
        ...


class Tool(Generic[Arguments]):
    """Base class of a tool. The class attributes are what the model is told."""

    name: ClassVar[str]
    description: ClassVar[str]
    kind: ClassVar[Kind] = "other"
    parameters: type[Arguments]
    asks: ClassVar[bool] = False
    """Ask before every call even if it plans no file operation (a shell command, for one)."""
    touches_workspace: ClassVar[bool] = False
    """May change files in ways that `plan` does not name (a shell command, a formatter). Runs beside no other call that
    touches files; what it changed is found on the disk when it ends, and becomes a part of its result."""

    def schema(self) -> Mapping[str, Any]:
        """What a model is told of the arguments, as JSON Schema."""
        return self.parameters.model_json_schema()

    async def plan(self, arguments: Arguments, files: Files) -> Sequence[Step]:
        """The file operations that the call would do, for the proposal; at most one a file. Empty for a tool that
        changes no file. Raises `FileError` or `ToolError` where the call cannot be done as asked: it then fails with
        that error, and nobody is asked for permission."""
        return ()

    async def reads(self, arguments: Arguments, files: Files) -> Sequence[Target] | None:
        """The files that a call without a plan looks at, so that calls of one message run side by side where they
        touch nothing in common. None: unknown, and the call keeps its place among all others."""
        return None

    async def execute(self, arguments: Arguments, context: ToolContext) -> Sequence[ContentBlock] | ToolOutput:
        raise NotImplementedError(f"the tool {self.name!r} defines no execute")

    def present_call(self, arguments: Mapping[str, Any], proposed: Sequence[FileChange]) -> ToolCallView | None:
        """None: the generic view. `arguments` as logged: JSON, possibly masked, possibly invalid."""
        return None

    def present_result(self, arguments: Mapping[str, Any], result: ToolResult) -> ToolResultView | None:
        """None: the generic view."""
        return None


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@dataclass(frozen=True, slots=True)
class Toolset:
    """Tools by name."""

    tools: Sequence[Tool[Any]]
    by_name: Mapping[str, Tool[Any]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {tool.name: tool for tool in self.tools})
