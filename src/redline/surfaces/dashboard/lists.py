"""Routes around the sessions: the list, a new one, and what a new one may be about."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query

from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.actions import submit
from redline.surfaces.dashboard.asked import Before, Served, Session
from redline.surfaces.dashboard.channel import NAME
from redline.surfaces.dashboard.place import text
from redline.surfaces.dashboard.states import agent, state, summary

router = APIRouter()
_RECENT = 20
"""Folders that are offered for a new session."""


@router.get("/sessions")
async def list_sessions(
    house: Served,
    query: Annotated[str, Query(max_length=1000, description="Words to be found.")] = "",
    before: Before = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> wire.SessionPage:
    """The sessions, the one used last first."""
    found, following = await house.gateway.sessions(query=query, before=before, limit=limit)
    return wire.SessionPage(sessions=[summary(one) for one in found], before=following)


@router.post("/sessions", status_code=201)
async def new_session(house: Served, new: wire.NewSession) -> wire.SessionState:
    """Begin a session, with its first turn if there is a prompt."""
    room = await house.gateway.start(new.folder, new.agent, new.model, source=NAME)
    if new.prompt.strip():
        await submit(house, room.session, new.prompt)
    return state(room)


@router.get("/sessions/{session}")
async def session_state(house: Served, session: Session) -> wire.SessionState:
    return state(await house.gateway.open(session))


@router.delete("/sessions/{session}")
async def delete_session(house: Served, session: Session) -> wire.Accepted:
    """Remove its log and the bytes kept for undo; the files in its folder stay as they are."""
    await house.gateway.archive.summary(session)
    await house.gateway.delete(session)
    return wire.Accepted()


@router.get("/agents")
async def agents(house: Served) -> wire.Agents:
    """The agents that a new session may name."""
    return wire.Agents(agents=[agent(offer) for offer in await asyncio.to_thread(house.gateway.offers)])


@router.get("/folders")
async def folders(house: Served) -> wire.Folders:
    """Folders that a new session may be about."""
    found, _ = await house.gateway.sessions(limit=200)
    recent = list(dict.fromkeys(one.summary.workspace for one in found))
    there = await asyncio.to_thread(lambda: [text(folder) for folder in recent if Path(folder).is_dir()])
    return wire.Folders(here=text(str(house.here)), home=text(str(Path.home())), recent=there[:_RECENT])
