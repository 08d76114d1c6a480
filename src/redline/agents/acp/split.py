"""One change on disk that two or more calls made together, taken apart: only where the bytes prove it.

Two edits of one file in one message are often both done before anybody can look. Each says which text it replaces by
which; if doing the one and then the other turns the bytes before into exactly the bytes after, then each call's own
change is known. If not, nothing is guessed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import permutations
from typing import TYPE_CHECKING

from redline.agents.acp.call import ForeignCall
from redline.agents.acp.step import Step
from redline.changes.compare import describe
from redline.workspace.logged import as_logged

if TYPE_CHECKING:
    from redline.agents.acp.bulk import Bulk
    from redline.sessions.redaction import Redactor

_MOST = 32
"""Calls on one file."""
_ALL_ORDERS = 4
"""Of so many calls all orders are tried; of more, the one in which they were announced."""
_LARGEST = 4 << 20


async def split(
    step: Step, calls: Sequence[ForeignCall], redactor: Redactor, bulk: Bulk
) -> list[tuple[ForeignCall, Step]] | None:
    """The parts, in the order in which they were done; None: it cannot be told."""
    before, after = step.before, step.after
    if step.change.operation != "modify" or before is None or after is None or len(calls) > _MOST:
        return None
    if len(before) + len(after) > _LARGEST or step.change.file_type != "text":
        return None
    edits = [_pairs(call, step) for call in calls]
    if not all(edits):
        return None
    numbers = range(len(calls))
    for order in permutations(numbers) if len(calls) <= _ALL_ORDERS else [tuple(numbers)]:
        states = [before]
        for number in order:
            state = _replaced(states[-1], edits[number])
            if state is None:
                break
            states.append(state)
        if len(states) == len(calls) + 1 and states[-1] == after:
            await bulk.keep(*states)
            return [
                (calls[number], await asyncio.to_thread(_part, step, states[at], states[at + 1], redactor))
                for at, number in enumerate(order)
            ]
    return None


async def split_off(
    step: Step, call: ForeignCall, command: ForeignCall, redactor: Redactor, bulk: Bulk
) -> list[tuple[ForeignCall, Step]] | None:
    """The change that `call` told, and what is left of it to the command that ran beside; None: it cannot be told, or
    nothing is left."""
    before, after = step.before, step.after
    if step.change.operation != "modify" or before is None or after is None or step.change.file_type != "text":
        return None
    edits = _pairs(call, step)
    if not edits or len(before) + len(after) > _LARGEST:
        return None
    first, last = _replaced(before, edits), _replaced(after, [(new, old) for old, new in reversed(edits)])
    if after in (first, before) or before in (first, last):
        return None
    if first is not None and (last is None or call.started <= command.started):
        middle, order = first, (call, command)
    elif last is not None:
        middle, order = last, (command, call)
    else:
        return None
    await bulk.keep(before, middle, after)
    parts = ((before, middle), (middle, after))
    return [
        (one, await asyncio.to_thread(_part, step, *part, redactor)) for one, part in zip(order, parts, strict=True)
    ]


def _pairs(call: ForeignCall, step: Step) -> list[tuple[bytes, bytes]]:
    pairs = []
    for change in call.evidence.proposed:
        if change.path != step.change.path or change.truncated:
            continue
        for hunk in change.hunks:
            old = "\n".join(line[1:] for line in hunk.lines if line[0] != "+")
            new = "\n".join(line[1:] for line in hunk.lines if line[0] != "-")
            pairs.append((old.encode("utf-8", "surrogateescape"), new.encode("utf-8", "surrogateescape")))
    return pairs


def _replaced(data: bytes, pairs: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    for old, new in pairs:
        if not old or data.count(old) != 1:
            return None
        data = data.replace(old, new)
    return data


def _part(step: Step, before: bytes, after: bytes, redactor: Redactor) -> Step:
    sides = step.change.before, step.change.after
    change = describe(
        step.change.path,
        before,
        after,
        before_executable=sides[0] is not None and sides[0].executable,
        after_executable=sides[1] is not None and sides[1].executable,
        provenance="observed",
    )
    return Step(as_logged(change, before, after, redactor), before, after)
