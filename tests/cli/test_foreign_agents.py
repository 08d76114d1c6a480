"""Other people's agents on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import CommandLine

PUPPET = Path(__file__).parents[1] / "agents/acp/puppet.py"
TEXT = "one\ntwo\nthree\n"


@pytest.fixture
def redline(tmp_path: Path) -> CommandLine:
    (tmp_path / "work").mkdir()
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "work/a.txt").write_text(TEXT)
    return CommandLine(tmp_path / "work", tmp_path / "data")


def agent(redline: CommandLine, *prompts: list[dict[str, Any]], **script: Any) -> str:
    path = redline.data.parent / "script.json"
    path.write_text(json.dumps({"prompts": list(prompts), **script}))
    return f"{sys.executable} {PUPPET} {path}"


WRITE = [
    {"send": {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "sh", "kind": "execute",
              "rawInput": {"command": "sed -i s/two/2/ a.txt"}}},
    {"write": "a.txt", "text": "one\n2\nthree\n"},
    {"send": {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}},
]  # fmt: skip


def test_a_shell_change_of_any_agent_is_printed_as_a_patch(redline: CommandLine) -> None:
    ran = redline("run", "--agent-command", agent(redline, WRITE), "Go.")
    assert ran.returncode == 0, ran.stderr
    assert "-two\n+2\n" in ran.stdout
    [row] = [row for row in redline.rows() if row["kind"] == "tool"]
    assert row["status"] == "applied"


def test_a_session_goes_on_with_the_agent_that_it_began_with(redline: CommandLine) -> None:
    command = agent(redline, WRITE)
    assert redline("run", "--agent-command", command, "Go.").returncode == 0
    ran = redline("run", "--session", "last", "Go on.")
    assert ran.returncode == 0, ran.stderr
    assert "remembers nothing" in ran.stdout


def test_nobody_there_to_answer_means_no(redline: CommandLine) -> None:
    steps = [{"ask": {"toolCallId": "c", "kind": "edit", "title": "Edit", "content": [
        {"type": "diff", "path": "{w}/a.txt", "oldText": "two", "newText": "2"}]}}, *WRITE]  # fmt: skip
    ran = redline("run", "--agent-command", agent(redline, steps), "Go.")
    assert ran.returncode == 0, ran.stderr
    assert (redline.workspace / "a.txt").read_text() == TEXT
    assert "diff --git" not in ran.stdout


@pytest.mark.parametrize(("ends", "code"), [("end_turn", 0), ("cancelled", 1), ("refusal", 1), ("max_tokens", 1)])
def test_an_end_that_nobody_asked_for_is_no_interrupt(redline: CommandLine, ends: str, code: int) -> None:
    """130 would tell a script that somebody pressed Ctrl-C."""
    ran = redline("run", "--agent-command", agent(redline, [*WRITE, {"end": ends}]), "Go.")
    assert ran.returncode == code, ran.stderr
    assert "that the agent ended by" in redline("--help").stdout


def test_known_agents_are_listed_with_how_to_get_them(redline: CommandLine) -> None:
    listed = json.loads(redline("agents", "--json").stdout)["agents"]
    assert {"claude", "codex", "gemini", "opencode", "qwen"} <= {one["name"] for one in listed}
    assert all(one["install"] for one in listed)
    assert "redline run --agent NAME" in redline("agents").stdout


@pytest.mark.parametrize(
    ("flags", "code", "word"),
    [
        (["--agent", "nobody"], 2, "No agent is known"),
        (["--agent-command", "no-such-program-here"], 2, "was not found"),
        (["--agent-command", "'"], 2, "cannot be read"),
        (["--agent", "claude", "--agent-option", "x"], 2, "NAME=VALUE"),
    ],
)
def test_an_agent_that_cannot_be_used_is_a_clear_failure(
    redline: CommandLine, flags: list[str], code: int, word: str
) -> None:
    ran = redline("run", *flags, "Go.", PATH="/usr/bin:/bin", HOME=str(redline.data))
    assert ran.returncode == code
    assert word in ran.stderr
