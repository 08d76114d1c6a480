"""`redline diff`: exactly one call's patch, and what a damaged log costs."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
import subprocess

import pytest

from cli.command_line import EDIT, CommandLine, call

TWICE = [
    {"call": [call("read", path="a.txt")]},
    {"call": [call("edit", path="a.txt", old_string="two", new_string="TWO")]},
    {"call": [call("edit", path="a.txt", old_string="TWO", new_string="caf\u00e9")]},
    {"call": [call("bash", command="printf 'more\\n' >> a.txt; printf 'b\\n' > b.txt")]},
    {"text": "Done."},
]


def edits(command_line: CommandLine) -> list[str]:
    return [str(row["call"]) for row in command_line.rows() if row.get("status") == "applied"]


def test_a_call_that_is_named_gives_its_own_patch_and_not_that_of_the_session(redline: CommandLine) -> None:
    redline("run", "one", "--model", redline.script(TWICE, EDIT), "--approval", "all")
    first, second, command = edits(redline)
    middle = redline("diff", "last", "--turn", "1", "--call", second, "--patch").stdout
    assert ("-TWO" in middle, "+caf\u00e9" in middle, "more" in middle) == (True, True, False)
    assert "+TWO" in redline("diff", "last", "--call", first, "--file", "a.txt", "--patch").stdout
    assert "TWO" not in redline("diff", "last", "--patch").stdout
    found = json.loads(redline("diff", "last", "--call", command, "--json").stdout)
    assert [change["path"].rpartition("/")[2] for change in found] == ["a.txt", "b.txt"]
    subprocess.run(["git", "init", "-q"], cwd=redline.workspace, check=True)
    for one in (command, second, first):
        patch = redline("diff", "last", "--call", one, "--patch").stdout
        subprocess.run(["git", "apply", "-R"], input=patch, text=True, cwd=redline.workspace, check=True)
    assert (redline.workspace / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_the_hint_below_a_change_prints_that_change(redline: CommandLine) -> None:
    secret = "hunter" + "2-correct-horse"
    (redline.workspace / "app.env").write_text(f"HOST=old\nPASSWORD={secret}\n")
    steps = [
        {"call": [call("read", path="app.env")]},
        {"call": [call("edit", path="app.env", old_string="HOST=old", new_string="HOST=new")]},
        {"call": [call("edit", path="app.env", old_string="HOST=new", new_string="HOST=newer")]},
        {"text": "Done."},
    ]
    done = redline("run", "move", "--model", redline.script(steps), "--approval", "edits")
    hints = re.findall(r"^# as a patch: redline (.*)$", done.stdout, re.MULTILINE)
    patches = [redline(*shlex.split(hint)).stdout for hint in hints]
    assert ["+HOST=new\n" in patch for patch in patches] == [True, False]
    assert ["+HOST=newer\n" in patch for patch in patches] == [False, True]


def test_a_call_that_is_not_there_or_not_the_only_one_is_refused(redline: CommandLine) -> None:
    redline("run", "one", "--model", redline.script(EDIT, TWICE), "--approval", "edits")
    redline("undo", "last", "--yes")
    undo = next(str(row["call"]) for row in redline.rows() if row["kind"] == "revert")
    assert "+two" in redline("diff", "last", "--call", undo, "--patch").stdout
    missing = redline("diff", "last", "--call", "nope")
    assert (missing.returncode, "nope" in missing.stderr) == (3, True)
    elsewhere = redline("diff", "last", "--turn", "2", "--call", edits(redline)[0])
    assert (elsewhere.returncode, "turn 2" in elsewhere.stderr) == (3, True)


@pytest.mark.parametrize("arguments", [("diff", "last"), ("diff", "last", "--patch"), ("undo", "last", "--dry-run")])
def test_a_damaged_row_of_the_log_is_said_with_what_it_costs(redline: CommandLine, arguments: tuple[str, ...]) -> None:
    redline("run", "one", "--model", redline.script(TWICE), "--approval", "all")
    assert redline(*arguments).stderr == ""
    database = sqlite3.connect(redline.data / "sessions.db")
    (seq,) = database.execute("SELECT max(seq) FROM events WHERE type = 'tool/result'").fetchone()
    database.execute("UPDATE events SET data = '{bad' WHERE seq = ?", (seq,))
    database.commit()
    database.close()
    shown = redline(*arguments)
    assert shown.returncode == 0, shown.stderr
    assert f"1 row of the log cannot be read ({seq})" in shown.stderr
    assert "missing" in shown.stderr
    assert "cannot be read" not in shown.stdout
