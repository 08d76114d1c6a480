"""Permission requests of an agent: shown against the disk, answered in its options, held against what it wrote."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agents.acp.puppetry import diff, done, edit, found, puppet, said, shell, start, tools, touched, turn, update, words
from captures.recorded import Onlooker
from redline.agents.acp.questions import chosen
from redline.transcript.rows import PermissionRow

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "".join(f"line {number}\n" for number in range(1, 41))
NEW = TEXT.replace("line 20\n", "line twenty\n")
BEFORE = {"a.txt": TEXT.encode()}
WRITE = {"write": "a.txt", "text": NEW}
ONE_LINE = [("modify", "a.txt", 1, 1)]


def ask(call: str, *content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"ask": {"toolCallId": call, "title": "Edit", "kind": "edit", "content": list(content), **fields}}


async def test_a_snippet_is_shown_with_its_place_in_the_file_before_it_is_allowed(tmp_path: Path) -> None:
    steps = [
        edit("c", "a.txt", "line 20", "line twenty"),
        ask("c", diff("a.txt", "line 20", "line twenty")), WRITE, done("c"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, answers=[True]) as live:
        await turn(live, BEFORE)
        [request] = live.onlooker.asked
        [shown] = request.changes
        assert shown.anchored
        assert shown.hunks[0].old_start == 17
        assert request.allow_session
        assert request.note is None
        row = tools(live)["c"]
        assert (row.status, touched(row, live), row.warnings) == ("applied", ONE_LINE, ())


async def test_two_edits_of_one_file_that_are_asked_about_before_either_is_made_are_both_as_shown(
    tmp_path: Path,
) -> None:
    both = NEW.replace("line 30\n", "line thirty\n")
    steps = [
        edit("one", "a.txt", "line 20", "line twenty"), edit("two", "a.txt", "line 30", "line thirty"),
        ask("one", diff("a.txt", "line 20", "line twenty")), ask("two", diff("a.txt", "line 30", "line thirty")),
        WRITE, done("one"), {"sleep": 0.3}, {"write": "a.txt", "text": both}, done("two"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, answers=[True, True]) as live:
        await turn(live, BEFORE)
        for call in ("one", "two"):
            row = tools(live)[call]
            assert (row.status, touched(row, live), row.warnings) == ("applied", ONE_LINE, ())


async def test_all_files_and_places_of_a_request_are_shown(tmp_path: Path) -> None:
    """Public reports: D41."""
    blocks = [diff("a.txt", "line 3\n", "l3\n"), diff("b.txt", None, "b\n"), diff("a.txt", "line 30\n", "l30\n")]
    async with puppet(tmp_path, [ask("c", *blocks)], files={"a.txt": TEXT}, answers=[False]) as live:
        await turn(live, BEFORE)
        [request] = live.onlooker.asked
        assert [(change.operation, change.added, change.removed) for change in request.changes] == [
            ("modify", 2, 2),
            ("add", 1, 0),
        ]
        [row] = [row for row in live.conversation.transcript.rows if isinstance(row, PermissionRow)]
        assert len(row.changes) == 2


async def test_what_cannot_be_compared_is_said_and_not_offered_for_the_session(tmp_path: Path) -> None:
    """Public reports: D42."""
    async with puppet(tmp_path, [ask("c", diff("a.txt", "not there", "x"))], files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        [request] = live.onlooker.asked
        assert "could not be compared" in (request.note or "")
        assert not request.allow_session


async def test_a_part_that_cannot_be_read_is_said_and_not_offered_for_the_session(tmp_path: Path) -> None:
    """Public reports: D41, C34."""
    unread = {"type": "diff", "path": "{w}/b.txt", "oldText": "1\n"}
    asking = ask("c", diff("a.txt", "line 3\n", "l3\n"), unread)
    async with puppet(tmp_path, [asking], files={"a.txt": TEXT}, answers=[False]) as live:
        await turn(live, BEFORE)
        [request] = live.onlooker.asked
        assert len(request.changes) == 1
        assert "could not be read, and is not shown" in (request.note or "")
        assert not request.allow_session


async def test_a_request_without_any_preview_says_so(tmp_path: Path) -> None:
    asking = ask("c", locations=[{"path": "{w}/a.txt"}])
    async with puppet(tmp_path, [asking], files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        [request] = live.onlooker.asked
        assert "did not say what this will change" in (request.note or "")
        assert not request.allow_session
        [row] = [row for row in live.conversation.transcript.rows if isinstance(row, PermissionRow)]
        assert row.options[0]["name"] == "Allow once without a preview"


async def test_writing_something_else_than_was_allowed_is_marked(tmp_path: Path) -> None:
    steps = [
        ask("c", diff("a.txt", "line 20", "line twenty")), {"write": "a.txt", "text": NEW + "more\n"},
        {"write": "b.txt", "text": "b\n"}, done("c"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, answers=[True]) as live:
        await turn(live, BEFORE)
        row = tools(live)["c"]
        assert row.status == "applied"
        assert any("a.txt differs from what was shown" in warning for warning in row.warnings)
        assert any("b.txt was changed while this ran" in warning for warning in row.warnings)
        assert [(touched(one, live), one.during) for one in found(live)] == [([("add", "b.txt", 1, 0)], ("c",))]


async def test_a_rejected_edit_stays_readable_and_is_never_applied(tmp_path: Path) -> None:
    """Public reports: D49, Q173."""
    steps = [ask("c", diff("a.txt", "line 20", "line twenty")), done("c")]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, answers=[False]) as live:
        await turn(live, BEFORE)
        row = tools(live)["c"]
        assert (row.status, row.changes) == ("rejected", ())
        assert row.proposed
        assert json.loads(said(live)[0]) == {"outcome": "selected", "optionId": "no"}


async def test_a_file_that_is_changed_although_it_was_rejected_is_told(tmp_path: Path) -> None:
    asking = {**ask("c", diff("a.txt", "line 20", "line twenty"))}
    steps = [asking]
    after = [edit("d", "z.txt", None, "z\n"), WRITE, update("c", status="completed"), update("d", status="completed")]
    async with puppet(tmp_path, steps, after, files={"a.txt": TEXT}, answers=[False]) as live:
        await turn(live)
        await turn(live, BEFORE)
        changed = [row for row in (*tools(live).values(), *found(live)) if row.changes]
        assert [touched(row, live) for row in changed] == [ONE_LINE]


async def test_what_the_user_changes_while_a_question_waits_is_not_the_calls(tmp_path: Path) -> None:
    class Busy(Onlooker):
        async def ask(self, request: Any) -> Any:
            (tmp_path / "workspace" / "mine.txt").write_text("mine\n")
            return await super().ask(request)

    steps = [shell("c", "make"), {"ask": {"toolCallId": "c"}}, {"write": "made.txt", "text": "x\n"}, done("c")]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, onlooker=Busy([True])) as live:
        await turn(live, BEFORE)
        assert touched(tools(live)["c"], live) == [("add", "made.txt", 1, 0)]
        [mine] = found(live)
        assert touched(mine, live) == [("add", "mine.txt", 1, 0)]
        assert not mine.during


async def test_a_request_under_another_id_is_joined_with_its_call_by_what_it_is_about(tmp_path: Path) -> None:
    steps = [
        shell("c", "rm b.txt"), {"ask": {"toolCallId": "interrupt-1", "rawInput": {"command": "rm b.txt"}}},
        {"delete": "b.txt"}, done("c"),
        edit("d", "a.txt", "line 20", "line twenty"), ask("interrupt-2", diff("a.txt", "line 20", "line twenty")),
        WRITE, done("d"),
    ]  # fmt: skip
    files = {"a.txt": TEXT, "b.txt": "b\n"}
    async with puppet(tmp_path, steps, files=files, answers=[True, True]) as live:
        await turn(live, {name: text.encode() for name, text in files.items()})
        assert set(tools(live)) == {"c", "d"}
        assert {row.permission for row in tools(live).values()} == {"allow_once"}


async def test_a_request_that_belongs_to_no_call_never_counts_as_applied(tmp_path: Path) -> None:
    steps = [{"ask": {"toolCallId": "confirmation"}}]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, answers=[True]) as live:
        await turn(live, BEFORE)
        assert (tools(live)["confirmation"].status, tools(live)["confirmation"].changes) == ("completed", ())


async def test_a_call_known_only_from_its_request_is_judged_by_the_disk(tmp_path: Path) -> None:
    steps = [ask("c", diff("a.txt", "line 20", "line twenty")), WRITE]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, answers=[True]) as live:
        await turn(live, BEFORE)
        assert (tools(live)["c"].status, touched(tools(live)["c"], live)) == ("applied", ONE_LINE)


async def test_the_rule_of_the_turn_is_a_leading_block_of_its_own(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    async with puppet(tmp_path, [start("c", content=[words("x")]), done("c")], heard=str(heard)) as live:
        await turn(live)
    messages = [json.loads(line) for line in heard.read_text().splitlines()]
    [prompt] = [message["params"]["prompt"] for message in messages if message["method"] == "session/prompt"]
    assert [block["type"] for block in prompt] == ["text", "text"]
    assert "REDLINE-RULE" in prompt[0]["text"]
    assert "whatever made it" in prompt[0]["text"]
    assert prompt[1]["text"] == "Go on."


YES = {"optionId": "y", "kind": "allow_once"}
ALWAYS = {"optionId": "a", "kind": "allow_always"}
NO = {"optionId": "n", "kind": "reject_once"}
NEVER = {"optionId": "v", "kind": "reject_always"}


@pytest.mark.parametrize(
    ("options", "outcome", "option"),
    [
        ([ALWAYS, YES, NEVER, NO], "allow_once", "y"),
        ([ALWAYS, YES, NO], "allow_session", "y"),
        ([ALWAYS, NO], "allow_once", "a"),
        ([YES, NEVER, NO], "reject", "n"),
        ([YES, NEVER], "reject", "v"),
        ([YES, ALWAYS], "reject", None),
        ([YES, NO], "unavailable", "n"),
        ([YES, NO], "cancelled", None),
        ([{"optionId": "x"}], "allow_once", None),
    ],
)
def test_an_answer_is_given_by_the_kind_of_an_option(options: list, outcome: Any, option: str | None) -> None:
    assert chosen(options, outcome) == option
