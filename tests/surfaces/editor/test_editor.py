"""`redline acp` as an editor meets it: a real process, raw lines, a scripted model."""

from __future__ import annotations

import base64
import copy
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from surfaces.editor.editor_client import ZED, Held, Place, Refused, allow, call, diffs, make_place, said, until
from surfaces.editor.test_proxied import puppet

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = make_place(tmp_path)
    (made.workspace / "a.txt").write_text("one\ntwo\nthree\n")
    return made


LONG = "".join(f"line {number}\n" for number in range(40))
SWAP = LONG.replace("line 3\n", "line three\n").replace("line 30\n", "line thirty\n")
EVERYTHING: list[dict[str, Any]] = [
    {
        "thinking": "Let me see.",
        "text": "Looking.",
        "call": [call("read", path="a.txt"), call("read", path="long.txt")],
    },
    {"call": [call("edit", path="a.txt", old_string="two", new_string="TWO")]},
    {"call": [call("write", path="new.txt", content="new\n"), call("write", path="long.txt", content=SWAP)]},
    {"call": [call("write", path="a.txt", content="one\nTWO\nthree\n")]},
    {"call": [call("edit", path="a.txt", old_string="nowhere", new_string="x")]},
    {"call": [call("bash", command="printf 'said\\n'; echo more >> a.txt; exit 3")]},
    {"call": [call("delete", path="new.txt")]},
    {"text": "Done."},
]


def by_title(held: Held, start: str) -> dict[str, Any]:
    [found] = [one for one in held.calls.values() if one["title"].startswith(start)]
    return found


async def test_each_mutation_is_told_twice_and_a_load_gives_the_same_state(place: Place) -> None:
    (place.workspace / "long.txt").write_text(LONG)
    model = place.script(EVERYTHING)
    async with place.editor("--model", model, "--approval", "all", capabilities=ZED) as editor:
        session = await editor.new(place.workspace)
        answer = await editor.prompt(session, "Do everything.")
        assert answer["stopReason"] == "end_turn"
        assert answer["usage"]["totalTokens"] > 0
        live = editor.held[session]
        told: dict[str, list[dict[str, Any]]] = {}
        for update in editor.updates:
            if update["sessionUpdate"].startswith("tool_call"):
                told.setdefault(update["toolCallId"], []).append(copy.deepcopy(update))
        path = str(place.workspace / "a.txt")

        edit = told["1:call_1_2_1"]
        assert [one["sessionUpdate"] for one in edit] == ["tool_call", "tool_call_update"]
        assert [one["kind"] for one in edit] == ["edit", "edit"]
        assert edit[1]["status"] == "completed"
        for one in edit:
            assert diffs(one["content"]) == [("one\ntwo\nthree\n", "one\nTWO\nthree\n")]
            assert one["content"][0]["path"] == path
            assert one["locations"] == [{"path": path, "line": 2}]

        create = told["1:call_1_3_1"]
        assert [diffs(one["content"]) for one in create] == [[(None, "new\n")]] * 2

        overwrite = told["1:call_1_3_2"]
        assert len(overwrite) == 2
        for one in overwrite:
            blocks = diffs(one["content"])
            assert len(blocks) == len(one["content"]) == 2
            assert all(old in LONG and new in SWAP for old, new in blocks)
            assert [place["line"] for place in one["locations"]] == [4, 31]

        unchanged = told["1:call_1_4_1"][-1]
        assert unchanged["status"] == "completed"
        assert len(unchanged["content"]) == 1
        assert said(unchanged["content"]) == "Unchanged."

        failed = told["1:call_1_5_1"][-1]
        assert failed["status"] == "failed"
        assert "NO_MATCH" in said(failed["content"])
        assert not diffs(failed["content"])

        shell = told["1:call_1_6_1"][-1]
        assert shell["content"][0] == {"type": "terminal", "terminalId": "1:call_1_6_1"}
        assert diffs(shell["content"]) == [("one\nTWO\nthree\n", "one\nTWO\nthree\nmore\n")]
        assert live.terminals["1:call_1_6_1"] == "said\n"
        assert live.exits["1:call_1_6_1"]["exit_code"] == 3

        removal = told["1:call_1_7_1"][-1]
        assert removal["kind"] == "delete"
        assert diffs(removal["content"]) == [("new\n", "")]
        assert live.text["agent"] == "Looking.Done."
        assert live.text["thought"] == "Let me see."
        assert live.title == "Do everything."

        editor.held.pop(session)
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        assert editor.held[session] == live
    # Another process takes it up, as after a restart.
    async with place.editor("--model", model, capabilities=ZED) as editor:
        answer = await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        assert editor.held[session] == live
        assert answer["modes"]["currentModeId"] == "all"


async def test_a_client_without_terminals_gets_the_output_as_fenced_text(place: Place) -> None:
    model = place.script([{"call": [call("bash", command="echo '```'; exit 3")]}, {"text": "Done."}])
    async with place.editor("--model", model, "--approval", "all") as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        [shell] = editor.held[session].calls.values()
        assert said(shell["content"]) == "````console\n```\n````\nExit code 3."
        assert not editor.held[session].terminals


async def test_what_has_no_text_basis_says_so_and_shows_no_diff(place: Place) -> None:
    (place.workspace / "picture").write_bytes(b"\0\1\2")
    command = "printf '\\000\\001' > picture"
    model = place.script([{"call": [call("bash", command=command)]}, {"text": "Done."}])
    async with place.editor("--model", model, "--approval", "all") as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        [shell] = editor.held[session].calls.values()
        assert not diffs(shell["content"])
        assert "no text basis (binary)" in said(shell["content"])


EDIT = [{"call": [call("read", path="a.txt"), call("edit", path="a.txt", old_string="two", new_string="TWO")]},
        {"text": "Done."}]  # fmt: skip


@pytest.mark.parametrize(("option", "applied"), [("allow_once", True), ("allow_session", True), ("reject", False)])
async def test_the_whole_change_is_asked_for_and_the_answer_holds(place: Place, option: str, applied: bool) -> None:
    async with place.editor("--model", place.script(EDIT)) as editor:
        editor.serve["session/request_permission"] = allow(option)
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        [asked] = [message["params"] for message in editor.asked]
        assert asked["sessionId"] == session
        assert asked["toolCall"]["toolCallId"] == "1:call_1_1_2"
        assert asked["toolCall"]["kind"] == "edit"
        assert diffs(asked["toolCall"]["content"]) == [("one\ntwo\nthree\n", "one\nTWO\nthree\n")]
        assert [one["kind"] for one in asked["options"]] == ["allow_once", "allow_always", "reject_once"]
        edit = by_title(editor.held[session], "Edit")
        assert (place.workspace / "a.txt").read_text() == f"one\n{'TWO' if applied else 'two'}\nthree\n"
        if applied:
            assert edit["status"] == "completed"
            assert diffs(edit["content"])
        else:
            assert edit["status"] == "failed"
            assert not diffs(edit["content"])
            assert "Not applied" in said(edit["content"])
            assert "+TWO" in said(edit["content"])


async def test_an_editor_that_cannot_ask_means_no(place: Place) -> None:
    async with place.editor("--model", place.script(EDIT)) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert (place.workspace / "a.txt").read_text() == "one\ntwo\nthree\n"
        assert by_title(editor.held[session], "Edit")["status"] == "failed"


async def test_a_new_prompt_withdraws_the_question_and_ends_the_turn(place: Place) -> None:
    model = place.script(EDIT, [{"text": "Something else."}])
    async with place.editor("--model", model) as editor:
        editor.serve["session/request_permission"] = lambda _: None
        session = await editor.new(place.workspace)
        words = [{"type": "text", "text": "One."}]
        first = await editor.begin("session/prompt", sessionId=session, prompt=words)
        await until(lambda: editor.asked)
        assert (await editor.prompt(session, "Two."))["stopReason"] == "end_turn"
        assert (await first)["stopReason"] == "cancelled"
        assert editor.withdrawn == [editor.asked[0]["id"]]
        assert by_title(editor.held[session], "Edit")["status"] == "failed"
        assert (place.workspace / "a.txt").read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("way", ["session/cancel", "$/cancel_request"])
async def test_a_turn_is_cancelled_and_says_so(place: Place, way: str) -> None:
    model = place.script([{"call": [call("bash", command="echo begun; sleep 60")]}], [{"text": "Still here."}])
    async with place.editor("--model", model, "--approval", "all") as editor:
        session = await editor.new(place.workspace)
        words = [{"type": "text", "text": "Wait."}]
        turn = await editor.begin("session/prompt", sessionId=session, prompt=words)
        await until(lambda: any(one.get("status") == "in_progress" for one in editor.updates))
        began = time.monotonic()
        if way == "session/cancel":
            await editor.notify(way, sessionId=session)
        else:
            await editor.notify(way, requestId=turn.number)  # type: ignore[attr-defined]
        assert (await turn)["stopReason"] == "cancelled"
        assert time.monotonic() - began < 20
        [shell] = editor.held[session].calls.values()
        assert shell["status"] == "failed"
        assert (await editor.prompt(session, "And now?"))["stopReason"] == "end_turn"
        assert editor.held[session].text["agent"].endswith("Still here.")


async def test_a_killed_process_loses_nothing_and_the_session_loads(place: Place) -> None:
    steps = [*EDIT[:1], {"call": [call("bash", command="sleep 60")]}]
    model = place.script(steps, [{"text": "Back."}])
    async with place.editor("--model", model, "--approval", "all") as editor:
        session = await editor.new(place.workspace)
        await editor.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go."}])
        await until(lambda: any(one.get("title") == "sleep 60" for one in editor.updates))
        live = editor.held[session]
        editor.process.send_signal(signal.SIGKILL)
        await editor.process.wait()
    async with place.editor("--model", model, "--approval", "all") as editor:
        listed = await editor.ask("session/list", cwd=str(place.workspace))
        assert [one["sessionId"] for one in listed["sessions"]] == [session]
        assert listed["sessions"][0]["title"] == "Go."
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        again = editor.held[session]
        assert by_title(again, "Edit") == by_title(live, "Edit")
        assert by_title(again, "sleep")["status"] == "failed"
        assert (await editor.prompt(session, "Go on."))["stopReason"] == "end_turn"
        assert again.text["agent"].endswith("Back.")


async def test_sessions_are_listed_resumed_closed_and_deleted(place: Place) -> None:
    model = place.script([{"text": "One."}], [{"text": "Two."}])
    other = place.folder / "other"
    other.mkdir()
    async with place.editor("--model", model) as editor:
        first, second = await editor.new(place.workspace), await editor.new(other)
        await editor.prompt(first, "First.")
        everything = await editor.ask("session/list")
        assert {one["sessionId"] for one in everything["sessions"]} == {first, second}
        assert "nextCursor" not in everything
        here = await editor.ask("session/list", cwd=str(place.workspace))
        assert [(one["sessionId"], one["cwd"]) for one in here["sessions"]] == [(first, str(place.workspace))]
        await editor.ask("session/close", sessionId=first)
        with pytest.raises(Refused, match="not open"):
            await editor.prompt(first)
        editor.updates.clear()
        await editor.ask("session/resume", sessionId=first, cwd=str(place.workspace), mcpServers=[])
        assert not editor.updates
        assert (await editor.prompt(first, "Second."))["stopReason"] == "end_turn"
        await editor.ask("session/delete", sessionId=first)
        await editor.ask("session/delete", sessionId=first)
        left = await editor.ask("session/list")
        assert [one["sessionId"] for one in left["sessions"]] == [second]
        with pytest.raises(Refused, match=first):
            await editor.ask("session/load", sessionId=first, cwd=str(place.workspace), mcpServers=[])


async def test_the_mode_says_how_approvals_are_given(place: Place) -> None:
    async with place.editor("--model", place.script(EDIT)) as editor:
        session = await editor.new(place.workspace)
        await editor.ask("session/set_mode", sessionId=session, modeId="edits")
        assert {"sessionUpdate": "current_mode_update", "currentModeId": "edits"} in editor.updates
        await editor.prompt(session)
        assert not editor.asked
        assert (place.workspace / "a.txt").read_text() == "one\nTWO\nthree\n"
        options = await editor.ask("session/set_config_option", sessionId=session, configId="approval", value="ask")
        assert options["configOptions"][0]["currentValue"] == "ask"
        with pytest.raises(Refused, match="no mode 'yolo'"):
            await editor.ask("session/set_mode", sessionId=session, modeId="yolo")


async def test_images_files_and_links_reach_the_model_and_come_back_on_a_load(place: Place) -> None:
    picture = base64.b64encode(b"\x89PNG not really").decode()
    beside: dict[str, Any] = {"annotations": {"priority": 0.5, "audience": ["user"]}, "_meta": {"a": [1]}, "odd": None}
    binary = base64.b64encode(b"\0\1").decode()
    plain: list[dict[str, Any]] = [
        {"type": "text", "text": "Look at these."},
        {"type": "image", "data": picture, "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///x/notes.md", "mimeType": "text/markdown", "text": "# Notes"}},
        {"type": "resource", "resource": {"uri": "file:///x/i.png", "mimeType": "image/png", "blob": picture}},
        {"type": "resource", "resource": {"uri": "file:///x/b.bin", "blob": binary, "_meta": {"b": 2}}},
        {"type": "resource_link", "uri": "file:///x/code.py", "name": "code.py"},
    ]
    further = {"uri": "file:///x", "size": 5, "title": "T", "description": "D"}
    prompt = [*plain, *({**one, **beside, **(further if "resource" not in one else {})} for one in plain)]
    async with place.editor("--model", place.script([{"text": "Seen."}])) as editor:
        session = await editor.new(place.workspace)
        await editor.ask("session/prompt", sessionId=session, prompt=prompt)
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        back = [one["content"] for one in editor.updates if one["sessionUpdate"] == "user_message_chunk"]
        assert back == prompt
        assert editor.held[session].title == "Look at these."
        audio = {"type": "audio", "data": "", "mimeType": "audio/wav"}
        with pytest.raises(Refused, match=r"prompt\[0\] of type 'audio'"):
            await editor.ask("session/prompt", sessionId=session, prompt=[audio])


@pytest.mark.parametrize(
    ("first", "title"),
    [
        ([{"type": "text", "text": " \n"}], "Second."),
        ([{"type": "image", "data": "", "mimeType": "image/png"}], "Second."),
        ([{"type": "resource", "resource": {"uri": "file:///x/a%20b.txt", "text": "```\nemb"}}], "a b.txt"),
        ([{"type": "resource", "resource": {"uri": "file:///x/b.bin", "blob": "AA=="}}], "b.bin"),
        ([{"type": "resource_link", "uri": "file:///x/c.py", "name": "c.py"}], "c.py"),
        (
            [{"type": "resource_link", "uri": "file:///x/c.py", "name": "c.py"}, {"type": "text", "text": "Look."}],
            "Look.",
        ),
    ],
)
@pytest.mark.parametrize("foreign", [True, False])
async def test_a_session_is_named_by_what_was_typed_or_by_what_was_given(
    place: Place, first: list[dict[str, Any]], title: str, foreign: bool
) -> None:
    turn = [{"text": "Seen."}]
    arguments = puppet(place, [], [], []) if foreign else ["--model", place.script(turn, turn, turn)]
    async with place.editor(*arguments) as editor:
        session = await editor.new(place.workspace)
        for prompt in (first, [{"type": "text", "text": "Second."}], [{"type": "text", "text": "Third."}]):
            await editor.ask("session/prompt", sessionId=session, prompt=prompt)
        [listed] = (await editor.ask("session/list"))["sessions"]
        assert listed["title"] == title


async def test_bad_messages_get_a_clear_error_and_stop_nothing(place: Place) -> None:
    async with place.editor("--model", place.script([{"text": "Fine."}]), greet=False) as editor:
        with pytest.raises(Refused, match="before initialize"):
            await editor.new(place.workspace)
        assert (await editor.initialize())["protocolVersion"] == 1
        await editor.send(b"{ this is no JSON")
        await until(lambda: editor.heard)
        assert editor.heard[0]["error"]["code"] == -32700
        for params, wrong in (({"cwd": "relative"}, "absolute"), ({"cwd": "/no/such/folder"}, "no folder")):
            with pytest.raises(Refused, match=wrong):
                await editor.ask("session/new", **params, mcpServers=[])
        with pytest.raises(Refused, match="-32601"):
            await editor.ask("session/dance")
        session = await editor.new(place.workspace)
        assert (await editor.prompt(session))["stopReason"] == "end_turn"
        assert editor.held[session].text["agent"] == "Fine."


WRONG = [
    ("session/prompt", {"prompt": [{"type": "resource", "resource": {"uri": "file:///x", "blob": "@@@"}}]}, "base64"),
    ("session/set_config_option", {"configId": "model", "value": 5}, "value of model is no text: 5"),
    ("authenticate", {"methodId": "invented"}, "'invented'"),
    ("session/list", {"cwd": "\ud800"}, "no path"),
    ("session/new", {"cwd": "/a\0b", "mcpServers": []}, "no path"),
    ("session/new", {"mcpServers": 5}, "mcpServers is no list of objects: 5"),
    ("session/prompt", {"prompt": [{"type": "text", "text": "x" * 9_000_000}]}, "grows beyond 8388608 bytes"),
]


@pytest.mark.parametrize(("method", "params", "wrong"), WRONG, ids=[wrong for _, _, wrong in WRONG])
async def test_what_a_request_has_wrong_is_said_in_plain_words(
    place: Place, method: str, params: dict[str, Any], wrong: str
) -> None:
    async with place.editor("--model", place.script([{"text": "Fine."}])) as editor:
        session = await editor.new(place.workspace)
        with pytest.raises(Refused) as refused:
            await editor.ask(method, **{"sessionId": session, "cwd": str(place.workspace), **params})
        assert refused.value.error["code"] == -32602
        assert wrong in refused.value.error["message"]
        assert "Error" not in refused.value.error["message"]


async def test_a_log_that_takes_nothing_more_is_told_in_its_own_words(place: Place) -> None:
    async with place.editor("--model", place.script([{"text": "Fine."}])) as editor:
        session = await editor.new(place.workspace)
        for file in (place.folder / "data").glob("sessions.db*"):
            file.write_bytes(b"garbage")
        with pytest.raises(Refused) as refused:
            await editor.prompt(session)
        assert refused.value.error["data"] == {"code": "CORRUPT"}
        assert refused.value.error["message"].startswith("The log ")


async def test_a_number_that_cannot_be_read_is_answered_once_and_under_its_own_id(place: Place) -> None:
    async with place.editor("--model", place.script([{"text": "Fine."}])) as editor:
        request = f'{{"jsonrpc":"2.0","id":"big","method":"session/list","params":{{"n":{"9" * 5000}}}}}'
        await editor.send(request.encode())
        await editor.ask("session/list")
        [answer] = editor.heard
        assert (answer["id"], answer["error"]["code"]) == ("big", -32600)


async def test_a_fault_of_the_model_is_told_in_the_session_and_as_an_error(place: Place) -> None:
    async with place.editor("--model", place.script([{"error": "out of order"}])) as editor:
        session = await editor.new(place.workspace)
        with pytest.raises(Refused, match="out of order"):
            await editor.prompt(session)
        assert "out of order" in editor.held[session].text["agent"]


async def test_a_session_that_runs_elsewhere_is_not_loaded_and_says_why(place: Place) -> None:
    model = place.script([{"text": "Mine."}])
    async with place.editor("--model", model) as one, place.editor("--model", model) as other:
        session = await one.new(place.workspace)
        await one.prompt(session)
        with pytest.raises(Refused, match="BUSY"):
            await other.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])


async def test_when_the_editor_goes_the_turn_is_worked_through(place: Place) -> None:
    steps = [{"call": [call("bash", command="sleep 2; echo late > late.txt")]}, {"text": "Done."}]
    async with place.editor("--model", place.script(steps), "--approval", "all") as editor:
        session = await editor.new(place.workspace)
        await editor.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go."}])
        await until(lambda: any(one.get("status") == "in_progress" for one in editor.updates))
    assert (place.workspace / "late.txt").read_text() == "late\n"
    assert editor.process.returncode == 0


HEAVY = ("acp", "pydantic_ai", "pygit2", "sqlite3", "redline.gateway.archive", "redline.surfaces.editor.desk")


def test_nothing_that_takes_time_to_load_is_loaded_before_initialize_is_answered() -> None:
    program = (
        "import sys, redline.cli.main, redline.cli.acp\n"
        "from redline.surfaces.editor.greeting import Abilities, answer\n"
        "Abilities.of({}), answer()\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_an_open_session_is_taken_up_in_its_own_folder_only(place: Place, method: str) -> None:
    other = place.folder / "other"
    other.mkdir()
    (place.folder / "link").symlink_to(place.workspace)
    async with place.editor("--model", place.script([{"text": "One."}], [{"text": "Two."}])) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        with pytest.raises(Refused, match="works in"):
            await editor.ask(method, sessionId=session, cwd=str(other), mcpServers=[])
        await editor.ask(method, sessionId=session, cwd=str(place.folder / "link"), mcpServers=[])
        await editor.prompt(session)
        assert editor.held[session].text["agent"].endswith("Two.")
