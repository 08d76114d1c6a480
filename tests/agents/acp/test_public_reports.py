"""What users of other front ends have reported as faults, as agents would bring it about here. Each docstring names the
reports that it stands for; the rest of them are pinned where their rule lives."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from agents.acp.puppetry import (
    diff,
    done,
    edit,
    ends,
    found,
    notices,
    puppet,
    say,
    start,
    tools,
    touched,
    turn,
    until,
    update,
    words,
)  # fmt: skip
from captures.recorded import Onlooker
from redline.agents.acp.evidence import evidence
from redline.transcript.net import net_changes
from redline.transcript.rows import ToolRow

if TYPE_CHECKING:
    from pathlib import Path

    from captures.recorded import Stage

TEXT = "".join(f"line {number}\n" for number in range(1, 41))
NEW = TEXT.replace("line 20\n", "line twenty\n")
BEFORE = {"a.txt": TEXT.encode()}
WRITE = {"write": "a.txt", "text": NEW}
ONE_LINE = [("modify", "a.txt", 1, 1)]
D = diff("a.txt", "line 20", "line twenty")

ASK = {"ask": {"toolCallId": "c", "title": "Edit", "kind": "edit", "content": [D]}}
BARE = start("c", title="Edit", kind="edit", status="pending")


def lines(row: ToolRow) -> list[str]:
    """The changed lines of what a call proposed."""
    return [line for change in row.proposed for hunk in change.hunks for line in hunk.lines if line[0] != " "]


class TestADiffThatIsMissingOrDropped:
    async def test_text_for_the_model_is_not_what_is_shown_to_people(self, tmp_path: Path) -> None:
        """Public reports: A1."""
        output = "state is current, do not re-read"
        steps = [edit("c", "a.txt", "line 20", "line twenty", rawOutput=output), WRITE, done("c")]
        async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
            await turn(live, BEFORE)
            row = tools(live)["c"]
            assert touched(row, live) == ONE_LINE
            assert output not in str((row.call_view, row.result_view))
            assert row.raw["rawOutput"] == output

    @pytest.mark.parametrize(("title", "operation"), [("edit · n.txt", "modify"), ("create · n.txt", "add")])
    def test_arguments_alone_are_a_report_and_an_empty_before_makes_no_new_file(
        self, title: str, operation: str
    ) -> None:
        """Public reports: A3."""
        given = {"path": "/w/n.txt", "before": "", "after": "hi"}
        [change] = evidence({"title": title, "rawInput": given}, "/w").proposed
        assert (change.path, change.operation, change.provenance) == ("/w/n.txt", operation, "reported")

    async def test_a_block_of_an_unknown_kind_is_kept_beside_those_that_are_shown(self, tmp_path: Path) -> None:
        """Public reports: A4."""
        steps = [start("c", title="Mixed"), WRITE, done("c", content=[words("ok"), D, {"type": "future", "x": 1}])]
        async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
            await turn(live, BEFORE)
            row = tools(live)["c"]
            assert touched(row, live) == ONE_LINE
            events = [event async for event in live.session.log.events() if event.type == "tool/result"]
            assert "ok" in json.dumps(events[-1].data["content"])
            assert row.raw["content"] == [words("ok"), {"type": "future", "x": 1}]

    async def test_a_call_before_any_text_has_its_row(self, tmp_path: Path) -> None:
        """Public reports: A6."""
        steps = [edit("c", "a.txt", "line 20", "line twenty"), WRITE, done("c"), say("afterwards")]
        async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
            await turn(live, BEFORE)
            kinds = [row.kind for row in live.conversation.transcript.rows if row.kind in ("tool", "agent")]
            assert kinds == ["tool", "agent"]

    async def test_a_call_without_an_end_has_an_unknown_outcome_and_counts_nothing(self, tmp_path: Path) -> None:
        """Public reports: A7."""
        async with puppet(tmp_path, [edit("c", "a.txt", "line 20", "x")], files={"a.txt": TEXT}) as live:
            await turn(live, BEFORE)
            row = tools(live)["c"]
            assert (row.status, row.changes, bool(row.proposed)) == ("unknown", (), True)
            assert row.error is not None
            assert not ends(live)[0].net

    @pytest.mark.parametrize(
        "steps",
        [
            [edit("c", "a.txt", "line 20", "line twenty"), WRITE, done("c")],
            [BARE, update("c", status="in_progress", content=[D]), WRITE, done("c")],
            [BARE, WRITE, done("c", content=[D])],
            [BARE, ASK, WRITE, done("c")],
            [edit("c", "a.txt", "line 20", "line twenty"), update("c", content=[D]), ASK, WRITE,
             done("c", content=[D])],
        ],
        ids=["at the call", "while it runs", "at its end", "in the question", "everywhere"],
    )  # fmt: skip
    async def test_wherever_a_diff_is_sent_it_is_one_card(self, tmp_path: Path, steps: list[dict]) -> None:
        """Public reports: A10, B12."""
        async with puppet(tmp_path, steps, files={"a.txt": TEXT}, answers=[True]) as live:
            await turn(live, BEFORE)
            [row] = tools(live).values()
            assert (row.status, touched(row, live)) == ("applied", ONE_LINE)
            assert not found(live)


class TestUpdatesThatComeTwiceLateOrOutOfOrder:
    @pytest.mark.parametrize("end", [done("c", content=[words('{"ok":true}')]), done("c", content=[]), done("c")])
    async def test_the_end_of_a_call_does_not_take_its_diff_away(self, tmp_path: Path, end: dict) -> None:
        """Public reports: B12."""
        async with puppet(tmp_path, [edit("c", "a.txt", "line 20", "x"), end], files={"a.txt": TEXT}) as live:
            await turn(live, BEFORE)
            assert lines(tools(live)["c"]) == ["-line 20", "+x"]

    async def test_new_content_of_a_running_call_replaces_the_old(self, tmp_path: Path) -> None:
        """Public reports: B13."""
        seen: list[list[str]] = []

        class Eye(Onlooker):
            async def show(self, rows: Any, state: Any) -> None:
                await super().show(rows, state)
                seen.extend(lines(row) for row in rows if isinstance(row, ToolRow))

        contents = [[diff("a.txt", f"line {number}", f"new {number}")] for number in (1, 2, 3)]
        steps = [
            start("c", title="Edit", kind="edit", status="in_progress", content=contents[0]), {"sleep": 0.3},
            update("c", content=contents[1]), {"sleep": 2.2}, update("c", content=contents[2]), done("c"),
        ]  # fmt: skip
        async with puppet(tmp_path, steps, files={"a.txt": TEXT}, onlooker=Eye()) as live:
            await turn(live, BEFORE)
            assert seen[0] == ["-line 1", "+new 1"]
            assert seen[-1] == ["-line 3", "+new 3"]

    async def test_ids_that_repeat_are_two_cards_also_after_a_reload(self, tmp_path: Path) -> None:
        """Public reports: B15."""
        first = [edit("edit:0", "a.txt", "line 20", "line twenty"), WRITE, done("edit:0")]
        second = [edit("edit:0", "b.txt", None, "b\n"), {"write": "b.txt", "text": "b\n"}, done("edit:0")]
        async with puppet(tmp_path, first, second, files={"a.txt": TEXT}) as live:
            await turn(live)
            await turn(live, BEFORE)
            told = _cards(live)
            session = live.session.log.session
        async with puppet(tmp_path, session=session) as later:
            assert _cards(later) == told == [ONE_LINE, [("add", "b.txt", 1, 0)]]

    async def test_a_diff_is_found_although_the_file_held_it_before_the_first_word(self, tmp_path: Path) -> None:
        """Public reports: B16."""
        late = start("c", title="Edit", kind="edit", status="pending", content=[])
        steps = [WRITE, done("c", content=[D], kind="edit", title="Edit"), {"sleep": 0.2}, late]
        async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
            await turn(live, BEFORE)
            assert (tools(live)["c"].status, touched(tools(live)["c"], live)) == ("applied", ONE_LINE)

    async def test_what_comes_after_the_answer_is_the_turns_and_counted_and_shown(self, tmp_path: Path) -> None:
        """Public reports: B18."""
        steps = [edit("c", "a.txt", "line 20", "line twenty"), {"end": "end_turn"}, {"sleep": 0.2}, WRITE, done("c")]
        async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
            await turn(live)
            await until(lambda: tools(live)["c"].status == "applied")
            assert [(net.added, net.removed) for net in ends(live)[0].net] == [(1, 1)]
            await until(lambda: any(getattr(row, "status", "") == "applied" for row in live.onlooker.rows.values()))
            assert not found(live)

    async def test_a_turn_is_not_over_before_all_that_came_before_its_answer_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Public reports: B19."""
        steps = [edit("c", "a.txt", "line 20", "line twenty"), WRITE, done("c"), say("done")]
        async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
            append = live.session.log.append

            async def slow(*given: Any, **more: Any) -> Any:
                await asyncio.sleep(0.05)
                return await append(*given, **more)

            monkeypatch.setattr(live.session.log, "append", slow)
            await turn(live, BEFORE)
            assert [(net.added, net.removed) for net in ends(live)[0].net] == [(1, 1)]
            assert live.onlooker.rows[tools(live)["c"].id].status == "applied"  # type: ignore[union-attr]


class TestWrongTextsKindsAndPaths:
    async def test_three_edits_of_a_long_file_told_as_whole_texts_are_three_lines(self, tmp_path: Path) -> None:
        """Public reports: C24, C25, C37."""
        text = "".join(f"line {number}\n" for number in range(1, 601))
        steps: list[dict] = []
        now = text
        for call, number in enumerate((100, 300, 500)):
            new = now.replace(f"line {number}\n", f"LINE {number}\n")
            whole = diff("a.txt", None if call == 1 else now, new)
            steps += [start(f"c{call}", kind="edit", content=[whole]), {"write": "a.txt", "text": new}]
            steps += [done(f"c{call}"), {"sleep": 0.4}]
            now = new
        async with puppet(tmp_path, steps, files={"a.txt": text}) as live:
            await turn(live, {"a.txt": text.encode()})
            assert _cards(live) == [ONE_LINE] * 3
            [net] = ends(live)[0].net
            assert (net.operation, net.added, net.removed) == ("modify", 3, 3)
            store, name = live.session.store, live.session.log.session
            [detail] = net_changes(live.conversation.transcript.landed(1), lambda blob: store.get(name, blob))
            assert (detail.operation, detail.added, detail.removed) == ("modify", 3, 3)

    async def test_a_fragment_is_never_set_against_a_whole_file(self, tmp_path: Path) -> None:
        """Public reports: C26."""
        text = "".join(f"l{number}\n" for number in range(1, 56))
        new = text.replace("l7\n", "")
        fragments = [start("c", kind="edit", content=[diff("a.txt", "l7\nl8\n", new)])]  # old a part, new the whole
        for steps in (fragments, [edit("c", "a.txt", "l7\nl8\n", "l8\n")]):
            async with puppet(
                tmp_path, [*steps, {"write": "a.txt", "text": new}, done("c")], files={"a.txt": text}
            ) as live:
                await turn(live, {"a.txt": text.encode()})
                assert _cards(live) == [[("modify", "a.txt", 0, 1)]]

    @pytest.mark.parametrize(
        ("block", "step", "expected"),
        [
            ({**diff("a.txt", "x\n", "x\n"), "_meta": {"kind": "delete"}}, {"delete": "a.txt"}, "delete"),
            (diff("a.txt", "x\n", ""), {"write": "a.txt", "text": ""}, "modify"),
        ],
        ids=["deleted", "emptied"],
    )
    async def test_deleted_and_emptied_are_two_things(
        self, tmp_path: Path, block: dict, step: dict, expected: str
    ) -> None:
        """Public reports: C27."""
        steps = [start("c", kind="delete", content=[block]), step, done("c")]
        async with puppet(tmp_path, steps, files={"a.txt": "x\n"}) as live:
            await turn(live, {"a.txt": b"x\n"})
            assert _cards(live) == [[(expected, "a.txt", 0, 1)]]

    async def test_a_remark_at_the_end_of_a_patch_is_no_line_of_it(self, tmp_path: Path) -> None:
        """Public reports: C28."""
        patch = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n x\n-a\n+b\n\nMoved to: src/b.py"
        steps = [
            start("c", title="apply_patch", kind="edit", rawInput={"patch": patch}),
            {"move": "src/a.py", "to": "src/b.py"}, {"write": "src/b.py", "text": "x\nb\n"}, {"sleep": 0.1}, done("c"),
        ]  # fmt: skip
        [reported] = evidence(steps[0]["send"], "/w").proposed
        assert (reported.added, reported.removed) == (1, 1)
        async with puppet(tmp_path, steps, files={"src/a.py": "x\na\n"}) as live:
            await turn(live, {"src/a.py": b"x\na\n"})
            [change] = tools(live)["c"].changes
            assert change.old_path is not None
            assert (change.operation, change.old_path[-8:], change.path[-8:]) == ("move", "src/a.py", "src/b.py")
            assert (change.added, change.removed) == (1, 1)

    @pytest.mark.parametrize("other", ["./a.txt", "sub/../a.txt", "link/a.txt"])
    async def test_a_file_moved_onto_itself_is_an_edit(self, tmp_path: Path, other: str) -> None:
        """Public reports: C31."""
        block = {**diff(other, "line 20", "line twenty"), "_meta": {"kind": "move", "oldPath": "{w}/a.txt"}}
        async with puppet(
            tmp_path, [start("c", kind="move", content=[block]), WRITE, done("c")], files={"a.txt": TEXT}
        ) as live:
            (live.workspace / "link").symlink_to(live.workspace)
            await turn(live)
            assert touched(tools(live)["c"], live) == ONE_LINE

    async def test_a_patch_is_read_from_the_message_also_where_its_file_is_gone(self, tmp_path: Path) -> None:
        """Public reports: C33."""
        patch = "--- a/gone.py\n+++ b/gone.py\n@@ -7,2 +7,2 @@\n x\n-a\n+b\n"
        steps = [start("c", title="Edit", kind="edit", rawOutput={"diff": patch}), done("c")]
        async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
            await turn(live, BEFORE)
            assert lines(tools(live)["c"]) == ["-a", "+b"]
            assert tools(live)["c"].status == "completed"

    async def test_many_locations_are_told_and_nothing_more_is_made_of_them(self, tmp_path: Path) -> None:
        """C40, as far as it is not the surfaces'"""
        places = [{"path": f"{{w}}/f{number}.txt", "line": number} for number in range(1, 13)]
        async with puppet(tmp_path, [start("c", kind="search", locations=places), done("c")]) as live:
            await turn(live, {})
            assert len(tools(live)) == 1
            assert not tools(live)["c"].changes


class TestPreviews:
    async def test_lf_texts_for_a_file_with_crlf_are_shown_by_the_matcher_that_judges_them(
        self, tmp_path: Path
    ) -> None:
        """Public reports: D42."""
        asking = {"ask": {"toolCallId": "c", "kind": "edit", "content": [diff("a.txt", "a\nb\n", "a\nB\n")]}}
        steps = [asking, {"write": "a.txt", "text": "a\r\nB\r\n"}, done("c")]
        async with puppet(tmp_path, steps, files={"a.txt": b"a\r\nb\r\n"}, answers=[True]) as live:
            await turn(live, {"a.txt": b"a\r\nb\r\n"})
            [request] = live.onlooker.asked
            assert (request.note, request.changes[0].added, request.changes[0].removed) == (None, 1, 1)
            assert tools(live)["c"].warnings == ()

    async def test_an_edit_that_stands_already_is_neither_an_error_nor_a_no(self, tmp_path: Path) -> None:
        """Public reports: D45."""
        asking = {"ask": {"toolCallId": "c", "kind": "edit", "content": [diff("a.txt", None, NEW)]}}
        async with puppet(tmp_path, [asking, done("c")], files={"a.txt": NEW}, answers=[True]) as live:
            await turn(live, {"a.txt": NEW.encode()})
            [request] = live.onlooker.asked
            assert "nothing would change" in (request.note or "")
            assert (tools(live)["c"].status, tools(live)["c"].changes) == ("completed", ())


class TestReload:
    async def test_every_outcome_is_the_same_after_a_reload(self, tmp_path: Path) -> None:
        """Public reports: D49, E51, Q173."""
        steps = [
            edit("edit", "a.txt", "line 20", "line twenty"), WRITE, done("edit"),
            edit("write", "b.txt", None, "b\n"), {"write": "b.txt", "text": "b\n"}, done("write"),
            edit("failed", "a.txt", "none", "x"), update("failed", status="failed", content=[words("no match")]),
            {"ask": {"toolCallId": "no", "title": "Edit", "kind": "edit", "content": [diff("a.txt", "line 3", "3")]}},
        ]  # fmt: skip
        async with puppet(tmp_path, steps, files={"a.txt": TEXT}, answers=[False]) as live:
            await turn(live, BEFORE)
            told = [row for row in live.conversation.transcript.rows if isinstance(row, ToolRow)]
            assert [row.status for row in told] == ["applied", "applied", "failed", "rejected"]
            assert [bool(row.proposed) for row in told[2:]] == [True, True]
            assert [(net.added, net.removed) for net in ends(live)[0].net] == [(1, 1), (1, 0)]
            net, session = ends(live)[0].net, live.session.log.session
        async with puppet(tmp_path, session=session) as later:
            assert [row for row in later.conversation.transcript.rows if isinstance(row, ToolRow)] == told
            assert ends(later)[0].net == net

    async def test_a_surface_that_comes_in_the_middle_gets_the_cards_so_far_and_then_the_rest(
        self, tmp_path: Path
    ) -> None:
        """Public reports: E53, E54."""
        steps: list[dict] = []
        for number in range(4):
            name = f"f{number}.txt"
            steps += [edit(f"c{number}", name, None, "x\n"), {"write": name, "text": "x\n"}, done(f"c{number}")]
            steps += [{"ask": {"toolCallId": "wait", "title": "Wait"}}] if number == 1 else []
        late = Onlooker(name="late")

        class Gate(Onlooker):
            async def ask(self, request: Any) -> Any:
                live.conversation.attach(late, after=0)
                await until(lambda: _applied(late) == ["c0", "c1"])
                return await super().ask(request)

        async with puppet(tmp_path, steps, files={}, onlooker=Gate([True])) as live:
            await turn(live, {})
            assert _applied(late) == ["c0", "c1", "c2", "c3"]

    async def test_what_an_attempt_left_open_is_closed_when_it_breaks_off(self, tmp_path: Path) -> None:
        """Public reports: E57."""
        async with puppet(tmp_path, [edit("t1", "a.txt", "line 20", "x"), {"exit": 1}], files={"a.txt": TEXT}) as live:
            assert await turn(live) == "failed"
            assert tools(live)["t1"].status == "interrupted"
            retried = [edit("t9", "a.txt", "line 20", "line twenty"), WRITE, done("t9")]
            (tmp_path / "script.json").write_text(json.dumps({"prompts": [retried]}))
            assert await turn(live, BEFORE) == "completed"
            assert {call: row.status for call, row in tools(live).items()} == {"t1": "interrupted", "t9": "applied"}


class TestTransportAndTruth:
    @pytest.mark.parametrize("size", [70_000, 3_000_000])
    async def test_a_long_line_is_normal(self, tmp_path: Path, size: int) -> None:
        """Public reports: P163."""
        text = "x" * size + "\n"
        steps = [edit("c", "b.txt", None, text), {"write": "b.txt", "text": text}, done("c"), say("on")]
        async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
            assert await turn(live, BEFORE) == "completed"
            assert touched(tools(live)["c"], live) == [("add", "b.txt", 1, 0)]

    async def test_a_record_that_is_written_in_part_and_then_whole_counts_once(self, tmp_path: Path) -> None:
        """Public reports: P166."""
        whole = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {
            "sessionId": "puppet", "update": say("one")["send"]}})  # fmt: skip
        async with puppet(tmp_path, [{"raw": whole[:40]}, {"raw": whole}, say(" two")]) as live:
            assert await turn(live) == "completed"
            assert [row.text for row in live.conversation.transcript.rows if row.kind == "agent"] == ["one two"]
            assert notices(live) == ["AGENT_MESSAGE"]

    async def test_a_small_change_of_a_large_file_is_a_small_record(self, tmp_path: Path) -> None:
        """Public reports: J112, P168."""
        old = "".join(f"line {number}\n" for number in range(200_000))
        new = old.replace("line 199999\n", "the end\n")
        whole = diff("big.txt", old, new)
        steps = [
            start("c", kind="edit", content=[whole]), {"write": "big.txt", "text": new},
            done("c", content=[whole], rawOutput={"before": old, "after": new}),
        ]  # fmt: skip
        async with puppet(tmp_path, steps, files={"big.txt": old}) as live:
            await turn(live)
            assert touched(tools(live)["c"], live) == [("modify", "big.txt", 1, 1)]
            size = sum([len(json.dumps(event.data)) async for event in live.session.log.events()])
            assert size < 20_000

    async def test_a_success_that_changed_nothing_and_a_failure_that_did_are_told_as_they_are(
        self, tmp_path: Path
    ) -> None:
        """Public reports: Q173, Q174, Q175."""
        steps = [
            edit("no-op", "b.txt", None, "b\n"), done("no-op"), {"sleep": 0.2},
            edit("hook", "a.txt", "line 20", "line twenty", ), WRITE, update("hook", status="failed"), {"sleep": 0.2},
            start("running", kind="edit", status="in_progress", content=[diff("a.txt", "line 3\n", "x\n")]),
            update("running", status="failed"),
        ]  # fmt: skip
        async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
            await turn(live, BEFORE)
            rows = tools(live)
            assert (rows["no-op"].status, rows["no-op"].changes) == ("completed", ())
            assert "nothing changed on disk" in rows["no-op"].warnings[0]
            assert (rows["hook"].status, touched(rows["hook"], live)) == ("failed", ONE_LINE)
            assert (rows["running"].status, rows["running"].changes) == ("failed", ())
            assert [(net.added, net.removed) for net in ends(live)[0].net] == [(1, 1)]


def _cards(live: Stage) -> list[list[tuple[str, str, int, int]]]:
    rows = live.conversation.transcript.rows
    return [touched(row, live) for row in rows if isinstance(row, ToolRow) and row.changes]


def _applied(surface: Onlooker) -> list[str]:
    return sorted(row.call for row in surface.rows.values() if isinstance(row, ToolRow) and row.status == "applied")
