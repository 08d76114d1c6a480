"""What a foreign agent's messages become: text, calls, plans and states in the log, and answers to what it asks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from redline.agents.acp.normalise import CallSaid, Other, Plan, Said, State, Text, Usage, said, with_envelope
from redline.agents.acp.speech import Speech
from redline.agents.acp.terminals import command_line
from redline.protocol.adapter import permission_answer
from redline.protocol.connection import METHOD_NOT_FOUND, RpcError
from redline.sessions.gate import as_json
from redline.sessions.store import StoreError

if TYPE_CHECKING:
    from redline.agents.acp.bulk import Bulk
    from redline.agents.acp.call import ForeignCall
    from redline.agents.acp.calls import Calls
    from redline.agents.acp.consent import Consent
    from redline.agents.acp.questions import Questions
    from redline.agents.acp.terminals import Terminals
    from redline.agents.acp.texts import Texts
    from redline.agents.acp.watch import Watch
    from redline.sessions.log import SessionLog

_FAULTS_TOLD = 20
"""Of what could not be read, so many are told one by one."""
_FLOOD = 10_000
"""Updates of unknown kinds that are kept of one turn."""


class Beyond(Protocol):
    """Who is told and asked what is no business of ours, such as an editor in front of us. Of updates, that is all but
    text and calls, which the log tells better."""

    async def notified(self, method: str, params: Any) -> None: ...

    async def asked(self, method: str, params: Any) -> Any:
        """Raises `RpcError`."""
        ...


class Client:
    """The client's side of the protocol, for one agent in one session (`protocol.connection.Peer`)."""

    def __init__(
        self,
        log: SessionLog,
        calls: Calls,
        watch: Watch,
        questions: Questions,
        consent: Consent,
        texts: Texts,
        terminals: Terminals,
        bulk: Bulk,
    ) -> None:
        self.session = ""
        """Of the agent; what concerns another one is passed over."""
        self.listening = False
        """False: what the agent tells is the past, which our own log knows better."""
        self.state: dict[str, Any] = {}
        self.fault: asyncio.Future[StoreError] | None = None
        """Gets what keeps the log from taking what the agent says."""
        self.beyond: Beyond | None = None
        self._log = log
        self._calls = calls
        self._watch = watch
        self._questions = questions
        self._consent = consent
        self._texts = texts
        self._terminals = terminals
        self._bulk = bulk
        self._speech = Speech(log, bulk, calls)
        self._faults = 0
        self._unknown: Counter[str] = Counter()
        self.usage: Usage | None = None
        """The last that was said of it in this turn."""
        self._asking: set[asyncio.Task[dict[str, Any]]] = set()
        self._running: set[asyncio.Task[None]] = set()

    # Messages.

    async def notified(self, method: str, params: Any) -> None:
        if method != "session/update" or not isinstance(params, Mapping):
            if self.beyond is not None:
                await self.beyond.notified(method, params)
            return
        if self.session and params.get("sessionId") not in (None, self.session):
            return
        heard = said(with_envelope(params))
        try:
            await self._pass_on(heard, method, params)
            if isinstance(heard, State):
                await self.take_state(heard)
            elif self.listening and heard is not None:
                await self._hear(heard)
        except StoreError as error:
            if self.fault is not None and not self.fault.done():
                self.fault.set_result(error)
            raise

    async def _pass_on(self, heard: Said, method: str, params: Any) -> None:
        if self.beyond is None or isinstance(heard, Text | CallSaid):
            return
        if not self.listening and not isinstance(heard, State):
            return
        if isinstance(heard, Plan | Other):
            await self.end_speech()  # what was said before comes before
        await self.beyond.notified(method, params)

    async def _hear(self, heard: Text | CallSaid | Plan | Usage | Other) -> None:
        if isinstance(heard, Text):
            await self._speech.say(heard)
            return
        if isinstance(heard, Usage):
            self.usage = heard
            return
        await self.end_speech()
        if isinstance(heard, CallSaid):
            call, due = await self._calls.take(heard)
            if call.ended is not None:
                self._watch.ended(call)
            elif due:
                self._watch.announced(call)
        elif isinstance(heard, Plan):
            told = {"turn": self._calls.turn, "entries": as_json(heard.entries)}
            if heard.sent != {"sessionUpdate": "plan", "entries": heard.entries}:
                told["sent"] = await self._bulk.slim(heard.sent)
            await self._log.append("plan/updated", told)
        else:
            await self._keep_unknown(heard)

    async def asked(self, method: str, params: Any) -> Any:
        given = params if isinstance(params, Mapping) else {}
        match method:
            case "session/request_permission":
                return await self._ask(given)
            case "fs/read_text_file":
                return await self._texts.read(given)
            case "fs/write_text_file":
                return await self._texts.write(given)
            case "terminal/create":
                return await self._run(given)
            case "terminal/output":
                return await self._terminals.output(given)
            case "terminal/wait_for_exit":
                return await self._terminals.wait_for_exit(given)
            case "terminal/kill":
                return await self._terminals.kill(given)
            case "terminal/release":
                return await self._terminals.release(given)
        if self.beyond is not None:
            await self._watch.up_to_date()  # who is asked has seen what was done before
            return await self.beyond.asked(method, params)
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")

    async def faulty(self, fault: str, *, answered: bool) -> None:  # noqa: ARG002 - it is told in either case
        self._faults += 1
        if self._faults > _FAULTS_TOLD:
            return
        more = " Further ones are not told." if self._faults == _FAULTS_TOLD else ""
        data = {"turn": self._calls.turn, "level": "warning", "code": "AGENT_MESSAGE", "message": fault + more}
        await self._log.append("notice/raised", data)

    # Turns.

    def begin(self) -> None:
        self.usage = None
        self.listening = True

    async def end(self) -> None:
        """The turn is over: commit what was being said, and tell what was not kept."""
        self.withdraw()
        await self.end_speech()
        unknown, self._unknown = self._unknown, Counter()
        lost = unknown.total() - _FLOOD
        if lost > 0:
            kinds = ", ".join(kind for kind, _ in unknown.most_common(3))
            message = f"{lost} updates of kinds that Redline does not know were not kept: {kinds}."
            data = {"turn": self._calls.turn, "level": "warning", "code": "AGENT_FLOOD", "message": message}
            remedy = f"The first {_FLOOD} of the turn are in the log. What happened to files is told from the disk."
            await self._log.append("notice/raised", {**data, "remedy": remedy})

    async def end_speech(self) -> None:
        """Commit what was being said."""
        await self._speech.end()

    def withdraw(self) -> None:
        """The turn is being stopped: no question of the agent waits for an answer any more."""
        for task in self._asking:
            task.cancel()
        self._consent.withdraw()

    # Parts of the above.

    async def _ask(self, params: Mapping[str, Any]) -> dict[str, Any]:
        task = asyncio.ensure_future(self._questions.ask(params))
        self._asking.add(task)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            self._asking.discard(task)
        return permission_answer(None) if task.cancelled() else task.result()

    async def _run(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A command of the agent: of the open call that accounts for it, else a call of its own."""
        command = command_line(params)
        call, own = self._call_for(command), None
        if call is None:
            call = own = self._calls.own(command, "execute", rawInput={"command": command})
            own.claim = None
            await self._calls.tell(own, whole=True)
        elif call.evidence.command is None:  # it says nowhere what it runs
            call.runs_now(command)
            await self._calls.tell(call, whole=True)
        elif not call.runs(command):
            call.warnings.append(f"What was run for this: {command}")
        try:
            self._terminals.folder(params)
            await self._consent.to_run(call, command)
            await self._watch.up_to_date()  # what was done before is not this command's work
            created = await self._terminals.create(params)
        except RpcError as error:
            if own is not None:
                own.failed(error.message, asyncio.get_running_loop().time())
                self._watch.ended(own)
            raise
        call.terminals.append(created["terminalId"])
        if own is not None:
            own.holds({"type": "terminal", "terminalId": created["terminalId"]})
            self._running.add(task := asyncio.ensure_future(self._account_for(own, created["terminalId"])))
            task.add_done_callback(self._running.discard)
        return created

    def _call_for(self, command: str) -> ForeignCall | None:
        """The open call of the agent's that is to run it, or else one that does not say what it runs."""
        running = [call for call in self._calls.of_turn() if not call.closed and call.ended is None and call.may_run]
        running = [call for call in running if not call.made_up]
        fitting = [call for call in running if call.runs(command)]
        fitting = fitting or [call for call in running if call.runs_a_part(command)]
        fitting = [call for call in fitting if not call.terminals] or fitting
        vague = [call for call in running if call.is_open_ended and call.evidence.command is None]
        return next(iter(fitting or vague), None)

    async def _account_for(self, own: ForeignCall, terminal: str) -> None:
        await self._terminals.ended(terminal)
        own.claim, own.ended = "completed", asyncio.get_running_loop().time()
        self._watch.ended(own)

    async def _keep_unknown(self, heard: Other) -> None:
        update = heard.update
        kind = update.get("sessionUpdate") if isinstance(update, Mapping) else None
        self._unknown[str(kind)[:80]] += 1
        if self._unknown.total() <= _FLOOD:
            data = await self._bulk.slim(update)
            if not isinstance(data, dict) or "omitted" in data or "turn" in data or "update" in data:
                data = {"update": data}
            await self._log.append("agent/update", {**data, "turn": self._calls.turn})

    async def take_state(self, heard: State) -> None:
        data = as_json(heard.data)
        if heard.further:
            data["further"] = {**self.state.get("further", {}), **await self._bulk.slim(heard.further)}
        new = {name: value for name, value in data.items() if self.state.get(name) != value}
        if not new:
            return
        self.state.update(new)
        if "title" in new:
            await self._log.append("session/state", {"title": new.pop("title")})
        if new:
            await self._log.append("session/state", {"agent": dict(self.state)})
