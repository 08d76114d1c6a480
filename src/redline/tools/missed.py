"""What changed in a turn that broke off, which the process that died had not found, or not told, any more.

It is looked for by whoever closes that turn first, be it a reader, before the turn is closed: the state that the last
look left is the last that is known of the turn, and whoever comes later takes the disk as it is for the start of his
own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.tools.found import record_found
from redline.workspace.known import LastChanges

if TYPE_CHECKING:
    from redline.sessions.log import SessionLog
    from redline.workspace.observe import Observer


async def tell_missed(log: SessionLog, observer: Observer, turn: int) -> None:
    """Look at the whole workspace, where an earlier process has done so, and log what changed since as found in the
    turn. Raises `StoreError`, and then the next one who looks finds it again."""
    known = LastChanges()
    async for event in log.events():
        known.take(event)
    sweep = await observer.resume(known.by_path)
    if sweep is None:
        return
    await record_found(log, [one.change for one in sweep.found], turn, durable=True)
    if sweep.limited is not None:
        limit = sweep.limited
        notice = {"level": "warning", "code": limit.code, "message": limit.message, "remedy": limit.remedy}
        await log.append("notice/raised", {"turn": turn, **notice})
    await observer.keep()
