"""Somebody else's agent behind the editor: what is told of its work comes from the log, and the rest passes through."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from redline.agents.acp.agent import AcpAgent
from redline.agents.acp.factory import AcpFactory, AcpOptions
from redline.agents.acp.link import LinkError
from redline.agents.acp.normalise import State
from redline.protocol.connection import (
    INTERNAL_ERROR,
    ConnectionClosed,
    RpcError,
)
from redline.surfaces.editor.answers import error_of, failure, stop_reason
from redline.surfaces.editor.lobby import names_session

if TYPE_CHECKING:
    from pathlib import Path

    from redline.agents.agent import Host, Stop
    from redline.sessions.log import SessionLog
    from redline.surfaces.editor.screen import Wire

BESIDE: ContextVar[Mapping[str, Any]] = ContextVar("beside", default=MappingProxyType({}))
"""What the editor's request for the running turn holds beside the prompt itself."""


@dataclass(frozen=True, slots=True)
class ProxiedFactory:
    """Makes agents that work for an editor (an `AgentFactory`). `parameters`, `declared` and `greeting`: see
    `AcpOptions`."""

    made_by: AcpFactory
    wire: Wire
    parameters: Mapping[str, Any]
    declared: Mapping[str, Any]
    greeting: Mapping[str, Any]

    def __call__(self, *, log: SessionLog, host: Host, workspace: Path) -> ProxiedAgent:
        by = self.made_by
        options = replace(by.options, parameters=self.parameters, declared=self.declared, greeting=self.greeting)
        return ProxiedAgent(options, log, host, workspace, by.files, by.store, by.redactor, self.wire)


class ProxiedAgent(AcpAgent):
    """A foreign agent whose client is an editor."""

    def __init__(self, options: AcpOptions, log: SessionLog, host: Host, *places: Any) -> None:
        *before, wire = places
        super().__init__(options, log, host, *before)
        self.editor = Editor(wire, log.session)
        self._client.beyond = self.editor
        self.answer: Mapping[str, Any] = {}
        """The agent's own, to the last prompt."""
        self.withdrawn_with: Mapping[str, Any] = {}
        """The parameters of the editor's own `session/cancel`."""

    async def prompt(self, turn: int, content: Sequence[Mapping[str, Any]], rule: str) -> Stop:
        """Without the diff rule: what the editor's user writes reaches the agent as it was written."""
        del rule
        self.answer, self.withdrawn_with = {}, {}
        return await super().prompt(turn, content, "")

    def _request(self, blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {**BESIDE.get(), **super()._request(blocks)}

    async def _stop_for(self, turn: int, answer: object) -> Stop:
        self.answer = dict(answer) if isinstance(answer, Mapping) else {}
        return await super()._stop_for(turn, answer)

    def _withdrawal(self) -> dict[str, Any]:
        return {**self.withdrawn_with, **super()._withdrawal()}

    async def open(self, turn: int) -> None:
        """Start it and open its session, before the first prompt: only then does it say what it offers. Raises
        `RpcError`."""
        try:
            await self.connect(turn)
        except LinkError as problem:
            await self._drop()
            raise error_of(problem) from problem

    @property
    def can_go_on(self) -> bool:
        """Another process of the agent can take up its session."""
        return self._link is not None and (self._link.can_load or self._link.can_resume)

    def beside(self, params: Mapping[str, Any]) -> None:
        """What the request for the next turn of this task holds, beside the prompt, goes with it."""
        BESIDE.set({name: value for name, value in params.items() if name not in ("sessionId", "prompt")})

    def told(self, stop: Stop) -> dict[str, Any]:
        """The answer to `session/prompt`: the agent's own, where it gave one. Raises `RpcError`."""
        if stop.reason == "failed" and stop.code != "REFUSAL":
            raise failure(stop) if self.fault is None else error_of(self.fault)
        return dict(self.answer) if self.answer else {"stopReason": stop_reason(stop)}

    def settings(self) -> dict[str, Any]:
        """What it offers in a session, in its own words and as it stands now."""
        offers, now = self.offers, self._client.state
        found: dict[str, Any] = dict(offers.others)
        if offers.modes:
            found["modes"] = {**offers.modes, **({"currentModeId": now["mode"]} if now.get("mode") else {})}
        if offers.models:
            found["models"] = dict(offers.models)
        options = now.get("options") or list(offers.options)
        return {**found, "configOptions": options} if options else found

    async def pass_on(self, method: str, params: Mapping[str, Any]) -> Any:
        """A request of the editor to the agent, and its answer, as they are. Raises `RpcError`."""
        link = self._link
        if link is None or link.connection.closed:
            raise RpcError(INTERNAL_ERROR, "The agent does not run. A prompt starts it again.")
        try:
            answer = await link.connection.request(method, self._addressed(params), withdrawn=True)
        except ConnectionClosed:
            raise error_of(await link.death()) from None
        if method == "session/set_mode" and isinstance(params.get("modeId"), str):
            await self._client.take_state(State({"mode": params["modeId"]}))
        elif method == "session/set_model" and isinstance(params.get("modelId"), str):
            self.offers.models = {**self.offers.models, "currentModelId": params["modelId"]}
        elif method == "session/set_config_option" and isinstance(answer, Mapping) and answer.get("configOptions"):
            await self._client.take_state(State({"options": answer["configOptions"]}))
        return answer

    async def pass_word(self, method: str, params: Any) -> None:
        """A notification, likewise."""
        if self._link is not None and not self._link.connection.closed:
            await self._link.connection.notify(method, self._addressed(params))

    def _addressed(self, params: Any) -> Any:
        return {**params, "sessionId": self._client.session} if names_session(params) else params


async def _at_once() -> None:
    pass


def _unheard(_: str) -> None:
    pass


class Editor:
    """What is the editor's business (`agents.acp.client.Beyond`), under its own name of the session."""

    def __init__(self, wire: Wire, session: str) -> None:
        self.shown: Callable[[], Awaitable[None]] = _at_once
        """Waits until the editor has been told what is in the log; nothing of the agent goes before it."""
        self.titled: Callable[[str], None] = _unheard
        """Hears the title that the agent gives."""
        self._wire = wire
        self._session = session
        self._early: list[tuple[str, Any]] | None = []
        """What came before the editor knows of the session; None: it does."""

    async def know_session(self) -> None:
        """The editor has got its answer to the request for the session."""
        while self._early:
            await self._tell(*self._early.pop(0))
        self._early = None

    async def notified(self, method: str, params: Any) -> None:
        update = params.get("update") if method == "session/update" and isinstance(params, Mapping) else None
        word = update.get("sessionUpdate") if isinstance(update, Mapping) else None
        if word == "user_message_chunk":
            return  # the echo of what the user has written
        if isinstance(update, Mapping) and word == "session_info_update" and isinstance(update.get("title"), str):
            self.titled(update["title"])
        if self._early is not None and names_session(params):
            self._early.append((method, params))
            return
        await self.shown()
        await self._tell(method, params)

    async def _tell(self, method: str, params: Any) -> None:
        try:
            await self._wire.notify(method, self._addressed(params))
        except ConnectionClosed:
            return

    async def asked(self, method: str, params: Any) -> Any:
        await self.shown()
        try:
            return await self._wire.request(method, self._addressed(params), withdrawn=True)
        except ConnectionClosed:
            raise RpcError(INTERNAL_ERROR, "The editor is gone.") from None

    def _addressed(self, params: Any) -> Any:
        return {**params, "sessionId": self._session} if names_session(params) else params
