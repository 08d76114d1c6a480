"""A foreign agent as one of ours: prompts in, events of the log out, and the disk as the witness of what it did."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from redline.agents.acp.bulk import Bulk, sendable
from redline.agents.acp.calls import Calls
from redline.agents.acp.choices import Offers
from redline.agents.acp.client import Client
from redline.agents.acp.consent import Consent
from redline.agents.acp.ending import cost_of_turn, stop_of, tokens_of
from redline.agents.acp.first_look import FirstLook
from redline.agents.acp.link import Link, LinkError
from redline.agents.acp.opening import Opening
from redline.agents.acp.questions import Questions
from redline.agents.acp.terminals import Terminals
from redline.agents.acp.texts import Texts, takes_missing_for_error
from redline.agents.acp.watch import Watch
from redline.agents.agent import Host, Stop
from redline.protocol import adapter
from redline.protocol.connection import ConnectionClosed
from redline.sessions.gate import GateError
from redline.sessions.store import StoreError
from redline.tools.mutation import Journal, to_its_end
from redline.tools.recorder import Recorder
from redline.workspace.observe import Observer
from redline.workspace.store import BytesError

if TYPE_CHECKING:
    from pathlib import Path

    from redline.agents.acp.factory import AcpOptions
    from redline.agents.acp.judgement import Over
    from redline.agents.acp.past import Past
    from redline.files.seam import Files
    from redline.sessions.log import SessionLog
    from redline.sessions.redaction import Redactor
    from redline.workspace.store import ByteStore

_JUST_NOW_SECONDS = 1.0
_LAST_WORDS_SECONDS = 0.3
"""An agent that is to end so soon after a turn is listened to until it ends by itself, but no longer than this."""
_FIRST_LOOK_SECONDS = 1.0
"""So long the start of an agent waits for the first look at the workspace."""


class AcpAgent:
    """One foreign agent in one session. Its process starts with the first prompt."""

    observes = True
    """What changes on disk is found and shown, whoever changes it."""

    def __init__(
        self,
        options: AcpOptions,
        log: SessionLog,
        host: Host,
        workspace: Path,
        files: Files,
        store: ByteStore,
        redactor: Redactor,
    ) -> None:
        self.name = options.name
        self.model = options.choices.model
        self._options = options
        self._log = log
        self._workspace = workspace
        self._store = store
        recorder = Recorder(redactor, store.sink(log.session))
        folder = str(workspace)
        self._bulk = Bulk(store, log.session, redactor)
        self._terminals = Terminals(workspace)
        self._calls = Calls(log, folder, recorder, self._bulk, self._terminals.known)
        observer = Observer(workspace, store, log.session, redactor)
        self._watch = Watch(observer, self._calls, log)
        journal = Journal(files, store, log, recorder)
        consent = Consent(options.name, host, files, recorder, given=options.settled)
        self._texts = Texts(files, journal, self._calls, consent, self._watch)
        self.questions = Questions(options.name, host, self._calls, self._watch, files, recorder)
        self._client = Client(
            log, self._calls, self._watch, self.questions, consent, self._texts, self._terminals, self._bulk
        )
        self._link: Link | None = None
        self._reading: asyncio.Task[None] | None = None
        self._first_look = FirstLook(log, self._watch)
        self._ended = -math.inf
        """When the last turn ended as the agent said, by the clock of the event loop."""
        self.fault: LinkError | None = None
        """What kept the last prompt from its answer."""
        self.offers = Offers()
        """What there is to choose from, as it was when the session was opened."""

    async def take_up(self) -> None:
        """Look at the workspace for the first time, in the background: nobody has to wait for it but the first
        prompt."""
        self._first_look.begin()

    async def prompt(self, turn: int, content: Sequence[Mapping[str, Any]], rule: str) -> Stop:
        """Work through one turn. `Agent.prompt` says what is promised."""
        self.fault = None
        await self._client.end_speech()  # what was said after the last turn
        starts = not self._is_running
        if starts:
            await self._look_before_start()
        try:
            link = await self.connect(turn)
        except LinkError as problem:
            self.fault = problem
            return Stop("failed", problem.code, problem.message, problem.remedy)
        if not starts:
            await self._watch.refresh()
        self._calls.begin(turn)
        if starts:
            await self._watch.up_to_date()  # what its start left in the workspace is told as found
            await self._watch.refresh()
        self._client.begin()
        blocks = [{"type": "text", "text": rule}] if rule else []
        blocks += [sendable(block, self._kept) for block in content]
        asking = asyncio.ensure_future(link.ask("session/prompt", self._request(blocks)))
        over: Over = "broken"
        try:
            answer = await self._answer(asking)
            over = "ended"
            stop = await self._stop_for(turn, answer)
        except LinkError as problem:
            self.fault = problem
            if problem.code == "AGENT_EXITED":
                await self._died(link, problem)
            stop = Stop("failed", problem.code, problem.message, problem.remedy)
        except asyncio.CancelledError:
            over = "cancelled"
            await to_its_end(self._cancel(link, asking))
            raise
        finally:
            await to_its_end(self._end(over))
        return stop

    async def close(self) -> None:
        """End the agent with everything that it started, and tell what came of that."""
        await self._hear_out()
        await self._drop()
        try:
            await self._client.end_speech()  # what was said after the last turn
        finally:
            await self._look_no_more()

    async def _look_no_more(self) -> None:
        with suppress(StoreError, GateError, BytesError, OSError):  # the turns are closed, whatever is missing here
            await self._watch.up_to_date()
        await self._first_look.end()
        await self._watch.close()

    async def _hear_out(self) -> None:
        """Of a turn that has only just ended, some agents tell the last part after its end."""
        loop = asyncio.get_running_loop()
        if self._link is None or self._reading is None or loop.time() - self._ended > _JUST_NOW_SECONDS:
            return
        self._link.hang_up()
        await asyncio.wait({self._reading}, timeout=_LAST_WORDS_SECONDS)

    # A session with the agent.

    async def connect(self, turn: int) -> Link:
        """The agent, running and in a session, for `turn`; nothing is done where it is. Raises `LinkError`."""
        if self._link is not None and self._is_running:
            return self._link
        await self._drop()
        try:
            link = await self._started()
            await self._open_session(link, turn, await self._first_look.done())
        except BaseException:
            await to_its_end(self._drop())
            raise
        return link

    @property
    def _is_running(self) -> bool:
        return self._link is not None and not self._link.connection.closed

    async def _look_before_start(self) -> None:
        """So that what the agent does as it starts can be told from what was there, in a workspace that is looked at
        in a moment. In a larger one nobody waits: there it counts as what was there."""
        if await self._first_look.done_within(_FIRST_LOOK_SECONDS):
            await self._watch.refresh()

    async def _started(self) -> Link:
        options = self._options
        link = await Link.open(
            options.command, self._workspace, self._client,
            environment=options.environment, seconds=options.greeting_seconds,
        )  # fmt: skip
        self._link = link
        self._watch.caught_up = link.connection.caught_up
        self._client.listening, self._client.session = False, ""
        self._reading = asyncio.get_running_loop().create_task(link.connection.run())
        await link.greet(options.declared, options.greeting)
        self._texts.missing_is_empty = takes_missing_for_error(link.name or options.name)
        return link

    async def _open_session(self, link: Link, turn: int, past: Past) -> None:
        opening = Opening(link, self._client, self._log, self._options, str(self._workspace))
        offers = await opening.open(turn, past)
        choices = past.choices(self._options.choices)
        self.model, self.offers = offers.model or choices.model, offers
        await opening.remember(turn, offers, choices)

    # The end of a turn.

    async def _answer(self, asking: asyncio.Future[Any]) -> Any:
        """The agent's answer to a prompt. A log that takes nothing more ends the agent: what it does could not be
        told."""
        fault = self._client.fault = asyncio.get_running_loop().create_future()
        await asyncio.wait({asking, fault}, return_when=asyncio.FIRST_COMPLETED)
        if not fault.done():
            return asking.result()
        asking.cancel()
        await self._drop()
        raise fault.result()

    async def _stop_for(self, turn: int, answer: object) -> Stop:
        held = answer if isinstance(answer, Mapping) else {}
        await self._tell_usage(turn, held.get("usage"))
        withdrawn = any(call.answer == "cancelled" for call in self._calls.of_turn())
        return stop_of(held, withdrawn=withdrawn)

    async def _tell_usage(self, turn: int, of_turn: object) -> None:
        """What a turn has used. `of_turn`: as its answer has it."""
        so_far, past, cost = self._client.usage, self._first_look.past, None
        if so_far is None and not isinstance(of_turn, Mapping):
            return
        data = tokens_of(of_turn)
        if so_far is not None:
            sent = await self._bulk.slim(so_far.sent)
            data["context"] = {"used": so_far.used, "size": so_far.size, "sent": sent}
            cost = cost_of_turn(so_far, past.cost)
            if so_far.cost is not None:
                past.cost = data["of_session"] = so_far.cost
        await self._log.append("usage/updated", {"turn": turn, "model": self.model, **data, "cost": cost})

    async def _cancel(self, link: Link, asking: asyncio.Future[Any]) -> None:
        self._client.withdraw()
        with suppress(ConnectionClosed, TimeoutError):
            async with asyncio.timeout(1.0):
                await link.connection.notify("session/cancel", self._withdrawal())
        done, _ = await asyncio.wait({asking}, timeout=self._options.cancel_seconds)
        if not done or link.connection.closed:
            asking.cancel()
            await self._drop()
        if asking.done() and not asking.cancelled():
            asking.exception()

    async def _died(self, link: Link, problem: LinkError) -> None:
        code = link.child.exit_code
        data: dict[str, Any] = {"turn": self._calls.turn, "reason": problem.message}
        await self._log.append("agent/exited", data if code is None else {**data, "code": code})
        await self._drop()

    async def _end(self, over: Over) -> None:
        await self._client.end()
        if over != "ended":
            await self._tell_usage(self._calls.turn, None)
        try:
            await self._watch.up_to_date()
        finally:
            await self._calls.finish(over)
            await self._client.end_speech()  # what was said while the disk was looked at
        if over == "ended":
            self._ended = asyncio.get_running_loop().time()
        await self._watch.keep()

    async def _drop(self) -> None:
        """End the process, if there is one; the session can be taken up again."""
        link, self._link = self._link, None
        await self._terminals.close()
        if link is not None:
            await link.close()
        if self._reading is not None:
            await asyncio.wait({self._reading})
            self._reading = None

    def _kept(self, blob: str) -> bytes | None:
        return self._store.get(self._log.session, blob)

    def _request(self, blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The parameters of a prompt."""
        return adapter.prompt(self._client.session, blocks)

    def _withdrawal(self) -> dict[str, Any]:
        """Of a `session/cancel`."""
        return {"sessionId": self._client.session}
