"""A real agent by the command line, in a pipe: `redline run --agent-command`."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from cli.command_line import CommandLine
from interop import workspace
from interop.endpoint import Endpoint
from interop.roster import AGENTS
from interop.scenarios import SCENARIOS

pytestmark = [pytest.mark.interop, pytest.mark.everyday]

AGENT = AGENTS["codex-acp"]


def _run(
    base: Path, endpoint: Endpoint, scenario: str, *options: str
) -> tuple[CommandLine, subprocess.CompletedProcess[str]]:
    folder = base / "workspace"
    folder.mkdir()
    workspace.write(folder, SCENARIOS[scenario].before)
    marker = endpoint.play(scenario, SCENARIOS[scenario].steps, folder)
    command = shlex.join(AGENT.prepare(base / "home", endpoint.port).isolated)
    redline = CommandLine(folder, base / "data")
    done = redline(
        "run", f"Please work on the files here. {marker}", "--agent-command", command, "--mode", AGENT.mode, *options
    )
    return redline, done


@pytest.mark.parametrize("scenario", ["edit", "shell"])
def test_what_is_printed_in_a_pipe_is_a_patch_of_what_the_agent_did(
    scenario: str, endpoint: Endpoint, tmp_path: Path
) -> None:
    redline, done = _run(tmp_path, endpoint, scenario, "--approval", "all")
    assert done.returncode == 0, done.stderr
    after = SCENARIOS[scenario].after
    assert workspace.read(redline.workspace) == after

    fresh = tmp_path / "fresh"
    fresh.mkdir()
    workspace.write(fresh, SCENARIOS[scenario].before)
    patch = redline("diff", "last", "--patch")
    assert patch.returncode == 0, patch.stderr
    subprocess.run(["git", "apply", "-p1"], cwd=fresh, input=patch.stdout, text=True, check=True)
    assert workspace.read(fresh) == after

    undone = redline("undo", "last", "--yes")
    assert undone.returncode == 0, undone.stderr
    assert workspace.read(redline.workspace) == SCENARIOS[scenario].before


def test_with_nobody_to_ask_the_answer_is_no(endpoint: Endpoint, tmp_path: Path) -> None:
    redline, _ = _run(tmp_path, endpoint, "edit")
    assert workspace.read(redline.workspace) == SCENARIOS["edit"].before
    assert redline("diff", "last", "--patch").stdout == ""
    assert [row["status"] for row in redline.rows() if row["kind"] == "tool"] == ["rejected"]
