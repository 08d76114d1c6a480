"""An agent's process and the conversation about the conversation: started, greeted, given a session, told its options.

Every fault is a `LinkError` in words that say what to do; what the agent said on stderr stands beside it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import redline
from redline.agents.acp.process import Child
from redline.protocol import adapter
from redline.protocol.connection import AUTH_REQUIRED, Connection, ConnectionClosed, RpcError

if TYPE_CHECKING:
    from pathlib import Path

    from redline.protocol.connection import Peer

GREETING_SECONDS = 60.0
"""For the answer to `initialize`: some agents load for a long time."""
SESSION_SECONDS = 120.0
OPTION_SECONDS = 30.0
_SETTLE_SECONDS = 1.0


class LinkError(Exception):
    """The agent cannot be used as asked."""

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        super().__init__(f"{code}: {message} {remedy}".rstrip())
        self.code = code
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Choices:
    """What a user chose about an agent; empty: its own default."""

    mode: str = ""
    model: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.mode or self.model or self.options)


@dataclass(slots=True)
class Offers:
    """What an agent has to choose from, as it said so for a session."""

    modes: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Any] = field(default_factory=dict)
    options: Sequence[Mapping[str, Any]] = ()
    others: Mapping[str, Any] = field(default_factory=dict)
    """What else its answer holds."""

    @classmethod
    def of(cls, answer: object) -> Offers:
        held = answer if isinstance(answer, Mapping) else {}
        options = held.get("configOptions")
        known = ("sessionId", "modes", "models", "configOptions")
        return cls(
            _mapping(held.get("modes")),
            _mapping(held.get("models")),
            [one for one in options if isinstance(one, Mapping)] if isinstance(options, list) else [],
            {name: value for name, value in held.items() if name not in known},
        )

    @property
    def mode(self) -> str:
        return str(self.modes.get("currentModeId") or self._current("mode"))

    @property
    def model(self) -> str:
        return str(self.models.get("currentModelId") or self._current("model"))

    def option(self, name: str) -> Mapping[str, Any] | None:
        """By its id, else by its category."""
        named = [one for one in self.options if one.get("id") == name]
        return next(iter(named or [one for one in self.options if one.get("category") == name]), None)

    def _current(self, category: str) -> str:
        found = self.option(category)
        value = found.get("currentValue") if found is not None else None
        return value if isinstance(value, str) else ""


class Link:
    """A running agent that has been greeted. Made by `open`."""

    def __init__(self, child: Child, connection: Connection, shown: str) -> None:
        self.child = child
        self.connection = connection
        self.greeting: Mapping[str, Any] = {}
        """Its whole answer to `initialize`."""
        self.info: Mapping[str, Any] = {}
        self.capabilities: Mapping[str, Any] = {}
        self.login: Sequence[Mapping[str, Any]] = ()
        self.shown = shown
        """The command line, for messages."""

    @classmethod
    async def open(
        cls,
        command: Sequence[str],
        workspace: Path,
        peer: Peer,
        *,
        environment: Mapping[str, str] | None = None,
        seconds: float = GREETING_SECONDS,
    ) -> Link:
        """Start the agent; `greet` is next."""
        shown = " ".join(command)
        try:
            child = await Child.start(command, folder=workspace, environment={**os.environ, **(environment or {})})
        except (OSError, ValueError) as error:
            raise LinkError(
                "AGENT_START", f"The agent could not be started ({shown}): {error}.", "Check the command."
            ) from error
        link = cls(child, Connection(child.stdout, child.stdin, peer), shown)
        link._seconds = seconds
        return link

    _seconds: float = GREETING_SECONDS

    async def greet(self, declared: Mapping[str, Any] | None = None, beside: Mapping[str, Any] | None = None) -> None:
        """`initialize`; the connection is being read by then. `declared`: what the client behind us can do, beside
        files and terminals, which are ours to serve. `beside`: what else it says, such as who it is."""
        params = adapter.initialize("redline", redline.__version__, files=True, terminals=True)
        params |= {**(beside or {}), "clientCapabilities": {**(declared or {}), **params["clientCapabilities"]}}
        answer = await self.ask("initialize", params, self._seconds)
        self.greeting = held = _mapping(answer)
        self.info = _mapping(held.get("agentInfo"))
        self.capabilities = _mapping(held.get("agentCapabilities"))
        login = held.get("authMethods")
        self.login = [one for one in login if isinstance(one, Mapping)] if isinstance(login, list) else []
        version = held.get("protocolVersion")
        if version != adapter.VERSION:
            raise LinkError(
                "PROTOCOL",
                f"The agent speaks version {version!r} of the protocol; Redline speaks {adapter.VERSION}.",
                "Update the agent, or Redline.",
            )

    @property
    def name(self) -> str:
        return str(self.info.get("name") or "")

    @property
    def version(self) -> str:
        return str(self.info.get("version") or "")

    @property
    def can_load(self) -> bool:
        return self.capabilities.get("loadSession") is True

    @property
    def can_resume(self) -> bool:
        """It takes up a session without telling it again."""
        return _mapping(self.capabilities.get("sessionCapabilities")).get("resume") is not None

    async def new_session(self, folder: str, more: Mapping[str, Any] | None = None) -> tuple[str, Offers]:
        """`more`: parameters that the client behind us gave, such as its MCP servers."""
        answer = await self.ask("session/new", {**adapter.new_session(folder), **(more or {})}, SESSION_SECONDS)
        session = _mapping(answer).get("sessionId")
        if not isinstance(session, str) or not session:
            raise LinkError("PROTOCOL", "The agent opened a session and did not say its id.", "Update the agent.")
        return session, Offers.of(answer)

    async def take_up(self, session: str, folder: str, more: Mapping[str, Any] | None = None) -> Offers:
        """Go on in a session of before. Raises `LinkError` where the agent cannot."""
        method = "session/resume" if self.can_resume else "session/load"
        params = {**adapter.load_session(session, folder), **(more or {})}
        return Offers.of(await self.ask(method, params, SESSION_SECONDS))

    async def choose(self, session: str, offers: Offers, choices: Choices) -> None:
        """Set what the user chose. Raises `LinkError` that lists what there is for a choice that there is not."""
        if choices.mode:
            await self._choose_mode(session, offers, choices.mode)
        if choices.model:
            await self._choose_model(session, offers, choices.model)
        for name, value in choices.options.items():
            await self._choose_option(session, offers, name, value)

    async def _choose_mode(self, session: str, offers: Offers, mode: str) -> None:
        known = _ids(offers.modes.get("availableModes"), "id")
        if not known and offers.option("mode") is not None:
            await self._choose_option(session, offers, "mode", mode)
            return
        _check("mode", mode, known)
        await self.ask("session/set_mode", adapter.set_mode(session, mode), OPTION_SECONDS)
        offers.modes = {**offers.modes, "currentModeId": mode}

    async def _choose_model(self, session: str, offers: Offers, model: str) -> None:
        known = _ids(offers.models.get("availableModels"), "modelId")
        if known:
            _check("model", model, known)
            params = {"sessionId": session, "modelId": model}
            await self.ask("session/set_model", params, OPTION_SECONDS)
            offers.models = {**offers.models, "currentModelId": model}
            return
        await self._choose_option(session, offers, "model", model)

    async def _choose_option(self, session: str, offers: Offers, name: str, value: str) -> None:
        option = offers.option(name)
        if option is None:
            _check("option", name, [str(one.get("id")) for one in offers.options])
            return
        given: str | bool = value
        if option.get("type") == "boolean":
            _check(f"value of {name}", value.lower(), ["true", "false"])
            given = value.lower() == "true"
        else:
            _check(f"value of {name}", value, _values(option.get("options")))
        answer = await self.ask(
            "session/set_config_option", adapter.set_option(session, str(option.get("id")), given), OPTION_SECONDS
        )
        if _mapping(answer).get("configOptions"):
            offers.options = Offers.of(answer).options

    async def ask(self, method: str, params: Mapping[str, Any], seconds: float | None = None) -> Any:
        """A request, with its faults in words. Raises `LinkError`."""
        try:
            return await self.connection.request(method, params, seconds=seconds)
        except TimeoutError:
            raise LinkError(
                "AGENT_SILENT",
                f"The agent did not answer {method} within {seconds:g} s ({self.shown}).{self._stderr()}",
                "Start it by itself to see what it waits for: a login, a download, a question.",
            ) from None
        except ConnectionClosed:
            raise await self.death() from None
        except RpcError as error:
            raise self._refusal(method, error) from error

    async def death(self) -> LinkError:
        """Why the agent is gone."""
        await self.child.settled(_SETTLE_SECONDS)
        code = self.child.exit_code
        how = "closed its output" if code is None else f"ended with exit code {code}" if code >= 0 else (
            f"was ended by signal {-code}"
        )  # fmt: skip
        return LinkError(
            "AGENT_EXITED",
            f"The agent {how} ({self.shown}).{self._stderr()}",
            "What it did is kept. Say “continue” to start it again."
            if self.greeting
            else "Check the command: started by itself, it should wait for messages on its standard input.",
        )

    def hang_up(self) -> None:
        """Nothing more is asked of it: most agents say what they still have to say, and end."""
        with suppress(OSError, RuntimeError):
            self.child.stdin.close()

    async def close(self) -> None:
        self.connection.abort()
        await self.child.end()

    def _refusal(self, method: str, error: RpcError) -> LinkError:
        detail = ""
        if isinstance(error.data, Mapping):
            detail = str(error.data.get("details") or error.data.get("message") or "")
        elif isinstance(error.data, str):
            detail = error.data
        message = error.message if not detail or detail == error.message else f"{error.message}: {detail}"
        if error.code == AUTH_REQUIRED:
            ways = "; ".join(str(one.get("description") or one.get("name") or one.get("id")) for one in self.login)
            remedy = f"Log in with the agent itself. {ways}".strip()
            return LinkError("AUTH_REQUIRED", f"The agent wants a login: {message}", remedy)
        return LinkError("AGENT_REFUSED", f"The agent refused {method}: {message} ({error.code}).", "")

    def _stderr(self) -> str:
        said = self.child.stderr
        return f" It said: {said[-2000:]}" if said else ""


def _check(what: str, value: str, known: Sequence[str]) -> None:
    if value in known:
        return
    there = ", ".join(known) if known else "none"
    raise LinkError("NO_SUCH_CHOICE", f"The agent has no {what} {value!r}.", f"There are: {there}.")


def _values(options: object) -> list[str]:
    """Of an option's choices, grouped or not."""
    found: list[str] = []
    for one in options if isinstance(options, list) else []:
        if isinstance(one, Mapping) and isinstance(one.get("value"), str):
            found.append(one["value"])
        elif isinstance(one, Mapping):
            found += _values(one.get("options"))
    return found


def _ids(entries: object, name: str) -> list[str]:
    listed = entries if isinstance(entries, list) else []
    return [str(one[name]) for one in listed if isinstance(one, Mapping) and isinstance(one.get(name), str)]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
