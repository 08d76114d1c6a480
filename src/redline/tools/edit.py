"""`edit`, `multi_edit` and `insert`: a part of one file.

Matching is literal and done by the file seam, with one matcher for the preview and the edit; nothing here folds quotes,
spaces or Unicode forms. Edits by line number exist so that a line which the reader sees only masked can be changed or
taken out without anybody typing what it holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, model_validator

from redline.changes.record import FileChange
from redline.files.seam import DeleteLines, EditText, Files, Replace
from redline.files.seam import Insert as InsertAction
from redline.files.seam import Write as WriteAction
from redline.tools.diff_card import diff_call, diff_result, file_title, mutation_meta
from redline.tools.parameters import Parameters, Path
from redline.tools.tool import Step, Tool, ToolContext, ToolError, ToolOutput, ToolResult, text_block
from redline.views import ToolCallView, ToolResultView

MAX_EDITS = 500


class Replacement(Parameters):
    """One edit: of a literal text, or of whole lines by number."""

    old_string: str | None = Field(
        None, description="The exact text to replace, with its tabs and spaces, as in the file. Must be unique there."
    )
    new_string: str = Field(description="The text that takes its place, written literally. Empty: delete.")
    replace_all: bool = Field(False, description="Replace every place that holds old_string, not only a unique one.")
    first_line: int | None = Field(
        None, ge=1, description="Instead of old_string: the first line to replace, counted from 1. Needs last_line."
    )
    last_line: int | None = Field(None, ge=1, description="The last line to replace, itself included.")

    @model_validator(mode="after")
    def _one_form(self) -> Replacement:
        by_line = self.first_line is not None and self.last_line is not None
        some_line = self.first_line is not None or self.last_line is not None
        if (self.old_string is None) != by_line or (some_line and not by_line):
            raise ValueError("give either old_string, or both first_line and last_line")
        if by_line and self.replace_all:
            raise ValueError("replace_all goes with old_string, not with lines")
        if self.first_line is not None and self.last_line is not None and self.last_line < self.first_line:
            raise ValueError(f"last_line {self.last_line} is before first_line {self.first_line}")
        return self

    def actions(self) -> list[Replace | InsertAction | DeleteLines]:
        if self.old_string is not None:
            return [Replace(self.old_string, self.new_string, self.replace_all)]
        assert self.first_line is not None
        assert self.last_line is not None
        gone = DeleteLines(self.first_line, self.last_line)
        # The new lines go in after the old ones, which then leave: so they take the ending of what they replace.
        return [InsertAction(self.last_line, self.new_string), gone] if self.new_string else [gone]


class EditArguments(Replacement):
    path: Path


class Edit(Tool[EditArguments]):
    name = "edit"
    description = (
        "Replace a text in one file, which must have been read first. old_string is matched literally and must occur "
        "exactly once, unless replace_all is true; add neighbouring lines to make it unique. Do not include the "
        "line numbers that read shows. Or replace whole lines by first_line and last_line, for instance a line that "
        "is shown masked. An empty old_string is allowed only for a missing or empty file."
    )
    kind = "edit"
    parameters = EditArguments

    async def plan(self, arguments: EditArguments, files: Files) -> Sequence[Step]:
        target = await files.resolve(arguments.path)
        if arguments.old_string == "":
            stat = await files.stat(target)
            if stat is not None and not (stat.kind == "file" and stat.size == 0):
                raise ToolError(
                    "NO_MATCH",
                    f"An empty old_string matches nothing in {arguments.path}, which is not empty.",
                    "Give the text to replace, use insert to add lines, or write to replace the whole file.",
                )
            return [Step(target, WriteAction(arguments.new_string))]
        return [Step(target, EditText(arguments.actions()))]

    async def execute(self, arguments: EditArguments, context: ToolContext) -> ToolOutput:
        return await _apply(arguments.path, await self.plan(arguments, context.files), context)

    def present_call(self, arguments: Mapping[str, Any], proposed: Sequence[FileChange]) -> ToolCallView:
        return diff_call(file_title("Edit", arguments), arguments, proposed)

    def present_result(self, arguments: Mapping[str, Any], result: ToolResult) -> ToolResultView | None:
        return diff_result(file_title("Edit", arguments), result)


class MultiEditArguments(Parameters):
    path: Path
    edits: list[Replacement] = Field(
        min_length=1,
        max_length=MAX_EDITS,
        description="In order; each sees the result of those before it, line numbers included.",
    )


class MultiEdit(Tool[MultiEditArguments]):
    name = "multi_edit"
    description = (
        f"Several edits of one file (up to {MAX_EDITS}), which must have been read first: all of them, or none if one "
        "does not match. Each follows the rules of edit and sees the result of those before it."
    )
    kind = "edit"
    parameters = MultiEditArguments

    async def plan(self, arguments: MultiEditArguments, files: Files) -> Sequence[Step]:
        edits = [action for edit in arguments.edits for action in edit.actions()]
        return [Step(await files.resolve(arguments.path), EditText(edits))]

    async def execute(self, arguments: MultiEditArguments, context: ToolContext) -> ToolOutput:
        return await _apply(arguments.path, await self.plan(arguments, context.files), context)

    def present_call(self, arguments: Mapping[str, Any], proposed: Sequence[FileChange]) -> ToolCallView:
        return diff_call(file_title("Edit", arguments), arguments, proposed)

    def present_result(self, arguments: Mapping[str, Any], result: ToolResult) -> ToolResultView | None:
        return diff_result(file_title("Edit", arguments), result)


class InsertArguments(Parameters):
    path: Path
    line: int = Field(ge=0, description="The new lines go in after this line, counted from 1; 0: at the top.")
    text: str = Field(min_length=1, description="One or more whole lines; a missing line end is added.")


class Insert(Tool[InsertArguments]):
    name = "insert"
    description = "Insert lines after a line of a file, which must have been read first."
    kind = "edit"
    parameters = InsertArguments

    async def plan(self, arguments: InsertArguments, files: Files) -> Sequence[Step]:
        target = await files.resolve(arguments.path)
        return [Step(target, EditText([InsertAction(arguments.line, arguments.text)]))]

    async def execute(self, arguments: InsertArguments, context: ToolContext) -> ToolOutput:
        return await _apply(arguments.path, await self.plan(arguments, context.files), context)

    def present_call(self, arguments: Mapping[str, Any], proposed: Sequence[FileChange]) -> ToolCallView:
        return diff_call(file_title("Insert into", arguments), arguments, proposed)

    def present_result(self, arguments: Mapping[str, Any], result: ToolResult) -> ToolResultView | None:
        return diff_result(file_title("Insert into", arguments), result)


async def _apply(path: str, steps: Sequence[Step], context: ToolContext) -> ToolOutput:
    [step] = steps
    outcome = await context.apply(step)
    meta = mutation_meta([outcome])
    if meta and "unchanged" in meta:
        return ToolOutput([text_block(f"Unchanged: these edits leave {path} as it was.")], meta=meta)
    if outcome.before is None:
        return ToolOutput([text_block(f"Created {path}.")], meta=meta)
    places = f" ({outcome.replacements} places)" if outcome.replacements > 1 else ""
    return ToolOutput([text_block(f"Edited {path}{places}.")], meta=meta)
