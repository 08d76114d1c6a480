"""Nothing is left out of a run unsaid, also where several processes share it."""

from __future__ import annotations

from typing import Any

import pytest

from interop import left_out


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    left_out.hear(node.config, node)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out.say(config, terminalreporter)
