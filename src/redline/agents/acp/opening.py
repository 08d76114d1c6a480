"""The opening of an agent's session: a new one or one of before, set as the user chose, and kept in mind by the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redline.agents.acp.choices import Choices, Offers
from redline.agents.acp.link import Link, LinkError
from redline.protocol import adapter
from redline.sessions.gate import as_json

if TYPE_CHECKING:
    from redline.agents.acp.client import Client
    from redline.agents.acp.factory import AcpOptions
    from redline.agents.acp.past import Past
    from redline.sessions.log import SessionLog

SESSION_SECONDS = 120.0
OPTION_SECONDS = 30.0
_FORGOTTEN = {
    "code": "AGENT_FORGOT",
    "message": "The agent remembers nothing of the earlier turns: it cannot take up a session again.",
    "remedy": "Tell it what it needs to know. Redline's own log of the session is whole.",
}


@dataclass(frozen=True, slots=True)
class Opening:
    """With an agent that runs and has been greeted. All of it raises `LinkError`."""

    link: Link
    client: Client
    log: SessionLog
    options: AcpOptions
    folder: str

    async def open(self, turn: int, past: Past) -> Offers:
        """Go on in the session of `past` where the agent can, else in a new one, which is told; the choices hold."""
        offers = await self._resumed(past)
        if offers is None:
            offers = await self._new()
            if turn > 1:
                await self.log.append("notice/raised", {"turn": turn, "level": "warning", **_FORGOTTEN})
        await self._choose(offers, past.choices(self.options.choices))
        past.session = self.client.session
        return offers

    async def remember(self, turn: int, offers: Offers, choices: Choices) -> None:
        """What the next process needs to know, and what the session's header says."""
        state: dict[str, Any] = {"session": self.client.session, "name": self.link.name, "version": self.link.version}
        state |= {"mode": offers.mode, "model": offers.model or choices.model}
        state["chosen"] = {"mode": choices.mode, "model": choices.model, "options": dict(choices.options)}
        if offers.modes.get("availableModes"):
            state["modes"] = offers.modes["availableModes"]
        if offers.options:
            state["options"] = list(offers.options)
        self.client.state.update(as_json({name: value for name, value in state.items() if value}))
        await self.log.append("session/state", {"agent": dict(self.client.state)})
        if self.options.asks_in and offers.mode not in ("", self.options.asks_in):
            await self.log.append("notice/raised", {"turn": turn, **_decides(offers.mode, self.options.asks_in)})

    async def _new(self) -> Offers:
        params = {**adapter.new_session(self.folder), **self.options.parameters}
        answer = await self.link.ask("session/new", params, SESSION_SECONDS)
        session = answer.get("sessionId") if isinstance(answer, Mapping) else None
        if not isinstance(session, str) or not session:
            raise LinkError("PROTOCOL", "The agent opened a session and did not say its id.", "Update the agent.")
        self.client.session = session
        return Offers.of(answer)

    async def _resumed(self, past: Past) -> Offers | None:
        """None: the agent cannot go on where it was."""
        if not past.session or not (self.link.can_load or self.link.can_resume):
            return None
        self.client.session = past.session
        method = "session/resume" if self.link.can_resume else "session/load"
        params = {**adapter.load_session(past.session, self.folder), **self.options.parameters}
        try:
            return Offers.of(await self.link.ask(method, params, SESSION_SECONDS))
        except LinkError as problem:
            if problem.code == "AGENT_EXITED":
                raise
            return None

    async def _choose(self, offers: Offers, choices: Choices) -> None:
        """Set what the user chose. Raises `LinkError` that lists what there is for a choice that there is not."""
        if choices.mode:
            await self._choose_mode(offers, choices.mode)
        if choices.model:
            await self._choose_model(offers, choices.model)
        for name, value in choices.options.items():
            await self._choose_option(offers, name, value)

    async def _choose_mode(self, offers: Offers, mode: str) -> None:
        known = _ids(offers.modes.get("availableModes"), "id")
        if not known and offers.option("mode") is not None:
            await self._choose_option(offers, "mode", mode)
            return
        _check("mode", mode, known)
        await self.link.ask("session/set_mode", adapter.set_mode(self.client.session, mode), OPTION_SECONDS)
        offers.modes = {**offers.modes, "currentModeId": mode}

    async def _choose_model(self, offers: Offers, model: str) -> None:
        known = _ids(offers.models.get("availableModels"), "modelId")
        if known:
            _check("model", model, known)
            params = {"sessionId": self.client.session, "modelId": model}
            await self.link.ask("session/set_model", params, OPTION_SECONDS)
            offers.models = {**offers.models, "currentModelId": model}
            return
        await self._choose_option(offers, "model", model)

    async def _choose_option(self, offers: Offers, name: str, value: str) -> None:
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
        answer = await self.link.ask(
            "session/set_config_option",
            adapter.set_option(self.client.session, str(option.get("id")), given),
            OPTION_SECONDS,
        )
        if isinstance(answer, Mapping) and answer.get("configOptions"):
            offers.options = Offers.of(answer).options


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


def _decides(mode: str, asks_in: str) -> dict[str, str]:
    return {
        "level": "info",
        "code": "AGENT_DECIDES",
        "message": f"The agent works in its mode {mode!r}, in which it decides by itself what to ask you.",
        "remedy": f"--mode {asks_in} makes it ask before it changes files.",
    }
