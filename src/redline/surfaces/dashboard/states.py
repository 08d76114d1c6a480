"""Sessions, agents and errors as they go over the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.place import text

if TYPE_CHECKING:
    from redline.gateway.gateway import Listed
    from redline.gateway.room import Room
    from redline.gateway.roster import Offer


def state(room: Room) -> wire.SessionState:
    seen = room.state
    mode = seen.of_agent.get("mode")
    runs = room.runs
    return wire.SessionState(
        session=room.session,
        workspace=text(seen.workspace),
        agent=text(seen.agent),
        model=text(seen.model),
        title=text(seen.title),
        turn=seen.turn,
        running=seen.running and runs != "nobody",
        closed=seen.closed,
        approval=text(seen.approval),
        mode=text(mode) if isinstance(mode, str) else "",
        runs=runs,
        waiting=room.waiting,
        seq=room.seq,
    )


def summary(listed: Listed) -> wire.SessionSummary:
    one = listed.summary
    return wire.SessionSummary(
        session=one.session,
        workspace=text(one.workspace),
        agent=text(one.agent),
        title=text(one.title),
        started_at=one.started_at,
        updated_at=one.updated_at,
        turns=one.turns,
        added=one.added,
        removed=one.removed,
        exact=one.exact,
        at_least=one.at_least,
        runs=listed.runs,
        doing=listed.doing,
    )


def agent(offer: Offer) -> wire.Agent:
    return wire.Agent(
        name=offer.name,
        title=offer.title,
        installed=offer.installed,
        default=offer.default,
        model=offer.model,
        needs_model=offer.needs_model,
        install=offer.install,
        sign_in=offer.sign_in,
        notes=offer.notes,
    )
