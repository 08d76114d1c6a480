"""One running call: what it may do, what it did, and how it ended.

The call is the tool's `ToolContext`. Whatever way it ends, its ending holds exactly the changes that are on the disk.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redline.changes.record import FileChange
from redline.files.error import FileError
from redline.files.seam import Blob, Content, Files, Outcome, Target, Write, WriteBytes
from redline.sessions.gate import GateError, check
from redline.sessions.store import StoreError
from redline.tools.approval import Approval, NotApprovedError, has_moved_on, is_computed, no_longer_fits
from redline.tools.ending import CANCELLED, REFUSALS, Ending, Problem, Status, named, said_of, tool_fault
from redline.tools.formatter import FormatterFailedError, Formatters
from redline.tools.landed import inverse, net
from redline.tools.lasting import GONE, is_gone
from redline.tools.mutation import Journal, Landed, to_its_end
from redline.tools.proposal import Proposal, unchanged
from redline.tools.tool import ContentBlock, Step, Tool, ToolError, ToolOutput, ToolResult, text_block

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel

    from redline.tools.knowledge import Knowledge
    from redline.tools.permission import Permission

_log = logging.getLogger(__name__)

_ASK_AGAIN = 5
"""Times that a file may change between the answer and the write before the call gives up."""
_OUTPUT_TAIL = 4096
"""Characters of live output that an update holds."""
_OUTPUT_PAUSE = 1.0
"""Seconds between two updates of live output."""


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
        self.given = given
        """The arguments as the model sent them: JSON."""
        self._arguments = arguments
        self._journal = journal
        self._knowledge = knowledge
        self._workspace = workspace
        self._formatters = formatters
        self._about_to_run = about_to_run
        self._landed: list[Landed] = []
        self._seen: dict[str, Blob] = {}
        self._warnings: list[str] = []
        self._told: list[str] = []
        self._approval = Approval(
            turn=turn, call=identity, tool=tool, given=given, journal=journal, knowledge=knowledge,
            permission=permission, warnings=self._warnings,
        )  # fmt: skip
        self._output = ""
        self._output_at = 0.0

    # Before the call runs.

    async def plan(self) -> Sequence[Step]:
        """Raises `FileError`, `ToolError`, or whatever the tool gets wrong."""
        return await self.tool.plan(self._arguments, self.files)

    async def reads(self) -> Sequence[Target] | None:
        return await self.tool.reads(self._arguments, self.files)

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
            output = await self.tool.execute(self._arguments, self)
            formatted = await self._format()
            notes = [*self._told, *(note for landed in self._landed for note in landed.outcome.notes)]
            said = [*map(text_block, notes), *formatted]
            return await self._completed(output if isinstance(output, ToolOutput) else ToolOutput(output), said)
        except NotApprovedError as refusal:
            return await self.ended(*REFUSALS[refusal.outcome])
        except (ToolError, FileError, StoreError) as error:
            return await self.ended("failed", Problem(error.code, error.message, error.remedy))
        except asyncio.CancelledError:
            return await self.ended("cancelled", CANCELLED)
        except Exception as fault:
            return await self.ended("failed", tool_fault(self.tool.name, fault))

    async def ended(self, status: Status, problem: Problem) -> Ending:
        """An ending with an error, told to the model with what is on the disk all the same."""
        changes = await self._changes()
        problem = replace(problem, message=self._journal.recorder.masked(problem.message))
        text = f"{problem}\n{said_of(changes)}"
        return Ending(status, [text_block(text)], problem, changes, self._seen, None, self._warnings)

    async def _completed(self, output: ToolOutput, said: Sequence[ContentBlock] = ()) -> Ending:
        """`said`: what the model should hear beside the tool's own words."""
        changes = await self._changes()
        reported: Sequence[Any] = output.changes
        for change in reported:
            if isinstance(change, FileChange):
                changes.append(self._journal.recorder.cut(change))
            else:
                self._warnings.append(f"A change of the tool {self.tool.name!r} was dropped: it is no FileChange.")
        blocks: Sequence[Any] = output.content
        content = [block for block in blocks if isinstance(block, Mapping)]
        if len(content) < len(blocks):
            self._warnings.append(f"Content of the tool {self.tool.name!r} was dropped: a block must be a mapping.")
        meta = self._checked(output, changes)
        return Ending("completed", [*content, *said], None, changes, self._seen, meta, self._warnings)

    async def _format(self) -> list[ContentBlock]:
        """Run the user's formatters on the files that the call has changed, and apply what they make of them as further
        changes of the call. Whatever goes wrong costs a warning. What the model should hear of it."""
        last: dict[str, tuple[Target, Content | None]] = {}
        for landed in self._landed:
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
                await self._journal.apply(
                    step, turn=self.turn, call=self.id, expected=content.blob, landed=self._note_landed
                )
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
        arguments = self.given if isinstance(self.given, Mapping) else {}
        try:
            self.tool.present_result(arguments, ToolResult(output.content, False, changes, meta))
        except Exception as fault:
            self._warnings.append(f"The tool's card could not be drawn ({named(fault)}); the plain one is shown.")
        return meta

    async def _changes(self) -> list[FileChange]:
        """What landed, one change a file: several to one file are told as one, from its first bytes to its last."""
        landed = self._landed
        return await net([item.outcome for item in landed], [item.change for item in landed], self._journal.recorder)

    # What the tool may use: `ToolContext`.

    @property
    def workspace(self) -> Path:
        return self._workspace

    @property
    def files(self) -> Files:
        return self._journal.files

    async def apply(self, step: Step) -> Outcome:
        proposal = self._approval.take(step)
        for _ in range(_ASK_AGAIN):
            # Whoever approved a state that is no more is asked about the new one. Without an answer to stand on, the
            # rule of what the model has seen holds.
            asked = proposal is not None and proposal.change is not None
            if proposal is None or proposal.outdated:
                proposal = await self._approval.ask_anew(step, asked=asked)
            try:
                return await self._apply(step, proposal)
            except FileError as error:
                if error.code != "STALE" or is_computed(step.action):
                    raise
                proposal = replace(proposal, outdated=True)
        raise _keeps_changing(step)

    async def apply_all(self, steps: Sequence[Step]) -> Sequence[Outcome]:
        first = len(self._landed)
        try:
            return [await self.apply(step) for step in steps]
        except (Exception, asyncio.CancelledError):
            await to_its_end(self._take_back(first))
            raise

    async def read(self, target: Target, limit: int | None = None) -> Content:
        content = await self.files.read(target, limit)
        if await is_gone(content, self._knowledge.written(target.key), self._journal.kept):
            self._told.append(GONE.format(path=target.path))
            self._warnings.append(self._told[-1])
            self._knowledge.lose(target.key)
        self._see(target.key, content.blob)
        return content

    async def progress(self, text: str) -> None:
        self._output = (self._output + text)[-_OUTPUT_TAIL:]
        now = time.monotonic()
        if now - self._output_at >= _OUTPUT_PAUSE:
            self._output_at = now
            data = {"turn": self.turn, "call": self.id, "status": "running", "content": [text_block(self._output)]}
            try:
                await self._journal.log.append("tool/update", data)
            except StoreError as error:  # the result still has the whole output
                _log.warning("live output of the call %s was not recorded: %s", self.id, error)

    # Parts of the above.

    async def _plan_again(self) -> None:
        """Whoever approved what was computed from a state that is no more is asked about what comes of the new one.
        Raises as `plan`, and `NotApprovedError`."""
        asked = 1
        while (outdated := await self._approval.outdated()) is not None:
            if asked == _ASK_AGAIN:
                raise _keeps_changing(outdated.step)
            asked += 1
            try:
                await self._approval.ask_again(await self.plan())
            except (FileError, ToolError) as error:
                if has_moved_on(error):
                    raise no_longer_fits(outdated.step) from error
                raise

    async def _apply(self, step: Step, proposal: Proposal) -> Outcome:
        outcome = await self._journal.apply(
            step,
            turn=self.turn,
            call=self.id,
            expected=proposal.expected,
            landed=self._note_landed,
            foreseen=proposal.outcome,
        )
        if unchanged(outcome) and outcome.after is not None and isinstance(step.action, Write | WriteBytes):
            self._see(outcome.target.key, outcome.after.blob)  # whoever gave the whole text knows what is there
        return outcome

    def _note_landed(self, landed: Landed) -> None:
        self._landed.append(landed)
        self._warnings += landed.warnings
        outcome = landed.outcome
        self._knowledge.change(self.id, outcome)
        if outcome.after is None:
            return
        if outcome.moved_to is None:
            self._see(outcome.target.key, outcome.after.blob)
        elif outcome.before is not None and self._knowledge.get(outcome.target.key) == outcome.before.blob:
            self._see(outcome.moved_to.key, outcome.after.blob)

    def _see(self, key: str, blob: Blob) -> None:
        self._knowledge.see(key, blob)
        self._seen[key] = blob

    async def _take_back(self, first: int) -> None:
        """Undo what landed from `first` on, newest first; what cannot be taken back stays."""
        for landed in reversed(self._landed[first:]):
            taking_back = inverse(landed.outcome)
            if taking_back is None:
                self._warnings.append(f"{landed.outcome.target.path} could not be taken back: its bytes are not kept.")
                continue
            step, expected = taking_back
            try:
                await self._journal.apply(
                    step,
                    turn=self.turn,
                    call=self.id,
                    expected=expected,
                    landed=self._note_landed,
                    check_masks=False,
                )
            except (FileError, ToolError) as error:
                self._warnings.append(f"{step.target.path} could not be taken back: {error}")


def _keeps_changing(step: Step) -> FileError:
    return FileError("STALE", f"{step.target.path} keeps changing.", "Wait for whatever writes it, then read it again.")
