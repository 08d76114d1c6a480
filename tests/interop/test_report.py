"""docs/agents.md says what was measured, of every agent and job."""

from __future__ import annotations

import json

from interop.report import DATA, PAGE, page
from interop.roster import AGENTS
from interop.scenarios import SCENARIOS

REMEDY = "run: python tests/interop/report.py"


def test_the_page_is_that_of_the_measurements() -> None:
    assert PAGE.read_text() == page(json.loads(DATA.read_text())), f"{REMEDY} --page"


def test_every_agent_and_job_was_measured_in_the_release_that_is_tested() -> None:
    data = json.loads(DATA.read_text())
    measured = {name: (held["version"], set(held["scenarios"])) for name, held in data.items()}
    assert measured == {name: (agent.version, set(SCENARIOS)) for name, agent in AGENTS.items()}, REMEDY


def test_redline_told_the_truth_in_each() -> None:
    data = json.loads(DATA.read_text())
    cells = {f"{name} {job}": c["redline"] for name, held in data.items() for job, c in held["scenarios"].items()}
    assert [job for job, cell in cells.items() if not cell["true"]] == []
