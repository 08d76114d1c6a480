"""The routes: each takes what the contract says, asks the gateway, and answers in the contract's words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from fastapi import Path as InPath
from sse_starlette import EventSourceResponse

from redline.changes.record import FileChange
from redline.files.local import LocalFiles
from redline.gateway.gateway import Gateway
from redline.gateway.room import Room
from redline.gateway.roster import GatewayError
from redline.sessions.redaction import Redactor
from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.channel import NAME
from redline.surfaces.dashboard.file_diff import file_diff
from redline.surfaces.dashboard.hub import Hub
from redline.surfaces.dashboard.patches import net_of, patch_of, restored, sides_of
from redline.surfaces.dashboard.plans import Plans
from redline.surfaces.dashboard.stream import subscriptions
from redline.surfaces.dashboard.touched import touched_files
from redline.surfaces.dashboard.wire import Place, agent, called, covered_lines, may_fold, problem, state, summary, text
from redline.transcript.rows import AgentRow, AnyRow, FoundRow, PermissionRow, RevertRow, ToolRow

PING_SECONDS = 15
SESSION_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
Session = Annotated[str, InPath(pattern=SESSION_PATTERN, description="The id of a session.")]
SessionQuery = Annotated[str, Query(pattern=SESSION_PATTERN, description="The id of a session.")]
RowId = Annotated[str, Query(min_length=1, max_length=4096, description="The id of a row.")]
FilePath = Annotated[str, Query(min_length=1, max_length=16384, description="A path as a change has it.")]
Seq = Annotated[int | None, Query(ge=0, le=2**53, description="`before` of the page that you have.")]

_IMAGES: Sequence[tuple[bytes, str]] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)


def routes(gateway: Gateway, hub: Callable[[], Hub], here: Path) -> APIRouter:
    """`hub`: of the running server. `here`: the folder that it was started in."""
    router = APIRouter(prefix="/api", responses={"4XX": {"model": wire.Problem}, "5XX": {"model": wire.Problem}})
    plans = Plans()

    # Around the sessions.

    @router.get("/sessions")
    async def list_sessions(
        query: Annotated[str, Query(max_length=1000, description="Words to be found.")] = "",
        before: Seq = None,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> wire.SessionPage:
        """The sessions, the one used last first."""
        found, following = await gateway.sessions(query=query, before=before, limit=limit)
        return wire.SessionPage(sessions=[summary(one) for one in found], before=following)

    @router.post("/sessions", status_code=201)
    async def new_session(new: wire.NewSession) -> wire.SessionState:
        """Begin a session, with its first turn if there is a prompt."""
        room = await gateway.start(new.folder, new.agent, new.model, source=NAME)
        if new.prompt.strip():
            await _submit(room.session, new.prompt)
        return state(room)

    @router.get("/agents")
    async def agents() -> wire.Agents:
        """The agents that a new session may name."""
        return wire.Agents(agents=[agent(offer) for offer in await asyncio.to_thread(gateway.offers)])

    @router.get("/folders")
    async def folders() -> wire.Folders:
        """Folders that a new session may be about."""
        found, _ = await gateway.sessions(limit=200)
        recent = list(dict.fromkeys(one.summary.workspace for one in found))
        there = await asyncio.to_thread(lambda: [text(folder) for folder in recent if Path(folder).is_dir()])
        return wire.Folders(here=text(str(here)), home=text(str(Path.home())), recent=there[:20])

    # One session.

    @router.get("/sessions/{session}")
    async def session_state(session: Session) -> wire.SessionState:
        return state(await gateway.open(session))

    @router.delete("/sessions/{session}")
    async def delete_session(session: Session) -> wire.Accepted:
        """Remove its log and the bytes kept for undo; the files in its folder stay as they are."""
        await gateway.archive.summary(session)
        await gateway.delete(session)
        return wire.Accepted()

    @router.get("/sessions/{session}/rows")
    async def session_rows(
        session: Session, before: Seq = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> wire.RowPage:
        """The last rows, or the last before a page that you have."""
        room = await gateway.open(session)
        page = await room.page(before=before, limit=limit)
        rows = await _shown(room, page.rows)
        return wire.RowPage(session=session, rows=rows, before=page.before, seq=page.seq)

    @router.get("/sessions/{session}/row")
    async def row_details(session: Session, row: RowId) -> wire.RowDetails:
        """A row with nothing left out."""
        room = await gateway.open(session)
        return await asyncio.to_thread(_details, room, await _row(room, row), gateway.archive.redactor)

    @router.get("/sessions/{session}/sides")
    async def row_sides(session: Session, row: RowId, path: FilePath) -> wire.Sides:
        """Both states, in whole, of a file that a row changed."""
        room = await gateway.open(session)
        change = _of_path(_changes(await _row(room, row)), path)[-1]
        return await asyncio.to_thread(sides_of, change, room.kept, gateway.archive.redactor)

    @router.get("/sessions/{session}/net")
    async def net(
        session: Session,
        path: FilePath,
        turn: Annotated[int | None, Query(ge=1, le=2**53, description="Of one turn only.")] = None,
    ) -> wire.NetChange:
        """What became of one file, in a turn or in all, with everything in it."""
        room = await gateway.open(session)
        changes = _of_path(await room.landed(turn), path)
        return await asyncio.to_thread(net_of, changes, room.kept, gateway.archive.redactor, _place(room))

    @router.get("/sessions/{session}/patch", response_class=Response, responses=_PATCH)
    async def patch(
        session: Session,
        row: Annotated[str | None, Query(max_length=4096, description="Of one row only.")] = None,
        turn: Annotated[int | None, Query(ge=1, le=2**53, description="Of one turn only.")] = None,
        path: Annotated[str | None, Query(max_length=16384, description="Of one file only.")] = None,
    ) -> Response:
        """What is on disk as a patch for `git apply`, with the true bytes: secrets are not masked in it."""
        room = await gateway.open(session)
        if row is not None:
            changes = [one for one in _changes(await _row(room, row)) if one.provenance in ("result", "observed")]
        else:
            changes = await room.landed(turn)
        if path is not None and changes:
            changes = _of_path(changes, path)
        data = await asyncio.to_thread(patch_of, changes, room.kept, str(room.workspace))
        headers = {"content-disposition": f'attachment; filename="{session}.patch"'}
        return Response(data, media_type="text/x-patch; charset=utf-8", headers=headers)

    @router.get("/sessions/{session}/image", response_class=Response, responses=_IMAGE)
    async def image(session: Session, blob: Annotated[str, Query(pattern="^[0-9a-f]{40}$")]) -> Response:
        """An image of a message."""
        room = await gateway.open(session)
        data = await asyncio.to_thread(room.kept, blob)
        kind = None if data is None else _image_type(data)
        if data is None or kind is None:
            raise GatewayError("NO_IMAGE", "There is no such image.", "It may have been too large to keep.")
        return Response(data, media_type=kind, headers={"cache-control": "private, max-age=86400, immutable"})

    @router.get("/sessions/{session}/files")
    async def files(session: Session) -> wire.TouchedFiles:
        """The files that the session changed, net."""
        room = await gateway.open(session)
        changes = await room.landed()
        return wire.TouchedFiles(files=await asyncio.to_thread(touched_files, changes, _place(room)))

    @router.get("/file-diff")
    async def live_file_diff(session: SessionQuery, path: FilePath) -> wire.FileDiff:
        """`git diff HEAD` of a file in the session's folder, as it is now."""
        room = await gateway.open(session)
        target = await (await asyncio.to_thread(LocalFiles, [room.workspace])).resolve(path)
        return await asyncio.to_thread(file_diff, target, _place(room), gateway.archive.redactor)

    # Actions.

    @router.post("/sessions/{session}/prompt", status_code=202)
    async def prompt(session: Session, prompt: wire.Prompt) -> wire.Accepted:
        """Begin a turn. One that comes during a turn waits for its end."""
        await _submit(session, prompt.text)
        return wire.Accepted()

    @router.post("/sessions/{session}/cancel")
    async def cancel(session: Session) -> wire.Cancelled:
        """Stop the running turn, and those that wait."""
        return wire.Cancelled(cancelled=await (await gateway.open(session)).cancel())

    @router.post("/sessions/{session}/permission")
    async def answer(session: Session, answer: wire.Answer) -> wire.Answered:
        """Answer a request."""
        room = await gateway.open(session)
        return wire.Answered(settled=room.answer(answer.request, answer.option, NAME))

    @router.post("/sessions/{session}/undo/preview")
    async def undo_preview(session: Session, selection: wire.UndoSelection) -> wire.UndoPreview:
        """What an undo would do now; nothing is done."""
        room = await gateway.open(session)
        plan = await room.plan_undo(turn=selection.turn, path=selection.path, call=selection.call, hunk=selection.hunk)
        return wire.UndoPreview(
            plan=plans.keep(session, plan), of=called(plan.of),
            changes=_place(room).changes(plan.changes, whole=True), notes=[text(note) for note in plan.notes],
        )  # fmt: skip

    @router.post("/sessions/{session}/undo")
    async def undo(session: Session, wanted: wire.Undo) -> wire.UndoDone:
        """Carry out an undo that was previewed."""
        room = await gateway.open(session)
        done = await room.undo(plans.take(session, wanted.plan))
        return wire.UndoDone(
            turn=done.turn, changes=_place(room).changes(done.changes), notes=[text(note) for note in done.notes]
        )

    # The stream.

    @router.get("/stream", response_class=EventSourceResponse, responses=_STREAM)
    async def stream(
        sessions: Annotated[str, Query(max_length=8192, description="`session:after`, comma-separated.")] = "",
        listing: Annotated[bool, Query(description="Tell also what changes in the list of sessions.")] = False,
        last_event_id: Annotated[str | None, Header(description="Of the stream that broke off.")] = None,
    ) -> EventSourceResponse:
        """The one event stream of a tab. With a `Last-Event-ID` it goes on where that had ended."""
        wanted = subscriptions(last_event_id or sessions)
        opened = await hub().open(wanted, listing=listing)
        return EventSourceResponse(hub().chunks(opened), ping=PING_SECONDS, sep="\n")

    @router.post("/stream/{stream}")
    async def change_stream(stream: Annotated[str, InPath(max_length=64)], wanted: wire.Subscriptions) -> wire.Accepted:
        """Change what an open stream is about."""
        await hub().change(stream, wanted)
        return wire.Accepted()

    async def _submit(session: str, prompt: str) -> None:
        channel = await hub().channel(session)
        task = await channel.room.submit(prompt, source=NAME)

        def over(_: asyncio.Task[Any]) -> None:
            if not task.cancelled() and (error := task.exception()) is not None:
                channel.fail(problem(error if isinstance(error, Exception) else RuntimeError(str(error))))

        task.add_done_callback(over)

    return router


_PATCH: Any = {200: {"content": {"text/x-patch": {"schema": {"type": "string"}}}, "description": "The patch."}}
_IMAGE: Any = {
    200: {
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for _, kind in _IMAGES},
        "description": "The image.",
    }
}
_STREAM: Any = {
    200: {
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
        "description": "Events; what each holds is in `StreamEvents`.",
    }
}


def _place(room: Room) -> Place:
    return Place(room.session, str(room.workspace))


async def _shown(room: Room, rows: Sequence[AnyRow]) -> list[wire.Row]:
    place = _place(room)
    shown: list[wire.Row] = []
    for row in rows:
        covered: Sequence[int] = ()
        if isinstance(row, AgentRow) and may_fold(row) and row.turn:
            covered = covered_lines(row.text, await room.landed(row.turn), place.workspace)
        shown.append(place.row(row, covered=covered))
    return shown


async def _row(room: Room, id_: str) -> AnyRow:
    row = await room.row(id_)
    if row is None:
        raise GatewayError("NO_ROW", "This session has no such row.", "Load the session again.")
    return row


def _details(room: Room, row: AnyRow, redactor: Redactor) -> wire.RowDetails:
    if isinstance(row, ToolRow | RevertRow | FoundRow):
        row = replace(row, changes=tuple(restored(one, room.kept, redactor) for one in row.changes))
    return _place(room).details(row)


def _changes(row: AnyRow) -> list[FileChange]:
    """On disk, or else what was proposed."""
    match row:
        case ToolRow():
            return list(row.changes or row.proposed)
        case RevertRow() | FoundRow() | PermissionRow():
            return list(row.changes)
        case _:
            return []


def _of_path(changes: Sequence[FileChange], path: str) -> list[FileChange]:
    found = [one for one in changes if path in (text(one.path), text(one.old_path or ""))]
    if not found:
        raise GatewayError("NO_FILE", "That file is not among the changes.", "Name it as the change does.")
    return found


def _image_type(data: bytes) -> str | None:
    return next((kind for magic, kind in _IMAGES if data.startswith(magic)), None)
