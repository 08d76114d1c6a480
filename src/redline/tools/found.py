"""What was found on the disk and is no call's, as the log holds it: as many changes an event as one may tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redline.changes.codec import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redline.changes.record import FileChange
    from redline.sessions.log import SessionLog

EVENT_CHANGES = 500
EVENT_CHARACTERS = 2 << 20
"""Changes that one event tells at most, and characters of their lines: an event has its limit."""


async def record_found(
    log: SessionLog,
    changes: Sequence[FileChange],
    turn: int,
    during: Sequence[str] = (),
    *,
    beside: Sequence[str] = (),
    durable: bool = False,
) -> None:
    """Log changes as found in a turn. `during`: the ids of the calls that ran at that time; `beside`: the other
    sessions that were at work there. Raises `StoreError`, `GateError`."""
    who = {name: list(value) for name, value in (("during", during), ("beside", beside)) if value}
    for some in portions(changes):
        data: dict[str, Any] = {"turn": turn, "changes": [to_json(change) for change in some], **who}
        await log.append("workspace/changed", data, durable=durable)


def portions(changes: Sequence[FileChange]) -> Iterator[list[FileChange]]:
    """As many at a time as one event may tell."""
    some: list[FileChange] = []
    size = 0
    for change in changes:
        more = sum(len(line) for hunk in change.hunks for line in hunk.lines)
        if some and (len(some) == EVENT_CHANGES or size + more > EVENT_CHARACTERS):
            yield some
            some, size = [], 0
        some.append(change)
        size += more
    if some:
        yield some
