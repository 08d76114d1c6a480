"""`bash`: ends for certain, within its time and its output, and takes its whole process group with it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from redline.tools.process import HEAD, TAIL, run
from redline.tools.shell import Bash
from redline.tools.tool import ToolResult, text_block
from redline.views import TerminalCall, TerminalResult


async def test_output_and_exit_code_come_as_a_terminal_card(bench):
    done = await bench.call("bash", command="echo out; echo err >&2; exit 3", description="Say two things")
    assert done.call_view == TerminalCall("echo out; echo err >&2; exit 3", "Say two things")
    assert done.view == TerminalResult(output="out\nerr\n", exit_code=3)
    assert done.text == "out\nerr\n\n[Exit code 3.]"
    assert done.logged["meta"] == {"exit_code": 3, "timed_out": False, "truncated": False, "bytes": 8}


async def test_every_call_asks_and_no_means_not_run(bench):
    bench.answer = "reject"
    done = await bench.call("bash", command="touch ran")
    assert done.result.status == "rejected"
    assert bench.requests[0].title == "touch ran"
    assert not (bench.workspace / "ran").exists()
    bench.answer = "allow_once"
    await bench.call("bash", command="touch ran")
    await bench.call("bash", command="touch ran")
    assert len(bench.requests) == 3


async def test_it_runs_in_the_workspace_without_input(bench):
    done = await bench.call("bash", command="pwd; cat; tty")
    assert done.view.output.startswith(f"{bench.workspace}\n")
    assert "not a tty" in done.view.output


async def test_a_signal_is_named(bench):
    done = await bench.call("bash", command="kill -9 $$")
    assert done.view == TerminalResult(output="", signal="SIGKILL")
    assert "Ended by SIGKILL." in done.text


async def test_the_time_limit_ends_the_whole_group(bench):
    began = time.monotonic()
    done = await bench.call("bash", command="sleep 300 & echo $!; echo begun; sleep 301", timeout=1)
    assert time.monotonic() - began < 5
    assert done.logged["meta"]["timed_out"] is True
    assert (done.view.signal, done.view.time_limit) == ("SIGTERM", 1)
    assert "time limit of 1 s" in done.text
    assert "begun" in done.view.output
    assert await gone(int(done.view.output.split()[0]))


async def test_a_command_that_ignores_the_polite_signal_is_killed(bench):
    began = time.monotonic()
    done = await bench.call("bash", command="trap '' TERM; while :; do sleep 0.1; done", timeout=1)
    assert time.monotonic() - began < 8
    assert done.view.signal == "SIGKILL"


async def test_a_child_left_in_the_background_neither_hangs_the_call_nor_survives_it(bench):
    began = time.monotonic()
    done = await bench.call("bash", command="sleep 300 & echo $!")
    assert time.monotonic() - began < 5
    assert done.view.exit_code == 0
    assert "left in the background were ended" in done.text
    assert await gone(int(done.view.output))


async def test_a_child_that_left_its_group_with_the_pipe_open_does_not_hang_the_call(bench):
    began = time.monotonic()
    script = "import os,time; os.setsid(); print(os.getpid(), flush=True); time.sleep(60)"
    done = await bench.call("bash", command=f"{sys.executable} -c '{script}' & sleep 1")
    assert time.monotonic() - began < 10
    assert "may still run" in done.text
    os.kill(int(done.view.output), signal.SIGKILL)


async def test_cancelling_ends_the_group_and_the_log_says_so(bench):
    running = asyncio.ensure_future(bench.call("bash", command="echo $$ > new; mv new pid; sleep 300 & sleep 300"))
    pid = await number_in(bench.workspace / "pid")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await gone(pid)
    ended = [event.data async for event in bench.log.events() if event.type == "tool/result"]
    assert [data["status"] for data in ended] == ["cancelled"]


async def test_a_killed_parent_takes_the_command_with_it(tmp_path):
    script = (
        "import asyncio, os, pathlib\n"
        "from redline.tools.process import run\n"
        "async def say(text): print(text, end='', flush=True)\n"
        f"asyncio.run(run(['bash', '-c', 'echo $$; sleep 300'], cwd=pathlib.Path({str(tmp_path)!r}), "
        "environment=dict(os.environ), seconds=300, progress=say))\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    parent.kill()
    await parent.wait()
    assert await gone(child)


async def test_long_output_keeps_head_and_tail_and_counts_the_rest(bench):
    done = await bench.call("bash", command="seq 1 100000")
    output = done.view.output
    assert output.startswith("1\n2\n3\n")
    assert output.endswith("\n99999\n100000\n")
    assert len(output.encode()) < HEAD + TAIL + 200
    total = sum(len(f"{n}\n") for n in range(1, 100_001))
    assert f"of {total} bytes left out" in output
    assert done.logged["meta"]["bytes"] == total
    assert done.logged["meta"]["truncated"] is True
    for line in output.replace("\n[…", "\n#[…").split("\n"):
        assert not line or line.startswith("#") or line.isdigit()


async def test_one_enormous_line_is_bounded_too(bench):
    done = await bench.call("bash", command="head -c 3000000 /dev/zero | tr '\\0' x")
    assert len(done.view.output) < HEAD + TAIL + 200
    assert done.logged["meta"]["bytes"] == 3_000_000


async def test_odd_bytes_are_escaped_and_control_characters_stay_data(bench):
    done = await bench.call("bash", command="printf 'caf\\351 \\033[1Ax'")
    assert done.view.output == "caf\\xE9 \x1b[1Ax"


async def test_provider_keys_are_not_in_its_environment_and_the_rest_is(bench, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "one")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "two")
    monkeypatch.setenv("MY_SETTING", "three")
    done = await bench.call("bash", command="echo [$OPENAI_API_KEY$ANTHROPIC_API_KEY] $MY_SETTING")
    assert done.view.output == "[] three\n"


async def test_limits_of_the_parameters(bench):
    for wrong in (
        {"command": ""},
        {"command": "a\0b"},
        {"command": "ls", "timeout": 601},
        {"command": "ls", "timeout": 0},
        {"command": "ls", "timeout": "5"},
        {"command": "ls", "cwd": "/"},
    ):
        done = await bench.call("bash", **wrong)
        assert done.result.is_error, wrong
    assert bench.requests == []


async def test_live_output_comes_in_whole_lines(tmp_path):
    pieces: list[str] = []

    async def progress(text: str) -> None:
        pieces.append(text)

    command = ["bash", "-c", "echo one; printf tw; sleep 0.4; echo o; sleep 0.3; printf end"]
    ended = await run(command, cwd=tmp_path, environment=dict(os.environ), seconds=10, progress=progress)
    assert ended.head == b"one\ntwo\nend"
    assert pieces == ["one\n", "two\n", "end"]


async def test_live_output_that_cannot_be_shown_costs_only_itself(tmp_path):
    async def progress(text: str) -> None:
        raise OSError("no room")

    command = ["bash", "-c", "echo one; sleep 0.3; echo two"]
    ended = await run(command, cwd=tmp_path, environment=dict(os.environ), seconds=10, progress=progress)
    assert ended.head == b"one\ntwo\n"
    assert ended.exit_code == 0


async def test_a_command_that_cannot_be_started_is_an_error(bench):
    done = await bench.call("bash", command="true")
    assert done.code is None
    bench.workspace.rename(bench.workspace.with_name("elsewhere"))
    done = await bench.call("bash", command="true")
    assert done.code == "IO"


@pytest.mark.parametrize(
    "meta", [None, 3, [], {"exit_code": "0"}, {"exit_code": True}, {"signal": 9}, {"exit_code": None}]
)
def test_a_malformed_meta_never_raises(meta):
    view = Bash().present_result({}, ToolResult([text_block("out")], False, (), meta))
    assert view == TerminalResult(output="out")
    assert Bash().present_result({}, ToolResult([], False, (), meta)) == TerminalResult()
    assert Bash().present_result({}, ToolResult([text_block("no")], True, (), meta)) is None
    assert Bash().present_call({"command": 5}, ()) == TerminalCall("bash")


async def gone(pid: int) -> bool:
    """The process has ended, or does within a few seconds (a zombie that nobody reaps counts)."""
    for _ in range(300):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if is_zombie(pid):
            return True
        await asyncio.sleep(0.02)
    return False


def is_zombie(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"


async def number_in(path: Path) -> int:
    """Once the file is there."""
    async with asyncio.timeout(10):
        while not os.path.exists(path):  # noqa: ASYNC110, ASYNC240, PTH110 - another process makes it
            await asyncio.sleep(0.02)
    return int(await asyncio.to_thread(path.read_text))


async def test_output_without_end_costs_bounded_memory_and_ends_on_time(bench):
    began = time.monotonic()
    done = await bench.call("bash", command="yes", timeout=1)
    assert time.monotonic() - began < 8
    assert done.logged["meta"]["timed_out"] is True
    assert done.logged["meta"]["bytes"] > HEAD + TAIL
    assert len(done.view.output) < HEAD + TAIL + 200


async def test_a_secret_at_the_cut_is_not_half_shown(bench):
    token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for before in (HEAD - 20, HEAD - 5):
        command = (
            f"head -c {before - 1} /dev/zero | tr '\\0' ' '; printf ' {token} '; head -c 90000 /dev/zero | tr '\\0' ' '"
        )
        done = await bench.call("bash", command=command)
        assert "ghp_" not in done.view.output
