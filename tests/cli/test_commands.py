"""The command line as a user meets it: real processes, a real terminal, a scripted model."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.command_line import COMMAND, EDIT, CommandLine, at_a_terminal, call, interrupt


def test_a_turn_changes_the_file_and_prints_a_patch_that_applies(redline: CommandLine) -> None:
    subprocess.run(["git", "init", "-q"], cwd=redline.workspace, check=True)
    done = redline("run", "shout", "--model", redline.script(EDIT), "--approval", "edits")
    assert done.returncode == 0, done.stderr
    assert (redline.workspace / "a.txt").read_text() == "one\nTWO\nthree\n"
    taken_back = subprocess.run(
        ["git", "apply", "-R"], input=done.stdout, text=True, cwd=redline.workspace, capture_output=True, check=False
    )
    assert taken_back.returncode == 0, taken_back.stderr
    assert (redline.workspace / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_with_nobody_to_ask_the_answer_is_no_and_nothing_looks_applied(redline: CommandLine) -> None:
    done = redline("run", "shout", "--model", redline.script(EDIT))
    assert (redline.workspace / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert "+TWO" not in done.stdout
    assert "not applied" in done.stdout
    edit = next(row for row in redline.rows() if row.get("name") == "edit")
    assert edit["status"] == "rejected"
    assert edit["changes"] == []
    assert edit["proposed"]


def test_a_person_sees_the_whole_change_before_being_asked(redline: CommandLine) -> None:
    typed = at_a_terminal(redline, ["run", "shout", "--model", redline.script(EDIT)], [(r"Allow\?", "y\n")])
    assert typed.exit_code == 0
    assert typed.text.index("TWO") < typed.text.index("[y]")
    assert (redline.workspace / "a.txt").read_text() == "one\nTWO\nthree\n"


def test_no_at_the_prompt_leaves_the_file_and_keeps_the_proposal(redline: CommandLine) -> None:
    typed = at_a_terminal(redline, ["run", "shout", "--model", redline.script(EDIT)], [(r"Allow\?", "n\n")])
    assert "not applied" in typed.text.lower()
    assert (redline.workspace / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert next(row for row in redline.rows() if row.get("name") == "edit")["proposed"]


def test_yes_for_the_session_asks_once_for_the_same_tool_and_file(redline: CommandLine) -> None:
    steps = [
        {"call": [call("read", path="a.txt")]},
        {"call": [call("edit", path="a.txt", old_string="two", new_string="TWO")]},
        {"call": [call("edit", path="a.txt", old_string="three", new_string="THREE")]},
        {"text": "Done."},
    ]
    typed = at_a_terminal(redline, ["run", "shout", "--model", redline.script(steps)], [(r"Allow\?", "s\n")])
    assert typed.text.count("[y]") == 1
    assert (redline.workspace / "a.txt").read_text() == "one\nTWO\nTHREE\n"


def test_the_same_rows_come_back_in_another_process(redline: CommandLine) -> None:
    redline("run", "shout", "--model", redline.script(EDIT), "--approval", "edits")
    rows = redline.rows()
    assert [row["kind"] for row in rows] == ["user", "agent", "tool", "tool", "agent", "turn_end"]
    edit = rows[3]
    assert edit["status"] == "applied"
    change = edit["changes"][0]
    assert (change["added"], change["removed"]) == (1, 1)
    assert change["hunks"][0]["lines"] == [" one", "-two", "+TWO", " three"]
    assert redline.rows() == rows


def test_the_net_patch_of_several_turns_applies_and_comes_off(redline: CommandLine) -> None:
    second = [
        {"call": [call("write", path="new/b.txt", content="b\n")]},
        {"call": [call("edit", path="a.txt", old_string="TWO", new_string="2")]},
        {"text": "Done."},
    ]
    redline("run", "one", "--model", redline.script(EDIT, second), "--approval", "edits")
    again = redline("run", "two", "--session", "last", "--approval", "edits")
    assert again.returncode == 0, again.stderr
    patch = redline("diff", "last", "--patch").stdout
    assert "+2\n" in patch
    assert "TWO" not in patch, "only the first and the last state count"
    subprocess.run(["git", "init", "-q"], cwd=redline.workspace, check=True)
    subprocess.run(["git", "apply", "-R"], input=patch, text=True, cwd=redline.workspace, check=True)
    assert (redline.workspace / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert not (redline.workspace / "new/b.txt").exists()
    only = json.loads(redline("diff", "last", "--turn", "2", "--file", "a.txt", "--json").stdout)
    assert only[0]["hunks"][0]["lines"] == [" one", "-TWO", "+2", " three"]


def test_undo_and_the_way_back(redline: CommandLine) -> None:
    redline("run", "one", "--model", redline.script(EDIT), "--approval", "edits")
    (redline.workspace / "a.txt").write_text("zero\none\nTWO\nthree\n")
    plan = redline("undo", "last", "--dry-run")
    assert plan.returncode == 0, plan.stderr
    assert "would be taken back" in plan.stdout
    refused = redline("undo", "last")
    assert refused.returncode == 2, "there is nobody to ask"
    assert "--yes" in refused.stderr
    undone = redline("undo", "last", "--yes")
    assert undone.returncode == 0, undone.stderr
    assert (redline.workspace / "a.txt").read_text() == "zero\none\ntwo\nthree\n"
    assert redline("undo", "last", "--turn", "2", "--yes").returncode == 0
    assert (redline.workspace / "a.txt").read_text() == "zero\none\nTWO\nthree\n"


def test_undo_is_refused_where_the_lines_were_changed_again(redline: CommandLine) -> None:
    redline("run", "one", "--model", redline.script(EDIT), "--approval", "edits")
    (redline.workspace / "a.txt").write_text("one\nTwo!\nthree\n")
    refused = redline("undo", "last", "--yes")
    assert refused.returncode == 1
    assert "Two!" in refused.stderr
    assert (redline.workspace / "a.txt").read_text() == "one\nTwo!\nthree\n"


def test_a_patch_holds_the_true_secret_and_nothing_else_does(redline: CommandLine) -> None:
    secret = "hunter" + "2-correct-horse"
    (redline.workspace / "app.env").write_text(f"HOST=old\nPASSWORD={secret}\n")
    steps = [
        {"call": [call("read", path="app.env")]},
        {"call": [call("edit", path="app.env", old_string="HOST=old", new_string="HOST=new")]},
        {"text": "Done."},
    ]
    done = redline("run", "move", "--model", redline.script(steps), "--approval", "edits")
    assert done.returncode == 0, done.stderr
    shown = [done.stdout, redline("show", "last").stdout, redline("show", "last", "--json").stdout]
    shown += [redline("diff", "last").stdout, redline("diff", "last", "--json").stdout]
    for text in shown:
        assert secret not in text
    assert "redacted" in shown[0]
    log = (redline.data / "sessions.db").read_bytes()
    for side in ("sessions.db-wal",):
        if (redline.data / side).exists():
            log += (redline.data / side).read_bytes()
    assert secret.encode() not in log
    assert secret in redline("diff", "last", "--patch").stdout


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_stops_the_turn_and_the_command_that_it_ran(
    redline: CommandLine, number: signal.Signals, exit_code: int
) -> None:
    steps = [{"call": [call("bash", command="echo $$ > pid; sleep 60")]}, {"text": "Done."}]
    process = redline.start("run", "wait", "--model", redline.script(steps), "--approval", "all")
    pid_file = redline.workspace / "pid"
    until = time.monotonic() + 30
    while not (pid_file.exists() and pid_file.read_text().strip()) and time.monotonic() < until:
        time.sleep(0.05)
    shell = int(pid_file.read_text())
    _, said = interrupt(process, number)
    assert process.returncode == exit_code, said
    assert "Traceback" not in said
    with pytest.raises(ProcessLookupError):
        os.kill(shell, 0)
    rows = redline.rows()
    assert "draw it again: " in said
    assert rows[-1]["kind"] == "turn_end"
    assert rows[-1]["reason"] == "cancelled"
    assert next(row for row in rows if row.get("name") == "bash")["status"] == "cancelled"


def test_delete_removes_the_log_and_the_bytes_and_leaves_the_files(redline: CommandLine) -> None:
    redline("run", "one", "--model", redline.script(EDIT), "--approval", "edits")
    [session] = json.loads(redline("sessions", "--json").stdout)
    assert (redline.data / "bytes" / session["session"]).is_dir()
    assert redline("delete", "last").returncode == 2
    assert redline("delete", "last", "--yes").returncode == 0
    assert json.loads(redline("sessions", "--json").stdout) == []
    assert not (redline.data / "bytes" / session["session"]).exists()
    assert (redline.workspace / "a.txt").read_text() == "one\nTWO\nthree\n"


def test_what_would_change_a_session_that_runs_elsewhere_is_refused_at_once(redline: CommandLine) -> None:
    steps = [{"call": [call("bash", command="echo > begun; sleep 60")]}, {"text": "Done."}]
    process = redline.start("run", "wait", "--model", redline.script(steps), "--approval", "all")
    until = time.monotonic() + 60
    while not (redline.workspace / "begun").exists() and time.monotonic() < until:
        time.sleep(0.05)
    for arguments in (("delete", "last"), ("delete", "last", "-y"), ("undo", "last", "-y"), ("undo", "last")):
        refused = redline(*arguments)
        assert refused.returncode == 4
        assert f"in use by process {process.pid}" in refused.stderr
        assert process.poll() is None
    assert json.loads(redline("sessions", "--json").stdout)[0]["running"]
    interrupt(process)
    assert redline.rows()[-1]["reason"] == "cancelled"
    assert redline("delete", "last", "-y").returncode == 0


@pytest.mark.parametrize("command", ["show", "diff", "undo"])
def test_a_turn_that_is_not_there_is_one_error_everywhere(redline: CommandLine, command: str) -> None:
    redline("run", "one", "--model", redline.script(EDIT), "--approval", "edits")
    refused = redline(command, "last", "--turn", "99")
    assert refused.returncode == 3
    assert "has no turn 99" in refused.stderr


def test_a_full_disk_below_the_data_folder_is_no_fault_of_the_output() -> None:
    code = (
        "import errno, redline.cli.main as command\n"
        "def full():\n"
        "    raise OSError(errno.ENOSPC, 'No space left on device', '/data/bytes')\n"
        "command.app = full\n"
        "command.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == "redline: /data/bytes could not be written: No space left on device.\n"
    assert (done.returncode, done.stdout) == (4, "")


def test_the_data_folder_is_private(redline: CommandLine) -> None:
    redline("run", "one", "--model", redline.script(EDIT), "--approval", "edits")
    assert stat.S_IMODE(redline.data.stat().st_mode) == 0o700
    assert stat.S_IMODE((redline.data / "sessions.db").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        (("show", "nope"), 3, ("no session", "redline sessions")),
        (("diff", "nope"), 3, ("no session",)),
        (("undo", "last"), 3, ("no session",)),
        (("run", "x"), 2, ("No model", "--model")),
        (("run", " ", "--model", "script:x"), 2, ("empty",)),
        (("run", "x", "--model", "script:/nowhere.toml"), 2, ("/nowhere.toml", "scripted-model")),
        (("run", "x", "--model", "m", "-C", "/nowhere"), 2, ("/nowhere",)),
        (("run", "x", "--model", "m", "-C", "x" * 300), 2, ("xxx", "is not a folder")),
        (("run", "x", "--model", "m", "-C", "~nobody-of-that-name"), 2, ("~nobody", "is not a folder")),
        (("run", "x", "--model", "m", "-C", "circle"), 2, ("circle", "is not a folder")),
        (("run", "x", "--approval", "maybe"), 2, ("approval", "ask")),
        (("frobnicate",), 2, ("frobnicate",)),
    ],
)
def test_errors_say_what_is_wrong_and_what_to_do(
    redline: CommandLine, arguments: tuple[str, ...], exit_code: int, words: tuple[str, ...]
) -> None:
    (redline.workspace / "circle").symlink_to("circle")
    done = redline(*arguments)
    assert done.returncode == exit_code, done.stdout + done.stderr
    for word in words:
        assert word in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_store_of_a_newer_version_is_refused_and_left_alone(redline: CommandLine) -> None:
    redline("run", "one", "--model", redline.script(EDIT), "--approval", "edits")
    import sqlite3

    with sqlite3.connect(redline.data / "sessions.db") as database:
        database.execute("PRAGMA user_version = 999")
    database.close()
    before = (redline.data / "sessions.db").read_bytes()
    refused = redline("sessions")
    assert refused.returncode == 4
    assert "Update Redline" in refused.stderr
    assert (redline.data / "sessions.db").read_bytes() == before


def test_config_says_where_each_value_comes_from(redline: CommandLine) -> None:
    file = redline.data.parent / "config.toml"
    file.write_text('model = "openai:one"\nmax_steps = 7\n')
    more = {"REDLINE_CONFIG": str(file), "REDLINE_MODEL": "openai:two"}
    shown = {row["name"]: row for row in json.loads(redline("config", "--json", **more).stdout)["settings"]}
    assert (shown["model"]["value"], shown["model"]["source"]) == ("openai:two", "REDLINE_MODEL")
    assert (shown["max_steps"]["value"], shown["max_steps"]["source"]) == (7, str(file))
    assert shown["approval"]["source"] == "default"
    file.write_text("modle = 1\n")
    wrong = redline("config", REDLINE_CONFIG=str(file))
    assert wrong.returncode == 2
    assert "modle" in wrong.stderr
    assert "model" in wrong.stderr
    file.write_text("model = \n")
    assert redline("config", REDLINE_CONFIG=str(file)).returncode == 2


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ('approval = "maybe"\n', {"approval": "maybe"}),
        ("max_steps = 0\nnope = 1\n", {"max_steps": 0, "nope": 1}),
        ("[slack]\nallow = [5]\nnope = true\n", {"slack.allow": "[5]", "slack.nope": True}),
        ("slack = 5\n", {"slack": 5}),
        ("[formatters]\n'*.py' = []\n'*.go' = 5\n", {"formatters": {"*.py": [], "*.go": 5}}),
        ("base_url = 7\nprompt = 3\n", {"base_url": 7, "prompt": 3}),
        ("[discord]\nbot_token = 12345678\n", {"discord.bot_token": "**********"}),
        ("when = 2020-01-01\n", {"when": "2020-01-01"}),
        ("model = \n", {}),
    ],
)
def test_config_shows_a_wrong_setting_as_wrong_and_all_others(
    redline: CommandLine, written: str, wrong: dict[str, object]
) -> None:
    file = redline.data.parent / "config.toml"
    file.write_text(written)
    more = {"REDLINE_CONFIG": str(file), "REDLINE_SLACK_BASE_URL": "https://proxy", "REDLINE_DISCORD_AGENT": "codex"}
    listed = redline("config", "--json", **more)
    found = json.loads(listed.stdout)
    assert listed.returncode == 2
    assert {row["name"]: row["value"] for row in found["settings"] if "problem" in row} == wrong
    assert len(found["problems"]) == max(len(wrong), 1)
    assert next(row for row in found["settings"] if row["name"] == "discord.agent")["value"] == "codex"
    shown = redline("config", **more)
    assert shown.returncode == 2
    lines = {line.split()[0]: line for line in shown.stdout.splitlines() if line.strip()}
    for name in wrong:
        assert "WRONG: " in lines[name]
        assert str(file) in lines[name]
    assert shown.stdout.count("WRONG: ") == len(wrong)
    assert "Bytes of all kept states together." in lines["store_limit"]
    assert "12345678" not in shown.stdout + shown.stderr + listed.stdout
    assert str(file) in shown.stderr
    refused = redline("sessions", **more)
    assert (refused.returncode, refused.stdout) == (2, "")


def test_a_command_that_is_shown_can_be_typed_in_any_folder(redline: CommandLine, tmp_path: Path) -> None:
    """Whether the program was found by its name, called by a path, or another one has its name."""
    program = Path(sys.executable).parent / "redline"
    links = tmp_path / "with blank"
    links.mkdir()
    (links / "redline").symlink_to(program)
    other = tmp_path / "another"
    other.mkdir()
    (other / "redline").write_text("#!/bin/sh\nexit 99\n")
    (other / "redline").chmod(0o755)
    plain = "/usr/bin:/bin"
    for typed, path in (
        ("redline", f"{links}:{plain}"),
        ("./redline", plain),
        (str(links / "redline"), f"{other}:{plain}"),
        (f"../{links.name}/redline", f"{links}:{plain}"),
        (f"{sys.executable} -m redline", plain),
    ):
        command = typed if " -m " in typed else f"'{typed}'"
        where = links if typed != "redline" else tmp_path
        environment = {**redline.environment, "PATH": path}
        begun = subprocess.run(
            ["/bin/sh", "-c", f"{command} run x --model {redline.script([{'text': 'Hello.'}])} -C {redline.workspace}"],
            cwd=where, env=environment, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        shown = begun.stderr.partition("draw it again: ")[2].strip()
        again = subprocess.run(
            ["/bin/sh", "-c", shown], cwd="/", env=environment, capture_output=True, text=True, check=False
        )
        assert again.returncode == 0, (typed, shown, again.stderr)
        assert "# Hello." in again.stdout


def test_what_a_command_printed_is_whole_where_that_is_asked_for(redline: CommandLine) -> None:
    steps = [{"call": [call("bash", command="seq 100; exit 3")]}, {"text": "Done."}]
    done = redline("run", "count", "--model", redline.script(steps), "--approval", "all")
    assert "exit 3\n# | 1\n" in done.stdout
    assert "# | 50\n" not in done.stdout
    assert "# 76 lines left out" in done.stdout
    assert "# | 50\n" in redline("show", "last", "--whole").stdout


def test_a_folder_of_the_configuration_is_a_folder_that_can_be(redline: CommandLine, tmp_path: Path) -> None:
    def shown(**environment: str) -> dict[str, object]:
        rows = json.loads(redline("config", "--json", **environment).stdout)["settings"]
        return {row["name"]: row["value"] for row in rows}

    assert shown(REDLINE_DATA="~/kept", HOME=str(tmp_path))["data"] == str(tmp_path / "kept")
    assert shown(REDLINE_PROMPT="")["prompt"] is None
    for data in ("", "~nobody-of-that-name/kept"):
        refused = redline("sessions", REDLINE_DATA=data)
        assert refused.returncode == 2, refused.stdout + refused.stderr
        assert "REDLINE_DATA" in refused.stderr
        assert "Traceback" not in refused.stderr


def test_formatters_are_configured_in_the_file_or_in_the_environment(redline: CommandLine) -> None:
    def shown(**environment: str) -> object:
        rows = json.loads(redline("config", "--json", **environment).stdout)["settings"]
        return {row["name"]: row["value"] for row in rows}["formatters"]

    file = redline.data.parent / "config.toml"
    file.write_text('[formatters]\n"*.py" = ["ruff", "format", "-"]\n')
    assert shown(REDLINE_CONFIG=str(file)) == {"*.py": ["ruff", "format", "-"]}
    assert shown(REDLINE_FORMATTERS='{"*.go": ["gofmt"]}') == {"*.go": ["gofmt"]}
    for wrong in ('"*.py" = []', '"*.py" = "ruff format"', '"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}" = ["x"]'):
        file.write_text(f"[formatters]\n{wrong}\n")
        refused = redline("config", REDLINE_CONFIG=str(file))
        assert refused.returncode == 2
        assert "formatters" in refused.stderr


def test_a_new_configuration_file_sets_nothing(redline: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.toml"
    assert redline("config", "--init", REDLINE_CONFIG=str(file)).returncode == 0
    shown = json.loads(redline("config", "--json", REDLINE_CONFIG=str(file)).stdout)["settings"]
    assert {row["source"] for row in shown if row["name"] != "data"} == {"default"}
    assert redline("config", "--init", REDLINE_CONFIG=str(file)).returncode == 2


def test_the_demo_shows_every_kind_of_card(redline: CommandLine) -> None:
    done = redline("demo", "--fast", TMPDIR=str(redline.workspace))
    assert done.returncode == 0, done.stdout + done.stderr
    rows = redline.rows()
    statuses = {(row["name"], row["status"]) for row in rows if row["kind"] == "tool"}
    assert {("write", "applied"), ("edit", "applied"), ("edit", "failed"), ("edit", "rejected")} <= statuses
    assert {("delete", "applied"), ("move", "applied")} <= statuses
    places = next(row for row in rows if row.get("name") == "edit")
    assert len(places["changes"][0]["hunks"]) == 5
    assert any(change["redacted"] for row in rows for change in row.get("changes", []) if "redacted" in change)
    assert any(row["kind"] == "revert" for row in rows)
    assert "tulip" not in done.stdout


def test_a_pipe_that_closes_early_is_no_error(redline: CommandLine) -> None:
    redline("run", "one", "--model", redline.script(EDIT), "--approval", "edits")
    show = redline.start("show", "last")
    assert show.stdout is not None
    assert show.stderr is not None
    show.stdout.close()
    assert "Traceback" not in show.stderr.read()
    show.wait()


def test_a_session_that_was_killed_is_closed_by_the_disk_before_it_is_drawn(redline: CommandLine) -> None:
    steps = [{"call": [call("bash", command="echo changed > made-by-shell.txt; echo $$ > pid; sleep 60")]}]
    process = redline.start("run", "wait", "--model", redline.script(steps), "--approval", "all")
    pid_file = redline.workspace / "pid"
    until = time.monotonic() + 90
    while not (pid_file.exists() and pid_file.read_text().strip()) and time.monotonic() < until:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    shown = redline("show", "last")
    assert shown.returncode == 0, shown.stderr
    assert "interrupted" in shown.stdout
    assert redline.rows()[-1]["reason"] == "interrupted"


def test_what_a_killed_turn_had_changed_is_found_by_the_first_reader_and_stays(redline: CommandLine) -> None:
    write = "echo changed > made-by-shell.txt; echo $$ > pid; sleep 60"
    process = redline.start(
        "run", "wait", "--model", redline.script([{"call": [call("bash", command=write)]}]), "--approval", "all"
    )
    pid_file = redline.workspace / "pid"
    until = time.monotonic() + 90
    while not (pid_file.exists() and pid_file.read_text().strip()) and time.monotonic() < until:
        time.sleep(0.05)
    process.kill()
    process.communicate()
    shown = redline("show", "last")
    assert "add made-by-shell.txt" in shown.stdout
    assert "found on disk" in shown.stdout
    assert "made-by-shell.txt" in redline("diff", "last").stdout
    (redline.workspace / "made-by-shell.txt").write_text("the user's, after the turn\n")
    redline("run", "go on", "--session", "last", "--model", redline.script([{"say": "Nothing to do."}]))
    kept = redline("diff", "last").stdout
    assert "+changed" in kept
    assert "the user's" not in kept


def test_a_model_that_cannot_be_begins_no_session(redline: CommandLine) -> None:
    for model in ("bogus", "script:/nowhere.toml"):
        refused = redline("run", "go", "--model", model)
        assert refused.returncode == 2, refused.stderr
    assert json.loads(redline("sessions", "--json").stdout) == []


def test_an_output_that_cannot_be_written_is_said_and_no_traceback(redline: CommandLine) -> None:
    model = redline.script(EDIT)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "run", "shout", "--model", model, "--approval", "edits"], cwd=redline.workspace,
            env=redline.environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert done.returncode == 1
    assert "output could not be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert (redline.workspace / "a.txt").read_text() == "one\nTWO\nthree\n"
    closed = subprocess.run(
        ["bash", "-c", '"$@" >&-', "-", *COMMAND, "show", "last"], cwd=redline.workspace, env=redline.environment,
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert "Traceback" not in closed.stderr


def test_an_undone_change_says_so_in_a_pipe(redline: CommandLine) -> None:
    redline("run", "one", "--model", redline.script(EDIT), "--approval", "edits")
    assert redline("undo", "last", "--yes").returncode == 0
    assert "applied, taken back later" in redline("show", "last").stdout
