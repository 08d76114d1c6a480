"""Runs the calls of one assistant message: checked, proposed, approved, executed, and every one of them ended.

The order that keeps the log true. Every call is recorded with its proposal before any of them runs. Calls that touch a
file in common run in the order of the message, each proposed on what the one before has left; the others run side by
side. Results are recorded in the order of the message. Whatever happens, no call stays open: a fault or a cancellation
ends it, with exactly the changes that are on the disk.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import json
import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ValidationError

from redline.changes.codec import from_json, to_json
from redline.changes.shorten import shortened
from redline.files.error import FileError
from redline.files.seam import Files, Move
from redline.sessions.gate import GateError, as_json
from redline.sessions.store import StoreError
from redline.tools.call import RunningCall
from redline.tools.ending import CANCELLED, Ending, Problem, Status, said_of, tool_fault
from redline.tools.formatter import Formatters
from redline.tools.knowledge import Knowledge, seen_entries
from redline.tools.mutation import Journal, to_its_end
from redline.tools.recorder import Recorder
from redline.tools.sight import Sight
from redline.tools.tool import ContentBlock, Step, Tool, ToolError, Toolset, text_block
from redline.workspace.store import BytesError, ByteStore

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence
    from pathlib import Path

    from redline.changes.record import FileChange
    from redline.sessions.log import SessionLog
    from redline.sessions.redaction import Redactor
    from redline.tools.permission import Permission
    from redline.workspace.observe import Observer

_log = logging.getLogger(__name__)

_EVENT_HUNKS = 4 << 20
"""Bytes of hunks in one event, over all its changes: what an event may hold, less room for the rest."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call as the model made it."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str
    """An object, or the JSON text of one."""


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


@dataclass(slots=True)
class _Slot:
    """One call on its way."""

    call: Call
    given: Any
    """The arguments as they are logged: JSON."""
    tool: Tool[Any] | None = None
    running: RunningCall | None = None
    """None: it cannot run."""
    problem: Problem | None = None
    """Why it cannot run."""
    writes: frozenset[str] | None = frozenset()
    """Keys of the files that it will change; None: unknown, so it might be any."""
    reads: frozenset[str] | None = frozenset()
    steps: Sequence[Step] | None = None
    """As planned before anything of the message ran."""
    after: list[int] = field(default_factory=list)
    """Calls of the same message that must be done first."""
    proposed: list[FileChange] = field(default_factory=list)
    opened: bool = False
    """The `tool/call` event stands."""
    done: asyncio.Event = field(default_factory=asyncio.Event)


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
        self._recorder = Recorder(redactor)
        told = self.sight.landed if self.sight is not None else None
        self._journal = Journal(files, store, log, self._recorder, told)

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

    def _slot(self, turn: int, call: Call) -> _Slot:
        given, arguments = _parsed(call.arguments)
        slot = _Slot(call, as_json(given), self._toolset.by_name.get(call.name))
        if slot.tool is None:
            names = ", ".join(sorted(self._toolset.by_name))
            slot.problem = Problem("INVALID_ARGUMENTS", f"There is no tool {call.name!r}.", f"Use one of: {names}.")
        elif isinstance(arguments, Problem):
            slot.problem = arguments
        else:
            valid = _validated(slot.tool, arguments)
            if isinstance(valid, Problem):
                slot.problem = valid
            else:
                slot.running = self._running(turn, slot, valid)
                slot.problem = self._masked_command(slot)
        return slot

    def _running(self, turn: int, slot: _Slot, arguments: BaseModel) -> RunningCall:
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

    def _masked_command(self, slot: _Slot) -> Problem | None:
        """A command with a mask in it would not do what it seems to: it holds no secret, only its placeholder."""
        if slot.tool is None or slot.tool.kind != "execute" or not self._recorder.holds_mask(slot.given):
            return None
        return Problem(
            "MASKED",
            "The arguments hold a mask where a secret was hidden; it is not the secret.",
            "Use a command that takes the secret from its file or from the environment.",
        )

    async def _prepare(self, slots: Sequence[_Slot]) -> None:
        """Find out who touches what, and propose the calls that wait for nobody."""
        await _side_by_side([self._survey(slot) for slot in slots if slot.problem is None])
        for number, slot in enumerate(slots):
            if slot.problem is None:
                slot.after = [
                    earlier for earlier in range(number) if not slots[earlier].problem and _meet(slots[earlier], slot)
                ]
        await _side_by_side([self._propose(slot) for slot in slots if slot.problem is None and not slot.after])

    async def _survey(self, slot: _Slot) -> None:
        """The files that a call touches. What cannot be planned yet may be possible once earlier calls are done."""
        assert slot.running is not None
        try:
            steps = await slot.running.plan()
            slot.steps = steps
            if steps:
                slot.writes = slot.reads = frozenset(
                    key
                    for step in steps
                    for key in (step.target.key, *([step.action.to.key] if isinstance(step.action, Move) else []))
                )
                return
            reads = await slot.running.reads()
        except Exception:  # it is met again, and told, when the call is proposed
            slot.writes = slot.reads = None
            return
        slot.reads = None if reads is None else frozenset(target.key for target in reads)
        tool = slot.running.tool
        only_looks = reads is not None or tool.kind in ("read", "search")
        slot.writes = frozenset() if only_looks and not tool.touches_workspace else None

    async def _propose(self, slot: _Slot) -> None:
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

    async def _open_all(self, turn: int, slots: Sequence[_Slot]) -> None:
        try:
            for slot in slots:
                await self._open(turn, slot)
        except StoreError as error:
            problem = Problem(error.code, f"The log could not take all calls of this message: {error.message}")
            for slot in slots:
                if slot.opened:
                    await self._close(turn, slot, refused(problem))
            raise

    async def _open(self, turn: int, slot: _Slot) -> None:
        if slot.opened:
            return
        data = {
            "turn": turn,
            "call": slot.call.id,
            "name": slot.call.name,
            "kind": slot.tool.kind if slot.tool is not None else "other",
            "arguments": slot.given,
            "proposed": _as_events_hold(slot.proposed),
        }
        if slot.problem is not None:
            data["proposal_error"] = slot.problem.to_json()
        try:
            await self._log.append("tool/call", data)
        except GateError as error:
            await self._log.append("tool/call", {**data, "arguments": {"omitted": True, "reason": error.reason}})
        except StoreError as error:
            # There may be room for the call itself, if not for all that it says; then its failure is recorded.
            slot.problem = Problem(error.code, f"{error.message} Nothing was done.", error.remedy)
            slot.proposed = []
            omitted = {"omitted": True, "reason": "the log could not take them"}
            told = {"arguments": omitted, "proposed": [], "proposal_error": slot.problem.to_json()}
            await self._log.append("tool/call", {**data, **told})
        slot.opened = True

    # The run.

    async def _execute(self, slots: Sequence[_Slot], slot: _Slot) -> Ending:
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

    async def _propose_late(self, slot: _Slot) -> None:
        """Of a call that waited: its proposal, on what the calls before it have left."""
        assert slot.running is not None
        await self._propose(slot)
        if slot.proposed:
            await slot.running.propose_again(_as_events_hold(slot.proposed))

    async def _close_rest(self, turn: int, slots: Sequence[_Slot], tasks: Sequence[asyncio.Task[Ending]]) -> None:
        """After a cancellation: wait until nothing runs any more, then record every call that has no result."""
        if tasks:
            await asyncio.wait(tasks)
        for number, slot in enumerate(slots):
            ending = refused(CANCELLED, "cancelled")
            if number < len(tasks) and not tasks[number].cancelled():
                ending = tasks[number].result()
            try:
                await self._open(turn, slot)
            except StoreError as error:  # the cancellation is what the caller waits for
                _log.warning("the cancelled call %s was not recorded: %s", slot.call.id, error)
            else:
                await self._close(turn, slot, ending)

    async def _close(self, turn: int, slot: _Slot, ending: Ending) -> CallResult:
        """Record how a call ended. What is on the disk is told to the model even where the log fails."""
        warnings = list(ending.warnings)
        data: dict[str, Any] = {
            "turn": turn,
            "call": slot.call.id,
            "name": slot.call.name,
            "kind": slot.tool.kind if slot.tool is not None else "other",
            "status": ending.status,
            "content": await self._stored(ending.content, warnings),
            "changes": _as_events_hold(ending.changes),
        }
        if ending.meta is not None:
            data["meta"] = ending.meta
        if ending.error is not None:
            data["error"] = ending.error.to_json()
        if ending.seen:
            data["seen"] = seen_entries(ending.seen)
        await self._record(data, warnings)
        if self.sight is not None and slot.tool is not None and slot.tool.touches_workspace:
            await self.sight.recorded()
        is_error = ending.status != "completed"
        return CallResult(slot.call, ending.content, is_error, ending.status, ending.changes, ending.error, warnings)

    async def _record(self, data: dict[str, Any], warnings: list[str]) -> None:
        """Append the result. What the gate refuses of it, or a full disk has no room for, is left out, and said; the
        changes never are."""
        lighter: list[dict[str, Any]] = [{}, {"meta": None}, {"meta": None, "content": []}]
        for without in lighter:
            entry = {**data, **without}
            if warnings:
                entry["warnings"] = [self._recorder.masked(warning) for warning in warnings]
            try:
                await self._log.append("tool/result", entry, durable=True)
            except GateError as error:
                warnings.append(f"The log refused a part of this result ({error}).")
            except StoreError as error:
                warnings.append(f"The log could not take this result ({error.code}: {error.message.rstrip('.')}).")
                await self._record_least(data, warnings)
                return
            else:
                return

    async def _record_least(self, data: Mapping[str, Any], warnings: Sequence[str]) -> None:
        """The result in a few bytes: how the call ended, and which files it changed."""
        least = {**data, "meta": None, "content": [text_block("[This result could not be recorded.]")]}
        least["changes"] = [to_json(shortened(from_json(change), 0)) for change in data["changes"]]
        least["warnings"] = [self._recorder.masked(warning) for warning in warnings]
        with contextlib.suppress(StoreError, GateError):  # the next start closes it by what is on the disk
            await self._log.append("tool/result", least, durable=True)

    async def _stored(self, content: Sequence[ContentBlock], warnings: list[str]) -> list[Any]:
        """Blocks as the log keeps them: the bytes of an image go to the store."""
        blocks: list[Any] = []
        for block in content:
            if block.get("type") == "image" and isinstance(block.get("data"), str):
                blocks.append(await self._stored_image(block, warnings))
            else:
                blocks.append(as_json(dict(block)))
        return blocks

    async def _stored_image(self, block: ContentBlock, warnings: list[str]) -> dict[str, Any]:
        media_type = str(block.get("media_type", "application/octet-stream"))
        try:
            data = base64.b64decode(block["data"], validate=True)
            [blob] = await asyncio.to_thread(self._journal.store.put, self._log.session, data)
        except (binascii.Error, ValueError, BytesError, OSError) as error:
            warnings.append(f"An image of this result could not be kept ({error}).")
            blob = None
        if blob is None:
            return text_block(f"[an image, {media_type}, that was not kept]")
        return {"type": "image", "blob": blob, "bytes": len(data), "media_type": media_type}


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


def _parsed(arguments: Mapping[str, Any] | str) -> tuple[Any, Mapping[str, Any] | Problem]:
    """What is logged, and what is validated or why it cannot be."""
    if not isinstance(arguments, str):
        return dict(arguments), arguments
    try:
        value = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError) as error:
        return arguments, Problem("INVALID_ARGUMENTS", f"The arguments are not JSON: {error}.", "Send one JSON object.")
    if not isinstance(value, dict):
        reason = f"The arguments are JSON, but no object: {type(value).__name__}."
        return arguments, Problem("INVALID_ARGUMENTS", reason, "Send one JSON object.")
    return value, value


def _validated(tool: Tool[Any], arguments: Mapping[str, Any]) -> BaseModel | Problem:
    try:
        return cast("BaseModel", tool.parameters.model_validate(dict(arguments)))
    except ValidationError as error:
        violations = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc']) or 'arguments'}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_context=False, include_input=False)
        )
        return Problem("INVALID_ARGUMENTS", f"{tool.name}: {violations}.", "Correct all of these and call again.")
    except Exception as fault:  # a validator is somebody's code, too
        return tool_fault(tool.name, fault)


def _meet(first: _Slot, second: _Slot) -> bool:
    """One of the two may change what the other reads or changes."""
    return (
        _overlap(first.writes, second.writes)
        or _overlap(first.writes, second.reads)
        or _overlap(first.reads, second.writes)
    )


def _overlap(first: frozenset[str] | None, second: frozenset[str] | None) -> bool:
    """None is unknown: it meets everything but nothing at all."""
    if first is None or second is None:
        return (first is None or bool(first)) and (second is None or bool(second))
    return not first.isdisjoint(second)


def _as_events_hold(changes: Sequence[FileChange]) -> list[Any]:
    """As JSON; many large changes share the room of one event."""
    each = _EVENT_HUNKS // max(1, len(changes))
    return [to_json(shortened(change, each)) for change in changes]
