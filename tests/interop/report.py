"""`python tests/interop/report.py [AGENT…]`: run real agents with and without Redline, and write docs/agents.md.

What was measured stands in report.json beside this file, so that one agent can be run again without the others.
`--page` only writes the page from it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from interop import workspace
from interop.agents import LiveAgent, Prepared
from interop.endpoint import Endpoint
from interop.hearsay import hearsay
from interop.live import from_disk, live
from interop.raw import RawRun
from interop.roster import AGENTS
from interop.scenarios import SCENARIOS, Scenario
from interop.truth import untruths
from redline.changes.record import FileChange
from redline.transcript.rows import AnyRow, FoundRow, NoticeRow, ToolRow

HERE = Path(__file__).parent
DATA = HERE / "report.json"
PAGE = HERE.parent.parent / "docs" / "agents.md"

Cell = Mapping[str, Any]


async def by_itself(agent: LiveAgent, scenario: Scenario, endpoint: Endpoint, base: Path) -> dict[str, Cell]:
    """What a client that believes the agent is left with, live and after loading the session in a new process."""
    folder = base / "workspace"
    folder.mkdir(parents=True)
    workspace.write(folder, scenario.before)
    prepared = agent.prepare(base / "home", endpoint.port)
    marker = endpoint.play(f"{agent.name}-{scenario.name}", scenario.steps, folder)
    async with RawRun(prepared, folder, answer=scenario.answer) as run:
        await run.start()
        if agent.mode:
            await run.set_mode(agent.mode)
        await run.prompt(f"Please work on the files here. {marker}")
        await asyncio.sleep(0.5)
    after = workspace.read(folder)
    told = hearsay(run.updates, scenario.before, after, folder)
    cells: dict[str, Cell] = {"live": {"said": told.said, "true": told.true}}
    try:
        updates = await _replay(agent, prepared, folder, run.session)
    except (RuntimeError, ConnectionError, TimeoutError) as error:
        cells["reload"] = {"said": f"cannot load: {_reason(error)}", "true": False}
        return cells
    told = hearsay(updates, scenario.before, after, folder)
    cells["reload"] = {"said": told.said, "true": told.true}
    return cells


async def _replay(agent: LiveAgent, prepared: Prepared, folder: Path, session: str) -> Sequence[Mapping[str, Any]]:
    """What a new process of the agent tells of a session."""
    await asyncio.sleep(agent.settles)
    async with RawRun(prepared, folder) as again:
        await again.start(load=session)
        await asyncio.sleep(0.5)
    return again.updates


async def with_redline(agent: LiveAgent, scenario: Scenario, endpoint: Endpoint, base: Path) -> Cell:
    folder = base / "workspace"
    folder.mkdir(parents=True)
    workspace.write(folder, scenario.before)
    marker = endpoint.play(f"{agent.name}-{scenario.name}", scenario.steps, folder)
    answer = "allow_once" if scenario.answer == "allow" else "reject"
    async with live(agent, endpoint, base, answer=answer) as run:
        await run.prompt(f"Please work on the files here. {marker}")
        rows, session = run.rows, run.session
    after = workspace.read(folder)
    wrong = untruths(rows, scenario.before, after, folder)
    if _lasting(await from_disk(base, session)) != _lasting(rows):
        wrong.append("a reload draws something else")
    return {"said": "; ".join(wrong) or _shown(rows), "true": not wrong}


def _lasting(rows: Sequence[AnyRow]) -> list[AnyRow]:
    return [row for row in rows if not isinstance(row, NoticeRow)]


def _shown(rows: Sequence[AnyRow]) -> str:
    cards = [change for row in rows if isinstance(row, ToolRow | FoundRow) for change in row.changes]
    rejected = [row for row in rows if isinstance(row, ToolRow) and row.status == "rejected"]
    return "; ".join([*map(_card, cards), *("rejected, not applied" for _ in rejected)]) or "nothing"


def _card(change: FileChange) -> str:
    hunks = f", {len(change.hunks)} hunk{'' if len(change.hunks) == 1 else 's'}"
    return f"{change.operation} −{change.removed} +{change.added}{hunks}"


def _reason(error: Exception) -> str:
    try:
        said = json.loads(str(error))
    except ValueError:
        return str(error).partition(";")[0]
    data = said.get("data")
    detail = data.get("details") if isinstance(data, Mapping) else None
    return str(detail or said.get("message"))


async def measure(name: str, scratch: Path) -> dict[str, Any]:
    agent = AGENTS[name]
    found: dict[str, Any] = {}
    with Endpoint() as endpoint:
        for scenario in SCENARIOS.values():
            started = time.monotonic()
            base = scratch / scenario.name
            cells = await by_itself(agent, scenario, endpoint, base / "raw")
            cells["redline"] = await with_redline(agent, scenario, endpoint, base / "redline")
            found[scenario.name] = cells
            print(f"{name} {scenario.name} ({time.monotonic() - started:.0f} s): {json.dumps(cells)}", flush=True)
    return {"version": agent.version, "scenarios": found}


def page(data: Mapping[str, Any]) -> str:
    """docs/agents.md of what was measured."""
    lines = [
        "# What real agents report, and what Redline shows",
        "",
        "Made by `python tests/interop/report.py`, which installs each agent in the release named here and runs it",
        "against a scripted model on this machine: the tool calls are chosen, everything else is the agent's own. It",
        "does each job twice: once with a plain client of the protocol that offers nothing and believes what it is",
        "told, once with Redline.",
        "",
        "✓ means: what is told turns the files as they were into the files as they are, and tells nothing else. A",
        "*snippet* is an old and a new text without its place; a *hunk* has lines around it; *no diff* is what most",
        "agents have to say of a shell command. A client that is left with nothing, or with a diff in a call that was",
        "never finished, cannot tell what is on disk.",
        "",
        "The same runs are tests, with a session that is taken up again beside them: `make interop` runs all of them,",
        "`make test` those of two agents.",
        "",
    ]
    lines += _totals(data)
    for name, agent in AGENTS.items():
        if name not in data:
            continue
        lines += ["", f"## {agent.title} ({', '.join(agent.packages[:1])})", ""]
        lines += ["| job | the agent by itself, live | by itself, session loaded again | Redline, both times |"]
        lines += ["|---|---|---|---|"]
        for scenario in SCENARIOS.values():
            cells = data[name]["scenarios"].get(scenario.name)
            if cells:
                shown = " | ".join(_cell(cells[key]) for key in ("live", "reload", "redline"))
                lines.append(f"| {scenario.what} | {shown} |")
    return "\n".join(lines) + "\n"


def _totals(data: Mapping[str, Any]) -> list[str]:
    lines = ["| agent | by itself, live | session loaded again | Redline |", "|---|---|---|---|"]
    for name, agent in AGENTS.items():
        if name in data:
            jobs = data[name]["scenarios"].values()
            counts = [f"{sum(cells[key]['true'] for cells in jobs)} of {len(jobs)}" for key in _KEYS]
            lines.append(f"| {agent.title} {agent.version} | {' | '.join(counts)} |")
    return lines


_KEYS = ("live", "reload", "redline")


def _cell(cell: Cell) -> str:
    said = str(cell["said"]).replace("|", "\\|").replace("\n", " ")
    return f"{'✓' if cell['true'] else '✗'} {said}"


def main(arguments: Sequence[str]) -> int:
    data: dict[str, Any] = json.loads(DATA.read_text()) if DATA.exists() else {}
    names = [] if "--page" in arguments else [name for name in arguments if name in AGENTS] or list(AGENTS)
    for name in names:
        with tempfile.TemporaryDirectory(prefix="redline-interop-") as scratch:
            data[name] = asyncio.run(measure(name, Path(scratch).resolve()))
        DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    PAGE.write_text(page(data))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
