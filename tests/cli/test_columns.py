"""What is listed: whole in a pipe, and with nothing lost that has to be typed in a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.command_line import CommandLine, at_a_terminal

TITLE = "Say what the " + "very " * 20 + "long title of it is"


@pytest.fixture
def deep(tmp_path: Path) -> CommandLine:
    workspace = tmp_path / ("long" * 20) / ("name" * 20)
    workspace.mkdir(parents=True)
    return CommandLine(workspace, tmp_path / "data")


def test_in_a_pipe_nothing_is_cut_or_broken(deep: CommandLine) -> None:
    said = [{"text": "Hello."}]
    deep("run", "caf\u00e9 \u6f22\u5b57", "--model", deep.script(said))
    deep("run", TITLE[:79], "--model", deep.script(said))
    lines = deep("sessions", COLUMNS="40").stdout.splitlines()
    found = json.loads(deep("sessions", "--json").stdout)
    for line, session in zip(lines[1:], found, strict=True):
        assert line.startswith(session["session"])
        assert session["title"] in line
        assert line.endswith(str(deep.workspace))
    folder = next(line for line in deep("config", COLUMNS="40").stdout.splitlines() if line.startswith("data "))
    assert str(deep.data) in folder
    assert "Folder of the session logs and of the bytes before and after each change." in folder
    agents = deep("agents", COLUMNS="40").stdout
    for agent in json.loads(deep("agents", "--json").stdout)["agents"]:
        assert agent["sign_in"] in agents


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 200])
def test_in_a_terminal_the_id_is_whole_at_any_width_that_it_fits_in(deep: CommandLine, columns: int) -> None:
    deep("run", TITLE, "--model", deep.script([{"text": "Hello."}]))
    [session] = json.loads(deep("sessions", "--json").stdout)
    shown = at_a_terminal(deep, ["sessions"], [], columns=columns)
    name = session["session"]
    if columns > len(name):
        assert any(line.startswith(name) for line in shown.text.splitlines())
    assert name in "".join(line[:columns].split(" ")[0] for line in shown.text.splitlines())
    assert max(map(len, shown.text.splitlines())) <= columns
