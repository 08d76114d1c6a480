"""How commands end when they are told to: once, many times, and by a terminal that is closed."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time

import pytest

from cli.command_line import COMMAND, EDIT, CommandLine, at_a_terminal, call, wait_for

STUBBORN = [{"call": [call("bash", command='trap "" INT TERM; echo > begun; sleep 60')]}, {"text": "Done."}]


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_however_often_it_is_told_to_stop_a_turn_ends_with_its_cards_and_its_line(
    redline: CommandLine, number: signal.Signals, exit_code: int
) -> None:
    process = redline.start("run", "wait", "--model", redline.script(STUBBORN), "--approval", "all")
    wait_for(redline.workspace / "begun")
    shown, said = told_until_it_ends(process, number)
    assert process.returncode == exit_code, said
    assert "cancelled" in shown
    assert "# turn 1: cancelled" in shown
    assert "draw it again" in said
    assert "Traceback" not in said
    rows = redline.rows()
    assert (rows[-1]["kind"], rows[-1]["reason"]) == ("turn_end", "cancelled")
    assert next(row for row in rows if row.get("name") == "bash")["status"] == "cancelled"


def told_until_it_ends(process: subprocess.Popen[str], number: signal.Signals) -> tuple[str, str]:
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        process.send_signal(number)
        time.sleep(0.02)
    if process.poll() is None:
        process.kill()
    return process.communicate()


@pytest.mark.parametrize(
    ("arguments", "begun", "exit_code"),
    [
        (("serve", "--no-open", "--port", "0"), "http://", 0),
        (("demo", "--page", "--no-open"), "http://", 0),
        (("demo", "--terminal"), "applied", 130),
    ],
)
def test_what_serves_and_what_plays_ends_as_quietly(
    redline: CommandLine, arguments: tuple[str, ...], begun: str, exit_code: int
) -> None:
    process = redline.start(*arguments)
    assert process.stdout is not None
    assert any(begun in line for line in process.stdout)
    _, said = told_until_it_ends(process, signal.SIGINT)
    assert process.returncode == exit_code, said
    assert "Traceback" not in said


def test_work_that_does_not_come_to_its_end_is_left_for_the_next_start() -> None:
    code = (
        "import asyncio, redline.cli.interrupts as interrupts\n"
        "interrupts.PATIENCE_SECONDS = 0.2\n"
        "async def deaf():\n"
        "    print('begun', flush=True)\n"
        "    while True:\n"
        "        try:\n"
        "            await asyncio.sleep(60)\n"
        "        except asyncio.CancelledError:\n"
        "            print('told', flush=True)\n"
        "interrupts.carry_out(deaf())\n"
    )
    process = subprocess.Popen(
        [COMMAND[0], "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "told\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "did not stop in time" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["undo", "last"], "Nothing was taken back."), (["delete", "last"], "Nothing was deleted.")],
)
@pytest.mark.parametrize(("typed", "exit_code"), [("\x03", 130), ("\x04", 1), ("n\n", 1), ("\n", 1), ("what\n", 1)])
def test_whatever_is_no_yes_ends_the_command_at_once_and_says_what_was_not_done(
    redline: CommandLine, arguments: list[str], words: str, typed: str, exit_code: int
) -> None:
    redline("run", "one", "--model", redline.script(EDIT), "--approval", "edits")
    ended = at_a_terminal(redline, arguments, [(r"\[y/N\]", typed)])
    assert ended.exit_code == exit_code, ended.text
    assert words in ended.text
    assert "Aborted" not in ended.text
    assert (redline.workspace / "a.txt").read_text() == "one\nTWO\nthree\n"
    assert redline("show", "last").returncode == 0


def test_yes_takes_back_and_deletes(redline: CommandLine) -> None:
    redline("run", "one", "--model", redline.script(EDIT), "--approval", "edits")
    assert at_a_terminal(redline, ["undo", "last"], [(r"\[y/N\]", "y\n")]).exit_code == 0
    assert (redline.workspace / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert at_a_terminal(redline, ["delete", "last"], [(r"\[y/N\]", "Yes\n")]).exit_code == 0
    assert redline("show", "last").returncode == 3


def test_a_terminal_that_went_away_is_no_fault_of_the_session(redline: CommandLine) -> None:
    steps = [
        {"call": [call("bash", command="echo > begun; while [ ! -e closed ]; do sleep 0.05; done")]},
        {"text": "Done.\n"},
    ]
    arguments = ["run", "go", "--approval", "all", "--model", redline.script(steps)]
    pid, terminal = pty.fork()
    if pid == 0:  # the child; it hears no hangup, so that it goes on without its terminal
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.chdir(redline.workspace)
        os.execve(COMMAND[0], [*COMMAND, *arguments], redline.environment)
    wait_for(redline.workspace / "begun")
    os.close(terminal)
    (redline.workspace / "closed").touch()
    os.waitpid(pid, 0)
    rows = redline.rows()
    assert rows[-1]["reason"] == "completed"
    assert not [row for row in rows if row["kind"] == "notice"]
