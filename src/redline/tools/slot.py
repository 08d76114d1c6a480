"""What is known of one call of a message before it runs: whether it can, and which files it may touch.

From that follows who waits for whom: a call that may change what an earlier one reads or changes comes after it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ValidationError

from redline.sessions.gate import as_json, escaped
from redline.tools.ending import Problem, tool_fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.changes.record import FileChange
    from redline.tools.call import RunningCall
    from redline.tools.tool import Step, Tool


@dataclass(frozen=True, slots=True)
class Call:
    """One call as the model made it."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str
    """An object, or the JSON text of one."""


@dataclass(slots=True)
class Slot:
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


async def find_touched(slot: Slot) -> None:
    """The files that a call touches. What cannot be planned yet may be possible once earlier calls are done."""
    assert slot.running is not None
    try:
        steps = await slot.running.plan()
        slot.steps = steps
        if steps:
            slot.writes = slot.reads = frozenset(key for step in steps for key in step.keys)
            return
        reads = await slot.running.reads()
    except Exception:  # it is met again, and told, when the call is proposed
        slot.writes = slot.reads = None
        return
    slot.reads = None if reads is None else frozenset(target.key for target in reads)
    tool = slot.running.tool
    only_looks = reads is not None or tool.kind in ("read", "search")
    slot.writes = frozenset() if only_looks and not tool.touches_workspace else None


def meet(first: Slot, second: Slot) -> bool:
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


def loggable(given: Any) -> Any:
    """The arguments as the log may hold them, or each by itself where together they are too many bytes: what is short
    beside a long text is worth keeping."""
    whole = as_json(given)
    if not isinstance(given, Mapping) or isinstance(whole, Mapping):
        return whole
    return {escaped(str(name)): as_json(value) for name, value in given.items()}


def parsed(arguments: Mapping[str, Any] | str) -> tuple[Any, Mapping[str, Any] | Problem]:
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


def validated(tool: Tool[Any], arguments: Mapping[str, Any]) -> BaseModel | Problem:
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
