"""Which session `last` is, and what is said of a session of another folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.command_line import EDIT, CommandLine, at_a_terminal


@pytest.fixture
def other(redline: CommandLine, tmp_path: Path) -> CommandLine:
    """Another folder with a file of the same name, beside one in which a session has worked."""
    assert redline("run", "in work", "--model", redline.script(EDIT), "--approval", "edits").returncode == 0
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    return CommandLine(folder, redline.data)


def newest(command_line: CommandLine) -> dict[str, str]:
    found: dict[str, str] = json.loads(command_line("sessions", "--json").stdout)[0]
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        ("undo", "last", "--yes"),
        ("delete", "last", "--yes"),
        ("run", "--session", "last", "--approval", "all", "go on"),
    ],
)
def test_what_changes_something_refuses_the_last_session_of_another_folder(
    redline: CommandLine, other: CommandLine, arguments: tuple[str, ...]
) -> None:
    session = newest(other)["session"]
    refused = other(*arguments)
    assert refused.returncode == 3
    assert str(other.workspace) in refused.stderr
    assert session in refused.stderr
    assert str(redline.workspace) in refused.stderr
    remedy = refused.stderr.splitlines()[-1]
    assert arguments[0] in remedy
    assert session in remedy
    assert (redline.workspace / "a.txt").read_text() == "one\nTWO\nthree\n"
    assert newest(other)["session"] == session
    assert len(redline.rows()) == 6


def test_the_last_session_is_that_of_the_folder_and_not_the_newest_of_all(
    redline: CommandLine, other: CommandLine
) -> None:
    other("run", "in other", "--model", other.script(EDIT), "--approval", "edits")
    assert "in work" in redline("show", "last").stdout
    assert "in other" in other("show", "last").stdout
    assert redline("undo", "last", "--yes").returncode == 0
    assert (redline.workspace / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert (other.workspace / "a.txt").read_text() == "one\nTWO\nthree\n"


def test_the_folder_that_is_named_counts_and_not_the_one_in_which_it_is_typed(
    redline: CommandLine, other: CommandLine
) -> None:
    again = [{"text": "Nothing to do."}]
    done = other(
        "run",
        "-C",
        str(redline.workspace),
        "--session",
        "last",
        "--model",
        other.script([{"text": "First."}], again),
        "go on",
    )
    assert done.returncode == 0, done.stderr
    assert newest(other)["workspace"] == str(redline.workspace)
    assert newest(other)["turns"] == 2
    assert f"show {newest(other)['session']}" in done.stderr, "`last` would be another one where it was typed"


def test_inside_the_folder_and_around_it_the_last_session_is_its(redline: CommandLine, tmp_path: Path) -> None:
    redline("run", "in work", "--model", redline.script(EDIT), "--approval", "edits")
    inside = redline.workspace / "deep" / "er"
    inside.mkdir(parents=True)
    for folder in (inside, tmp_path):
        planned = CommandLine(folder, redline.data)("undo", "last", "--dry-run")
        assert planned.returncode == 0, planned.stderr
    second = tmp_path / "second"
    second.mkdir()
    CommandLine(second, redline.data)("run", "x", "--model", redline.script([{"text": "Hello."}]))
    refused = CommandLine(tmp_path, redline.data)("undo", "last", "--dry-run")
    assert refused.returncode == 3, "two folders inside this one have sessions"


def test_what_only_shows_falls_back_to_the_newest_of_all_and_says_whose_it_is(
    redline: CommandLine, other: CommandLine
) -> None:
    for arguments in (("show", "last"), ("diff", "last"), ("diff", "last", "--patch"), ("show", "last", "--json")):
        shown = other(*arguments)
        assert shown.returncode == 0, shown.stderr
        assert str(redline.workspace) in shown.stderr
        assert "No session here" not in shown.stdout
        assert redline(*arguments).stderr == ""
    assert json.loads(other("diff", "last", "--json").stdout)[0]["path"] == str(redline.workspace / "a.txt")


def test_a_session_of_another_folder_that_is_named_is_shown_and_asked_about_with_its_folder(
    redline: CommandLine, other: CommandLine
) -> None:
    session = newest(other)["session"]
    place = str(redline.workspace)
    for command in ("show", "diff"):
        shown = at_a_terminal(other, [command, session], [])
        assert place in shown.text.splitlines()[0]
        assert place not in at_a_terminal(redline, [command, session], []).text
        piped = other(command, session)
        assert piped.stderr == ""
        assert piped.stdout == redline(command, session).stdout
    assert place not in other("diff", session, "--patch").stdout
    asked = at_a_terminal(other, ["undo", session], [(rf"{place}\?", "n\n")])
    assert asked.exit_code == 1
    assert at_a_terminal(other, ["delete", session], [(rf"of {place} ", "n\n")]).exit_code == 1
    again = [{"call": [{"tool": "write", "arguments": {"path": "new.txt", "content": "new\n"}}]}, {"text": "Done."}]
    model = other.script([{"text": "First."}], again)
    typed = at_a_terminal(other, ["run", "--session", session, "--model", model, "go on"], [(r"Allow\?", "n\n")])
    assert f"In {place}" in typed.text
