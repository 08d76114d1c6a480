"""Routes that do something in a session, and the stream that tells what comes of it."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi import Path as InPath
from sse_starlette import EventSourceResponse

from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.asked import House, Served, Session, place_of
from redline.surfaces.dashboard.changes import shown_changes
from redline.surfaces.dashboard.channel import NAME
from redline.surfaces.dashboard.place import text
from redline.surfaces.dashboard.problems import problem_of
from redline.surfaces.dashboard.rows import called
from redline.surfaces.dashboard.stream import subscriptions

router = APIRouter()
PING_SECONDS = 15
_STREAM: Any = {
    200: {
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
        "description": "Events; what each holds is in `StreamEvents`.",
    }
}


@router.post("/sessions/{session}/prompt", status_code=202)
async def prompt(house: Served, session: Session, prompt: wire.Prompt) -> wire.Accepted:
    """Begin a turn. One that comes during a turn waits for its end."""
    await submit(house, session, prompt.text)
    return wire.Accepted()


@router.post("/sessions/{session}/cancel")
async def cancel(house: Served, session: Session) -> wire.Cancelled:
    """Stop the running turn, and those that wait."""
    return wire.Cancelled(cancelled=await (await house.gateway.open(session)).cancel())


@router.post("/sessions/{session}/permission")
async def answer(house: Served, session: Session, answer: wire.Answer) -> wire.Answered:
    """Answer a request."""
    room = await house.gateway.open(session)
    return wire.Answered(settled=room.answer(answer.request, answer.option, NAME))


@router.post("/sessions/{session}/undo/preview")
async def undo_preview(house: Served, session: Session, selection: wire.UndoSelection) -> wire.UndoPreview:
    """What an undo would do now; nothing is done."""
    room = await house.gateway.open(session)
    plan = await room.plan_undo(turn=selection.turn, path=selection.path, call=selection.call, hunk=selection.hunk)
    return wire.UndoPreview(
        plan=house.plans.keep(session, plan),
        of=called(plan.of),
        changes=shown_changes(place_of(room), plan.changes, whole=True),
        notes=[text(note) for note in plan.notes],
    )


@router.post("/sessions/{session}/undo")
async def undo(house: Served, session: Session, wanted: wire.Undo) -> wire.UndoDone:
    """Carry out an undo that was previewed."""
    room = await house.gateway.open(session)
    done = await room.undo(house.plans.take(session, wanted.plan))
    return wire.UndoDone(
        turn=done.turn, changes=shown_changes(place_of(room), done.changes), notes=[text(note) for note in done.notes]
    )


@router.get("/stream", response_class=EventSourceResponse, responses=_STREAM)
async def stream(
    house: Served,
    sessions: Annotated[str, Query(max_length=8192, description="`session:after`, comma-separated.")] = "",
    listing: Annotated[bool, Query(description="Tell also what changes in the list of sessions.")] = False,
    last_event_id: Annotated[str | None, Header(description="Of the stream that broke off.")] = None,
) -> EventSourceResponse:
    """The one event stream of a tab. With a `Last-Event-ID` it goes on where that had ended."""
    opened = await house.hub.open(subscriptions(last_event_id or sessions), listing=listing)
    return EventSourceResponse(house.hub.chunks(opened), ping=PING_SECONDS, sep="\n")


@router.post("/stream/{stream}")
async def change_stream(
    house: Served, stream: Annotated[str, InPath(max_length=64)], wanted: wire.Subscriptions
) -> wire.Accepted:
    """Change what an open stream is about."""
    await house.hub.change(stream, wanted)
    return wire.Accepted()


async def submit(house: House, session: str, prompt: str) -> None:
    """Begin a turn; what keeps it from being recorded is told on the stream."""
    channel = await house.hub.channel(session)
    task = await channel.room.submit(prompt, source=NAME)

    def over(_: asyncio.Task[Any]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            channel.fail(problem_of(error if isinstance(error, Exception) else RuntimeError(str(error))))

    task.add_done_callback(over)
