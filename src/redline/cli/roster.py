"""The roster of a gateway, filled from the configuration: the built-in agent, those known by name, a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.agents.acp.known import KNOWN, installed
from redline.agents.builtin.agent import NAME
from redline.agents.builtin.model import ModelChoiceError, load_model
from redline.cli import agents
from redline.cli.builtin import builtin_agent
from redline.cli.failure import Failure
from redline.gateway.roster import Engaged, GatewayError, Offer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

    from redline.agents.acp.choices import Choices
    from redline.agents.agent import AgentFactory
    from redline.cli.agents import Foreign
    from redline.cli.config import Config
    from redline.files.seam import Files
    from redline.gateway.archive import OpenSession
    from redline.gateway.permissions import Approval


class ConfiguredRoster:
    """`gateway.roster.Roster` of a configuration. `chosen`: about the configured foreign agent."""

    def __init__(self, config: Config, chosen: Choices | None = None) -> None:
        self._config = config
        self._chosen = chosen

    @property
    def approval(self) -> Approval:
        return self._config.approval

    def offers(self) -> list[Offer]:
        """The default first, then those that are installed. Looks at the disk."""
        default = self._default()
        offers = [
            Offer(NAME, "Redline", default=default == NAME, model=self._config.model, needs_model=True),
            *(
                Offer(
                    one.name, one.title, installed=installed(one) is not None, default=default == one.name,
                    install=one.install, sign_in=one.sign_in, notes=one.notes,
                )
                for one in KNOWN.values()
            ),
        ]  # fmt: skip
        if default not in (NAME, *KNOWN):
            offers.append(Offer(default, default, default=True, notes=self._config.agent_command))
        return sorted(offers, key=lambda offer: (not offer.default, not offer.installed))

    async def engage(self, name: str, model: str, workspace: Path) -> Engaged:
        """For a new session; empty: what is configured. Raises `GatewayError`."""
        wanted = name or self._default()
        try:
            if wanted == self._default():
                foreign = agents.chosen(self._config.agent, self._config.agent_command)
            else:
                foreign = agents.chosen(wanted, "")
        except Failure as failure:
            raise GatewayError(failure.code, failure.message, failure.remedy) from failure
        if foreign is not None:
            return self._foreign(foreign, model)
        return await self._builtin(model or self._config.model, workspace)

    async def engage_again(self, first: Mapping[str, Any], workspace: Path) -> Engaged:
        """By the first event of a session. Raises `GatewayError`."""
        try:
            foreign = agents.of_session(first)
        except Failure as failure:
            raise GatewayError(failure.code, failure.message, failure.remedy) from failure
        model = str(first.get("model", ""))
        if foreign is not None:
            return self._foreign(foreign, model)
        return await self._builtin(model or self._config.model, workspace)

    def _default(self) -> str:
        if self._config.agent_command.strip():
            try:
                found = agents.chosen("", self._config.agent_command)
            except Failure:
                return self._config.agent_command.split()[0]
            return found.name if found is not None else NAME
        return self._config.agent or NAME

    async def _builtin(self, model: str, workspace: Path) -> Engaged:
        config = self._config
        try:
            await load_model(model, workspace=workspace, base_url=config.base_url)
        except ModelChoiceError as error:
            raise GatewayError(error.code, error.message, error.remedy) from error
        return Engaged(NAME, model, builtin_agent(config, model))

    def _foreign(self, foreign: Foreign, model: str) -> Engaged:
        from redline.agents.acp.choices import Choices
        from redline.agents.acp.factory import AcpFactory

        configured = self._chosen if foreign.name == self._default() else None
        options = foreign.options(Choices(model=model) if model and configured is None else configured)

        def factory(session: OpenSession, files: Files) -> AgentFactory:
            return AcpFactory(options, files, session.store, session.redactor)

        return Engaged(foreign.name, model, factory, foreign.facts())
