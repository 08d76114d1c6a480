"""Runs the calls of one assistant message: checked, proposed, approved, executed, and every one of them ended.

The order that keeps the log true. Every call is recorded with its proposal before any of them runs. Calls that touch a
file in common run in the order of the message, each proposed on what the one before has left; the others run side by
side. Results are recorded in the order of the message. Whatever happens, no call stays open: a fault or a cancellation
ends it, with exactly the changes that are on the disk.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from redline.files.error import FileError
from redline.files.seam import Files
from redline.sessions.store import StoreError
from redline.tools.call import RunningCall
from redline.tools.call_events import CallEvents, as_events_hold
from redline.tools.ending import CANCELLED, Ending, Problem, Status, said_of, tool_fault
from redline.tools.formatter import Formatters
from redline.tools.knowledge import Knowledge
from redline.tools.mutation import Journal, to_its_end
from redline.tools.recorder import Recorder
from redline.tools.sight import Sight
from redline.tools.slot import Call as Call
from redline.tools.slot import Slot, find_touched, loggable, meet, parsed, validated
from redline.tools.tool import ContentBlock, Tool, ToolError, Toolset, text_block
from redline.workspace.store import ByteStore

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence
    from pathlib import Path

    from redline.changes.record import FileChange
    from redline.sessions.log import SessionLog
    from redline.sessions.redaction import Redactor
    from redline.tools.permission import Permission
    from redline.workspace.observe import Observer

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What one call gave. The content is for the model, and true: the log holds it masked."""

    call: Call
    content: Sequence[ContentBlock]
    is_error: bool
    status: Status
    changes: Sequence[FileChange]
    error: Problem | None
    warnings: Sequence[str] = ()


class Runner:
    """Runs calls in one session. One at a time: `run` is not for two messages at once."""

    def __init__(
        self,
        toolset: Toolset,
        files: Files,
        store: ByteStore,
        log: SessionLog,
        permission: Permission,
        redactor: Redactor,
        *,
        workspace: Path,
        observer: Observer | None = None,
        formatters: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """`observer`: finds what calls change behind the seam; None: nobody looks. `formatters`: commands by pattern of
        paths, as for `Formatters`."""
        self.knowledge = Knowledge()
        self.sight = Sight(observer, log) if observer is not None else None
        self._toolset = toolset
        self._log = log
        self._permission = permission
        self._workspace = workspace
        self._formatters = Formatters(formatters or {}, workspace)
        self._recorder = Recorder(redactor, store.sink(log.session))
        told = self.sight.landed if self.sight is not None else None
        self._journal = Journal(files, store, log, self._recorder, told)
        self._events = CallEvents(log, store, self._recorder)

    def add(self, tools: Sequence[Tool[Any]]) -> Toolset:
        """Let calls use further tools from now on; all that there are then."""
        self._toolset = Toolset((*self._toolset.tools, *tools))
        return self._toolset

    async def restore(self) -> None:
        """After a restart: take from the log what the model has read and written."""
        await self.knowledge.restore(self._log.events())

    async def run(self, turn: int, calls: Sequence[Call]) -> list[CallResult]:
        """Run the calls of one message; one result each, in their order.

        Raises `StoreError` where the log takes no `tool/call`, before anything was executed. When cancelled, calls that
        run are ended and recorded as cancelled, and so are those that have not begun; then it raises CancelledError.
        """
        if self.sight is not None:
            await self.sight.ready()
        slots = [self._slot(turn, call) for call in calls]
        tasks: list[asyncio.Task[Ending]] = []
        results: list[CallResult] = []
        try:
            await self._prepare(slots)
            await to_its_end(self._open_all(turn, slots))
            tasks = [asyncio.create_task(self._execute(slots, slot)) for slot in slots]
            for slot, task in zip(slots, tasks, strict=True):
                await asyncio.wait({task})
                recording = self._close(turn, slot, task.result())
                await to_its_end(_appended(results, recording))
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await to_its_end(self._close_rest(turn, slots[len(results) :], tasks[len(results) :]))
            raise
        finally:
            for task in tasks:
                task.cancel()
        return results

    # Before anything runs.

    def _slot(self, turn: int, call: Call) -> Slot:
        given, arguments = parsed(call.arguments)
        slot = Slot(call, loggable(given), self._toolset.by_name.get(call.name))
        if slot.tool is None:
            names = ", ".join(sorted(self._toolset.by_name))
            slot.problem = Problem("INVALID_ARGUMENTS", f"There is no tool {call.name!r}.", f"Use one of: {names}.")
        elif isinstance(arguments, Problem):
            slot.problem = arguments
        else:
            valid = validated(slot.tool, arguments)
            if isinstance(valid, Problem):
                slot.problem = valid
            else:
                slot.running = self._running(turn, slot, valid)
                slot.problem = self._masked_command(slot)
        return slot

    def _running(self, turn: int, slot: Slot, arguments: BaseModel) -> RunningCall:
        assert slot.tool is not None
        sight = self.sight if slot.tool.touches_workspace else None
        return RunningCall(
            turn=turn,
            identity=slot.call.id,
            tool=slot.tool,
            given=slot.given,
            arguments=arguments,
            journal=self._journal,
            knowledge=self.knowledge,
            permission=self._permission,
            workspace=self._workspace,
            formatters=self._formatters,
            about_to_run=None if sight is None else lambda: sight.tell(turn),
        )

    def _masked_command(self, slot: Slot) -> Problem | None:
        """A command with a mask in it would not do what it seems to: it holds no secret, only its placeholder."""
        if slot.tool is None or slot.tool.kind != "execute" or not self._recorder.holds_mask(slot.given):
            return None
        return Problem(
            "MASKED",
            "The arguments hold a mask where a secret was hidden; it is not the secret.",
            "Use a command that takes the secret from its file or from the environment.",
        )

    async def _prepare(self, slots: Sequence[Slot]) -> None:
        """Find out who touches what, and propose the calls that wait for nobody."""
        await _side_by_side([find_touched(slot) for slot in slots if slot.problem is None])
        for number, slot in enumerate(slots):
            if slot.problem is None:
                slot.after = [
                    earlier for earlier in range(number) if not slots[earlier].problem and meet(slots[earlier], slot)
                ]
        await _side_by_side([self._propose(slot) for slot in slots if slot.problem is None and not slot.after])

    async def _propose(self, slot: Slot) -> None:
        assert slot.running is not None
        try:
            slot.proposed = await slot.running.propose(None if slot.after else slot.steps)
        except (ToolError, FileError) as error:
            slot.problem = self._told(Problem(error.code, error.message, error.remedy))
        except Exception as fault:
            slot.problem = self._told(tool_fault(slot.call.name, fault))

    def _told(self, problem: Problem) -> Problem:
        """An error text may quote lines of a file; it quotes no secret."""
        return replace(problem, message=self._recorder.masked(problem.message))

    async def _open_all(self, turn: int, slots: Sequence[Slot]) -> None:
        try:
            for slot in slots:
                await self._events.open(turn, slot)
        except StoreError as error:
            problem = Problem(error.code, f"The log could not take all calls of this message: {error.message}")
            for slot in slots:
                if slot.opened:
                    await self._close(turn, slot, refused(problem))
            raise

    # The run.

    async def _execute(self, slots: Sequence[Slot], slot: Slot) -> Ending:
        """Never raises `Exception`."""
        try:
            for earlier in slot.after:
                await slots[earlier].done.wait()
            if slot.after and slot.problem is None:
                await self._propose_late(slot)
            if slot.problem is not None or slot.running is None:
                return refused(slot.problem or CANCELLED)
            if self.sight is None or not slot.running.tool.touches_workspace:
                return await slot.running.run()
            ending = await slot.running.run()
            return await to_its_end(self._with_found(slot.running, ending))
        except asyncio.CancelledError:
            return refused(CANCELLED, "cancelled")
        except StoreError as error:
            return refused(Problem(error.code, error.message, error.remedy))
        except Exception as fault:
            return refused(self._told(tool_fault(slot.call.name, fault)))
        finally:
            slot.done.set()

    async def _with_found(self, running: RunningCall, ending: Ending) -> Ending:
        """The ending of a call that may have changed files behind the seam, with what it changed."""
        assert self.sight is not None
        if ending.status == "rejected":
            return ending
        changes = [*ending.changes, *await self.sight.of_call(running.turn, running.id)]
        if ending.error is not None:
            return replace(ending, changes=changes, content=[text_block(f"{ending.error}\n{said_of(changes)}")])
        return replace(ending, changes=changes)

    async def _propose_late(self, slot: Slot) -> None:
        """Of a call that waited: its proposal, on what the calls before it have left."""
        assert slot.running is not None
        await self._propose(slot)
        if slot.proposed:
            await slot.running.propose_again(as_events_hold(slot.proposed))

    async def _close_rest(self, turn: int, slots: Sequence[Slot], tasks: Sequence[asyncio.Task[Ending]]) -> None:
        """After a cancellation: wait until nothing runs any more, then record every call that has no result."""
        if tasks:
            await asyncio.wait(tasks)
        for number, slot in enumerate(slots):
            ending = refused(CANCELLED, "cancelled")
            if number < len(tasks) and not tasks[number].cancelled():
                ending = tasks[number].result()
            try:
                await self._events.open(turn, slot)
            except StoreError as error:  # the cancellation is what the caller waits for
                _log.warning("the cancelled call %s was not recorded: %s", slot.call.id, error)
            else:
                await self._close(turn, slot, ending)

    async def _close(self, turn: int, slot: Slot, ending: Ending) -> CallResult:
        warnings = await self._events.close(turn, slot, ending)
        if self.sight is not None and slot.tool is not None and slot.tool.touches_workspace:
            await self.sight.recorded()
        is_error = ending.status != "completed"
        return CallResult(slot.call, ending.content, is_error, ending.status, ending.changes, ending.error, warnings)


def refused(problem: Problem, status: Status = "failed") -> Ending:
    """The ending of a call that never ran."""
    return Ending(status, [text_block(f"{problem}\n{said_of(())}")], problem)


async def _side_by_side(works: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Most messages have one call, which needs no task of its own."""
    if len(works) == 1:
        await works[0]
    else:
        await asyncio.gather(*works)


async def _appended(results: list[CallResult], recording: Any) -> None:
    results.append(await recording)
