"""One running call: planned, proposed, asked about, executed, and how it ended.

Whatever way it ends, its ending holds exactly the changes that are on the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redline.changes.record import FileChange
from redline.files.error import FileError
from redline.files.seam import Content, Target, WriteBytes
from redline.sessions.gate import GateError, check
from redline.sessions.store import StoreError
from redline.tools.approval import ASK_AGAIN, Approval, NotApprovedError, has_moved_on, keeps_changing, no_longer_fits
from redline.tools.context import CallContext
from redline.tools.ending import CANCELLED, REFUSALS, Ending, Problem, Status, named, said_of, tool_fault
from redline.tools.formatter import FormatterFailedError, Formatters
from redline.tools.mutation import Journal
from redline.tools.tool import ContentBlock, Step, Tool, ToolError, ToolOutput, ToolResult, text_block

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel

    from redline.tools.knowledge import Knowledge
    from redline.tools.permission import Permission


class RunningCall:
    """A call of a known tool with valid arguments."""

    def __init__(
        self,
        *,
        turn: int,
        identity: str,
        tool: Tool[Any],
        given: Any,
        arguments: BaseModel,
        journal: Journal,
        knowledge: Knowledge,
        permission: Permission,
        workspace: Path,
        formatters: Formatters,
        about_to_run: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`about_to_run`: awaited once the call may run, just before it does."""
        self.turn = turn
        self.id = identity
        self.tool = tool
        self._given = given
        """The arguments as the model sent them: JSON."""
        self._arguments = arguments
        self._files = journal.files
        self._recorder = journal.recorder
        self._formatters = formatters
        self._about_to_run = about_to_run
        self._warnings: list[str] = []
        self._approval = Approval(
            turn=turn, call=identity, tool=tool, given=given, journal=journal, knowledge=knowledge,
            permission=permission, warnings=self._warnings,
        )  # fmt: skip
        self._context = CallContext(
            turn=turn, call=identity, journal=journal, knowledge=knowledge, approval=self._approval,
            workspace=workspace, warnings=self._warnings,
        )  # fmt: skip

    # Before the call runs.

    async def plan(self) -> Sequence[Step]:
        """Raises `FileError`, `ToolError`, or whatever the tool gets wrong."""
        return await self.tool.plan(self._arguments, self._files)

    async def reads(self) -> Sequence[Target] | None:
        return await self.tool.reads(self._arguments, self._files)

    async def propose(self, steps: Sequence[Step] | None = None) -> list[FileChange]:
        """The proposal of the whole call, against the files as they are now. `steps`: its plan, where that was just
        made. Raises as `plan` does."""
        return await self._approval.propose(await self.plan() if steps is None else steps)

    async def propose_again(self, changes: list[Any]) -> None:
        """Record a proposal that is newer than the one in `tool/call`."""
        await self._approval.record(changes)

    # The run.

    async def run(self) -> Ending:
        """Ask, execute, and say how it ended. Never raises `Exception`; a cancellation is an ending too."""
        try:
            await self._approval.ask()
            await self._plan_again()
            if self._about_to_run is not None:
                await self._about_to_run()
            output = await self.tool.execute(self._arguments, self._context)
            formatted = await self._format()
            notes = [*self._context.told, *(note for one in self._context.landed for note in one.outcome.notes)]
            said = [*map(text_block, notes), *formatted]
            return await self._completed(output if isinstance(output, ToolOutput) else ToolOutput(output), said)
        except NotApprovedError as refusal:
            return await self._ended(*REFUSALS[refusal.outcome])
        except (ToolError, FileError, StoreError) as error:
            return await self._ended("failed", Problem(error.code, error.message, error.remedy))
        except asyncio.CancelledError:
            return await self._ended("cancelled", CANCELLED)
        except Exception as fault:
            return await self._ended("failed", tool_fault(self.tool.name, fault))

    async def _ended(self, status: Status, problem: Problem) -> Ending:
        """An ending with an error, told to the model with what is on the disk all the same."""
        changes = await self._context.changes()
        problem = replace(problem, message=self._recorder.masked(problem.message))
        text = f"{problem}\n{said_of(changes)}"
        return Ending(status, [text_block(text)], problem, changes, self._context.seen, None, self._warnings)

    async def _completed(self, output: ToolOutput, said: Sequence[ContentBlock] = ()) -> Ending:
        """`said`: what the model should hear beside the tool's own words."""
        changes = await self._context.changes()
        reported: Sequence[Any] = output.changes
        for change in reported:
            if isinstance(change, FileChange):
                changes.append(self._recorder.cut(change))
            else:
                self._warnings.append(f"A change of the tool {self.tool.name!r} was dropped: it is no FileChange.")
        blocks: Sequence[Any] = output.content
        content = [block for block in blocks if isinstance(block, Mapping)]
        if len(content) < len(blocks):
            self._warnings.append(f"Content of the tool {self.tool.name!r} was dropped: a block must be a mapping.")
        meta = self._checked(output, changes)
        return Ending("completed", [*content, *said], None, changes, self._context.seen, meta, self._warnings)

    async def _format(self) -> list[ContentBlock]:
        """Run the user's formatters on the files that the call has changed, and apply what they make of them as further
        changes of the call. Whatever goes wrong costs a warning. What the model should hear of it."""
        last: dict[str, tuple[Target, Content | None]] = {}
        for landed in self._context.landed:
            target = landed.outcome.moved_to or landed.outcome.target
            last[target.key] = target, landed.outcome.after
        said: list[ContentBlock] = []
        for target, content in last.values():
            formatter = self._formatters.of(target.real)
            if formatter is None or content is None or content.text is None or content.data is None:
                continue
            name, place = formatter.name, target.key
            try:
                text = await self._formatters.formatted(formatter, target.real, content.data)
                if text == content.data:
                    continue
                step = Step(target, WriteBytes(text))
                await self._context.apply_unasked(step, content.blob)
            except (FormatterFailedError, FileError, ToolError) as failure:
                why = failure.message if isinstance(failure, (FileError, ToolError)) else str(failure)
                self._warnings.append(f"{place} was not formatted by {name} ({why.rstrip('.')}).")
            except asyncio.CancelledError:  # what the call was about is done
                self._warnings.append(f"{place} was not formatted by {name} (the call was cancelled).")
                break
            else:
                self._warnings.append(f"{place} was formatted by {name}, the formatter that you have configured.")
                said.append(text_block(f"{place} was then formatted by {name}: read it before you edit those lines."))
        return said

    def _checked(self, output: ToolOutput, changes: Sequence[FileChange]) -> Any:
        """The tool's `meta`, or None and a warning where it is no JSON; and a look whether its presenter copes."""
        meta = output.meta
        try:
            check(meta)
        except GateError as error:
            self._warnings.append(f"The tool's presentation data was dropped: {error}.")
            meta = None
        arguments = self._given if isinstance(self._given, Mapping) else {}
        try:
            self.tool.present_result(arguments, ToolResult(output.content, False, changes, meta))
        except Exception as fault:
            self._warnings.append(f"The tool's card could not be drawn ({named(fault)}); the plain one is shown.")
        return meta

    async def _plan_again(self) -> None:
        """Whoever approved what was computed from a state that is no more is asked about what comes of the new one.
        Raises as `plan`, and `NotApprovedError`."""
        asked = 1
        while (outdated := await self._approval.outdated()) is not None:
            if asked == ASK_AGAIN:
                raise keeps_changing(outdated.step)
            asked += 1
            try:
                await self._approval.ask_again(await self.plan())
            except (FileError, ToolError) as error:
                if has_moved_on(error):
                    raise no_longer_fits(outdated.step) from error
                raise
