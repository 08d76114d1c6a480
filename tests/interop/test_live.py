"""Real agents do real work on real files, and Redline's cards say exactly what happened: live, and after a reload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from interop import workspace
from interop.agents import LiveAgent
from interop.endpoint import Endpoint
from interop.live import Live, from_disk, live
from interop.operations import Edit, Look
from interop.roster import AGENTS
from interop.scenarios import SCENARIOS, Scenario
from interop.truth import untruths
from redline.transcript.rows import AnyRow, NoticeRow, ToolRow

EVERYDAY = ("codex-acp", "claude-agent-acp")
"""The two that install and run fastest."""

LOSES_ONE = {"deepagents-acp"}
"""Agents that lose one of two edits of one reply, of themselves: the cards must still say what stands on disk."""


def live_agents() -> list[Any]:
    def marks(name: str) -> list[pytest.MarkDecorator]:
        return [pytest.mark.interop, *([pytest.mark.everyday] if name in EVERYDAY else [])]

    return [pytest.param(agent, marks=marks(name), id=name) for name, agent in AGENTS.items()]


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
@pytest.mark.parametrize("agent", live_agents())
async def test_the_cards_say_what_happened(
    agent: LiveAgent, scenario: Scenario, endpoint: Endpoint, tmp_path: Path
) -> None:
    folder = _workspace(tmp_path, scenario)
    marker = endpoint.play(f"{agent.name}-{scenario.name}", scenario.steps, folder)
    answer = "allow_once" if scenario.answer == "allow" else "reject"
    async with live(agent, endpoint, tmp_path, answer=answer) as run:
        stop = await run.prompt(f"Please work on the files here. {marker}")
        assert stop.reason in (("completed", "cancelled") if answer == "reject" else ("completed",)), stop
        after = workspace.read(folder)
        _ran(agent, scenario, endpoint, run, after)
        assert untruths(run.rows, scenario.before, after, folder) == []
        _attributed(scenario, run.rows)
        told = run.rows
        session = run.session
    assert _content(run.person.shown.values()) == _content(told), "a surface was shown something else"
    assert _content(await from_disk(tmp_path, session)) == _content(told), "a reload draws something else"


@pytest.mark.parametrize("agent", live_agents())
async def test_a_session_is_taken_up_again(agent: LiveAgent, endpoint: Endpoint, tmp_path: Path) -> None:
    """In a new process: what was shown stands unchanged, what the agent tells again of its past is not taken for new,
    and work goes on; an agent that remembers nothing is said to."""
    first = SCENARIOS["edit"]
    folder = _workspace(tmp_path, first)
    marker = endpoint.play(f"{agent.name}-first", first.steps, folder)
    async with live(agent, endpoint, tmp_path) as run:
        assert (await run.prompt(f"Please work on the files here. {marker}")).reason == "completed"
        told = run.rows
        session = run.session
    between = workspace.read(folder)
    assert between == first.after

    steps = [[Look("f.py")], [Edit("f.py", "row_10 = total(10, 'net')", "row_10 = total(10, 'again')")]]
    marker = endpoint.play(f"{agent.name}-second", steps, folder)
    endpoint.requests.clear()
    async with live(agent, endpoint, tmp_path, session=session) as later:
        assert _content(later.rows) == _content(told)
        stop = await later.prompt(f"Please go on. {marker}")
        assert stop.reason == "completed", stop
        rows = later.rows
    after = workspace.read(folder)
    assert b"again" in after["f.py"], endpoint.problems
    assert _content(row for row in rows if row.turn <= 1) == _content(told), "the past changed"
    assert untruths([row for row in rows if row.turn == 2], between, after, folder) == []
    remembers = any(f"[scripted turn {agent.name}-first]" in str(body) for _, body in endpoint.requests)
    forgot = any(isinstance(row, NoticeRow) and row.problem.code == "AGENT_FORGOT" for row in rows)
    assert remembers != forgot, "it must remember, or be said to have forgotten"
    assert _content(await from_disk(tmp_path, session)) == _content(rows)


def _workspace(base: Path, scenario: Scenario) -> Path:
    folder = base / "workspace"
    folder.mkdir()
    workspace.write(folder, scenario.before)
    return folder


def _ran(agent: LiveAgent, scenario: Scenario, endpoint: Endpoint, run: Live, after: dict[str, bytes]) -> None:
    """That the agent really did what the scenario is about; else nothing below means anything."""
    assert endpoint.problems == []
    assert bool(run.person.asked) == (scenario.name not in agent.unasked), "it was asked, or not"
    if scenario.name == "two-edits" and agent.name in LOSES_ONE:
        assert after != scenario.before
    else:
        assert after == scenario.after, _said(run.rows)


def _attributed(scenario: Scenario, rows: Sequence[AnyRow]) -> None:
    """What a call did stands on the call, not beside it."""
    cards = [row for row in rows if isinstance(row, ToolRow) and row.changes]
    if scenario.answer == "reject":
        assert cards == []
        assert [row.status for row in rows if isinstance(row, ToolRow) and row.permission == "reject"] == ["rejected"]
    else:
        assert cards, _said(rows)
        assert {row.status for row in cards} == {"applied"}


def _content(rows: Any) -> list[AnyRow]:
    """Rows in order, but for notices, which come as they come."""
    return sorted((row for row in rows if not isinstance(row, NoticeRow)), key=lambda row: row.seq)


def _said(rows: Sequence[AnyRow]) -> str:
    return "\n".join(str(row)[:500] for row in rows)
