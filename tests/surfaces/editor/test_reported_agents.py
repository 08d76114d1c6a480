"""Public reports about what agents of the protocol send, over the wire: what an editor holds that has `redline acp` in
front of such an agent, live and after a load."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from surfaces.editor.editor_client import Place, Refused, allow, call, diffs, make_place, said, until
from surfaces.editor.test_reported_cases import begins, block, events, goes_on, loaded, puppet, totals

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = "x=1\n", "x=2\n"
D = block(OLD, NEW)
WRITTEN = {"write": "a.txt", "text": NEW}
DONE = goes_on(status="completed")
Totals = list[tuple[str, int, int]]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = make_place(tmp_path)
    (made.workspace / "a.txt").write_text(OLD)
    return made


async def shown(place: Place, *prompts: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[Totals]]:
    """The calls that the editor holds after these turns, of which a load gives the very same; and what each turn
    changed."""
    async with place.editor(*puppet(place, *prompts)) as editor:
        editor.serve["session/request_permission"] = allow("yes")
        session = await editor.new(place.workspace)
        for _ in prompts:
            await editor.prompt(session)
        live = dict(editor.held[session].calls)
        assert (await loaded(editor, place, session)).calls == live
    return list(live.values()), totals(await events(place, session))


def card(one: dict[str, Any]) -> tuple[str, str, list[tuple[str | None, str]]]:
    return one["kind"], one["status"], diffs(one["content"])


EDITED = ("edit", "completed", [(OLD, NEW)])


async def test_a_diff_is_shown_and_what_the_agent_wrote_for_its_model_is_not_the_card(place: Place) -> None:
    """Public reports: A1."""
    told = "state is current, do not re-read"
    [edit], _ = await shown(place, [begins(content=[D], rawOutput=told), WRITTEN, DONE])
    assert card(edit) == EDITED
    assert told not in json.dumps(edit["content"])
    assert edit["rawOutput"] == told


@pytest.mark.parametrize("before", ["", OLD])
async def test_arguments_alone_make_no_new_file_and_the_disk_makes_the_card(place: Place, before: str) -> None:
    """Public reports: A3."""
    asked = {"path": str(place.workspace / "a.txt"), "before": before, "after": NEW}
    begun = {"send": {"sessionUpdate": "tool_call", "toolCallId": "e", "title": "edit · a.txt", "rawInput": asked}}
    (claim, edit), changed = await shown(place, [begun, DONE], [begun, WRITTEN, DONE])
    assert diffs(claim["content"]) == []
    assert diffs(edit["content"]) == [(OLD, NEW)]
    assert edit["content"][0]["_meta"]["kind"] == "modify"
    assert changed == [[], [("a.txt", 1, 1)]]


async def test_a_call_before_any_text_is_there(place: Place) -> None:
    """Public reports: A6."""
    async with place.editor(*puppet(place, [begins(content=[D]), WRITTEN, DONE])) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert [card(one) for one in editor.held[session].calls.values()] == [EDITED]
        assert editor.held[session].text["agent"] == ""


ASK = {"ask": {"toolCallId": "e", "title": "edit", "kind": "edit", "content": [D]}}
WAYS = {
    "at the call": [begins(content=[D]), WRITTEN, DONE],
    "while it runs": [begins(), goes_on(status="in_progress", content=[D]), WRITTEN, DONE],
    "at its end": [begins(), WRITTEN, goes_on(status="completed", content=[D])],
    "in the question": [begins(), ASK, WRITTEN, DONE],
    "everywhere": [begins(content=[D]), goes_on(content=[D]), ASK, WRITTEN, goes_on(status="completed", content=[D])],
}


@pytest.mark.parametrize("steps", WAYS.values(), ids=WAYS.keys())
async def test_wherever_a_diff_is_sent_it_is_one(place: Place, steps: list[dict[str, Any]]) -> None:
    """Public reports: A10."""
    cards, changed = await shown(place, steps)
    assert [card(one) for one in cards] == [EDITED]
    assert changed == [[("a.txt", 1, 1)]]


async def test_new_content_of_a_running_call_takes_the_place_of_the_old(place: Place) -> None:
    """Public reports: B13."""
    texts = [[{"type": "content", "content": {"type": "text", "text": f"step {number}"}}] for number in (1, 2, 3)]
    steps = [begins(title="Say", kind="other", status="in_progress", content=texts[0])]
    for content in texts[1:]:
        steps += [{"sleep": 2.2}, goes_on(content=content)]
    async with place.editor(*puppet(place, [*steps, {"sleep": 2.2}, DONE])) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        told = [said(one["content"]) for one in editor.updates if one.get("toolCallId") == "1:e" and "content" in one]
        assert [text for text in dict.fromkeys(told) if text] == ["step 1", "step 2", "step 3"]
        [ended] = editor.held[session].calls.values()
        assert said(ended["content"]) == "step 3"


async def test_ids_that_repeat_from_turn_to_turn_are_two_calls(place: Place) -> None:
    """Public reports: B15."""
    second = block(NEW, "x=3\n")
    (first, other), _ = await shown(
        place,
        [begins("edit:0", content=[D]), WRITTEN, goes_on("edit:0", status="completed")],
        [
            begins("edit:0", content=[second]),
            {"write": "a.txt", "text": "x=3\n"},
            goes_on("edit:0", status="completed"),
        ],
    )
    assert card(first) == EDITED
    assert card(other) == ("edit", "completed", [(NEW, "x=3\n")])


async def test_an_end_before_its_beginning_stays_an_end_with_its_diff(place: Place) -> None:
    """Public reports: B16."""
    end = goes_on(status="completed", content=[D], kind="edit", title="edit")
    late = [WRITTEN, end, {"sleep": 0.2}, begins(content=[])]
    async with place.editor(*puppet(place, late)) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert [card(one) for one in editor.held[session].calls.values()] == [EDITED]
        statuses = [one["status"] for one in editor.updates if one.get("toolCallId") == "1:e" and "status" in one]
        assert "pending" not in statuses[statuses.index("completed") :]
        assert [card(one) for one in (await loaded(editor, place, session)).calls.values()] == [EDITED]


async def test_what_comes_after_the_answer_still_arrives_and_is_counted(place: Place) -> None:
    """Public reports: B18."""
    steps = [begins(content=[D]), {"end": "end_turn"}, {"sleep": 0.2}, WRITTEN, DONE]
    async with place.editor(*puppet(place, steps)) as editor:
        session = await editor.new(place.workspace)
        assert (await editor.prompt(session))["stopReason"] == "end_turn"
        await until(lambda: [card(one) for one in editor.held[session].calls.values()] == [EDITED])
        live = editor.held[session]
        assert (await loaded(editor, place, session)).calls == live.calls
    assert totals(await events(place, session)) == [[("a.txt", 1, 1)]]


async def test_the_answer_to_a_prompt_comes_after_all_that_was_told_before_it(place: Place) -> None:
    """Public reports: B19."""
    many = [begins(f"c{number}", title=f"Look {number}", kind="read", status="completed") for number in range(301)]
    async with place.editor(*puppet(place, many)) as editor:
        session = await editor.new(place.workspace)
        answer = await editor.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go."}])
        held: list[Any] = []
        answer.add_done_callback(lambda _: held.extend(editor.held[session].calls.values()))
        await answer
        await asyncio.sleep(0)
        assert [one["title"] for one in held] == [f"Look {number}" for number in range(301)]
        assert {one["status"] for one in held} == {"completed"}


async def test_a_move_with_an_edit_is_a_card_with_both_names(place: Place) -> None:
    """Public reports: C28."""
    old = "".join(f"line {number}\n" for number in range(1, 21))
    new = old.replace("line 10\n", "LINE 10\n")
    (place.workspace / "a.txt").write_text(old)
    diff = "--- a/a.txt\n+++ b/a.txt\n@@ -10 +10 @@\n-line 10\n+LINE 10\n\nMoved to: b.txt\n"
    steps = [begins(rawInput={"diff": diff}), {"move": "a.txt", "to": "b.txt"}, {"write": "b.txt", "text": new}, DONE]
    [moved], changed = await shown(place, steps)
    [told] = [one for one in moved["content"] if one["type"] == "diff"]
    around = "line 7\nline 8\nline 9\n{}\nline 11\nline 12\nline 13\n"
    assert (told["oldText"], told["newText"]) == (around.format("line 10"), around.format("LINE 10"))
    assert told["path"] == str(place.workspace / "b.txt")
    assert told["_meta"] == {"kind": "move", "oldPath": str(place.workspace / "a.txt")}
    assert changed == [[("b.txt", 1, 1)]]


async def test_three_edits_and_the_list_of_the_turn_have_one_baseline(place: Place) -> None:
    """Public reports: C37."""
    states = [OLD, "x=1\ny=1\n", "x=2\ny=1\n", "x=2\ny=2\n"]
    steps: list[dict[str, Any]] = []
    for number, (old, new) in enumerate(pairwise(states)):
        steps += [begins(f"e{number}", content=[block(old, new)]), {"write": "a.txt", "text": new}]
        steps += [goes_on(f"e{number}", status="completed"), {"sleep": 0.3}]
    cards, changed = await shown(place, steps)
    assert [diffs(one["content"]) for one in cards] == [[(old, new)] for old, new in pairwise(states)]
    assert changed == [[("a.txt", 1, 2)]]


async def test_twelve_locations_are_the_agents_and_no_file_of_them_is_asked_for(place: Place) -> None:
    """Public reports: C40."""
    places = [{"path": f"{{w}}/f{number}.txt", "line": number} for number in range(1, 13)]
    steps = [begins(title="Search", kind="search", locations=places), DONE]
    capabilities = {"fs": {"readTextFile": True, "writeTextFile": True}}
    async with place.editor(*puppet(place, steps), capabilities=capabilities) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        [search] = editor.held[session].calls.values()
        expected = [{"path": str(place.workspace / f"f{number}.txt"), "line": number} for number in range(1, 13)]
        assert search["locations"] == expected
        assert editor.asked == []


async def test_what_a_broken_attempt_left_open_is_closed_and_the_retry_is_a_card(place: Place) -> None:
    """Public reports: E57."""
    retried = [begins("t9", content=[D]), WRITTEN, goes_on("t9", status="completed")]
    async with place.editor(*puppet(place, [begins("t1", content=[D]), {"exit": 1}])) as editor:
        session = await editor.new(place.workspace)
        with pytest.raises(Refused):
            await editor.prompt(session)
        [open_call] = editor.held[session].calls.values()
        assert (open_call["status"], diffs(open_call["content"])) == ("failed", [])
        puppet(place, retried)
        assert (await editor.prompt(session))["stopReason"] == "end_turn"
        live = editor.held[session]
        assert [one["status"] for one in live.calls.values()] == ["failed", "completed"]
        assert card(list(live.calls.values())[-1]) == EDITED
        assert (await loaded(editor, place, session)).calls == live.calls


class TestTheLogOfAnEditor:
    def writing(self, place: Place, count: int) -> list[str]:
        steps = [{"call": [call("write", path=f"{number}.txt", content=f"{number}\n")]} for number in range(count)]
        return ["--model", place.script([*steps, {"text": "Done."}]), "--approval", "all"]

    async def test_after_a_kill_the_next_events_can_be_read_and_the_open_call_is_closed(self, place: Place) -> None:
        """Public reports: P162, P172."""
        steps = [{"call": [call("write", path="1.txt", content="1\n")]}, {"call": [call("bash", command="sleep 60")]}]
        model = place.script(steps, [{"call": [call("write", path="2.txt", content="2\n")]}, {"text": "Back."}])
        async with place.editor("--model", model, "--approval", "all") as editor:
            session = await editor.new(place.workspace)
            await editor.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go."}])
            await until(lambda: any(one.get("title") == "sleep 60" for one in editor.updates))
            editor.process.send_signal(signal.SIGKILL)
            await editor.process.wait()
        async with place.editor("--model", model, "--approval", "all") as editor:
            await loaded(editor, place, session)
            assert (await editor.prompt(session))["stopReason"] == "end_turn"
            held = await loaded(editor, place, session)
            assert [one["status"] for one in held.calls.values()] == ["completed", "failed", "completed"]
        assert totals(await events(place, session)) == [[("1.txt", 0, 1)], [("2.txt", 0, 1)]]

    @pytest.mark.parametrize(
        "damage", ["data = '{\"half\": '", "data = '\"' || hex(zeroblob(40000000)) || '\"'"], ids=["broken", "79 MB"]
    )
    async def test_a_row_that_cannot_be_read_costs_itself_and_is_told(self, place: Place, damage: str) -> None:
        """Public reports: P165, P169."""
        async with place.editor(*self.writing(place, 6)) as editor:
            session = await editor.new(place.workspace)
            await editor.prompt(session)
            live = editor.held[session]
        with sqlite3.connect(place.folder / "data" / "sessions.db") as connection:
            where = "seq = (SELECT seq FROM events WHERE type = 'tool/result' ORDER BY seq LIMIT 1 OFFSET 2)"
            assert connection.execute(f"UPDATE events SET {damage} WHERE {where}").rowcount == 1
        connection.close()
        async with place.editor(*self.writing(place, 1)) as editor:
            again = await loaded(editor, place, session)
        assert list(again.calls) == list(live.calls)
        lost = list(again.calls)[2]
        assert {name: one for name, one in again.calls.items() if name != lost} == {
            name: one for name, one in live.calls.items() if name != lost
        }
        assert diffs(again.calls[lost]["content"]) == [(None, "2\n")]
        assert "The end of this call was not recorded" in said(again.calls[lost]["content"])
        assert again.text["agent"].endswith("Done.")

    async def test_a_line_that_was_cut_off_and_then_sent_whole_counts_once(self, place: Place) -> None:
        """Public reports: P166."""
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "one"}}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "puppet", "update": chunk}}
        whole = json.dumps(message)
        async with place.editor(*puppet(place, [{"raw": whole[:40]}, {"raw": whole}])) as editor:
            session = await editor.new(place.workspace)
            await editor.prompt(session)
            live = editor.held[session].text["agent"]
            assert live.count("one") == 1
            assert (await loaded(editor, place, session)).text["agent"] == live

    async def test_one_line_of_a_large_file_adds_little_to_the_log(self, place: Place) -> None:
        """Public reports: P168."""
        old = "".join(f"line {number}\n" for number in range(150_000))
        new = old.replace("line 149999\n", "the end\n")
        (place.workspace / "a.txt").write_text(old)
        whole = block(old, new)
        steps = [begins(content=[whole]), {"write": "a.txt", "text": new}, goes_on(status="completed", content=[whole])]
        async with place.editor(*puppet(place, steps)) as editor:
            session = await editor.new(place.workspace)
            await editor.prompt(session)
            [edit] = editor.held[session].calls.values()
            [(before, after)] = diffs(edit["content"])
            assert (before or "").endswith("line 149999\n")
            assert after.endswith("the end\n")
            assert len(json.dumps(edit["content"])) < 2_000
        with sqlite3.connect(place.folder / "data" / "sessions.db") as connection:
            assert connection.execute("SELECT sum(length(data)) FROM events").fetchone()[0] < 100_000
        connection.close()

    async def test_eight_sessions_at_once_and_a_reader_in_a_transaction_lose_nothing(self, place: Place) -> None:
        """Public reports: P171."""
        folders = [place.folder / f"work-{number}" for number in range(8)]
        for folder in folders:
            folder.mkdir()
        async with place.editor(*self.writing(place, 3)) as editor:
            first = await editor.new(folders[0])
            reader = sqlite3.connect(place.folder / "data" / "sessions.db", isolation_level=None)
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM events").fetchone()
            sessions = [first, *[await editor.new(folder) for folder in folders[1:]]]
            words = [{"type": "text", "text": "Go."}]
            turns = [await editor.begin("session/prompt", sessionId=one, prompt=words) for one in sessions]
            assert {(await turn)["stopReason"] for turn in turns} == {"end_turn"}
            reader.close()
            for one, folder in zip(sessions, folders, strict=True):
                live = editor.held.pop(one)
                assert len(live.calls) == 3
                await editor.ask("session/load", sessionId=one, cwd=str(folder), mcpServers=[])
                assert editor.held[one].calls == live.calls
