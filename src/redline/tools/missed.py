"""What changed in a turn that broke off, which the process that died had not found, or not told, any more.

It is looked for by whoever closes that turn first, be it a reader, before the turn is closed: the state that the last
look left is the last that is known of the turn, and whoever comes later takes the disk as it is for the start of his
own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.tools.broken_off import Missed
from redline.workspace.last_changes import LastChanges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.changes.record import FileChange
    from redline.sessions.log import SessionLog
    from redline.workspace.observe import Observer


async def look_for_missed(log: SessionLog, observer: Observer, turn: int, landed: Sequence[FileChange]) -> Missed:
    """Look at the whole workspace, where an earlier process has done so. `landed`: what is about to be told of calls.
    Whoever has logged what was missed has the observer keep that. Raises `StoreError`."""
    known, start, last = LastChanges(), 0, 0
    async for event in log.events():
        known.take(event)
        last = event.at
        if event.type == "turn/started" and event.data.get("turn") == turn:
            start = event.seq
    for change in landed:
        known.add(change)
    sweep = await observer.resume(known)
    if sweep is None:
        return Missed()
    if 0 < observer.told < start:
        return Missed()  # nobody had looked when the turn began: what was changed before it is not known from the rest
    if sweep.limited is not None:
        limit = sweep.limited
        notice = {"level": "warning", "code": limit.code, "message": limit.message, "remedy": limit.remedy}
        await log.append("notice/raised", {"turn": turn, **notice})
    looked = sweep.limited is None or sweep.limited.is_of_files
    return Missed([one.change for one in sweep.found], looked=looked, since=last)
