"""`apply_patch`: several files at once, all or none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from pydantic import Field

from redline.changes.envelope import Section, is_envelope, read_envelope
from redline.changes.parse import parse
from redline.changes.record import FileChange, Hunk
from redline.files.error import FileError
from redline.files.seam import Delete, Files, Move, Outcome, Target, WriteBytes
from redline.tools.diff_card import diff_call, diff_result, mutation_meta
from redline.tools.fitting import Piece, fitted
from redline.tools.parameters import Parameters
from redline.tools.tool import Step, Tool, ToolContext, ToolError, ToolOutput, ToolResult, text_block
from redline.views import ToolCallView, ToolResultView


class PatchArguments(Parameters):
    patch: str = Field(min_length=1, description="The patch, from its first header to its last line.")


class ApplyPatch(Tool[PatchArguments]):
    name = "apply_patch"
    description = (
        "Apply a patch to one or more files: all of it, or nothing if one hunk does not fit. Takes a unified or git "
        "diff, or the form from '*** Begin Patch' to '*** End Patch' with '*** Add File: ', '*** Update File: ' "
        "(and '*** Move to: ') and '*** Delete File: '. Existing files must have been read first. Context lines must "
        "be exact; a hunk whose line number is wrong must fit one place only. Binary patches are refused."
    )
    kind = "edit"
    parameters = PatchArguments

    async def plan(self, arguments: PatchArguments, files: Files) -> Sequence[Step]:
        desk = _Desk(files)
        for wish in _wishes(arguments.patch):
            await desk.carry_out(wish)
        return desk.steps()

    async def execute(self, arguments: PatchArguments, context: ToolContext) -> ToolOutput:
        outcomes = await context.apply_all(await self.plan(arguments, context.files))
        meta = mutation_meta(outcomes)
        if meta and "unchanged" in meta:
            return ToolOutput([text_block("Unchanged: the files already are as the patch would make them.")], meta=meta)
        return ToolOutput([text_block("\n".join(map(_sentence, outcomes)))], meta=meta)

    def present_call(self, arguments: Mapping[str, Any], proposed: Sequence[FileChange]) -> ToolCallView:
        return diff_call(_title(proposed), arguments, proposed)

    def present_result(self, _arguments: Mapping[str, Any], result: ToolResult) -> ToolResultView | None:
        return diff_result(_title(result.changes), result)


@dataclass(frozen=True, slots=True)
class _Wish:
    """What a patch wants of one file, whichever form it was written in."""

    operation: str
    """add, modify or delete."""
    path: str
    pieces: tuple[Piece, ...] = ()
    move_to: str | None = None
    final_newline: bool | None = None
    executable: bool | None = None


def _wishes(patch: str) -> list[_Wish]:
    """Raises `ToolError` INVALID_PATCH."""
    try:
        if is_envelope(patch):
            wishes = [_of_section(section) for section in read_envelope(patch)]
        else:
            wishes = [_of_change(change) for change in parse(patch)]
    except ValueError as error:
        raise ToolError("INVALID_PATCH", f"The patch cannot be read: {error}.", "Write it again, whole.") from None
    if not wishes:
        raise ToolError("INVALID_PATCH", "The patch names no file.", "Write it again, whole.")
    return wishes


def _of_section(section: Section) -> _Wish:
    pieces = tuple(Piece(chunk.lines, None, chunk.anchors, chunk.at_end) for chunk in section.chunks)
    operation = "modify" if section.operation == "update" else section.operation
    return _Wish(operation, section.path, pieces, section.move_to)


def _of_change(change: FileChange) -> _Wish:
    """Raises ValueError for what cannot be applied."""
    if change.file_type != "text":
        raise ValueError(f"{change.path} is a binary or copied file in it, which is not supported")
    if change.truncated:
        raise ValueError(f"it was shortened at {change.path}")
    before, after = change.before, change.after
    unfinished = any(side is not None and not side.final_newline for side in (before, after))
    modes = (before is not None and before.executable, after is not None and after.executable)
    return _Wish(
        "modify" if change.operation == "move" else change.operation,
        change.old_path or change.path,
        tuple(_piece(hunk, anchored=change.anchored) for hunk in change.hunks),
        change.path if change.old_path is not None else None,
        after.final_newline if unfinished and after is not None else None,
        modes[1] if modes[0] != modes[1] and change.operation != "delete" else None,
    )


def _piece(hunk: Hunk, *, anchored: bool) -> Piece:
    start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
    return Piece(hunk.lines, start if anchored else None)


@dataclass(slots=True)
class _Sheet:
    """One file while a patch is worked out: what is on the disk, and what is to be there."""

    target: Target
    before: bytes | None
    after: bytes | None
    executable: bool | None = None
    moved_to: Target | None = None
    """It only moves there (with `after`), and nothing else touches either path."""
    touched: bool = False


class _Desk:
    """Works out a whole patch without touching a file, so that several sections on one file become one step."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._sheets: dict[str, _Sheet] = {}

    async def carry_out(self, wish: _Wish) -> None:
        """Raises `FileError`."""
        sheet = await self._sheet(wish.path)
        if wish.operation == "add":
            if sheet.after is not None:
                raise FileError(
                    "EXISTS", f"{wish.path} exists already.", "Read it and update it, or choose another path."
                )
            sheet.after = await self._fitted(wish, b"")
        elif sheet.after is None:
            raise FileError("NOT_FOUND", f"{wish.path} does not exist.", "Check the path, or add the file.")
        elif wish.operation == "delete":
            if wish.pieces and await self._fitted(wish, sheet.after):
                raise FileError("NO_MATCH", f"{wish.path} has lines that the patch does not delete.", "Read it again.")
            sheet.after = None
        else:
            sheet.after = await self._fitted(wish, sheet.after)
        if wish.executable is not None:
            sheet.executable = wish.executable
        if wish.move_to is not None:
            await self._move(sheet, wish.move_to)
        sheet.touched = True

    async def _move(self, sheet: _Sheet, path: str) -> None:
        there = await self._sheet(path)
        if there is sheet:
            return  # another spelling of the same file: it stays where it is
        if there.after is not None:
            raise FileError("EXISTS", f"{path} exists already.", "Choose another path, or delete it first.")
        plain = not sheet.touched and not there.touched and there.before is None and sheet.executable is None
        there.after, there.executable = sheet.after, sheet.executable
        there.touched = True
        if plain:
            sheet.moved_to = there.target
        sheet.after = None

    def steps(self) -> list[Step]:
        """One a file, in the order of the patch."""
        taken = {sheet.moved_to.key for sheet in self._sheets.values() if sheet.moved_to is not None}
        return [self._step(sheet) for key, sheet in self._sheets.items() if key not in taken and _matters(sheet)]

    def _step(self, sheet: _Sheet) -> Step:
        if sheet.moved_to is not None:
            data = self._sheets[sheet.moved_to.key].after
            return Step(sheet.target, Move(sheet.moved_to, None if data == sheet.before else data))
        if sheet.after is None:
            return Step(sheet.target, Delete())
        return Step(sheet.target, WriteBytes(sheet.after, sheet.executable))

    async def _fitted(self, wish: _Wish, before: bytes) -> bytes:
        new = wish.final_newline if wish.final_newline is not None or before else True
        return await asyncio.to_thread(fitted, wish.path, before, wish.pieces, new)

    async def _sheet(self, path: str) -> _Sheet:
        target = await self._files.resolve(path)
        if target.key not in self._sheets:
            stat = await self._files.stat(target)
            data = None
            if stat is not None:
                content = await self._files.read(target)
                if content.data is None:
                    raise FileError(
                        "TOO_LARGE", f"{path} has {content.size} bytes, too many to patch.", "Use a command."
                    )
                data = content.data
            self._sheets[target.key] = _Sheet(target, data, data)
        return self._sheets[target.key]


def _matters(sheet: _Sheet) -> bool:
    return sheet.before is not None or sheet.after is not None


def _title(changes: Sequence[FileChange]) -> str:
    if len(changes) == 1:
        return f"Patch {PurePath(changes[0].path).name}"
    return f"Patch {len(changes)} files" if changes else "Apply a patch"


def _sentence(outcome: Outcome) -> str:
    path = outcome.target.path
    if outcome.moved_to is not None:
        edited = outcome.before is not None and outcome.after is not None and outcome.before.blob != outcome.after.blob
        return f"Moved{' and changed' if edited else ''} {path} to {outcome.moved_to.path}."
    verb = {"create": "Created", "update": "Changed", "delete": "Deleted"}[outcome.operation]
    return f"{verb} {path}."
