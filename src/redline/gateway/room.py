"""A room: one session as every surface of this process sees it and acts in it, whoever runs it.

The first prompt takes the session up; an idle one is let go again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from redline.files.local import LocalFiles
from redline.gateway.conversation import CANCELLED, Conversation
from redline.gateway.pages import Pages
from redline.gateway.roster import GatewayError
from redline.gateway.view import Page as Page
from redline.gateway.view import View
from redline.sessions.events import Event
from redline.tools.undo import Undone, UndoPlan, plan_undo, undo

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from redline.agents.agent import Stop
    from redline.files.seam import Files
    from redline.gateway.archive import Archive, OpenSession
    from redline.gateway.roster import Roster
    from redline.tools.permission import PermissionOutcome
    from redline.transcript.fold import Transcript
    from redline.transcript.presenters import Presenters

_log = logging.getLogger(__name__)

Runs = Literal["here", "elsewhere", "nobody"]
Doing = Literal["", "running", "asking"]


class Room(View):
    """Made by `Gateway.open` and `Gateway.start`, one a session."""

    def __init__(
        self,
        archive: Archive,
        roster: Roster,
        session: str,
        workspace: Path,
        pages: Pages,
        tail: Transcript,
        start: int,
    ) -> None:
        super().__init__(archive, session, workspace, pages, tail, start)
        self._roster = roster
        self._conversation: Conversation | None = None
        self._opened: OpenSession | None = None
        self._door = asyncio.Lock()
        self._borrowed = False
        self._turns: set[asyncio.Task[Stop]] = set()
        self._closed = False
        self._seen: tuple[Runs, int] = ("nobody", 0)
        self._mended = 0
        """The last event when it was tried to close what is open."""

    @classmethod
    async def of(cls, archive: Archive, roster: Roster, session: str, present: Presenters) -> Room:
        """Raises `StoreError` NO_SESSION."""
        summary = await archive.summary(session)
        pages = Pages(archive.store, session, present)
        tail, start = await pages.tail()
        tail.state = replace(
            tail.state, workspace=tail.state.workspace or summary.workspace, title=tail.state.title or summary.title
        )
        return cls(archive, roster, session, Path(summary.workspace), pages, tail, start)

    # Who runs it.

    @property
    def runs(self) -> Runs:
        """Who runs the session."""
        if self._conversation is not None or self._borrowed:
            return "here"
        return "elsewhere" if self._archive.is_running(self.session) else "nobody"

    @property
    def doing(self) -> Doing:
        """A turn runs, or waits for somebody to answer its question; empty: neither."""
        if not self.state.running or self.runs == "nobody":
            return ""
        asks = any(row.kind == "permission" and row.outcome is None for row in self.rows)
        return "asking" if asks else "running"

    @property
    def waiting(self) -> int:
        """Prompts that wait for the end of the running turn."""
        return max(0, len(self._turns) - 1)

    @property
    def is_idle(self) -> bool:
        """No turn runs or waits here."""
        return not self._turns and not self._borrowed

    @property
    def idle_seconds(self) -> float:
        """Since somebody used it last; 0 while a turn runs."""
        return 0.0 if not self.is_idle else time.monotonic() - self._used

    # What can be done.

    async def submit(self, content: str | Sequence[Mapping[str, Any]], *, source: str) -> asyncio.Task[Stop]:
        """Begin a turn, or let it wait for the end of the running one; the task ends with it.

        Takes the session up if nobody runs it. Raises `StoreError` BUSY while it runs elsewhere, `GatewayError` if its
        folder is gone or its agent cannot be had.
        """
        async with self._door:
            conversation = await self._take_up()
            task = asyncio.get_running_loop().create_task(conversation.prompt(content, source=source))
            self._turns.add(task)
        task.add_done_callback(self._turn_over)
        return task

    async def prompt(self, content: str | Sequence[Mapping[str, Any]], *, source: str) -> Stop:
        """Work through one prompt, to the end of its turn."""
        task = await self.submit(content, source=source)
        await asyncio.wait({task})
        return CANCELLED if task.cancelled() else task.result()

    async def cancel(self) -> bool:
        """Stop the running turn and those that wait; returns once they are closed. False: none was running here."""
        self._require_not_elsewhere("stopped")
        turns = set(self._turns)
        for task in turns:
            task.cancel()
        if turns:
            await asyncio.wait(turns)
        return bool(turns)

    def answer(self, request: str, option: str, by: str) -> bool:
        """Settle a permission request. False: it was settled before. Raises `GatewayError` NO_OPTION for what was not
        offered, BUSY while the session runs elsewhere."""
        self._use()
        rows = self.rows
        row = next((row for row in reversed(rows) if row.kind == "permission" and row.request == request), None)
        if row is None or row.kind != "permission" or option not in [one["id"] for one in row.options]:
            raise GatewayError("NO_OPTION", "That answer was not offered.", "Choose one of the buttons of the request.")
        self._require_not_elsewhere("answered")
        if self._conversation is None:
            return False
        return self._conversation.permissions.answer(request, cast("PermissionOutcome", option), by)

    async def plan_undo(
        self, *, turn: int | None = None, path: str | None = None, call: str | None = None, hunk: int | None = None
    ) -> UndoPlan:
        """What an undo of this selection would do now. Raises `UndoRefused`, `StoreError` BUSY, `GatewayError`."""
        async with self._held() as (session, files):
            return await plan_undo(
                session.log, session.store, files, session.redactor, turn=turn, path=path, call=call, hunk=hunk
            )

    async def undo(self, plan: UndoPlan) -> Undone:
        """Carry out exactly what was planned; refused where a file has changed since. Raises as `plan_undo`."""
        async with self._held() as (session, files):
            if self._conversation is not None:
                return await self._conversation.undo(plan=plan)
            return await undo(session.log, session.store, files, session.redactor, plan=plan)

    # Coming and going.

    async def let_go(self, reason: str = "idle") -> None:
        """End the conversation, if there is one and no turn runs, so that any process may take the session up; go on
        watching."""
        async with self._door:
            if self._conversation is not None and self.is_idle:
                await self._end(reason)
                self.watch()
        self.fanout.touch()

    async def close(self, reason: str = "closed") -> None:
        """End everything; the room cannot be used after it."""
        self._closed = True
        async with self._door:
            await self.unwatch()
            if self._conversation is not None:
                await self._end(reason)
        await self.fanout.close()

    async def mend(self) -> None:
        """Close, by what is on the disk, what a process that was killed left open. Where that fails, the session can
        still be read."""
        if not self.state.running or self._mended == self.seq or self.runs != "nobody" or not self.workspace.is_dir():
            return
        self._mended = self.seq
        try:
            async with self._held():
                pass  # taking it up does it
        except Exception:
            _log.exception("What is open in session %s could not be closed", self.session)

    def look(self) -> None:
        """Show the state again where it was changed by something that is no event: who runs it, and what waits."""
        self.watch_again()
        seen = (self.runs, self.waiting)
        if seen != self._seen:
            self._seen = seen
            self.fanout.touch()

    async def _take_up(self) -> Conversation:
        if self._closed:
            raise GatewayError("STOPPING", "Redline is stopping.", "Start it again, then go on.")
        if self._conversation is not None:
            return self._conversation
        files = self._files()
        events = await self._archive.store.read(self.session, limit=1)
        first = events[0].data if events and isinstance(events[0], Event) else {}
        engaged = await self._roster.engage_again(first, self.workspace)
        await self.unwatch()
        try:
            opened = await self._archive.resume(self.session, files)
            try:
                self._conversation = await Conversation.begin(
                    opened, engaged.factory(opened, files), files=files, workspace=self.workspace, present={},
                    approval=self._roster.approval, fanout=self.fanout,
                )  # fmt: skip
            except BaseException:
                opened.close()
                raise
        except BaseException:
            self.watch()
            raise
        self._opened = opened
        self._use()
        return self._conversation

    async def _end(self, reason: str) -> None:
        conversation, opened = self._conversation, self._opened
        assert conversation is not None
        assert opened is not None
        turns = set(self._turns)
        for task in turns:
            task.cancel()
        try:
            if turns:
                await asyncio.wait(turns)
            await conversation.close(reason, told=bool(turns))  # to be let go is no use of a session
        finally:
            self._conversation = self._opened = None
            opened.close()

    @contextlib.asynccontextmanager
    async def _held(self) -> AsyncIterator[tuple[OpenSession, Files]]:
        """The session between turns, taken for a moment where nobody runs it."""
        async with self._door:
            if self._turns:
                raise GatewayError("RUNNING", "A turn is running.", "Wait for its end, or stop it first.")
            files = self._files()
            if self._opened is not None:
                yield self._opened, files
            else:
                opened = await self._archive.resume(self.session, files)
                self._borrowed = True
                try:
                    yield opened, files
                finally:
                    self._borrowed = False
                    opened.close()
            self._use()

    def _files(self) -> LocalFiles:
        if not self.workspace.is_dir():
            raise GatewayError(
                "FOLDER", f"The folder of this session, {self.workspace}, is gone.", "Put it back, or start a new one."
            )
        return LocalFiles([self.workspace])

    def _require_not_elsewhere(self, what: str) -> None:
        if self.runs == "elsewhere":
            raise GatewayError(
                "BUSY",
                f"Another Redline process runs this session, so it cannot be {what} here.",
                "Go on in that window, or close it there; then the session can be taken up here.",
            )

    def _turn_over(self, task: asyncio.Task[Stop]) -> None:
        self._turns.discard(task)
        self._use()
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("A turn of session %s could not be recorded", self.session, exc_info=error)
        self.look()

    def _fault(self, name: str, error: Exception) -> None:
        if self._conversation is not None:
            self._conversation.surface_fault(name, error)
        else:
            super()._fault(name, error)
