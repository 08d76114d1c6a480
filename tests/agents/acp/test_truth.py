"""What agents say against what the disk holds: each way to report a change, and each way to get it wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.acp.puppetry import (
    diff,
    done,
    edit,
    ends,
    found,
    notices,
    puppet,
    shell,
    start,
    tools,
    touched,
    turn,
    update,
    words,
)  # fmt: skip
from redline.agents.acp.judgement import NOT_FOUND, SHARED
from redline.tools.standing import History

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "".join(f"line {number}\n" for number in range(1, 41))
NEW = TEXT.replace("line 20\n", "line twenty\n")
BEFORE = {"a.txt": TEXT.encode()}
WRITE = {"write": "a.txt", "text": NEW}
ONE_LINE = [("modify", "a.txt", 1, 1)]

REPORTS = {
    "a snippet at the call": [edit("c", "a.txt", "line 20", "line twenty"), WRITE, done("c")],
    "whole texts": [edit("c", "a.txt", TEXT, NEW), WRITE, done("c")],
    "an overwrite told as new": [edit("c", "a.txt", None, NEW), WRITE, done("c")],
    "an overwrite with an empty old text": [edit("c", "a.txt", "", NEW), WRITE, done("c")],
    "only in the finishing update": [
        start("c", title="Edit", kind="edit"), WRITE, done("c", content=[diff("a.txt", TEXT, NEW)]),
    ],
    "in an update, then wiped by words": [
        start("c", title="Edit", kind="edit"), update("c", content=[diff("a.txt", "line 20", "line twenty")]), WRITE,
        done("c", content=[words("Done.")]),
    ],
    "arguments only": [
        start("c", title="Edit", kind="edit",
              rawInput={"file_path": "{w}/a.txt", "old_string": "line 20", "new_string": "line twenty"}),
        WRITE, done("c"),
    ],
    "arguments before and after": [
        start("c", title="edit", rawInput={"path": "{w}/a.txt", "before": "line 20", "after": "line twenty"}),
        WRITE, done("c"),
    ],
    "a patch in the output": [
        start("c", title="apply", kind="edit"), WRITE,
        done("c", rawOutput={"diff": "--- a/a.txt\n+++ b/a.txt\n@@ -20 +20 @@\n-line 20\n+line twenty\n"}),
    ],
    "JSON within a text": [
        start("c", title="StrReplaceFile", content=[
            words('{"path": "{w}/a.txt", "edit": {"old": "line 20", "new": "line twenty"}}')]),
        WRITE, done("c", content=[words("ok")]),
    ],
    "no word of it": [start("c", title="Do something"), WRITE, done("c")],
    "a claim to have only read": [
        start("c", title="Read", kind="read", locations=[{"path": "{w}/a.txt"}]), WRITE, done("c"),
    ],
    "an update before the start": [
        done("c", content=[diff("a.txt", "line 20", "line twenty")], kind="edit", title="Edit"), WRITE,
        start("c", title="Edit", kind="edit", status="pending", content=[]),
    ],
    "a shell command": [shell("c", "sed -i s/20/twenty/ a.txt"), WRITE, done("c")],
}  # fmt: skip


@pytest.mark.parametrize("steps", REPORTS.values(), ids=list(REPORTS))
async def test_however_it_is_reported_the_card_is_the_change_on_disk(tmp_path: Path, steps: list[dict]) -> None:
    """Public reports: A10, B12, B16, C24."""
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        assert await turn(live, BEFORE) == "completed"
        [row] = tools(live).values()
        assert (row.status, touched(row, live)) == ("applied", ONE_LINE)
        assert row.changes[0].anchored
        assert row.changes[0].hunks[0].old_start == 17
        assert not row.warnings
        assert not found(live)


async def test_a_reported_edit_that_changed_nothing_is_not_applied(tmp_path: Path) -> None:
    """Public reports: Q174."""
    async with puppet(tmp_path, [edit("c", "a.txt", "line 20", "x"), done("c")], files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        row = tools(live)["c"]
        assert (row.status, row.changes) == ("completed", ())
        assert row.proposed
        assert "nothing changed on disk" in row.warnings[0]
        assert not ends(live)[0].net


async def test_a_failed_call_keeps_its_proposal_and_its_error(tmp_path: Path) -> None:
    """Public reports: Q173."""
    steps = [edit("c", "a.txt", "gone", "x"), update("c", status="failed", content=[words("old text not found")])]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        row = tools(live)["c"]
        assert (row.status, row.changes) == ("failed", ())
        assert row.proposed
        assert row.error is not None
        assert row.error.message == "old text not found"


async def test_a_failed_call_shows_what_landed_all_the_same(tmp_path: Path) -> None:
    """Public reports: Q175."""
    steps = [edit("c", "a.txt", "line 20", "line twenty"), WRITE, update("c", status="failed")]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        row = tools(live)["c"]
        assert (row.status, touched(row, live)) == ("failed", ONE_LINE)


async def test_a_call_that_is_never_ended_is_unknown(tmp_path: Path) -> None:
    """Public reports: A7."""
    async with puppet(tmp_path, [edit("c", "a.txt", "line 20", "x")], files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert (tools(live)["c"].status, tools(live)["c"].changes) == ("unknown", ())


async def test_a_call_that_is_never_ended_but_was_done_is_told_by_the_disk(tmp_path: Path) -> None:
    steps = [edit("c", "a.txt", "line 20", "line twenty"), WRITE]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        row = tools(live)["c"]
        assert (row.status, touched(row, live)) == ("applied", ONE_LINE)
        assert "never said" in row.warnings[0]


async def test_an_update_after_the_end_of_the_turn_lands_on_its_row(tmp_path: Path) -> None:
    """Public reports: B18."""
    steps = [
        edit("c", "a.txt", "line 20", "line twenty"), {"end": "end_turn"}, {"sleep": 0.3}, WRITE, done("c"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, [], files={"a.txt": TEXT}) as live:
        await turn(live)
        assert tools(live)["c"].status == "unknown"
        await turn(live, BEFORE)
        assert (tools(live)["c"].status, touched(tools(live)["c"], live)) == ("applied", ONE_LINE)


async def test_ids_that_repeat_from_turn_to_turn_are_two_calls(tmp_path: Path) -> None:
    """Public reports: B15."""
    first = [edit("edit:0", "a.txt", "line 20", "line twenty"), WRITE, done("edit:0")]
    second = [edit("edit:0", "b.txt", None, "b\n"), {"write": "b.txt", "text": "b\n"}, done("edit:0")]
    async with puppet(tmp_path, first, second, files={"a.txt": TEXT}) as live:
        await turn(live)
        await turn(live, BEFORE)
        rows = [row for row in live.conversation.transcript.rows if row.kind == "tool"]
        assert [touched(row, live) for row in rows] == [ONE_LINE, [("add", "b.txt", 1, 0)]]


async def test_an_id_that_is_used_again_within_a_turn_is_another_call(tmp_path: Path) -> None:
    steps = [
        edit("e", "a.txt", "line 20", "line twenty", rawInput={"n": 1}), WRITE, done("e"), {"sleep": 0.3},
        edit("e", "b.txt", None, "b\n", rawInput={"n": 2}), {"write": "b.txt", "text": "b\n"}, done("e"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert [touched(row, live) for row in tools(live).values()] == [ONE_LINE, [("add", "b.txt", 1, 0)]]


async def test_several_files_in_one_call_are_one_card_each(tmp_path: Path) -> None:
    steps = [
        start("c", kind="edit", content=[
            diff("a.txt", "line 20", "line twenty"), diff("b.txt", None, "b\n"), diff("old.txt", "old\n", ""),
            diff("sub.txt", "moved\n", "moved on\n"),
        ]),
        WRITE, {"write": "b.txt", "text": "b\n"}, {"delete": "old.txt"}, {"move": "m.txt", "to": "sub.txt"},
        {"append": "sub.txt", "text": "on\n"}, done("c"),
    ]  # fmt: skip
    files = {"a.txt": TEXT, "old.txt": "old\n", "m.txt": "moved\n" * 10}
    async with puppet(tmp_path, steps, files=files) as live:
        await turn(live, {name: text.encode() for name, text in files.items()})
        [row] = tools(live).values()
        told = [(change.operation, change.path.rpartition("/")[2]) for change in row.changes]
        assert sorted(told) == [("add", "b.txt"), ("delete", "old.txt"), ("modify", "a.txt"), ("move", "sub.txt")]


async def test_two_edits_of_one_file_at_once_are_taken_apart_where_the_bytes_prove_it(tmp_path: Path) -> None:
    both = NEW.replace("line 30\n", "line thirty\n")
    steps = [
        edit("one", "a.txt", "line 20", "line twenty"), edit("two", "a.txt", "line 30", "line thirty"),
        {"write": "a.txt", "text": both}, done("one"), done("two"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert {call: touched(row, live) for call, row in tools(live).items()} == {"one": ONE_LINE, "two": ONE_LINE}
        assert tools(live)["one"].changes[0].hunks[0].old_start == 17


async def test_what_two_calls_did_at_once_is_said_to_have_happened_during_both(tmp_path: Path) -> None:
    steps = [
        shell("one", "make"), shell("two", "make test"), {"write": "made.txt", "text": "x\n"}, done("one"), done("two"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        [row] = found(live)
        assert set(row.during) == {"one", "two"}
        assert touched(row, live) == [("add", "made.txt", 1, 0)]


async def test_an_edit_and_what_a_formatter_makes_of_the_file_are_one_change(tmp_path: Path) -> None:
    steps = [
        edit("c", "a.txt", "line 20", "line  twenty"), {"write": "a.txt", "text": TEXT.replace("20", "  twenty")},
        WRITE, done("c"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert touched(tools(live)["c"], live) == ONE_LINE
        assert not found(live)


@pytest.mark.parametrize(
    "call",
    [edit("c", "a.txt", "line 20", "line twenty"), start("c", title="Read", kind="read", rawInput={"path": "a.txt"})],
    ids=["an edit of another file", "a mere look"],
)
async def test_a_change_beside_the_files_of_a_call_is_not_taken_for_its_work(tmp_path: Path, call: dict) -> None:
    """Somebody saves a file while the call runs, or a formatter touches its cache: all that is known is when."""
    steps = [call, {"write": "mine.txt", "text": "1\n"}, {"sleep": 0.2}, done("c"), {"sleep": 0.2}]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert not tools(live)["c"].changes
        assert [(touched(one, live), one.during) for one in found(live)] == [([("add", "mine.txt", 1, 0)], ("c",))]


async def test_what_is_saved_while_two_calls_run_goes_to_the_one_that_may_change_any_file(tmp_path: Path) -> None:
    steps = [
        edit("one", "a.txt", "line 20", "line twenty"), shell("two", "make"), WRITE,
        {"write": "made.txt", "text": "x\n"}, done("one"), done("two"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert touched(tools(live)["one"], live) == ONE_LINE
        assert touched(tools(live)["two"], live) == [("add", "made.txt", 1, 0)]


async def test_what_was_found_stands_in_the_log_once(tmp_path: Path) -> None:
    """Of a call that ends, of one that never does, and of one that goes on after its first change."""
    steps = [
        edit("one", "a.txt", "line 20", "line twenty"), WRITE, done("one"), {"sleep": 0.3},
        edit("two", "b.txt", None, "b\n"), {"write": "b.txt", "text": "b\n"}, {"sleep": 0.1},
        shell("three", "make"), {"write": "c.txt", "text": "c\n"}, {"sleep": 0.1},
        start("four", title="Read", kind="read", rawInput={"path": "a.txt"}), done("four"), {"sleep": 0.2},
        {"write": "d.txt", "text": "d\n"}, done("three"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        told = {
            call: [name for _, name, _, _ in touched(row, live)] for call, row in tools(live).items() if row.changes
        }
        assert told == {"one": ["a.txt"], "two": ["b.txt"], "three": ["c.txt", "d.txt"]}
        events = [event async for event in live.session.log.events() if event.data.get("observed")]
        written = [change["path"] for event in events for change in event.data["changes"] if "path" in change]
        assert sorted(written) == sorted(set(written))
        made = History()
        for event in events:
            made.take(event)
        assert sorted(one.change.path for one in made.standing()) == sorted(written)
        summary = await live.session.log.store.summary(live.session.log.session)
        assert (summary.added, summary.removed) == (4, 1)


async def test_an_executable_bit_and_a_binary_file_are_changes_of_the_command(tmp_path: Path) -> None:
    steps = [
        shell("c", "make"), {"chmod": "run.sh"}, {"write": "x.bin", "text": "\0\1\2"}, {"sleep": 0.05}, done("c"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"run.sh": "#!/bin/sh\n"}) as live:
        await turn(live)
        [mode, binary] = tools(live)["c"].changes
        assert mode.facts == ("made_executable",)
        assert (binary.operation, binary.file_type) == ("add", "binary")


async def test_a_file_that_comes_and_goes_within_a_call_is_no_change(tmp_path: Path) -> None:
    steps = [shell("c", "make"), {"write": "tmp~", "text": "x"}, {"delete": "tmp~"}, done("c")]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert (tools(live)["c"].status, tools(live)["c"].changes) == ("completed", ())


async def test_a_block_without_its_new_text_is_malformed_and_not_empty(tmp_path: Path) -> None:
    """Public reports: C34."""
    broken = {"type": "diff", "path": "{w}/a.txt", "oldText": "line 20"}
    async with puppet(tmp_path, [start("c", kind="edit", content=[broken]), done("c")], files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        row = tools(live)["c"]
        assert not row.proposed
        assert "newText is missing" in row.warnings[0]


async def test_a_change_outside_the_workspace_is_never_told_as_applied_unseen(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("one\n")
    block = {"type": "diff", "path": str(outside), "oldText": "one", "newText": "two"}
    async with puppet(tmp_path, [start("c", kind="edit", content=[block]), done("c")], files={"a.txt": TEXT}) as live:
        await turn(live)
        row = tools(live)["c"]
        assert row.status == "completed"
        assert not row.changes
        assert row.warnings


async def test_what_the_user_does_between_turns_is_not_the_agents(tmp_path: Path) -> None:
    async with puppet(tmp_path, [], [], files={"a.txt": TEXT}) as live:
        await turn(live)
        (live.workspace / "a.txt").write_text(NEW)
        await turn(live)
        assert not found(live)
        assert not notices(live)


async def test_the_last_of_several_reports_is_the_one_that_is_shown(tmp_path: Path) -> None:
    """Public reports: B13."""
    steps = [
        edit("c", "a.txt", "line 1\n", "first\n"), update("c", content=[diff("a.txt", "line 2\n", "second\n")]),
        update("c", content=[diff("a.txt", "line 3\n", "third\n")], status="failed"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        [change] = tools(live)["c"].proposed
        assert [line for hunk in change.hunks for line in hunk.lines if line[0] == "+"] == ["+third"]


async def test_repeated_finishes_are_one_and_a_later_one_that_differs_is_taken(tmp_path: Path) -> None:
    """Public reports: B22."""
    end = words("x" * 6000 + "end")
    steps = [
        start("c", title="Say", kind="other"), done("c", content=[words("x" * 6000)]), {"sleep": 0.3},
        done("c", content=[words("x" * 6000)]), {"sleep": 0.3}, done("c", content=[end]),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        [row] = tools(live).values()
        assert row.result_view is not None
        assert row.result_view.content[0]["text"].endswith("end")  # type: ignore[union-attr]
        results = [event async for event in live.session.log.events() if event.type == "tool/result"]
        assert len(results) == 2


async def test_a_later_title_does_not_take_the_kind_away(tmp_path: Path) -> None:
    """Public reports: B21."""
    steps = [start("c", title="edit", kind="edit"), update("c", title="a.txt"), done("c")]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        view = tools(live)["c"].call_view
        assert (view.title, view.kind) == ("a.txt", "edit")  # type: ignore[union-attr]


async def test_a_file_that_is_deleted_and_made_anew_in_one_call_is_one_change_against_the_old_text(
    tmp_path: Path,
) -> None:
    """Public reports: C30."""
    steps = [shell("c", "./regenerate"), {"delete": "a.txt"}, {"write": "a.txt", "text": NEW}, done("c")]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert touched(tools(live)["c"], live) == ONE_LINE
        before = tools(live)["c"].changes[0].before
        assert before is not None
        assert live.session.store.get(live.session.log.session, before.blob) == TEXT.encode()


async def test_an_existing_empty_file_is_no_new_one(tmp_path: Path) -> None:
    """Public reports: C39."""
    steps = [edit("c", "e.txt", "", "x\n"), {"write": "e.txt", "text": "x\n"}, done("c")]
    async with puppet(tmp_path, steps, files={"e.txt": ""}) as live:
        await turn(live, {"e.txt": b""})
        assert touched(tools(live)["c"], live) == [("modify", "e.txt", 1, 0)]


async def test_the_totals_of_a_turn_are_net_and_each_card_is_true_for_its_own_step(tmp_path: Path) -> None:
    """Public reports: C36, C37."""
    steps = [
        edit("one", "a.txt", "a\n", "a\nb\n"), {"write": "a.txt", "text": "a\nb\n"}, done("one"), {"sleep": 1.0},
        edit("two", "a.txt", "a\nb\n", "a\nc\n"), {"write": "a.txt", "text": "a\nc\n"}, done("two"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": "a\n"}) as live:
        await turn(live, {"a.txt": b"a\n"})
        assert {call: touched(row, live)[0][2:] for call, row in tools(live).items()} == {"one": (1, 0), "two": (1, 1)}
        [net] = ends(live)[0].net
        assert (net.added, net.removed) == (1, 0)


async def test_a_claim_that_the_disk_refutes_stays_named_while_another_call_is_open(tmp_path: Path) -> None:
    steps = [
        edit("open", "d.txt", None, "never\n"),
        edit("ghost", "ghost.txt", None, "boo\n"), done("ghost"),
        edit("kept", "b.txt", "b", "c"), done("kept"),
        start("half", title="Edit", kind="edit", content=[
            diff("a.txt", "line 20", "line twenty"), diff("ghost.txt", None, "boo\n")]),
        WRITE, done("half"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT, "b.txt": "b\n"}) as live:
        await turn(live, {"a.txt": TEXT.encode(), "b.txt": b"b\n"})
        rows = tools(live)
        assert (
            rows["ghost"].warnings
            == rows["kept"].warnings
            == ("The agent reported a change; nothing changed on disk.",)
        )
        assert touched(rows["half"], live) == ONE_LINE
        [said] = rows["half"].warnings
        assert "ghost.txt, too; nothing changed there" in said
        [never] = rows["open"].proposed
        assert (rows["open"].status, never.operation) == ("unknown", "add")
        assert "nothing of what it announced changed on disk" in str(rows["open"].error)


async def test_a_call_whose_arguments_only_look_like_a_change_is_not_accused_of_none(tmp_path: Path) -> None:
    steps = [
        start("log", title="git log", rawInput={"from": "main", "to": "dev"}), done("log"),
        start("dates", title="compare dates", rawInput={"path": "a.txt", "before": "2024", "after": "2025"}),
        done("dates"),
        start("tidy", title="remove_unused_imports", kind="other", rawInput={"path": "a.txt"}), done("tidy"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, {"a.txt": TEXT.encode()})
        rows = tools(live)
        assert [(rows[call].warnings, rows[call].proposed) for call in ("log", "dates", "tidy")] == [((), ())] * 3


async def test_a_file_outside_that_is_named_only_afterwards_has_its_card(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    steps = [
        edit("open", "d.txt", None, "never\n"),
        start("c"), {"write": str(outside), "text": "out\n"},
        done("c", content=[diff("../outside.txt", None, "out\n")]),
        start("lie"), done("lie", content=[diff("../nowhere.txt", None, "x\n")]),
    ]  # fmt: skip
    async with puppet(tmp_path, steps) as live:
        await turn(live)
        rows = tools(live)
        assert [change.path for change in rows["c"].changes] == [str(outside)]
        assert rows["c"].warnings == ()
        assert rows["lie"].warnings == ("The agent reported a change; nothing changed on disk.",)


async def test_a_call_that_names_its_file_late_has_its_change_beside_two_commands(tmp_path: Path) -> None:
    steps = [
        shell("p1", "make one"), shell("p2", "make two"), {"write": "p1.txt", "text": "1\n"}, WRITE, done("p1"),
        done("p2"), edit("late", "a.txt", "line 20", "line twenty"), done("late"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert (touched(tools(live)["late"], live), tools(live)["late"].warnings) == (ONE_LINE, ())
        assert [touched(row, live) for row in found(live)] == [[("add", "p1.txt", 1, 0)]]


async def test_a_claim_that_comes_to_nothing_is_told_from_one_that_cannot_be_told_apart(tmp_path: Path) -> None:
    steps = [
        edit("one", "a.txt", "no such line", "x"), edit("two", "a.txt", "nor this one", "y"), WRITE,
        done("one"), done("two"), {"sleep": 0.4}, edit("three", "a.txt", "line 20", "line twenty"), done("three"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, {"a.txt": TEXT.encode()})
        rows = tools(live)
        assert [touched(row, live) for row in found(live)] == [[("modify", "a.txt", 1, 1)]]
        assert [rows[call].warnings for call in ("one", "two", "three")] == [(SHARED,), (SHARED,), (NOT_FOUND,)]
        assert not any(row.changes for row in rows.values())
