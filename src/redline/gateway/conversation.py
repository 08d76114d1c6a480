"""A conversation: one session, one agent, any number of surfaces. It owns turns: what starts one ends it in the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redline.agents.agent import Agent, AgentFactory, ObservingAgent, Stop
from redline.agents.markers import neutralised
from redline.gateway.fanout import Fanout, Subscription
from redline.gateway.permissions import Approval, Permissions
from redline.gateway.rule import relaxes, rule_for, turn_text
from redline.gateway.surface_faults import SurfaceFaults
from redline.gateway.title import title_of
from redline.sessions.gate import GateError
from redline.sessions.store import StoreError
from redline.tools.recovery import recover
from redline.tools.undo import Undone, UndoPlan, undo
from redline.transcript.fold import Transcript
from redline.workspace.store import BytesError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from redline.files.seam import Files
    from redline.gateway.archive import OpenSession
    from redline.gateway.audience import Audience
    from redline.sessions.events import Event
    from redline.tools.permission import PermissionOutcome, PermissionRequest
    from redline.transcript.presenters import Presenters

_log = logging.getLogger(__name__)

_DRAIN_SECONDS = 5.0

CANCELLED = Stop("cancelled", "CANCELLED", "The turn was stopped.", "Say what to do instead, or “continue”.")


@dataclass(frozen=True, slots=True)
class _Host:
    """What the agent may ask (`agents.agent.Host`)."""

    permissions: Permissions

    async def permission(self, request: PermissionRequest) -> PermissionOutcome:
        return await self.permissions(request)


class Conversation:
    """Made by `begin`. Prompts are worked through one after the other."""

    def __init__(
        self,
        session: OpenSession,
        files: Files,
        workspace: Path,
        present: Presenters,
        approval: Approval,
        fanout: Fanout | None = None,
    ) -> None:
        self.session = session
        self.surface_fault = SurfaceFaults(self.notice)
        self.fanout = fanout or Fanout(Transcript(session.log.session, present), self.surface_fault)
        self.transcript = self.fanout.transcript
        self.permissions = Permissions(
            session.log, workspace, lambda: self.fanout.surfaces, approval=approval, fault=self.surface_fault
        )
        self._lent = fanout is not None
        self._files = files
        self._workspace = workspace
        self._agent: Agent | None = None
        self._had_cards = False
        """An earlier turn came from a surface that shows changes."""
        self._last_turn = 0
        self._turns = asyncio.Lock()
        self._running: asyncio.Task[Stop] | None = None
        self._leave: list[Any] = []
        self._announced = False

    @classmethod
    async def begin(
        cls,
        session: OpenSession,
        factory: AgentFactory,
        *,
        files: Files,
        workspace: Path,
        present: Presenters,
        approval: Approval = "ask",
        fanout: Fanout | None = None,
    ) -> Conversation:
        """Take up a session, new or resumed: fold what its log holds, remember what it allows, make the agent.

        `fanout`: of somebody who shows the session also while nobody runs it; it is brought up to the log's end, and
        its surfaces stay when the conversation ends.
        """
        conversation = cls(session, files, workspace, present, approval, fanout)
        log = session.log
        async for event in log.events():
            conversation._take(event)
            conversation.permissions.restore([event])
        conversation._leave = [
            log.subscribe(conversation._take),
            log.subscribe_text(conversation.fanout.take_text),
        ]
        agent = conversation._agent = factory(log=log, host=_Host(conversation.permissions), workspace=workspace)
        if isinstance(agent, ObservingAgent):
            await agent.take_up()
        return conversation

    # Surfaces.

    def attach(self, surface: Audience, *, after: int | None = None) -> Subscription:
        """Let a surface see the session and answer for it. `after`: the last event that it knows of; None: it wants
        only what comes from now on. `Subscription.close` detaches it."""
        return self.fanout.subscribe(surface, after=self.session.log.seq if after is None else after)

    # Turns.

    async def prompt(self, content: str | Sequence[Mapping[str, Any]], *, source: str) -> Stop:
        """Work through one prompt. `source` is the name of the surface that it comes from.

        One that arrives during a turn waits for its end; if that turn waits for a permission, it is withdrawn and the
        turn ended, since whoever writes on has not approved it. Cancelling the caller cancels the turn, which is
        closed in the log before `CancelledError` goes on.
        """
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [dict(block) for block in content]
        if self.permissions.is_asking:
            self.permissions.withdraw(f"a new prompt ({source})")
            await self._stop_running()
        async with self._turns:
            task = asyncio.get_running_loop().create_task(self._turn(blocks, source))
            self._running = task
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                task.cancel()
                await asyncio.wait({task})
                raise
            finally:
                self._running = None
            return CANCELLED if task.cancelled() else task.result()

    async def cancel(self) -> bool:
        """Stop the running turn; returns once it is closed in the log. False: none is running."""
        return await self._stop_running()

    @property
    def is_running(self) -> bool:
        """A turn runs."""
        return self._running is not None

    async def undo(
        self,
        *,
        turn: int | None = None,
        path: str | None = None,
        call: str | None = None,
        plan: UndoPlan | None = None,
    ) -> Undone:
        """Take changes back, between turns; see `tools.undo.undo`, which raises `UndoRefused`."""
        async with self._turns:
            session = self.session
            return await undo(
                session.log, session.store, self._files, session.redactor, turn=turn, path=path, call=call, plan=plan
            )

    async def notice(self, code: str, message: str, remedy: str = "", *, level: str = "warning") -> None:
        """Tell every surface something, and keep it in the log."""
        data: dict[str, Any] = {"code": code, "message": message, "remedy": remedy, "level": level}
        if self._running is not None:
            data["turn"] = self._last_turn
        await self.session.log.append("notice/raised", data)

    async def close(self, reason: str = "closed", *, told: bool = True) -> None:
        """End the turn, the agent and its own subscriptions; the session can be resumed. What is shown by then is
        shown. `told`: the log says so, and the session counts as used at this moment."""
        await self._stop_running()
        try:
            if self._agent is not None:
                await self._agent.close()
            await self.surface_fault.told(_DRAIN_SECONDS)
            if told:
                await self.session.log.append("session/closed", {"reason": reason})
        finally:
            if not self._lent:
                await self.fanout.close()
            for leave in self._leave:
                leave()

    async def _turn(self, blocks: list[dict[str, Any]], source: str) -> Stop:
        """One turn from its start to its end in the log, whatever happens between them."""
        log = self.session.log
        turn = self._last_turn + 1
        rule = rule_for(
            source,
            shows_changes={one.name.strip().lower(): one.shows_changes for one in self.fanout.surfaces},
            observation=isinstance(self._agent, ObservingAgent),
        )
        text = turn_text(rule, cards_before=self._had_cards)
        await self._announce()
        await log.append("turn/started", {"turn": turn, "source": source, "rule": rule.name})
        stop = CANCELLED
        try:
            await log.append("user/message", {"turn": turn, "content": blocks})
            await self._name_session(blocks)
            stop = await self._ask_agent(turn, blocks, text)
        finally:
            await asyncio.shield(self._end(turn, stop))
        await self.fanout.drain(_DRAIN_SECONDS)
        return stop

    async def _ask_agent(self, turn: int, blocks: list[dict[str, Any]], text: str) -> Stop:
        assert self._agent is not None
        safe = [{**block, "text": neutralised(block["text"])} if "text" in block else block for block in blocks]
        try:
            return await self._agent.prompt(turn, safe, text)
        except (StoreError, BytesError, GateError) as error:
            _log.exception("Turn %d of session %s could not be recorded", turn, self.session.log.session)
            remedy = getattr(error, "remedy", "") or "Look at the data folder, then say “continue”."
            stop = Stop("failed", getattr(error, "code", "LOG"), getattr(error, "message", str(error)), remedy)
        except Exception as fault:
            _log.exception("The agent failed in turn %d of session %s", turn, self.session.log.session)
            stop = Stop(
                "failed",
                "AGENT_FAULT",
                f"The agent failed: {type(fault).__name__}: {fault}",
                "What it did is kept. Say “continue”, and report this if it comes again.",
            )
        await self._close_open_calls()
        return stop

    async def _close_open_calls(self) -> None:
        """An agent that failed may have left calls open; they are closed as after a crash."""
        try:
            await recover(self.session.log, self.session.store, self._files)
        except Exception:
            _log.exception("Open calls of session %s could not be closed", self.session.log.session)

    async def _end(self, turn: int, stop: Stop) -> None:
        if self.transcript.state.turn == turn and not self.transcript.state.running:
            # Closed already, with the calls that were left open; why they were is said beside it.
            await self.notice(stop.code, stop.message, stop.remedy, level="error")
            return
        data: dict[str, Any] = {"turn": turn, "reason": stop.reason}
        if stop.code not in ("", CANCELLED.code):
            data["error"] = {"code": stop.code, "message": stop.message, "remedy": stop.remedy}
        await self.session.log.append("turn/ended", data)

    async def _announce(self) -> None:
        """Say once in each process which agent works on the session, and how approvals are set."""
        if self._announced or self._agent is None:
            return
        self._announced = True
        log = self.session.log
        await log.append("agent/started", {"name": self._agent.name, "model": self._agent.model})
        await log.append("session/state", {"modes": {"approval": self.permissions.approval}})

    async def _name_session(self, blocks: Sequence[Mapping[str, Any]]) -> None:
        if self.transcript.state.title:
            return
        if title := title_of(blocks):
            await self.session.log.append("session/state", {"title": title})

    async def _stop_running(self) -> bool:
        task = self._running
        if task is None or task.done():
            return False
        task.cancel()
        await asyncio.wait({task})
        return True

    # What the log reports.

    def _take(self, event: Event) -> None:
        if event.type == "turn/started":
            self._last_turn = max(self._last_turn, int(event.data.get("turn", 0)))
            self._had_cards = self._had_cards or relaxes(event.data.get("rule"))
        self.fanout.take(event)
