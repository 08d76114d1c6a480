"""The fold: what rows a log gives, whatever the order, the damage or the repetition of its events."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventmaker import Log, as_json, change
from redline.sessions.events import EVENT_TYPES, Event
from redline.sessions.store import Damaged
from redline.tools.builtin import builtin_toolset
from redline.transcript.fold import Transcript, rows
from redline.transcript.rows import (
    AgentRow,
    FoundRow,
    NoticeRow,
    OtherRow,
    PermissionRow,
    RevertRow,
    ToolRow,
    TurnEndRow,
    UserRow,
)
from redline.views import DiffResult, GenericCall, GenericResult

EDIT = change("a.py", b"x = 1\n", b"x = 2\n")
OTHER = change("b.py", b"y = 1\n", b"y = 2\n")


def tool_rows(log: Log) -> list[ToolRow]:
    return [row for row in rows(log.events, {}) if isinstance(row, ToolRow)]


def only(log: Log) -> ToolRow:
    (row,) = tool_rows(log)
    return row


class TestOneCall:
    def test_its_events_in_order_give_one_applied_row(self) -> None:
        log = Log()
        log.call("c1", proposed=[EDIT])
        log.result("c1", changes=[EDIT])
        row = only(log)
        assert (row.status, row.changes, row.seq, row.revision) == ("applied", (EDIT,), 1, 2)
        assert row.proposed == (replace(EDIT, provenance="proposed"),)

    def test_a_finish_without_a_diff_does_not_wipe_the_one_that_was_there(self) -> None:
        log = Log()
        log.call("c1")
        log.update("c1", status="completed", changes=[EDIT])
        log.result("c1", changes=[], content=[{"type": "text", "text": '{"ok":true}'}])
        assert only(log).changes == (EDIT,)
        assert only(log).status == "applied"

    def test_content_replaces_and_does_not_append(self) -> None:
        log = Log()
        log.call("c1", name="bash", kind="execute")
        for line in ("one", "two"):
            log.update("c1", content=[{"type": "text", "text": line}])
        assert only(log).output == "two"

    def test_absent_means_unchanged(self) -> None:
        log = Log()
        log.call("c1", name="foreign", kind="edit")
        log.update("c1", title="a.py")
        log.update("c1", status="in_progress")
        view = only(log).call_view
        assert isinstance(view, GenericCall)
        assert (view.title, view.kind) == ("a.py", "edit")

    def test_the_same_id_in_two_turns_is_two_calls(self) -> None:
        log = Log()
        log.call("edit:0")
        log.result("edit:0", changes=[EDIT])
        log.turn = 2
        log.call("edit:0")
        log.result("edit:0", changes=[OTHER])
        assert [row.changes for row in tool_rows(log)] == [(EDIT,), (OTHER,)]

    def test_a_finish_before_its_start_makes_up_the_start(self) -> None:
        """Public reports: B16, E52."""
        log = Log()
        log.result("c1", changes=[EDIT], name="edit", kind="edit")
        assert (only(log).name, only(log).status) == ("edit", "applied")
        log.call("c1", proposed=[])
        assert (only(log).status, only(log).changes, only(log).seq) == ("applied", (EDIT,), 1)

    def test_a_late_empty_start_wipes_no_proposal(self) -> None:
        """Public reports: B16."""
        log = Log()
        log.call("c1", proposed=[EDIT])
        log.call("c1", proposed=[])
        assert len(only(log).proposed) == 1

    def test_a_status_never_goes_back(self) -> None:
        log = Log()
        log.call("c1")
        log.result("c1", status="failed", error={"code": "NO_MATCH", "message": "Not there.", "remedy": "Read it."})
        log.update("c1", status="in_progress")
        log.update("c1", status="pending")
        row = only(log)
        assert row.status == "failed"
        assert row.error is not None
        assert row.error.code == "NO_MATCH"

    def test_a_repeated_finish_keeps_one_row_and_the_newest_content(self) -> None:
        log = Log()
        log.call("c1")
        longer = change("a.py", b"", b"x\n" * 5000 + b"end\n")
        for landed in (EDIT, EDIT, longer):
            log.result("c1", changes=[landed])
        assert only(log).changes == (longer,)

    def test_an_update_after_the_end_of_the_turn_lands_on_its_row_and_in_its_totals(self) -> None:
        log = Log()
        log.add("turn/started")
        log.call("c1")
        log.add("turn/ended", reason="completed")
        assert only(log).status == "unknown"
        log.result("c1", changes=[EDIT])
        assert only(log).status == "applied"
        end = rows(log.events, {})[-1]
        assert isinstance(end, TurnEndRow)
        assert [(total.added, total.removed) for total in end.net] == [(1, 1)]

    def test_no_result_by_the_end_of_the_turn_is_an_unknown_outcome_and_counts_nothing(self) -> None:
        log = Log()
        log.add("turn/started")
        log.call("c1", proposed=[EDIT])
        log.add("turn/ended", reason="completed")
        row, end = rows(log.events, {})
        assert isinstance(row, ToolRow)
        assert (row.status, row.changes) == ("unknown", ())
        assert isinstance(end, TurnEndRow)
        assert end.net == ()

    def test_a_turn_that_was_never_ended_leaves_no_call_running_once_the_next_begins(self) -> None:
        log = Log()
        log.call("c1")
        log.turn = 2
        log.add("turn/started")
        assert only(log).status == "unknown"

    @pytest.mark.parametrize("status", ["failed", "rejected", "cancelled", "interrupted", "unknown"])
    def test_only_a_result_with_changes_claims_a_change(self, status: str) -> None:
        log = Log()
        log.call("c1", proposed=[EDIT])
        log.result("c1", status=status)
        assert (only(log).status, only(log).changes, len(only(log).proposed)) == (status, (), 1)

    def test_a_failed_call_keeps_what_had_landed(self) -> None:
        log = Log()
        log.call("c1", proposed=[EDIT, OTHER])
        log.result("c1", status="failed", changes=[EDIT])
        assert (only(log).status, only(log).changes) == ("failed", (EDIT,))

    def test_a_diff_that_an_agent_reports_shows_once_wherever_it_is_sent(self) -> None:
        reported = replace(EDIT, provenance="reported")
        for when in ("call", "running", "finish", "permission", "all"):
            log = Log()
            log.call("c1", name="foreign", proposed=[EDIT] if when in ("call", "all") else [])
            if when in ("permission", "all"):
                log.add("permission/asked", call="c1", request="r", title="t", changes=as_json([reported]), options=[])
            if when in ("running", "all"):
                log.update("c1", status="in_progress", changes=[reported])
            finish = {"changes": [reported]} if when in ("finish", "all") else {}
            log.update("c1", status="completed", **finish)
            row = only(log)
            assert len(row.changes or row.proposed) == 1, when


class TestPermissions:
    def test_a_request_for_an_unseen_call_lands_on_one_row(self) -> None:
        log = Log()
        log.add("permission/asked", call="c1", request="r1", title="Edit a.py", changes=as_json([EDIT]), options=[])
        log.call("c1", proposed=[EDIT])
        log.add("permission/answered", call="c1", request="r1", outcome="reject", by="terminal")
        log.result("c1", status="rejected")
        found = rows(log.events, {})
        assert [type(row) for row in found] == [ToolRow, PermissionRow]
        tool, asked = found
        assert isinstance(tool, ToolRow)
        assert isinstance(asked, PermissionRow)
        assert (tool.status, tool.permission) == ("rejected", "reject")
        assert (asked.outcome, asked.by) == ("reject", "terminal")

    def test_a_rejected_proposal_stays_readable(self) -> None:
        log = Log()
        log.call("c1", proposed=[EDIT])
        log.result("c1", status="rejected")
        assert only(log).proposed[0].hunks == EDIT.hunks


class TestPresenters:
    class Faulty:
        def present_call(self, arguments: Any, proposed: Any) -> Any:
            raise RuntimeError("a bug of the tool's author")

        def present_result(self, arguments: Any, result: Any) -> Any:
            return {"no": "view"}

    def test_one_that_raises_costs_its_card_only_and_is_reported_once(self, caplog: pytest.LogCaptureFixture) -> None:
        log = Log()
        for call in ("c1", "c2"):
            log.call(call, name="faulty", proposed=[EDIT])
            log.result(call, name="faulty", changes=[EDIT])
        with caplog.at_level(logging.WARNING):
            found = rows(log.events, {"faulty": self.Faulty()})
        assert len(caplog.records) == 2  # one a method
        for row in found:
            assert isinstance(row, ToolRow)
            assert isinstance(row.call_view, GenericCall)
            assert isinstance(row.result_view, GenericResult)
            assert (row.status, row.changes) == ("applied", (EDIT,))

    def test_the_built_in_tools_present_their_own_calls(self) -> None:
        log = Log()
        log.call("c1", proposed=[EDIT])
        log.result("c1", changes=[EDIT])
        (row,) = rows(log.events, builtin_toolset().by_name)
        assert isinstance(row, ToolRow)
        assert isinstance(row.result_view, DiffResult)
        assert row.call_view.title == "Edit a.py"

    def test_malformed_arguments_and_meta_never_raise(self) -> None:
        presenters = builtin_toolset().by_name
        for name in presenters:
            for arguments in ("not json", None, [], {"path": 3}, {}):
                for meta in (None, 3, [], {"exit_code": "x", "offset": {}}, "text"):
                    log = Log()
                    log.call("c1", name=name, arguments=arguments)
                    log.result("c1", name=name, meta=meta, content=[{"type": "text"}, {}])
                    (row,) = rows(log.events, presenters)
                    assert isinstance(row, ToolRow)


class TestText:
    def test_parts_of_one_message_join_without_a_gap(self) -> None:
        log = Log()
        log.add("user/message", content=[{"type": "text", "text": "Hello"}])
        for part in ("It is ", "don", "e."):
            log.add("assistant/message", message="m1", text=part)
        user, agent = rows(log.events, {})
        assert isinstance(user, UserRow)
        assert isinstance(agent, AgentRow)
        assert (agent.text, agent.seq, agent.revision) == ("It is done.", 2, 4)


class TestTurnEnd:
    def test_usage_is_summed_and_an_unknown_cost_stays_unknown(self) -> None:
        log = Log()
        log.add("turn/started")
        log.add("usage/updated", model="m", input_tokens=10, output_tokens=1, cost=0.5)
        log.add("usage/updated", model="m", input_tokens=20, output_tokens=2, cost=None)
        log.add("turn/ended", reason="completed")
        (end,) = rows(log.events, {})
        assert isinstance(end, TurnEndRow)
        assert (end.input_tokens, end.output_tokens, end.cost, end.models) == (30, 3, None, ("m",))

    def test_a_page_that_lacks_the_beginning_says_so(self) -> None:
        log = Log()
        log.add("turn/started")
        log.call("c1")
        log.result("c1", changes=[EDIT])
        log.add("turn/ended", reason="completed")
        whole, page = rows(log.events, {})[-1], rows(log.events[-1:], {})[-1]
        assert isinstance(whole, TurnEndRow)
        assert isinstance(page, TurnEndRow)
        assert (whole.partial, page.partial) == (False, True)


class TestUndo:
    def log(self) -> Log:
        log = Log()
        log.call("c1")
        log.result("c1", changes=[EDIT, OTHER])
        return log

    def undo(self, log: Log, call: str, of: str, *paths: str) -> None:
        changes = [change(path, b"2\n", b"1\n") for path in paths]
        log.add("change/reverted", call=call, of=[{"turn": 1, "call": of}], changes=as_json(changes))

    def test_of_everything_marks_the_call(self) -> None:
        log = self.log()
        self.undo(log, "u1", "c1", "a.py", "b.py")
        assert only(log).reverted
        assert isinstance(rows(log.events, {})[-1], RevertRow)

    def test_of_a_part_names_the_part(self) -> None:
        log = self.log()
        self.undo(log, "u1", "c1", "b.py")
        assert (only(log).reverted, only(log).reverted_paths) == (False, ("/w/b.py",))

    def test_of_an_undo_lifts_the_mark(self) -> None:
        log = self.log()
        self.undo(log, "u1", "c1", "a.py", "b.py")
        self.undo(log, "u2", "u1", "a.py", "b.py")
        assert (only(log).reverted, only(log).reverted_paths) == (False, ())
        first = rows(log.events, {})[1]
        assert isinstance(first, RevertRow)
        assert first.reverted

    def test_of_a_hunk_names_the_hunk_and_leaves_the_call_standing_until_that_is_undone(self) -> None:
        log = self.log()
        took = [{"turn": 1, "call": "c1", "seq": 3, "index": 1, "hunk": 2}]
        log.add(
            "change/reverted", call="u1", of=[], took=took, changes=as_json([change("b.py", b"2\n", b"1\n")])
        )  # fmt: skip
        assert (only(log).reverted_paths, only(log).reverted_hunks) == ((), (("/w/b.py", 2),))
        self.undo(log, "u2", "u1", "b.py")
        assert only(log).reverted_hunks == ()

    def test_what_was_found_in_the_turn_is_marked_with_it_and_the_mark_is_lifted(self) -> None:
        log = self.log()
        log.add(
            "workspace/changed", changes=as_json([change("made.py", None, b"x\n"), change("kept.py", None, b"x\n")])
        )

        def taken_back() -> list[str]:
            [row] = [row for row in rows(log.events, {}) if isinstance(row, FoundRow)]
            return [path.rpartition("/")[2] for path in row.reverted_paths]

        assert taken_back() == []
        self.undo(log, "u1", "", "made.py")
        assert taken_back() == ["made.py"]
        assert not only(log).reverted
        self.undo(log, "u2", "u1", "made.py")
        assert taken_back() == []

    def test_its_intents_make_no_row(self) -> None:
        log = self.log()
        log.add("file/intent", call="u1", operation="update", path="/w/a.py")
        self.undo(log, "u1", "c1", "a.py", "b.py")
        assert [type(row) for row in rows(log.events, {})] == [ToolRow, RevertRow]

    def test_one_that_names_itself_ends(self) -> None:
        log = self.log()
        self.undo(log, "u1", "u2", "a.py")
        self.undo(log, "u2", "u1", "a.py")
        self.undo(log, "u1", "u1", "a.py")
        assert [type(row) for row in rows(log.events, {})] == [ToolRow, RevertRow, RevertRow]


class TestDamage:
    def test_unknown_types_and_damaged_rows_keep_their_place(self) -> None:
        """Public reports: P165, P169."""
        log = Log()
        first = log.add("user/message", content=[{"type": "text", "text": "a"}])
        unknown = log.add("future/thing", anything=1)
        damaged = Damaged("s1", 3, "not JSON")
        last = Event("s1", 4, 0, "notice/raised", {"code": "X", "message": "m", "level": "warning"})
        found = rows([first, unknown, damaged, last], {})
        assert [type(row) for row in found] == [UserRow, OtherRow, OtherRow, NoticeRow]
        assert [row.seq for row in found] == [1, 2, 3, 4]

    def test_one_change_that_cannot_be_read_costs_itself_only(self) -> None:
        log = Log()
        log.add("tool/result", call="c1", status="completed", changes=[{"path": 3}, *as_json([EDIT])])
        assert only(log).changes == (EDIT,)
        assert "changes[0]" in only(log).warnings[0]

    def test_an_event_that_was_fed_before_changes_nothing(self) -> None:
        """Public reports: E53, P166."""
        log = self_filled()
        transcript = Transcript("s1", {})
        for event in log.events:
            transcript.apply(event)
        before = transcript.rows
        assert [transcript.apply(event) for event in log.events] == [[]] * len(log.events)
        assert transcript.rows == before


def self_filled() -> Log:
    log = Log()
    log.add("turn/started")
    log.call("c1", proposed=[EDIT])
    log.result("c1", changes=[EDIT])
    log.add("turn/ended", reason="completed")
    return log


# Any sequence of events, sensible or not.

_junk = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
_changes = st.lists(st.sampled_from(as_json([EDIT, OTHER])) | _junk, max_size=2)
_data = st.fixed_dictionaries(
    {},
    optional={
        "turn": st.integers(1, 3) | _junk,
        "call": st.sampled_from(["a", "b"]),
        "name": st.sampled_from(["edit", "bash", "foreign"]),
        "kind": st.sampled_from(["edit", "execute"]) | _junk,
        "status": st.sampled_from(["completed", "failed", "running", "rejected", "unknown", "odd"]) | _junk,
        "changes": _changes,
        "proposed": _changes,
        "content": st.lists(st.just({"type": "text", "text": "t"}) | _junk, max_size=2),
        "message": st.sampled_from(["m1", "m2"]),
        "text": st.text(max_size=5),
        "request": st.sampled_from(["r1"]),
        "outcome": st.sampled_from(["reject", "allow_once"]) | _junk,
        "of": st.lists(
            st.fixed_dictionaries({"turn": st.integers(1, 3), "call": st.sampled_from(["a", "b"])}), max_size=2
        ),
        "reason": st.sampled_from(["completed", "interrupted"]) | _junk,
        "arguments": _junk,
        "meta": _junk,
        "error": _junk | st.just({"code": "E", "message": "m"}),
        "cost": st.floats(0, 1) | _junk,
        "entries": _junk,
        "options": _junk,
        "title": _junk,
    },
)
_events = st.lists(
    st.tuples(st.sampled_from([*sorted(EVENT_TYPES), "future/type"]), _data | st.just({})), max_size=30
).map(lambda items: [Event("s1", at, at, type_, data) for at, (type_, data) in enumerate(items, 1)])
_PRESENT = builtin_toolset().by_name


@settings(max_examples=100, deadline=None)
@given(_events)
def test_the_rows_of_a_log_are_its_upserts_one_after_the_other(events: list[Event]) -> None:
    transcript = Transcript("s1", _PRESENT)
    held: dict[str, Any] = {}
    for event in events:
        for row in transcript.apply(event):
            if row.id in held:
                assert row.revision >= held[row.id].revision
                assert row.seq == held[row.id].seq
            assert row.revision == event.seq
            held[row.id] = row
    assert list(held.values()) == rows(events, _PRESENT)
    assert [row.seq for row in held.values()] == sorted(row.seq for row in held.values())


@settings(max_examples=100, deadline=None)
@given(_events, st.integers(0, 30))
def test_a_page_from_the_middle_gives_what_began_within_it(events: list[Event], start: int) -> None:
    """Turns as a log has them: numbered upwards, so that what a page lacks is only what came before it."""
    whole = {row.id: row for row in rows(events, _PRESENT)}
    page = {row.id: row for row in rows(events[start:], _PRESENT)}
    began = {id_ for id_, row in whole.items() if row.seq > start}
    assert began <= set(page)
    for id_ in began:
        if not isinstance(whole[id_], TurnEndRow):
            assert page[id_] == whole[id_]
