"""What a foreign agent's messages become: text, calls, plans and states in the log, and answers to what it asks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

from redline.agents.acp.normalise import CallSaid, Other, Plan, State, Text, Usage, said, with_envelope
from redline.protocol.adapter import permission_answer
from redline.protocol.connection import METHOD_NOT_FOUND, RpcError
from redline.sessions.gate import as_json
from redline.sessions.store import StoreError

if TYPE_CHECKING:
    from redline.agents.acp.calls import Calls
    from redline.agents.acp.questions import Questions
    from redline.agents.acp.terminals import Terminals
    from redline.agents.acp.texts import Texts
    from redline.agents.acp.watch import Watch
    from redline.sessions.log import SessionLog
    from redline.sessions.stream import TextStream

_FAULTS_TOLD = 20
"""Of what could not be read, so many are told one by one."""
_FLOOD = 200
"""Updates of unknown kinds that are kept of one turn."""


class Beyond(Protocol):
    """Who is asked about what is no business of ours, such as an editor in front of us."""

    async def notified(self, method: str, params: Any) -> None: ...

    async def asked(self, method: str, params: Any) -> Any:
        """Raises `RpcError`."""
        ...


class Client:
    """The client's side of the protocol, for one agent in one session (`protocol.connection.Peer`)."""

    def __init__(
        self, log: SessionLog, calls: Calls, watch: Watch, questions: Questions, texts: Texts, terminals: Terminals
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
        self._texts = texts
        self._terminals = terminals
        self._speech: TextStream | None = None
        self._kind: Literal["agent", "thought"] = "agent"
        self._message: str | None = None
        self._messages = 0
        self._faults = 0
        self._unknown: Counter[str] = Counter()
        self.usage: Usage | None = None
        """The last that was said of it in this turn."""
        self._asking: set[asyncio.Task[dict[str, Any]]] = set()

    # Messages.

    async def notified(self, method: str, params: Any) -> None:
        if method != "session/update" or not isinstance(params, Mapping):
            if self.beyond is not None:
                await self.beyond.notified(method, params)
            return
        if self.session and params.get("sessionId") not in (None, self.session):
            return
        heard = said(with_envelope(params))
        if (heard is None or isinstance(heard, Usage)) and self.listening and self.beyond is not None:
            await self.beyond.notified(method, params)
        try:
            if isinstance(heard, State):
                await self.take_state(heard)
            elif self.listening and heard is not None:
                await self._hear(heard)
        except StoreError as error:
            if self.fault is not None and not self.fault.done():
                self.fault.set_result(error)
            raise

    async def _hear(self, heard: Text | CallSaid | Plan | Usage | Other) -> None:
        if isinstance(heard, Text):
            await self._say(heard)
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
                await self._watch.note(call)
        elif isinstance(heard, Plan):
            await self._log.append("plan/updated", {"turn": self._calls.turn, "entries": as_json(heard.entries)})
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
                await self._watch.up_to_date()  # what was done before is not this command's work
                return await self._terminals.create(given)
            case "terminal/output":
                return await self._terminals.output(given)
            case "terminal/wait_for_exit":
                return await self._terminals.wait_for_exit(given)
            case "terminal/kill":
                return await self._terminals.kill(given)
            case "terminal/release":
                return await self._terminals.release(given)
        if self.beyond is not None:
            return await self.beyond.asked(method, params)
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")

    async def faulty(self, fault: str) -> None:
        self._faults += 1
        if self._faults > _FAULTS_TOLD:
            return
        more = " Further ones are not told." if self._faults == _FAULTS_TOLD else ""
        data = {"turn": self._calls.turn, "level": "warning", "code": "AGENT_MESSAGE", "message": fault + more}
        await self._log.append("notice/raised", data)

    # Turns.

    def begin(self) -> None:
        self._messages = 0
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
        speech, self._speech = self._speech, None
        if speech is not None:
            await speech.close()

    def withdraw(self) -> None:
        """The turn is being stopped: no question of the agent waits for an answer any more."""
        for task in self._asking:
            task.cancel()

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

    async def _keep_unknown(self, heard: Other) -> None:
        update = as_json(heard.update)
        data = update if isinstance(update, dict) else {"update": update}
        self._unknown[str(data.get("sessionUpdate"))[:80]] += 1
        if self._unknown.total() <= _FLOOD:
            await self._log.append("agent/update", {**data, "turn": self._calls.turn})

    async def _say(self, heard: Text) -> None:
        if not heard.text:
            return
        if self._speech is None or self._kind != heard.kind or (heard.message and heard.message != self._message):
            await self.end_speech()
            self._messages += 1
            self._kind, self._message = heard.kind, heard.message
            type_ = "assistant/message" if heard.kind == "agent" else "assistant/thought"
            self._speech = self._log.text(type_, self._calls.turn, f"{self._log.seq}.{self._messages}")
        await self._speech.write(heard.text, as_json(heard.meta))
        if not self._calls.running:
            await self.end_speech()

    async def take_state(self, heard: State) -> None:
        data = as_json(heard.data)
        new = {name: value for name, value in data.items() if self.state.get(name) != value}
        if not new:
            return
        self.state.update(new)
        if "title" in new:
            await self._log.append("session/state", {"title": new.pop("title")})
        if new:
            await self._log.append("session/state", {"agent": dict(self.state)})
