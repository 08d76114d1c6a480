"""Real agents that a run of the tests leaves out: counted where tests are collected, said where the run is summed up.

With several test processes these are two places: only the workers collect, only the controller writes.
"""

from __future__ import annotations

from typing import Any

import pytest

_COUNT = pytest.StashKey[int]()
_OUTPUT = "runs_left_to_interop"


def count(config: pytest.Config, number: int) -> None:
    config.stash[_COUNT] = number
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output[_OUTPUT] = number


def hear(config: pytest.Config, worker: Any) -> None:
    """Of a worker that has ended."""
    config.stash[_COUNT] = getattr(worker, "workeroutput", {}).get(_OUTPUT, config.stash.get(_COUNT, 0))


def say(config: pytest.Config, reporter: pytest.TerminalReporter) -> None:
    if number := config.stash.get(_COUNT, 0):
        reporter.write_line(f"{number} runs of further real agents were left to: make interop")
