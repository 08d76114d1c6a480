"""The built-in agent as the configuration has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.agents.builtin.factory import BuiltinFactory, BuiltinOptions
from redline.tools.builtin import builtin_toolset

if TYPE_CHECKING:
    from collections.abc import Callable

    from redline.cli.config import Config
    from redline.files.seam import Files
    from redline.gateway.archive import OpenSession


def builtin_agent(config: Config, model: str) -> Callable[[OpenSession, Files], BuiltinFactory]:
    """What makes the agent of a session."""
    options = BuiltinOptions(
        model=model,
        base_url=config.base_url,
        prompt=config.prompt,
        step_limit=config.max_steps,
        formatters=config.formatters,
    )
    tools = builtin_toolset()

    def factory(session: OpenSession, files: Files) -> BuiltinFactory:
        return BuiltinFactory(options, files, session.store, session.redactor, tools)

    return factory
