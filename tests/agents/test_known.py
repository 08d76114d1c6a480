"""The registry of known agents: found on this machine, or said how to get."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from redline.agents.acp.known import KNOWN, AgentMissing, find, installed, named

if TYPE_CHECKING:
    from pathlib import Path


def _program(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_an_installed_agent_is_started_by_its_absolute_path_with_its_own_arguments(tmp_path: Path) -> None:
    program = _program(tmp_path / "bin", "gemini")
    assert find("gemini", {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}) == [str(program), "--acp"]


def test_a_program_in_the_users_own_folders_is_found_without_path(tmp_path: Path) -> None:
    program = _program(tmp_path / ".local/bin", "opencode")
    assert find("opencode", {"PATH": "", "HOME": str(tmp_path)}) == [str(program), "acp"]


def test_an_older_name_of_the_same_program_serves(tmp_path: Path) -> None:
    program = _program(tmp_path / "bin", "claude-code-acp")
    assert find("claude", {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}) == [str(program)]


def test_a_workspace_cannot_slip_in_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(tmp_path / "work", "codex-acp")
    monkeypatch.chdir(tmp_path / "work")
    assert installed(KNOWN["codex"], {"PATH": ".:", "HOME": str(tmp_path / "home")}) is None


def test_a_missing_agent_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(AgentMissing) as raised:
        find("codex", {"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert raised.value.code == "NOT_INSTALLED"
    assert "npm install --global @agentclientprotocol/codex-acp" in raised.value.remedy


def test_an_unknown_name_lists_those_that_are_known() -> None:
    with pytest.raises(AgentMissing) as raised:
        find("cluade")
    assert raised.value.code == "UNKNOWN_AGENT"
    assert "claude" in raised.value.remedy
    assert "--agent-command" in raised.value.remedy


def test_other_names_and_case_mean_the_same_agent() -> None:
    assert named("Claude-Code") is KNOWN["claude"]
    assert named(" gemini-cli ") is KNOWN["gemini"]


def test_no_two_agents_share_a_name() -> None:
    names = [name for agent in KNOWN.values() for name in (agent.name, *agent.also)]
    assert len(names) == len(set(names))
