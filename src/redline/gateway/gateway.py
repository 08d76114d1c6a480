"""The gateway: every session of one data folder, for any number of surfaces of this process.

A surface opens a session and gets its room. It need not know who runs the session: this process, another one, or
nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from redline.gateway.room import Doing, Room, Runs
from redline.gateway.roster import GatewayError
from redline.sessions.store import StoreError, Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redline.gateway.archive import Archive
    from redline.gateway.roster import Offer, Roster
    from redline.transcript.presenters import Presenters

_log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
"""How often what other processes do is looked at."""
IDLE_SECONDS = 300.0
"""After which a session that this process runs is let go."""
_UNUSED_SECONDS = 60.0
_LISTED = 50
"""Sessions whose changes listeners hear of: those used last."""
_SCANNED = 500


@dataclass(frozen=True, slots=True)
class Listed:
    """A session in a list."""

    summary: Summary
    runs: Runs
    doing: Doing = ""
    """Empty also where nobody here has opened what another process runs."""


class Gateway:
    """`close` ends every conversation; the archive is the caller's."""

    def __init__(
        self, archive: Archive, roster: Roster, present: Presenters, *, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        """`present`: the presenters of all tools whose calls may be shown."""
        self.archive = archive
        self._roster = roster
        self._present = present
        self._idle_seconds = idle_seconds
        self._rooms: dict[str, Room] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._listeners: list[Callable[[Sequence[Listed], Sequence[str]], None]] = []
        self._known: dict[str, Listed] = {}
        self._looking: asyncio.Task[None] | None = None
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self._closing = False

    def offers(self) -> Sequence[Offer]:
        """The agents that a new session may name."""
        return self._roster.offers()

    async def sessions(
        self, *, query: str = "", before: int | None = None, limit: int = 50
    ) -> tuple[list[Listed], int | None]:
        """The sessions used last first, and what the next page is asked for by (None: there is none). `query`: words
        that all stand in the title, folder, agent or id, whatever their case."""
        words = query.casefold().split()
        found: list[Summary] = []
        while True:
            page = await self.archive.list(limit=_SCANNED if words else limit, before=before)
            for at, summary in enumerate(page):
                if _fits(summary, words):
                    found.append(summary)
                last_of_its_time = at + 1 == len(page) or page[at + 1].updated_at != summary.updated_at
                if len(found) >= limit and last_of_its_time:
                    more = at + 1 < len(page) or bool(await self.archive.list(limit=1, before=summary.updated_at))
                    return self._listed(found), summary.updated_at if more else None
            if not page:
                return self._listed(found), None
            before = page[-1].updated_at

    async def start(self, folder: str | Path, agent: str = "", model: str = "", *, source: str) -> Room:
        """A new session. Raises `GatewayError` FOLDER, NO_AGENT or NO_MODEL, or `StoreError`."""
        self._require_open()
        workspace = existing_folder(folder)
        engaged = await self._roster.engage(agent, model, workspace)
        opened = await self.archive.start(
            workspace, engaged.name, model=engaged.model, surface=source, more=engaged.facts
        )
        opened.close()  # the first prompt takes it up, as it does with any other
        return await self.open(opened.log.session)

    async def open(self, session: str) -> Room:
        """The room of a session, the same for all who ask. Raises `StoreError` NO_SESSION."""
        self._require_open()
        async with self._opening.setdefault(session, asyncio.Lock()):
            room = self._rooms.get(session)
            if room is None:
                try:
                    room = self._rooms[session] = await Room.of(self.archive, self._roster, session, self._present)
                except StoreError:
                    self._opening.pop(session, None)
                    raise
                await room.mend()
                self._look_after()
        return room

    async def delete(self, session: str) -> bool:
        """Remove a session with its bytes. Raises `StoreError` BUSY, or `GatewayError` RUNNING during a turn."""
        room = self._rooms.get(session)
        if room is not None and not room.is_idle:
            raise GatewayError("RUNNING", "A turn is running.", "Wait for its end, or stop it first.")
        if room is not None:
            del self._rooms[session]
            await room.close("deleted")
        found = await self.archive.delete(session)
        self._known.pop(session, None)
        for listener in list(self._listeners):
            listener((), (session,))
        return found

    def listen(self, listener: Callable[[Sequence[Listed], Sequence[str]], None]) -> Callable[[], None]:
        """Hear of sessions that are new, changed or gone, whoever runs them. Returns what ends that."""
        self._listeners.append(listener)
        self._look_after()

        def leave() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(listener)

        return leave

    async def close(self) -> None:
        """Stop what runs here and let everything go. Each session can be resumed."""
        self._closing = True
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})
        rooms = list(self._rooms.values())
        for ended in await asyncio.gather(*(room.close() for room in rooms), return_exceptions=True):
            if isinstance(ended, BaseException):
                _log.error("A session could not be closed", exc_info=ended)
        self._rooms.clear()

    def _require_open(self) -> None:
        if self._closing:
            raise GatewayError("STOPPING", "Redline is stopping.", "Start it again, then go on.")

    def _listed(self, summaries: Sequence[Summary]) -> list[Listed]:
        return [self._as_listed(summary) for summary in summaries]

    def _as_listed(self, summary: Summary) -> Listed:
        room = self._rooms.get(summary.session)
        return Listed(summary, self._runs(summary.session), "" if room is None else room.doing)

    def _runs(self, session: str) -> Runs:
        room = self._rooms.get(session)
        if room is not None:
            return room.runs
        return "elsewhere" if self.archive.is_running(session) else "nobody"

    # Looking after what is open.

    def _look_after(self) -> None:
        if self._looking is None and not self._closing:
            self._looking = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                if self._listeners:
                    await self._tell()
                await self._tidy()
            except Exception:
                _log.exception("Looking after the sessions failed")

    async def _tell(self) -> None:
        found = {one.summary.session: one for one in self._listed(await self.archive.list(limit=_LISTED))}
        changed = [one for name, one in found.items() if self._known.get(name) != one]
        missing = [name for name in {**self._known, **self._rooms} if name not in found]
        gone = [name for name in missing if await self.archive.store.summary(name) is None]
        self._known = found
        for name in gone:
            if (room := self._rooms.pop(name, None)) is not None:
                await room.close("deleted")
        if changed or gone:
            for listener in list(self._listeners):
                listener(changed, gone)

    async def _tidy(self) -> None:
        for session, room in list(self._rooms.items()):
            room.look()
            await room.mend()
            if room.idle_seconds > self._idle_seconds and room.runs == "here":
                self._let_go(session, room)
            elif room.idle_seconds > _UNUSED_SECONDS and not room.fanout.surfaces and room.runs != "here":
                del self._rooms[session]
                self._opening.pop(session, None)
                await room.close()

    def _let_go(self, session: str, room: Room) -> None:
        """Beside the rest: an agent may take its time to end."""
        if session not in self._leaving:
            task = self._leaving[session] = asyncio.get_running_loop().create_task(room.let_go())
            task.add_done_callback(lambda _: self._leaving.pop(session, None))


def _fits(summary: Summary, words: Sequence[str]) -> bool:
    text = f"{summary.title}\n{summary.workspace}\n{summary.agent}\n{summary.session}".casefold()
    return all(word in text for word in words)


def existing_folder(named: str | Path) -> Path:
    """Where a session may work, with links followed. Raises `GatewayError` FOLDER."""
    try:
        path = Path(named).expanduser()
        real = Path(os.path.realpath(path))
        is_folder = real.is_dir()
    except (OSError, RuntimeError, ValueError):  # a name that is too long; the home of nobody; a NUL
        path, is_folder = Path(named), False
    if not path.is_absolute() or "\0" in str(path):
        raise GatewayError("FOLDER", f"{str(named)!r} is not an absolute path.", "Name the folder from the root, or ~.")
    if not is_folder:
        raise GatewayError("FOLDER", f"{path} is not a folder.", "Name one that exists.")
    return real
