"""`delete` and `move`: one file leaves its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from redline.changes.record import FileChange
from redline.files.seam import Delete as DeleteAction
from redline.files.seam import Files
from redline.files.seam import Move as MoveAction
from redline.tools.diff_card import diff_call, diff_result, file_title, mutation_meta
from redline.tools.parameters import Parameters, Path, logged_text
from redline.tools.tool import Step, Tool, ToolContext, ToolError, ToolOutput, ToolResult, text_block
from redline.views import ToolCallView, ToolResultView


class DeleteArguments(Parameters):
    path: Path


class Delete(Tool[DeleteArguments]):
    name = "delete"
    description = "Delete one file, which must have been read first. Folders are refused."
    kind = "delete"
    parameters = DeleteArguments

    async def plan(self, arguments: DeleteArguments, files: Files) -> Sequence[Step]:
        return [Step(await files.resolve(arguments.path), DeleteAction())]

    async def execute(self, arguments: DeleteArguments, context: ToolContext) -> ToolOutput:
        [step] = await self.plan(arguments, context.files)
        outcome = await context.apply(step)
        return ToolOutput([text_block(f"Deleted {arguments.path}.")], meta=mutation_meta([outcome]))

    def present_call(self, arguments: Mapping[str, Any], proposed: Sequence[FileChange]) -> ToolCallView:
        return diff_call(file_title("Delete", arguments), arguments, proposed, kind="delete")

    def present_result(self, arguments: Mapping[str, Any], result: ToolResult) -> ToolResultView | None:
        return diff_result(file_title("Delete", arguments), result)


class MoveArguments(Parameters):
    path: Path
    to: Annotated[Path, Field(description="The new path; nothing may be there. Missing folders are made.")]


class Move(Tool[MoveArguments]):
    name = "move"
    description = "Move or rename one file, which must have been read first. The new path must be free. No folders."
    kind = "move"
    parameters = MoveArguments

    async def plan(self, arguments: MoveArguments, files: Files) -> Sequence[Step]:
        source = await files.resolve(arguments.path)
        target = await files.resolve(arguments.to)
        if source.key == target.key:
            # Renaming a file onto itself through another spelling would end with the file deleted.
            raise ToolError(
                "NO_CHANGE", f"{arguments.path} and {arguments.to} are the same file.", "Give another path."
            )
        return [Step(source, MoveAction(target))]

    async def execute(self, arguments: MoveArguments, context: ToolContext) -> ToolOutput:
        [step] = await self.plan(arguments, context.files)
        outcome = await context.apply(step)
        return ToolOutput([text_block(f"Moved {arguments.path} to {arguments.to}.")], meta=mutation_meta([outcome]))

    def present_call(self, arguments: Mapping[str, Any], proposed: Sequence[FileChange]) -> ToolCallView:
        return diff_call(_move_title(arguments), arguments, proposed, kind="move")

    def present_result(self, arguments: Mapping[str, Any], result: ToolResult) -> ToolResultView | None:
        return diff_result(_move_title(arguments), result)


def _move_title(arguments: Mapping[str, Any]) -> str:
    return " ".join(filter(None, ("Move", logged_text(arguments, "path"), "→", logged_text(arguments, "to"))))
