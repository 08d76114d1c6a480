"""Public reports about agents of the protocol, from the server's side: what `redline acp` sends in their place."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from redline.sessions.events import Event
from redline.surfaces.editor.projection import Projection
from redline.transcript.fold import Transcript
from surfaces.editor.editor_client import ZED, Held, Place, allow, call, choosing, diffs, make_place, said, until

if TYPE_CHECKING:
    from pathlib import Path

LINES = "".join(f"l{number}\n" for number in range(1, 56))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def steps(*calls: dict[str, Any], end: str = "Done.") -> list[dict[str, Any]]:
    """One call after the other."""
    return [*({"call": [one]} for one in calls), {"text": end}]


def kinds(one: dict[str, Any]) -> list[str]:
    return [block["_meta"]["kind"] for block in one["content"] if block["type"] == "diff"]


async def test_what_a_change_is_follows_from_what_was_there(place: Place) -> None:
    """A9, B12, C24, C26, C27, C31, C39."""
    files = {"a.txt": "a\nb\nc\n", "empty.txt": "", "long.txt": LINES, "gone.txt": "x\n", "emptied.txt": "x\n"}
    for name, text in files.items():
        (place.workspace / name).write_text(text)
    reads = [call("read", path=name) for name in files]
    model = place.script([{"call": reads}, *steps(
        call("write", path="a.txt", content="a\nB\nc\n"),
        call("write", path="empty.txt", content="x\n"),
        call("edit", path="long.txt", old_string="l7\nl8\n", new_string="l8\n"),
        call("delete", path="gone.txt"),
        call("write", path="emptied.txt", content=""),
        call("move", path="a.txt", to="./a.txt"),
    )])  # fmt: skip
    async with place.editor("--model", model, "--approval", "all") as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        overwrite, empty, removal, gone, emptied, moved = list(editor.held[session].calls.values())[len(files) :]
    assert (kinds(overwrite), diffs(overwrite["content"])) == (["modify"], [("a\nb\nc\n", "a\nB\nc\n")])
    assert overwrite["content"][0]["path"] == str(place.workspace / "a.txt")  # absolute, and nothing but the diff
    assert len(overwrite["content"]) == 1
    assert (kinds(empty), diffs(empty["content"])) == (["modify"], [("", "x\n")])
    [(old, new)] = diffs(removal["content"])
    assert old.splitlines() == [*new.splitlines()[:3], "l7", *new.splitlines()[3:]]
    assert (gone["kind"], kinds(gone), diffs(gone["content"])) == ("delete", ["delete"], [("x\n", "")])
    assert (emptied["kind"], kinds(emptied), diffs(emptied["content"])) == ("edit", ["modify"], [("x\n", "")])
    assert moved["status"] == "failed"
    assert (place.workspace / "a.txt").read_text() == "a\nB\nc\n"


PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-one
+ONE
*** Update File: b.txt
@@
-two
+TWO
*** Add File: c.txt
+three
*** End Patch
"""


async def test_the_question_holds_every_change_and_the_matcher_is_the_one_that_writes(place: Place) -> None:
    """D41, D42, D43."""
    (place.workspace / "a.txt").write_text("one\n")
    (place.workspace / "b.txt").write_text("two\n")
    (place.workspace / "crlf.txt").write_bytes(b"a\r\nb\r\n")
    model = place.script([{"call": [call("read", path=name) for name in ("a.txt", "b.txt", "crlf.txt")]}, *steps(
        call("apply_patch", patch=PATCH),
        call("edit", path="crlf.txt", old_string="a\nb\n", new_string="a\nB\n"),
    )])  # fmt: skip
    async with place.editor("--model", model) as editor:
        editor.serve["session/request_permission"] = allow("allow_once")
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        patch, crlf = (message["params"]["toolCall"] for message in editor.asked)
    assert diffs(patch["content"]) == [("one\n", "ONE\n"), ("two\n", "TWO\n"), (None, "three\n")]
    assert len(diffs(crlf["content"])) == 1
    assert (place.workspace / "crlf.txt").read_bytes() == b"a\r\nB\r\n"
    assert (place.workspace / "c.txt").read_text() == "three\n"


async def test_no_change_and_a_mistake_are_no_refusals_and_a_refused_change_stays_readable(place: Place) -> None:
    """D45, D49, E51."""
    (place.workspace / "a.txt").write_text("one\ntwo\n")
    edit = call("edit", path="a.txt", old_string="two", new_string="TWO")
    rejected = call("edit", path="a.txt", old_string="one", new_string="ONE")
    model = place.script([{"call": [call("read", path="a.txt")]}, *steps(
        edit, call("write", path="a.txt", content="one\nTWO\n"), edit, rejected
    )])  # fmt: skip
    async with place.editor("--model", model, capabilities=ZED) as editor:
        editor.serve["session/request_permission"] = choosing([True, False])
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        live = editor.held[session]
        _, applied, unchanged, mistaken, refused = live.calls.values()
        assert len(editor.asked) == 2
        assert (applied["status"], unchanged["status"]) == ("completed", "completed")
        assert said(unchanged["content"]) == "Unchanged."
        assert "NO_MATCH" in said(mistaken["content"])
        assert "REJECTED" in said(refused["content"])
        assert "+ONE" in said(refused["content"])
        assert not diffs(refused["content"])
        editor.process.send_signal(signal.SIGKILL)
        await editor.process.wait()
    async with place.editor("--model", model, capabilities=ZED) as editor:
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        assert editor.held[session] == live


async def test_a_load_in_the_middle_of_a_turn_shows_what_there_is_and_the_rest_follows_once(place: Place) -> None:
    """E53, E54."""
    signal = place.workspace.parent / "go"  # beside the workspace: in it, it would be a change of its own
    model = place.script(steps(
        call("write", path="1.txt", content="1\n"),
        call("bash", command=f"until test -e {signal}; do sleep 0.05; done"),
        call("write", path="2.txt", content="2\n"),
    ))  # fmt: skip
    async with place.editor("--model", model, "--approval", "all") as editor:
        session = await editor.new(place.workspace)
        turn = await editor.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go."}])
        await until(lambda: len(editor.held.get(session, Held()).calls) == 2)
        editor.held.pop(session)
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        assert len(editor.held[session].calls) == 2
        signal.touch()
        assert (await turn)["stopReason"] == "end_turn"
        watched = editor.held.pop(session)
        assert len(watched.calls) == 3
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        assert editor.held[session] == watched


def test_an_end_without_a_beginning_is_told_with_one() -> None:
    """E52."""
    transcript = Transcript("s", {})
    ended = {"turn": 1, "call": "c", "name": "", "kind": "edit", "status": "completed", "content": [], "changes": []}
    rows = transcript.apply(Event("s", 1, 0, "tool/result", ended))
    updates = Projection(terminals=False, stored=lambda _: None, live=False).rows(rows, "/w")
    assert [one["sessionUpdate"] for one in updates] == ["tool_call", "tool_call_update"]
    assert updates[-1]["status"] == "completed"


async def test_a_line_of_megabytes_is_read_like_any_other(place: Place) -> None:
    """P163."""
    async with place.editor("--model", place.script([{"text": "Read."}], [{"text": "Again."}])) as editor:
        session = await editor.new(place.workspace)
        for size in (70_000, 3 << 20):
            assert (await editor.prompt(session, "word " * (size // 5)))["stopReason"] == "end_turn"
        assert editor.held[session].text["agent"] == "Read.Again."
