"""The state of a session, which a surface shows around its rows: what each event makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from redline.transcript import fields

if TYPE_CHECKING:
    from redline.sessions.events import Event
    from redline.transcript.fields import Data
    from redline.transcript.rows import SessionState


def after(state: SessionState, event: Event) -> SessionState:
    """The state once `event` has happened; the same where it says nothing about the session."""
    take = _TAKE.get(event.type)
    return state if take is None else take(state, event, event.data)


def _session_started(state: SessionState, event: Event, data: Data) -> SessionState:
    return replace(
        state,
        session=event.session,
        workspace=fields.text(data, "workspace", state.workspace),
        agent=fields.text(data, "agent", state.agent),
        model=fields.text(data, "model", state.model),
    )


def _session_state(state: SessionState, _: Event, data: Data) -> SessionState:
    modes, of_agent = data.get("modes"), data.get("agent")
    return replace(
        state,
        title=fields.text(data, "title", state.title),
        approval=fields.text(modes, "approval") if isinstance(modes, Mapping) else state.approval,
        of_agent=of_agent if isinstance(of_agent, Mapping) else state.of_agent,
    )


def _session_closed(state: SessionState, _: Event, __: Data) -> SessionState:
    return replace(state, closed=True, running=False)


def _agent_started(state: SessionState, _: Event, data: Data) -> SessionState:
    return replace(state, agent=fields.text(data, "name", state.agent), model=fields.text(data, "model", state.model))


def _turn_started(state: SessionState, _: Event, data: Data) -> SessionState:
    return replace(state, turn=fields.number(data, "turn"), running=True, closed=False)


def _turn_ended(state: SessionState, _: Event, __: Data) -> SessionState:
    return replace(state, running=False)


_TAKE: Mapping[str, Callable[[SessionState, Event, Data], SessionState]] = {
    "session/started": _session_started,
    "session/state": _session_state,
    "session/closed": _session_closed,
    "agent/started": _agent_started,
    "turn/started": _turn_started,
    "turn/ended": _turn_ended,
}
