"""An agent's life: it is stopped, dies, floods, says nothing, forgets; each time the session is in a clear state."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agents.acp.puppetry import (
    PUPPET,
    diff,
    done,
    edit,
    ends,
    found,
    notices,
    puppet,
    said,
    say,
    shell,
    start,
    tools,
    touched,
    turn,
    until,
    update,
)
from captures.recorded import Onlooker, on_disk, replayed, stage
from redline.agents.acp.choices import Choices
from redline.sessions.store import StoreError
from redline.transcript.rows import FoundRow, NoticeRow, OtherRow, TurnEndRow

TEXT = "".join(f"line {number}\n" for number in range(1, 41))
NEW = TEXT.replace("line 20\n", "line twenty\n")
BEFORE = {"a.txt": TEXT.encode()}
WRITE = {"write": "a.txt", "text": NEW}
ONE_LINE = [("modify", "a.txt", 1, 1)]


async def test_stopping_a_turn_is_told_to_the_agent_and_closes_its_calls(tmp_path: Path) -> None:
    steps = [shell("c", "make"), WRITE, say("working"), {"wait_cancel": True}]
    async with puppet(tmp_path, steps, [say("here")], files={"a.txt": TEXT}) as live:
        running = asyncio.create_task(turn(live))
        await until(lambda: "c" in tools(live))
        await live.conversation.cancel()
        assert await running == "cancelled"
        assert (tools(live)["c"].status, touched(tools(live)["c"], live)) == ("cancelled", ONE_LINE)
        assert await turn(live, BEFORE) == "completed"  # the same process
        assert "here" in said(live)


async def test_an_agent_that_does_not_stop_is_ended(tmp_path: Path) -> None:
    steps = [shell("c", "make"), {"hang": True}]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, options={"cancel_seconds": 0.2}) as live:
        running = asyncio.create_task(turn(live))
        await until(lambda: "c" in tools(live))
        await live.conversation.cancel()
        assert await running == "cancelled"
        assert tools(live)["c"].status == "cancelled"


async def test_a_new_prompt_withdraws_an_open_question(tmp_path: Path) -> None:
    """Public reports: D48."""

    class Silent(Onlooker):
        async def ask(self, request: Any) -> Any:
            self.asked.append(request)
            await asyncio.Event().wait()

    steps = [{"ask": {"toolCallId": "c", "kind": "edit", "content": [diff("a.txt", "line 20", "x")]}}, WRITE, done("c")]
    async with puppet(tmp_path, steps, [], files={"a.txt": TEXT}, onlooker=Silent()) as live:
        running = asyncio.create_task(turn(live))
        await until(lambda: live.onlooker.asked)
        assert await turn(live, BEFORE) == "completed"
        assert await running == "cancelled"
        assert (tools(live)["c"].status, tools(live)["c"].changes) == ("cancelled", ())


async def test_an_agent_that_dies_leaves_a_clear_word_and_what_it_did(tmp_path: Path) -> None:
    steps = [edit("c", "a.txt", "line 20", "line twenty"), shell("d", "make"), WRITE, {"exit": 7}]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, stderr="out of memory") as live:
        assert await turn(live, BEFORE) == "failed"
        assert touched(tools(live)["c"], live) == ONE_LINE
        assert tools(live)["d"].status == "interrupted"
        error = ends(live)[0].error
        assert error is not None
        assert error.code == "AGENT_EXITED"
        assert "exit code 7" in error.message
        assert "out of memory" in error.message
        assert notices(live) == []  # said once


async def test_a_command_that_cannot_be_run_is_said_without_the_shell_and_without_a_promise(tmp_path: Path) -> None:
    program = tmp_path / "no-program"
    program.write_text("")
    async with stage(tmp_path, [str(program)]) as live:
        assert await turn(live) == "failed"
        error = ends(live)[0].error
        assert error is not None
        assert f"It said: {program}: Permission denied" in error.message
        assert error.remedy.startswith("Check the command")


async def test_after_its_death_the_agent_is_started_again(tmp_path: Path) -> None:
    """Public reports: E57."""
    async with puppet(tmp_path, [{"exit": 1}], files={"a.txt": TEXT}) as live:
        assert await turn(live) == "failed"
        script = tmp_path / "script.json"
        script.write_text(json.dumps({"prompts": [[say("again")]]}))
        assert await turn(live, BEFORE) == "completed"
        assert "again" in said(live)
        assert "AGENT_FORGOT" in notices(live)


async def test_an_agent_that_never_answers_is_given_up_with_what_it_said(tmp_path: Path) -> None:
    options = {"greeting_seconds": 0.5}
    async with puppet(
        tmp_path, [], files={"a.txt": TEXT}, silent=["initialize"], stderr="Log in first", options=options
    ) as live:
        assert await turn(live, BEFORE) == "failed"
        error = ends(live)[0].error
        assert error is not None
        assert error.code == "AGENT_SILENT"
        assert "Log in first" in error.message


async def test_an_agent_that_wants_a_login_says_how(tmp_path: Path) -> None:
    login = {"authMethods": [{"id": "cli", "name": "Sign in", "description": "Run puppet login"}]}
    refuse = {"session/new": {"code": -32000, "message": "Authentication required"}}
    async with puppet(tmp_path, [], initialize=login, refuse=refuse) as live:
        assert await turn(live) == "failed"
        error = ends(live)[0].error
        assert error is not None
        assert error.code == "AUTH_REQUIRED"
        assert "Run puppet login" in error.remedy


async def test_a_program_that_is_not_there_is_a_clear_failure(tmp_path: Path) -> None:
    async with puppet(tmp_path, []) as live:
        live.agent._options = type(live.agent._options)("x", ["/nowhere/agent"])  # type: ignore[misc]
        assert await turn(live) == "failed"


async def test_a_flood_is_taken_in_order(tmp_path: Path) -> None:
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "{n} "}}
    async with puppet(tmp_path, [{"flood": 5000, "update": chunk}], files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert "".join(said(live)) == "".join(f"{number} " for number in range(5000))


async def test_cumulative_updates_of_one_call_leave_one_calls_worth_of_log(tmp_path: Path) -> None:
    growing = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "rawInput": {"text": "{n}" * 400}}
    steps = [start("c", title="Write", kind="edit"), {"flood": 3000, "update": growing}, done("c")]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        events = [event async for event in live.session.log.events() if event.type.startswith("tool/")]
        assert len(events) < 20
        assert tools(live)["c"].call_view.raw_input == {"text": "2999" * 400}  # type: ignore[union-attr]


async def test_lines_that_are_no_messages_are_said_and_passed_over(tmp_path: Path) -> None:
    steps = [
        {"raw": "Warning: a stray print"},
        {"raw": "[1, 2]"},
        {"raw": '{"jsonrpc":"2.0","method":"x/y"}'},
        say("ok"),
    ]
    async with puppet(tmp_path, steps, noise="npm notice") as live:
        assert await turn(live) == "completed"
        assert said(live) == ["ok"]
        assert set(notices(live)) == {"AGENT_MESSAGE"}


async def test_a_message_of_megabytes_is_normal(tmp_path: Path) -> None:
    """Public reports: P163, P168."""
    big = "x" * (3 << 20)
    steps = [start("c", title="Read", kind="read"), done("c", rawOutput={"content": big})]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        assert await turn(live, BEFORE) == "completed"
        assert tools(live)["c"].status == "completed"
        size = sum([len(json.dumps(event.data)) async for event in live.session.log.events()])
        assert size < 100_000


async def test_updates_of_an_unknown_kind_are_kept_as_they_are(tmp_path: Path) -> None:
    strange = {"sessionUpdate": "hologram", "shape": {"edges": [1, 2.5, None]}, "_meta": {"a": True}}
    async with puppet(tmp_path, [{"send": strange}]) as live:
        await turn(live)
        [event] = [event async for event in live.session.log.events() if event.type == "agent/update"]
        assert {name: value for name, value in event.data.items() if name != "turn"} == strange
        assert [row for row in live.conversation.transcript.rows if isinstance(row, OtherRow)]


async def test_of_a_flood_of_unknown_updates_it_is_said_how_many_were_not_kept(tmp_path: Path) -> None:
    strange = {"sessionUpdate": "hologram", "number": "{n}"}
    async with puppet(tmp_path, [{"flood": 10_250, "update": strange}, say("ok")], [say("more")]) as live:
        await turn(live)
        kept = [event async for event in live.session.log.events() if event.type == "agent/update"]
        assert [event.data["number"] for event in kept] == [str(number) for number in range(10_000)]
        [told] = [row.problem for row in live.conversation.transcript.rows if isinstance(row, NoticeRow)]
        assert told.code == "AGENT_FLOOD"
        assert "250 updates" in told.message
        assert "hologram" in told.message
        await turn(live)
        assert notices(live) == ["AGENT_FLOOD"]


async def test_tokens_and_costs_are_those_of_the_turn_also_after_a_restart(tmp_path: Path) -> None:
    def used(tokens: int, cost: float) -> dict[str, Any]:
        money = {"amount": cost, "currency": "USD"}
        return {"send": {"sessionUpdate": "usage_update", "used": tokens, "size": 200_000, "cost": money}}

    end = {"end": "end_turn", "usage": {"inputTokens": 300, "outputTokens": 50, "totalTokens": 350}}
    async with puppet(tmp_path, [used(100, 0.1), used(300, 0.25), end], [used(900, 0.75)]) as live:
        await turn(live)
        await turn(live)
        first, second = ends(live)
        assert (first.input_tokens, first.output_tokens, first.cost) == (300, 50, 0.25)
        assert (first.context_used, first.context_size) == (300, 200_000)
        assert (second.context_used, second.cost) == (900, 0.5)
        session = live.session.log.session
    async with puppet(tmp_path, [used(950, 0.875)], session=session) as later:
        await turn(later)
        assert ends(later)[-1].cost == 0.125


async def test_the_echo_of_the_users_words_is_not_shown_twice(tmp_path: Path) -> None:
    echo = {"send": {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "Go on."}}}
    async with puppet(tmp_path, [echo, say("ok")]) as live:
        await turn(live)
        rows = live.conversation.transcript.rows
        assert [row.kind for row in rows if row.kind in ("user", "agent", "other")] == ["user", "agent"]


async def test_modes_models_and_options_are_chosen_and_kept(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    new = {
        "modes": {"currentModeId": "auto", "availableModes": [{"id": "auto", "name": "A"}, {"id": "ask", "name": "B"}]},
        "configOptions": [
            {"id": "model", "category": "model", "type": "select", "currentValue": "small",
             "options": [{"value": "small", "name": "S"}, {"group": "g", "options": [{"value": "big", "name": "B"}]}]},
            {"id": "web", "type": "boolean", "currentValue": False},
        ],
    }  # fmt: skip
    choices = Choices("ask", "big", {"web": "true"})
    async with puppet(tmp_path, [], new=new, heard=str(heard), options={"choices": choices}) as live:
        assert await turn(live) == "completed"
        session = live.session.log.session
    sent = [(m["method"], m["params"]) for m in map(json.loads, heard.read_text().splitlines())]
    assert ("session/set_mode", {"sessionId": "puppet", "modeId": "ask"}) in sent
    chosen = [params for method, params in sent if method == "session/set_config_option"]
    assert [(one["configId"], one["value"]) for one in chosen] == [("model", "big"), ("web", True)]
    heard.unlink()
    async with puppet(tmp_path, [], session=session, new=new, heard=str(heard)) as later:
        assert await turn(later) == "completed"  # what was chosen holds when the session goes on
    assert "session/set_mode" in heard.read_text()


async def test_a_choice_that_there_is_not_lists_those_that_there_are(tmp_path: Path) -> None:
    new = {
        "modes": {"currentModeId": "auto", "availableModes": [{"id": "auto", "name": "A"}, {"id": "ask", "name": "B"}]}
    }
    async with puppet(tmp_path, [], new=new, options={"choices": Choices(mode="yolo")}) as live:
        assert await turn(live) == "failed"
        error = ends(live)[0].error
        assert error is not None
        assert (error.code, error.remedy) == ("NO_SUCH_CHOICE", "There are: auto, ask.")


async def test_the_agents_own_replay_is_swallowed(tmp_path: Path) -> None:
    """Public reports: E55."""
    load = {"agentCapabilities": {"loadSession": True}}
    steps = [say("done"), edit("c", "a.txt", "line 20", "line twenty"), WRITE, done("c")]
    replay = [step["send"] for step in (say("done"), edit("c", "a.txt", None, NEW), done("c"))]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, initialize=load) as live:
        await turn(live, BEFORE)
        session, told = live.session.log.session, live.conversation.transcript.rows
    async with puppet(tmp_path, [say("more")], session=session, initialize=load, replay=replay) as later:
        await turn(later, BEFORE)
        assert later.conversation.transcript.rows[: len(told)] == told
        assert said(later) == ["done", "more"]
        assert "AGENT_FORGOT" not in notices(later)


async def test_an_agent_that_cannot_resume_is_said_to_remember_nothing(tmp_path: Path) -> None:
    async with puppet(tmp_path, [say("one")]) as live:
        await turn(live)
        session = live.session.log.session
    async with puppet(tmp_path, [say("two")], session=session) as later:
        await turn(later)
        assert notices(later) == ["AGENT_FORGOT"]


RUNNER = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from captures.recorded import stage

async def main():
    async with stage(Path(sys.argv[1]), [sys.executable, sys.argv[2], str(Path(sys.argv[1], "script.json"))]) as live:
        print(live.session.log.session, flush=True)
        await live.conversation.prompt("Go.", source="terminal")

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
async def test_what_changed_before_a_kill_is_found_at_the_next_start_and_no_child_survives(tmp_path: Path) -> None:
    """Public reports: P172."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/a.txt").write_text(TEXT)
    steps = [
        shell("c", "make"), {"write": "pid", "text": ""}, {"call": "terminal/create", "params": {
            "command": "echo $$ > terminal_pid; sleep 300"}}, {"sleep": 0.5}, WRITE, {"hang": True},
    ]  # fmt: skip
    (tmp_path / "script.json").write_text(json.dumps({"prompts": [steps]}))
    command = [sys.executable, "-c", RUNNER, str(tmp_path), str(PUPPET), str(PUPPET.parents[2])]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    session = (await process.stdout.readline()).decode().strip()
    await until(lambda: (tmp_path / "workspace/a.txt").read_text() == NEW)
    children = _descendants(process.pid)
    assert len(children) >= 4
    process.send_signal(signal.SIGKILL)
    await process.wait()
    await until(lambda: not any(map(_is_alive, children)))

    (tmp_path / "script.json").write_text("{}")
    async with puppet(tmp_path, [], session=session) as later:
        rows = later.conversation.transcript.rows
        assert tools(later)["c"].status in ("interrupted", "unknown")
        changed = {path for row in rows if isinstance(row, FoundRow) for _, path, _, _ in touched(row, later)}
        changed |= {path for row in tools(later).values() for _, path, _, _ in touched(row, later)}
        assert {"a.txt"} <= changed
        assert all(row.turn == 1 for row in found(later))
        [end] = [row for row in rows if isinstance(row, TurnEndRow)]
        assert end.reason == "interrupted"
        assert any(net.path.endswith("a.txt") for net in end.net)


async def test_a_call_that_was_cut_off_between_two_of_its_changes_keeps_both(tmp_path: Path) -> None:
    steps = [
        shell("c", "make"), WRITE, {"sleep": 0.1}, start("r", title="Read", kind="read", rawInput={"path": "x"}),
        done("r"), {"sleep": 0.3}, {"write": "b.txt", "text": "b\n"}, {"sleep": 0.1},
        start("s", title="Read", kind="read", rawInput={"path": "x"}), done("s"), {"sleep": 0.3}, {"hang": True},
    ]  # fmt: skip
    both = [*ONE_LINE, ("add", "b.txt", 1, 0)]
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/a.txt").write_text(TEXT)
    (tmp_path / "script.json").write_text(json.dumps({"prompts": [steps]}))
    command = [sys.executable, "-c", RUNNER, str(tmp_path), str(PUPPET), str(PUPPET.parents[2])]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    session = (await process.stdout.readline()).decode().strip()
    await until(lambda: (tmp_path / "workspace/b.txt").exists())
    await asyncio.sleep(1.5)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    (tmp_path / "script.json").write_text("{}")
    async with puppet(tmp_path, session=session) as later:
        told = [event.data["changes"] async for event in later.session.log.events() if event.type == "tool/update"
                and event.data.get("call") == "c" and event.data.get("observed")]  # fmt: skip
        assert told[-1][0] == {"kept": 0}
        assert (tools(later)["c"].status, touched(tools(later)["c"], later)) == ("interrupted", both)
        assert not found(later)
        assert replayed(BEFORE, later.conversation.transcript.landed(), later.workspace, later) == on_disk(
            later.workspace
        )


def _descendants(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(child): int(parent) for child, parent in (line.split() for line in listed.splitlines())}
    known = {pid}
    while more := {child for child, parent in parents.items() if parent in known} - known:
        known |= more
    return sorted(known - {pid})


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


async def test_an_update_never_makes_a_status_go_back(tmp_path: Path) -> None:
    steps = [
        edit("c", "a.txt", "line 20", "line twenty"),
        WRITE,
        done("c"),
        {"sleep": 0.1},
        update("c", status="in_progress"),
    ]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert tools(live)["c"].status == "applied"


async def test_a_call_is_told_soon_after_its_end_and_not_only_at_the_end_of_the_turn(tmp_path: Path) -> None:
    steps = [edit("c", "a.txt", "line 20", "line twenty"), WRITE, done("c"), {"sleep": 5.0}]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        begun = time.monotonic()
        running = asyncio.create_task(turn(live))
        await until(lambda: tools(live).get("c") and tools(live)["c"].status == "applied")
        assert not running.done()
        assert time.monotonic() - begun < 25
        await running


async def test_a_turn_that_is_stopped_while_the_agent_starts_leaves_nothing_half_started(tmp_path: Path) -> None:
    async with puppet(tmp_path, [say("hello")], silent=["initialize"]) as live:
        running = asyncio.create_task(turn(live))
        await asyncio.sleep(0.5)
        await live.conversation.cancel()
        assert await running == "cancelled"
        (tmp_path / "script.json").write_text(json.dumps({"prompts": [[say("hello")]]}))
        assert await turn(live) == "completed"
        assert said(live) == ["hello"]


async def test_a_mode_in_which_the_agent_decides_by_itself_is_said(tmp_path: Path) -> None:
    new = {
        "modes": {"currentModeId": "auto", "availableModes": [{"id": "auto", "name": "A"}, {"id": "ask", "name": "B"}]}
    }
    async with puppet(tmp_path, [], new=new, options={"asks_in": "ask"}) as live:
        await turn(live)
        assert notices(live) == ["AGENT_DECIDES"]
    async with puppet(tmp_path, [], new=new, options={"asks_in": "ask", "choices": Choices(mode="ask")}) as live:
        await turn(live)
        assert not notices(live)


async def test_a_log_that_takes_nothing_more_ends_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [say("one"), start("c", title="Edit", kind="edit"), {"sleep": 30}]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        append = live.session.log.append

        async def full(type_: str, data: dict[str, Any], **more: Any) -> Any:
            if type_ == "tool/call":
                raise StoreError("NO_SPACE", "The disk is full.", "Make room.")
            return await append(type_, data, **more)

        monkeypatch.setattr(live.session.log, "append", full)
        begun = time.monotonic()
        assert await turn(live) == "failed"
        assert time.monotonic() - begun < 25
        assert "NO_SPACE" in notices(live)


async def test_what_an_agent_leaves_in_the_workspace_as_it_starts_is_told(tmp_path: Path) -> None:
    """Each time it starts; what the user did between two turns is not."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"prompts": [[say("hello")]]}))
    program = f"date +%N > started.txt; exec {shlex.quote(sys.executable)} {shlex.quote(str(PUPPET))} {script}"
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.txt").write_text("a\n")
    async with stage(tmp_path, ["/bin/sh", "-c", program]) as live:
        await turn(live, {"a.txt": b"a\n"})
        assert [touched(row, live) for row in found(live)] == [[("add", "started.txt", 1, 0)]]
        session = live.session.log.session
        (tmp_path / "workspace" / "mine.txt").write_text("mine\n")
        await turn(live)
        assert len(found(live)) == 1
    async with stage(tmp_path, ["/bin/sh", "-c", program], session=session) as later:
        (tmp_path / "workspace" / "mine.txt").write_text("more\n")
        await turn(later)
        assert [touched(row, later) for row in found(later)][1:] == [[("modify", "started.txt", 1, 1)]]
