"""Permissions: who may answer a request, what an answer covers, and what of it is remembered.

Every attached surface is asked at once; the first that answers settles it for all. Where nobody can answer, the answer
is no. A permission "for the session" covers the same tool on the same file (or the same command, letter for letter) and
nothing else, and is taken from the log again when the session is resumed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from redline.changes.codec import to_json
from redline.tools.proposal import is_for_a_person

if TYPE_CHECKING:
    from redline.gateway.audience import Audience
    from redline.sessions.events import Event
    from redline.sessions.log import SessionLog
    from redline.tools.permission import PermissionOutcome, PermissionRequest

Approval = Literal["ask", "edits", "all"]
"""`ask`: before every change and command. `edits`: changes of files inside the workspace need no question; commands do,
and so does what deletes or empties a file or cuts most of it away. `all`: nothing is asked."""

Subject = tuple[str, str]
"""A tool, and the real path or the exact command that a permission is bound to."""


@dataclass(slots=True)
class _Open:
    """A request that waits for its answer."""

    request: PermissionRequest
    identity: str
    answer: asyncio.Future[tuple[PermissionOutcome, str]]


class Permissions:
    """The permissions of one session; an instance is what the runner calls (`tools.permission.Permission`)."""

    def __init__(
        self,
        log: SessionLog,
        workspace: Path,
        surfaces: Callable[[], Sequence[Audience]],
        *,
        approval: Approval = "ask",
        fault: Callable[[str, Exception], None] = lambda _name, _error: None,
    ) -> None:
        """`surfaces`: those attached at the moment. `fault` hears of a surface whose question raised."""
        self.approval: Approval = approval
        self._log = log
        self._workspace = Path(os.path.realpath(workspace))
        self._surfaces = surfaces
        self._fault = fault
        self._granted: set[Subject] = set()
        self._open: dict[str, _Open] = {}
        self._one_at_a_time = asyncio.Lock()
        self._withdrawn = 0
        self._count = 0
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(self, request: PermissionRequest) -> PermissionOutcome:
        """Decide by mode or by an earlier answer, or ask. Requests of one batch are asked one after the other."""
        request = _offered(request)
        by = self._standing(request)
        if by is not None:
            return await self._settled(request, self._next_identity(request), "allow_once", by)
        withdrawn = self._withdrawn
        async with self._one_at_a_time:
            if self._withdrawn != withdrawn:
                return await self._settled(request, self._next_identity(request), "cancelled", "a new prompt")
            if self._is_granted(request):  # by the answer to the one before
                return await self._settled(request, self._next_identity(request), "allow_once", "session")
            return await self._ask(request)

    def answer(self, identity: str, outcome: PermissionOutcome, by: str) -> bool:
        """An answer that comes by another way than `Surface.ask`, such as a button. False: it came too late."""
        waiting = self._open.get(identity)
        if waiting is None or waiting.answer.done():
            return False
        waiting.answer.set_result((_allowed_outcome(outcome, waiting.request), by))
        return True

    def withdraw(self, by: str) -> int:
        """Cancel every request that is open or waits to be asked; the number of the open ones."""
        self._withdrawn += 1
        return sum(self.answer(identity, "cancelled", by) for identity in list(self._open))

    @property
    def is_asking(self) -> bool:
        return bool(self._open)

    def restore(self, events: Iterable[Event]) -> None:
        """Take back what was allowed for the session before a restart."""
        for event in events:
            if event.type == "permission/answered" and event.data.get("outcome") == "allow_session":
                self._granted.update(_granted_subjects(event.data.get("grant")))

    async def _ask(self, request: PermissionRequest) -> PermissionOutcome:
        identity = self._next_identity(request)
        waiting = _Open(request, identity, asyncio.get_running_loop().create_future())
        self._open[identity] = waiting
        tasks: list[asyncio.Task[None]] = []
        try:
            await self._log.append("permission/asked", _asked(request, identity))
            shown = self._masked(request)
            tasks = [asyncio.create_task(self._put(surface, shown, waiting)) for surface in self._surfaces()]
            self._running.update(tasks)
            nobody = asyncio.create_task(_after(tuple(tasks), waiting))
            self._running.add(nobody)
            tasks.append(nobody)
            outcome, by = await waiting.answer
        except asyncio.CancelledError:
            self._open.pop(identity, None)
            await self._settled(request, identity, "cancelled", "the end of the turn")
            raise
        finally:
            self._open.pop(identity, None)
            for task in tasks:
                task.cancel()
                task.add_done_callback(self._running.discard)
        return await self._settled(request, identity, outcome, by)

    def _masked(self, request: PermissionRequest) -> PermissionRequest:
        """As a surface may show it: the changes passed the door with the proposal, a command's text did not."""
        redactor = self._log.redactor
        return replace(
            request,
            title=redactor.mask(request.title),
            note=None if request.note is None else redactor.mask(request.note),
            arguments=request.arguments and redactor.mask_json(dict(request.arguments), foreign=True)[0],
        )

    async def _put(self, surface: Audience, shown: PermissionRequest, waiting: _Open) -> None:
        """Ask one surface. One that raises has no answer; one that hangs keeps nobody else from answering."""
        try:
            outcome = await surface.ask(shown)
        except Exception as error:
            self._fault(surface.name, error)
            return
        if outcome is not None:
            self.answer(waiting.identity, outcome, surface.name)

    async def _settled(
        self, request: PermissionRequest, identity: str, outcome: PermissionOutcome, by: str
    ) -> PermissionOutcome:
        data: dict[str, Any] = {
            "turn": request.turn, "call": request.call, "request": identity, "outcome": outcome, "by": by,
        }  # fmt: skip
        if outcome == "allow_session":
            subjects = self._subjects(request)
            self._granted.update(subjects)
            data["grant"] = [{"tool": tool, "to": to} for tool, to in sorted(subjects)]
        await self._log.append("permission/answered", data)
        return outcome

    def _standing(self, request: PermissionRequest) -> str | None:
        """What allows a request without a question, as `by` in the log; None: nothing does."""
        if self.approval == "all":
            return "approval all"
        if self.approval == "edits" and self._is_plain_edit(request):
            return "approval edits"
        return "session" if self._is_granted(request) else None

    def _is_granted(self, request: PermissionRequest) -> bool:
        subjects = self._subjects(request)
        return request.allow_session and bool(subjects) and subjects <= self._granted

    def _is_plain_edit(self, request: PermissionRequest) -> bool:
        """A previewed change of files in the workspace, not inside `.git`, whose hooks and settings run commands."""
        if not request.paths or not request.changes or not request.allow_session:
            return False
        for path in request.paths:
            real = Path(os.path.realpath(path))
            if not real.is_relative_to(self._workspace) or ".git" in real.relative_to(self._workspace).parts:
                return False
        return True

    def _subjects(self, request: PermissionRequest) -> set[Subject]:
        """What a permission for the session would be bound to; empty: it cannot be given."""
        if request.paths:
            return {(request.tool, os.path.realpath(path)) for path in request.paths}
        command = (request.arguments or {}).get("command")
        return {(request.tool, command)} if isinstance(command, str) else set()

    def _next_identity(self, request: PermissionRequest) -> str:
        self._count += 1
        return f"{request.turn}.{request.call}.{self._count}"


async def _after(asking: Sequence[asyncio.Task[None]], waiting: _Open) -> None:
    """Where every surface has passed, nobody is there to answer."""
    if asking:
        await asyncio.wait(asking)
    if not waiting.answer.done():
        waiting.answer.set_result(("unavailable", "nobody"))


def _offered(request: PermissionRequest) -> PermissionRequest:
    """The request as it may be asked: what cannot be seen whole, deletes or empties a file or cuts most of it away, or
    cannot be named, is allowed once at most, and by a person."""
    unseen = bool(request.paths) and not request.changes
    command = (request.arguments or {}).get("command")
    nameless = not request.paths and not isinstance(command, str)
    alarming = any(is_for_a_person(change) for change in request.changes)
    plain = request.allow_session and not (unseen or nameless or alarming)
    return replace(request, allow_session=plain)


def _allowed_outcome(outcome: PermissionOutcome, request: PermissionRequest) -> PermissionOutcome:
    return "allow_once" if outcome == "allow_session" and not request.allow_session else outcome


def _asked(request: PermissionRequest, identity: str) -> dict[str, Any]:
    data: dict[str, Any] = {
        "turn": request.turn,
        "call": request.call,
        "request": identity,
        "title": request.title,
        "tool": request.tool,
        "changes": [to_json(change) for change in request.changes],
        "options": options(request),
    }
    if request.note:
        data["note"] = request.note
    return data


def options(request: PermissionRequest) -> list[dict[str, str]]:
    """The buttons of a request; `kind` is ACP's word for each. Without a preview no plain "allow" is offered."""
    unseen = bool(request.paths) and not request.changes
    once = "Allow once without a preview" if unseen else "Allow once"
    offered = [{"id": "allow_once", "kind": "allow_once", "name": once}]
    if request.allow_session:
        offered.append({"id": "allow_session", "kind": "allow_always", "name": "Allow for this session"})
    return [*offered, {"id": "reject", "kind": "reject_once", "name": "Reject"}]


def _granted_subjects(grant: object) -> set[Subject]:
    if not isinstance(grant, list):
        return set()
    return {
        (entry["tool"], entry["to"])
        for entry in grant
        if isinstance(entry, Mapping) and isinstance(entry.get("tool"), str) and isinstance(entry.get("to"), str)
    }
