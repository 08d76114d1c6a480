"""`write`: the whole text of one file, new or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from redline.changes.record import FileChange
from redline.files.seam import Content, Files, Outcome
from redline.files.seam import Write as WriteAction
from redline.tools.counting import counted
from redline.tools.diff_card import LARGE_CUT_LINES, diff_call, diff_result, file_title, mutation_meta
from redline.tools.parameters import Parameters, Path
from redline.tools.tool import Step, Tool, ToolContext, ToolOutput, ToolResult, text_block
from redline.views import ToolCallView, ToolResultView


class WriteArguments(Parameters):
    path: Path
    content: str = Field(description="The whole text of the file, from its first line to its last.")


class Write(Tool[WriteArguments]):
    name = "write"
    description = (
        "Create a file, or replace all of an existing one, with exactly the text given. Missing folders are made. "
        "An existing file must have been read first. Give every line: a placeholder such as '... rest unchanged' is "
        "written literally and loses the rest. To change part of a file use edit."
    )
    kind = "edit"
    parameters = WriteArguments

    async def plan(self, arguments: WriteArguments, files: Files) -> Sequence[Step]:
        return [Step(await files.resolve(arguments.path), WriteAction(arguments.content))]

    async def execute(self, arguments: WriteArguments, context: ToolContext) -> ToolOutput:
        [step] = await self.plan(arguments, context.files)
        outcome = await context.apply(step)
        meta = mutation_meta([outcome])
        if meta and "unchanged" in meta:
            return ToolOutput([text_block(f"Unchanged: {arguments.path} already held exactly this text.")], meta=meta)
        return ToolOutput([text_block(_sentence(arguments.path, outcome))], meta=meta)

    def present_call(self, arguments: Mapping[str, Any], proposed: Sequence[FileChange]) -> ToolCallView:
        return diff_call(file_title("Write", arguments), arguments, proposed)

    def present_result(self, arguments: Mapping[str, Any], result: ToolResult) -> ToolResultView | None:
        return diff_result(file_title("Write", arguments), result)


def _sentence(path: str, outcome: Outcome) -> str:
    now = _lines(outcome.after)
    if outcome.before is None:
        return f"Created {path}" + (f" ({counted(now, 'line')})." if now is not None else ".")
    was = _lines(outcome.before)
    if was is None or now is None:
        return f"Replaced {path}."
    said = f"Replaced {path} ({counted(was, 'line')} before, {now} now)."
    if was - now >= LARGE_CUT_LINES and now * 2 <= was:
        said += " Large cut: if you left lines out for brevity, they are gone from the file; write them back."
    return said


def _lines(content: Content | None) -> int | None:
    """None where the bytes were too many to keep."""
    if content is None or content.data is None:
        return None
    return content.data.count(b"\n") + (not content.data.endswith((b"\n",)) and bool(content.data))
