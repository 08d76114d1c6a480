"""Nothing is left out of a run unsaid, also where several processes share it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from interop import left_out

# How long a busy machine takes to make an example, or to work through it, says nothing about what is tested.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    left_out.hear(node.config, node)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out.say(config, terminalreporter)
