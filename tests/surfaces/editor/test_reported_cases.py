"""Public reports about front ends of the protocol, over the wire: what an editor holds of what `redline acp` says."""

from __future__ import annotations

import json
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agents.provider_double import Reply, provider
from redline.gateway.archive import Archive
from redline.sessions.events import Event
from redline.transcript.fold import Transcript
from redline.transcript.rows import TurnEndRow
from surfaces.editor.editor_client import Held, Place, allow, call, choosing, diffs, make_place, said, until

if TYPE_CHECKING:
    from collections.abc import Sequence

PUPPET = Path(__file__).parents[2] / "agents" / "acp" / "puppet.py"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def puppet(place: Place, *prompts: list[dict[str, Any]], **script: Any) -> list[str]:
    """The arguments for a foreign agent that plays these steps."""
    path = place.folder / "puppet.json"
    path.write_text(json.dumps({"prompts": list(prompts), "heard": str(place.folder / "heard"), **script}))
    return ["--agent-command", shlex.join([sys.executable, str(PUPPET), str(path)])]


def begins(identity: str = "e", **fields: Any) -> dict[str, Any]:
    told = {"title": "edit", "kind": "edit", "status": "pending", **fields}
    return {"send": {"sessionUpdate": "tool_call", "toolCallId": identity, **told}}


def goes_on(identity: str = "e", **fields: Any) -> dict[str, Any]:
    return {"send": {"sessionUpdate": "tool_call_update", "toolCallId": identity, **fields}}


def block(old: str, new: str) -> dict[str, Any]:
    return {"type": "diff", "path": "{w}/a.txt", "oldText": old, "newText": new}


async def events(place: Place, session: str) -> list[Event]:
    async with Archive.open(place.folder / "data") as archive:
        return [one for one in await archive.store.read(session) if isinstance(one, Event)]


def totals(log: Sequence[Event]) -> list[list[tuple[str, int, int]]]:
    """Of each turn: the files that it changed, with the lines removed and added."""
    transcript = Transcript("s", {})
    for event in log:
        transcript.apply(event)
    ends = [row for row in transcript.rows if isinstance(row, TurnEndRow)]
    return [[(Path(one.path).name, one.removed, one.added) for one in end.net] for end in ends]


async def loaded(editor: Any, place: Place, session: str) -> Held:
    """What a client holds that had held nothing and loads the session."""
    editor.held.pop(session, None)
    await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
    return editor.held[session]


async def test_a_call_without_an_end_ends_with_its_turn_and_is_no_change(place: Place) -> None:
    """A7."""
    (place.workspace / "a.txt").write_text("x=1\n")
    async with place.editor(*puppet(place, [begins(content=[block("x=1\n", "x=2\n")])])) as editor:
        session = await editor.new(place.workspace)
        assert (await editor.prompt(session))["stopReason"] == "end_turn"
        live = editor.held[session]
        [pending] = live.calls.values()
        assert pending["status"] == "failed"
        assert not diffs(pending["content"])
        assert "UNKNOWN_OUTCOME: The agent never said how this ended" in said(pending["content"])
        assert (await loaded(editor, place, session)).calls == live.calls
    assert totals(await events(place, session)) == [[]]


@pytest.mark.parametrize("content", [[], [block("x=1\n", "x=2\n")]], ids=["without a diff", "with a diff"])
async def test_a_later_title_leaves_an_edit_an_edit(place: Place, content: list[dict[str, Any]]) -> None:
    """B21."""
    (place.workspace / "a.txt").write_text("x=1\n")
    written = [{"write": "a.txt", "text": "x=2\n"}] if content else []
    steps = [begins(content=content), goes_on(title="a.txt"), *written, goes_on(status="completed")]
    async with place.editor(*puppet(place, steps)) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        told = [one for one in editor.updates if one.get("toolCallId") == "1:e"]
        assert {one["kind"] for one in told if "kind" in one} == {"edit"}
        for held in (editor.held[session], await loaded(editor, place, session)):
            [edit] = held.calls.values()
            assert (edit["kind"], edit["title"], edit["status"]) == ("edit", "a.txt", "completed")
            assert diffs(edit["content"]) == ([("x=1\n", "x=2\n")] if content else [])


async def test_an_end_told_again_is_one_and_a_late_difference_arrives(place: Place) -> None:
    """B22."""
    ends = [[{"type": "content", "content": {"type": "text", "text": "x" * 6000 + end}}] for end in ("", "", "end")]
    steps = [begins(title="Say", kind="other")]
    for end in ends:
        steps += [goes_on(status="completed", content=end), {"call": "_shop/seen", "params": {}}]
    async with place.editor(*puppet(place, steps)) as editor:
        editor.serve["_shop/seen"] = lambda _: {}  # asked only once the editor has been told what came before
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        told = [said(one["content"]) for one in editor.updates if one.get("toolCallId") == "1:e" and "content" in one]
        assert [text for text in told if text] == ["x" * 6000, "x" * 6000 + "end"]
        live = editor.held[session]
        [shown] = live.calls.values()
        assert (said(shown["content"]), shown["status"]) == ("x" * 6000 + "end", "completed")
        assert (await loaded(editor, place, session)).calls == live.calls


LONG = [f"line {number}\n" for number in range(600)]
PLACES = (10, 300, 590)


async def test_three_edits_of_a_long_file_told_in_full_texts_are_three_lines_of_one_file(place: Place) -> None:
    """C25."""
    (place.workspace / "a.txt").write_text("".join(LONG))
    lines, steps = list(LONG), []
    for number in PLACES:
        old = "".join(lines)
        lines[number] = f"LINE {number}\n"
        new, call_id = "".join(lines), f"e{number}"
        steps += [begins(call_id, content=[block(old, new)]), {"write": "a.txt", "text": new}]
        steps += [goes_on(call_id, status="completed", content=[block(old, new)])]
    async with place.editor(*puppet(place, steps)) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        edits = list(editor.held[session].calls.values())
    assert len(edits) == len(PLACES)
    for number, edit in zip(PLACES, edits, strict=True):
        around = LONG[number - 3 : number], LONG[number + 1 : number + 4]
        expected = ["".join([*around[0], f"{word} {number}\n", *around[1]]) for word in ("line", "LINE")]
        assert diffs(edit["content"]) == [tuple(expected)]
        assert edit["content"][0]["_meta"]["kind"] == "modify"
        assert edit["locations"] == [{"path": str(place.workspace / "a.txt"), "line": number + 1}]
    assert totals(await events(place, session)) == [[("a.txt", 3, 3)]]


OLD = "".join(f"old {number}\n" for number in range(100))
NEW = "".join(f"new {number}\n" for number in range(30))
ANEW = "".join(["*** Begin Patch\n*** Delete File: a.txt\n*** Add File: a.txt\n",
                *(f"+{line}" for line in NEW.splitlines(keepends=True)), "*** End Patch\n"])  # fmt: skip


@pytest.mark.parametrize("by", ["a patch", "a command", "a foreign agent"])
async def test_a_file_made_anew_in_the_call_that_deletes_it_is_one_change_and_the_old_text_is_kept(
    place: Place, by: str
) -> None:
    """C30."""
    (place.workspace / "a.txt").write_text(OLD)
    if by == "a foreign agent":
        told = [begins(title="make", kind="execute"), {"delete": "a.txt"}, {"write": "a.txt", "text": NEW}]
        arguments = puppet(place, [*told, goes_on(status="completed")])
    else:
        command = "rm a.txt; i=0; while [ $i -lt 30 ]; do echo new $i >> a.txt; i=$((i+1)); done"
        made = call("apply_patch", patch=ANEW) if by == "a patch" else call("bash", command=command)
        model = place.script([{"call": [call("read", path="a.txt")]}, {"call": [made]}, {"text": "Done."}])
        arguments = ["--model", model, "--approval", "all"]
    async with place.editor(*arguments) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        live = editor.held[session]
        anew = list(live.calls.values())[-1]
        assert (diffs(anew["content"]), anew["status"]) == ([(OLD, NEW)], "completed")
        assert [one["_meta"]["kind"] for one in anew["content"] if one["type"] == "diff"] == ["modify"]
        assert (await loaded(editor, place, session)).calls == live.calls
    log = await events(place, session)
    assert totals(log) == [[("a.txt", 100, 30)]]
    [change] = [one for event in log if event.type == "tool/result" for one in event.data.get("changes", ())]
    async with Archive.open(place.folder / "data") as archive:
        assert archive.bytes.get(session, change["before"]["blob"]) == OLD.encode()


async def test_a_block_without_its_new_text_is_no_emptied_file(place: Place) -> None:
    """C34."""
    (place.workspace / "a.txt").write_text("1\n2\n")
    broken = {"type": "diff", "path": "{w}/a.txt", "oldText": "1\n2\n"}
    asked = {"toolCallId": "e", "title": "edit", "kind": "edit", "content": [broken]}
    steps = [begins(content=[broken]), {"ask": asked}, goes_on(status="completed")]
    async with place.editor(*puppet(place, steps)) as editor:
        editor.serve["session/request_permission"] = allow("yes")
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        [question] = [message["params"]["toolCall"] for message in editor.asked]
        assert not diffs(question["content"])
        assert said(question["content"])  # what is known of it, in words
        told = [one for one in editor.updates if one.get("toolCallId") == "1:e"]
        assert not any(diffs(one.get("content", ())) for one in told)
        for held in (editor.held[session], await loaded(editor, place, session)):
            [edit] = held.calls.values()
            assert "a.txt): newText is missing" in said(edit["content"])
            assert not diffs(edit["content"])
    assert totals(await events(place, session)) == [[]]


async def test_edits_that_overlap_are_true_each_and_true_together(place: Place) -> None:
    """C36."""
    (place.workspace / "a.txt").write_text("a\n")
    states = ["a\n", "a\nb\n", "a\nc\n"]
    edits = [call("edit", path="a.txt", old_string=old, new_string=new) for old, new in pairwise(states)]
    steps = [{"call": [one]} for one in (call("read", path="a.txt"), *edits)]
    async with place.editor("--model", place.script([*steps, {"text": "Done."}]), "--approval", "all") as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        _, first, second = editor.held[session].calls.values()
        assert diffs(first["content"]) == [("a\n", "a\nb\n")]
        assert diffs(second["content"]) == [("a\nb\n", "a\nc\n")]
        before = len(editor.held[session].text["agent"])
        await editor.prompt(session, "/diff")
        lines = editor.held[session].text["agent"][before:].splitlines()
        assert [line for line in lines if line[:1] in "+-" and not line.startswith(("+++", "---"))] == ["+c"]
    assert totals(await events(place, session)) == [[("a.txt", 0, 1)]]


FORTY = [f"{number}: {'word ' * 20}\n" for number in range(40)]


@pytest.mark.parametrize("foreign", [False, True])
async def test_a_question_holds_the_whole_of_a_change_and_of_a_command(place: Place, foreign: bool) -> None:
    """D46."""
    old, new = "".join(FORTY), "".join(FORTY).replace("word", "WORD")
    (place.workspace / "a.txt").write_text(old)
    command = "true " + "and " * 100 + "rm -rf everything"
    if foreign:
        edit = {"toolCallId": "e", "title": "edit", "kind": "edit", "content": [block(old, new)]}
        run = {"toolCallId": "r", "title": command, "kind": "execute"}
        arguments = puppet(place, [{"ask": edit}], [{"ask": run}])
    else:
        write = [{"call": [call("read", path="a.txt")]}, {"call": [call("write", path="a.txt", content=new)]}]
        run_it = [{"call": [call("bash", command=command)]}]
        arguments = ["--model", place.script([*write, {"text": "Done."}], [*run_it, {"text": "Done."}])]
    async with place.editor(*arguments) as editor:
        editor.serve["session/request_permission"] = allow("no" if foreign else "reject")
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        await editor.prompt(session)
        change, shell = (message["params"]["toolCall"] for message in editor.asked)
    assert diffs(change["content"]) == [(old, new)]
    assert command in shell["title"]
    assert (place.workspace / "a.txt").read_text() == old


async def test_who_writes_on_past_a_question_takes_it_back_and_the_model_hears_that_nothing_was_applied(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D48."""
    (place.workspace / "a.txt").write_text("one\n")
    edit = json.dumps({"path": "a.txt", "old_string": "one", "new_string": "ONE"})
    replies = [
        Reply(calls=(("c1", "read", json.dumps({"path": "a.txt"})),)),
        Reply(calls=(("c2", "edit", edit),)),
        Reply("Something else, then."),
    ]
    async with provider(*replies) as double:
        monkeypatch.setenv("OPENAI_BASE_URL", double.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        async with place.editor("--model", "openai:fake-1") as editor:
            editor.serve["session/request_permission"] = lambda _: None
            session = await editor.new(place.workspace)
            words = [{"type": "text", "text": "One."}]
            first = await editor.begin("session/prompt", sessionId=session, prompt=words)
            await until(lambda: editor.asked)
            assert (await editor.prompt(session, "Two."))["stopReason"] == "end_turn"
            assert (await first)["stopReason"] == "cancelled"
            assert editor.withdrawn == [editor.asked[0]["id"]]
            told = [one for one in editor.updates if one.get("toolCallId") == "1:c2"]
            assert "completed" not in [one.get("status") for one in told]
            live = editor.held[session]
            assert (live.calls["1:c2"]["status"], diffs(live.calls["1:c2"]["content"])) == ("failed", [])
            assert "Not applied" in said(live.calls["1:c2"]["content"])
            assert (await loaded(editor, place, session)).calls == live.calls
        [heard] = [one for one in double.requests[-1]["messages"] if one.get("tool_call_id") == "c2"]
    assert "not applied" in heard["content"].lower()
    assert (place.workspace / "a.txt").read_text() == "one\n"
    log = await events(place, session)
    [result] = [one.data for one in log if one.type == "tool/result" and one.data["call"] == "c2"]
    assert (result["status"], result.get("changes", [])) == ("cancelled", [])
    assert totals(log) == [[], []]


async def test_a_load_after_a_restart_tells_each_row_once_and_is_no_news_to_anybody_else(place: Place) -> None:
    """E55."""
    writes = [
        [call("write", path=f"{turn}-{number:02}.txt", content="x\n") for number in range(20)] for turn in range(2)
    ]
    model = place.script(*([{"call": calls}, {"text": "Done."}] for calls in writes))
    async with place.editor("--model", model, "--approval", "all") as editor:
        session = await editor.new(place.workspace)
        for _ in writes:
            await editor.prompt(session)
        live = editor.held[session]
    log = await events(place, session)
    async with place.editor("--model", model, "--approval", "all") as editor:
        again = await loaded(editor, place, session)
        assert (again.calls, again.text) == (live.calls, live.text)
        begun = [one["toolCallId"] for one in editor.updates if one["sessionUpdate"] == "tool_call"]
        assert (len(begun), begun) == (40, list(live.calls))
    after = await events(place, session)  # what every other surface follows
    assert (after[: len(log)], [one.type for one in after[len(log) :]]) == (log, ["session/closed"])
    assert totals(log) == [[(f"{turn}-{number:02}.txt", 0, 1) for number in range(20)] for turn in range(2)]


async def test_what_a_foreign_agent_replays_of_a_loaded_session_is_not_told_beside_the_log(place: Place) -> None:
    """E55."""
    steps = [begins(), {"write": "a.txt", "text": "x\n"}, goes_on(status="completed", content=[block("", "x\n")])]
    ability = {"agentCapabilities": {"loadSession": True}}
    async with place.editor(*puppet(place, steps, initialize=ability)) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        live = editor.held[session]
    log = await events(place, session)
    replay = [step["send"] for step in steps if "send" in step]
    async with place.editor(*puppet(place, initialize=ability, replay=replay)) as editor:
        assert (await loaded(editor, place, session)).calls == live.calls
        assert [one["sessionUpdate"] for one in editor.updates].count("tool_call") == 1
    heard = [json.loads(line)["method"] for line in (place.folder / "heard").read_text().splitlines()]
    assert "session/load" in heard  # so it has replayed
    after = await events(place, session)
    assert (after[: len(log)], [one.type for one in after[len(log) :]]) == (log, ["session/state", "session/closed"])
    assert totals(after) == [[("a.txt", 0, 1)]]


@pytest.mark.parametrize("foreign", [True, False])
async def test_an_empty_file_is_no_missing_one_in_proposal_question_and_result(place: Place, foreign: bool) -> None:
    """C39."""
    (place.workspace / "a.txt").write_text("")
    told = block("", "x\n")
    ask = {"ask": {"toolCallId": "e", "title": "Write a.txt", "kind": "edit", "content": [told]}}
    steps = [begins(content=[told]), ask, {"write": "a.txt", "text": "x\n"}, goes_on(status="completed")]
    own = [{"call": [call("read", path="a.txt"), call("write", path="a.txt", content="x\n")]}, {"text": "Done."}]
    arguments = puppet(place, steps) if foreign else ["--model", place.script(own)]
    async with place.editor(*arguments) as editor:
        editor.serve["session/request_permission"] = choosing([True])
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        live = editor.held[session].calls
        sent = [*editor.updates, *(one["params"]["toolCall"] for one in editor.asked)]
        blocks = [found for one in sent if "toolCallId" in one and (found := diffs(one.get("content", ())))]
        assert len(blocks) >= 3
        assert all(one == [("", "x\n")] for one in blocks)
        assert (await loaded(editor, place, session)).calls == live


async def test_a_link_is_no_text_file(place: Place) -> None:
    (place.workspace / "old").symlink_to("/usr")
    steps = [{"call": [call("bash", command="ln -s /etc new; rm old")]}, {"text": "Done."}]
    async with place.editor("--model", place.script(steps), "--approval", "all") as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        live = editor.held[session].calls
        text = "".join(said(one["content"]) for one in live.values())
        assert f"{place.workspace / 'new'}: it is a symbolic link." in text
        assert f"{place.workspace / 'old'}: it was a symbolic link." in text
        assert (await loaded(editor, place, session)).calls == live


async def test_what_is_no_change_of_a_call_stays_readable_beside_its_change(place: Place) -> None:
    """A4, C33: a block of an unknown kind, and the lines of a patch of a file that is gone."""
    (place.workspace / "a.txt").write_text("one\n")
    future = {"type": "future", "x": 1}
    words = {"type": "content", "content": {"type": "text", "text": "ok"}}
    patch = "--- a/gone.py\n+++ b/gone.py\n@@ -7,2 +7,2 @@\n x\n-a\n+b\n"
    steps = [
        begins("p", rawOutput={"diff": patch}), goes_on("p", status="completed"),
        begins(), {"write": "a.txt", "text": "ONE\n"},
        goes_on(status="completed", content=[words, future, block("one\n", "ONE\n")]),
        begins("f"), goes_on("f", status="failed", content=[words, future, block("no\n", "NO\n")]),
    ]  # fmt: skip
    async with place.editor(*puppet(place, steps)) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        live = editor.held[session].calls
        claimed, edited, failed = live.values()
        assert diffs(claimed["content"]) == []
        assert "not found as a change on the disk:" in said(claimed["content"])
        assert "\n-a\n+b\n" in said(claimed["content"])
        assert [one["type"] for one in edited["content"]] == ["diff", "future"]
        assert (diffs(failed["content"]), future in failed["content"]) == ([], True)
        assert "-no\n+NO\n" in said(failed["content"]).partition("Not applied:")[2]
        assert (await loaded(editor, place, session)).calls == live
