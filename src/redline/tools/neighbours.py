"""Who else was at work in a workspace, and what of the changes found there may be theirs.

Other sessions of the same data folder are meant, in this process or another: their leases tell which of them run, their
logs which of them were in a turn. A change that one of them has journalled is its own. Any other that is found where
one was at work may be anybody's, so it is nobody's.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from redline.sessions.events import Event
from redline.sessions.lease import held
from redline.tools.intent import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redline.changes.record import FileChange
    from redline.sessions.log import SessionLog
    from redline.sessions.store import Summary
    from redline.tools.verdict import State

_RECENT = 50
"""Sessions that are looked at, of those used last: beside the ones that run now, those that have ended meanwhile."""


_OF_CALLS = ("tool/call", "tool/result", "permission/asked", "permission/answered")


@dataclass(frozen=True, slots=True)
class Apart:
    """Changes that were found, told apart by who may have made them. What a neighbour has journalled is in neither."""

    own: Sequence[FileChange]
    """Where nobody else was at work."""
    shared: Sequence[FileChange] = ()
    """Where others were."""
    others: Sequence[str] = ()
    """The sessions that were at work there."""


@dataclass(frozen=True, slots=True)
class _Neighbour:
    session: str
    root: Path
    places: list[_Place] = field(default_factory=list)
    """What it has journalled lately, in order."""

    def holds(self, change: FileChange) -> bool:
        paths = [Path(path) for path in (change.path, change.old_path) if path is not None]
        return any(path.is_relative_to(self.root) for path in paths)

    def has_made(self, change: FileChange) -> bool:
        """Its journal leads from the one state to the other, in each place of the change."""
        return all(self._leads(*place) for place in _places(change))

    def _leads(self, path: str, before: str | None, after: str | None) -> bool:
        own = [place for place in self.places if place[0] == path]
        starts = [at for at, place in enumerate(own) if place[1] == before]
        return bool(starts) and any(place[2] == after for place in own[starts[0] :])


_Place = tuple[str, str | None, str | None]
"""A path, and the blobs that were there before and after; None: no file."""


async def told_apart(log: SessionLog, root: Path, changes: Sequence[FileChange], since: int) -> Apart:
    """`root`: the workspace of the session `log`, links followed; `since`: in ms since 1970, when the disk was looked
    at before. Raises `StoreError`."""
    if not changes or log.leases is None:
        return Apart(changes)
    found = await _at_work(log, root, since)
    own, shared, others = [], [], dict[str, None]()
    for change in changes:
        there = [one for one in found if one.holds(change)]
        if not there:
            own.append(change)
        elif not any(one.has_made(change) for one in there):
            shared.append(change)
            others.update(dict.fromkeys(one.session for one in there))
    return Apart(own, shared, list(others))


async def _at_work(log: SessionLog, root: Path, since: int) -> list[_Neighbour]:
    """Those that were in a turn at some time since then, in a workspace that has files in common with `root`."""
    assert log.leases is not None
    running, listed = await asyncio.gather(asyncio.to_thread(held, log.leases), log.store.sessions(limit=_RECENT))
    recent = [one for one in listed if one.updated_at >= since]
    known = {one.session for one in recent}
    older = [await log.store.summary(session) for session in running if session not in known]
    found = []
    for summary in (*recent, *(one for one in older if one is not None)):
        place = Path(summary.workspace)
        if summary.session == log.session or not place.is_absolute():
            continue
        place = await asyncio.to_thread(_real, place)
        meets = place.is_relative_to(root) or root.is_relative_to(place)
        if meets and await _was_in_turn(log, summary, since, runs=summary.session in running):
            found.append(_Neighbour(summary.session, place, await _journalled(log, summary)))
    return found


async def _was_in_turn(log: SessionLog, summary: Summary, since: int, *, runs: bool) -> bool:
    start = await log.store.turn_start(summary.session, summary.turns)
    if start is None:
        return False
    ends = await _events(log, summary.session, ["turn/ended"], start)
    if ends:
        return any(event.at >= since for event in ends)
    # One that was killed has no end; the last that it did tells.
    return summary.updated_at >= since or (runs and not await _only_waits(log, summary.session, start))


async def _only_waits(log: SessionLog, session: str, start: int) -> bool:
    """Each call of its turn that has not ended is a question that nobody has answered, perhaps for hours."""
    calls, asked = set(), dict[object, object]()
    for event in await _events(log, session, [*_OF_CALLS], start):
        call = event.data.get("call")
        if event.type == "tool/call":
            calls.add(call)
        elif event.type == "tool/result":
            calls.discard(call)
        elif event.type == "permission/asked":
            asked[event.data.get("request")] = call
        else:
            asked.pop(event.data.get("request"), None)
    return bool(asked) and calls <= set(asked.values())


async def _journalled(log: SessionLog, summary: Summary) -> list[_Place]:
    start = await log.store.turn_start(summary.session, max(1, summary.turns - 1))
    events = await _events(log, summary.session, ["file/intent"], start or 0)
    places = [place for event in events for place in read(event.data).places]
    return [(one.key, _blob(one.before), _blob(one.after)) for one in places]


async def _events(log: SessionLog, session: str, types: Sequence[str], after: int) -> list[Event]:
    return [one for one in await log.store.of_types(session, types, after=after) if isinstance(one, Event)]


def _places(change: FileChange) -> Iterable[_Place]:
    before = None if change.before is None else change.before.blob
    after = None if change.after is None else change.after.blob
    if change.old_path is None:
        return [(change.path, before, after)]
    return [(change.old_path, before, None), (change.path, None, after)]


def _blob(state: State | None) -> str | None:
    return None if state is None else state.blob


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path
