"""A call from its arguments to its recorded result."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from redline.files.seam import Delete, Write
from redline.tools.runner import Call
from redline.tools.tool import Step, ToolContext, ToolError, ToolOutput, text_block
from runner_bench import RunnerBench, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[RunnerBench]:
    async for made in opened(tmp_path):
        yield made


def blob(text: str) -> str:
    data = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


async def test_an_edit_is_stored_intended_applied_and_recorded_in_that_order(bench: RunnerBench) -> None:
    await bench.seen("a.txt", "one\ntwo\nthree\n")
    result = await bench.call("edit", path="a.txt", old="two", new="2")
    assert (result.status, result.is_error, result.error) == ("completed", False, None)
    assert bench.text("a.txt") == "one\n2\nthree\n"
    types = [event.type for event in await bench.events()]
    assert types[-3:] == ["tool/call", "file/intent", "tool/result"]
    intent = await bench.last("file/intent")
    assert (intent["before"], intent["after"], intent["kept"]) == (
        blob("one\ntwo\nthree\n"),
        blob("one\n2\nthree\n"),
        True,
    )
    assert intent["operation"] == "update"
    assert bench.bytes.get(bench.log.session, intent["before"]) == b"one\ntwo\nthree\n"
    assert bench.bytes.get(bench.log.session, intent["after"]) == b"one\n2\nthree\n"
    [change] = await bench.logged_changes()
    assert change == result.changes[0]
    assert (change.provenance, change.added, change.removed) == ("result", 1, 1)
    assert change.hunks[0].lines == (" one", "-two", "+2", " three")
    assert (await bench.last("tool/result"))["changes"] == [intent["change"]]


async def test_the_proposal_stands_in_the_call_before_anything_is_asked_or_done(bench: RunnerBench) -> None:
    await bench.seen("a.txt", "one\n")
    states = []

    def answer(request: object) -> str:
        states.append(bench.text("a.txt"))
        return "allow_once"

    bench.answer = answer
    await bench.call("edit", path="a.txt", old="one", new="1")
    assert states == ["one\n"]
    proposed = (await bench.last("tool/call"))["proposed"]
    assert proposed[0]["provenance"] == "proposed"
    [request] = bench.requests
    assert [change.hunks for change in request.changes] == [result.hunks for result in await bench.logged_changes()]
    assert request.paths == [str(bench.workspace / "a.txt")]
    assert (request.title, request.allow_session, request.note) == ("edit a.txt", True, None)


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        ("reject", "rejected", "REJECTED"),
        ("unavailable", "rejected", "UNAVAILABLE"),
        ("cancelled", "cancelled", "CANCELLED"),
    ],
)
async def test_a_call_that_is_not_approved_changes_nothing_and_says_so(
    bench: RunnerBench, answer: str, status: str, code: str
) -> None:
    await bench.seen("a.txt", "one\n")
    bench.answer = answer
    result = await bench.call("edit", path="a.txt", old="one", new="1")
    assert bench.text("a.txt") == "one\n"
    assert result.status == status
    assert result.error is not None
    assert result.error.code == code
    assert "not applied" in result.content[0]["text"]
    logged = await bench.last("tool/result")
    assert (logged["status"], logged["changes"], logged["error"]["code"]) == (status, [], code)
    assert (await bench.last("tool/call"))["proposed"], "the rejected proposal stays readable"
    assert not await bench.events("file/intent")


async def test_a_preview_that_cannot_be_built_is_an_error_of_its_own_and_asks_nobody(bench: RunnerBench) -> None:
    await bench.seen("a.txt", "one\n")
    result = await bench.call("edit", path="a.txt", old="nowhere", new="x")
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == "NO_MATCH"
    assert "denied" not in result.content[0]["text"]
    assert bench.requests == []
    assert (await bench.last("tool/call"))["proposal_error"]["code"] == "NO_MATCH"
    assert (await bench.last("tool/result"))["error"]["remedy"]


async def test_what_would_change_nothing_asks_nobody(bench: RunnerBench) -> None:
    await bench.seen("a.txt", "one\n")
    result = await bench.call("write", path="a.txt", content="one\n")
    assert (result.status, list(result.changes), bench.requests) == ("completed", [], [])
    assert not await bench.events("file/intent")


async def test_a_file_that_the_model_has_not_read_is_not_changed(bench: RunnerBench) -> None:
    bench.put("a.txt", "one\n")
    for call in (
        {"name": "edit", "path": "a.txt", "old": "one", "new": "1"},
        {"name": "write", "path": "a.txt", "content": "x\n"},
        {"name": "delete", "path": "a.txt"},
        {"name": "edit", "path": "a.txt", "old": "no match either", "new": "1"},
    ):
        name = call.pop("name")
        result = await bench.call(name, **call)
        assert result.error is not None
        assert result.error.code == "NOT_OBSERVED"
    assert bench.text("a.txt") == "one\n"
    assert bench.requests == []


async def test_a_new_file_needs_no_reading_and_is_known_once_written(bench: RunnerBench) -> None:
    assert (await bench.call("write", path="new.txt", content="one\n")).status == "completed"
    assert (await bench.call("edit", path="new.txt", old="one", new="two")).status == "completed"
    [change] = await bench.logged_changes()
    assert change.operation == "modify"


async def test_a_file_that_changed_since_it_was_read_is_refused(bench: RunnerBench) -> None:
    path = await bench.seen("a.txt", "one\ntwo\n")
    path.write_text("one\nTWO\n")
    for arguments in ({"old": "one", "new": "1"}, {"old": "two", "new": "2"}):
        result = await bench.call("edit", path="a.txt", **arguments)
        assert result.error is not None
        assert result.error.code == "STALE"
    assert bench.text("a.txt") == "one\nTWO\n"


async def test_a_touched_file_with_the_same_bytes_is_still_known(bench: RunnerBench) -> None:
    path = await bench.seen("a.txt", "one\n")
    path.write_text("other\n")
    path.write_text("one\n")
    assert (await bench.call("edit", path="a.txt", old="one", new="1")).status == "completed"


async def test_what_was_seen_is_known_again_after_a_restart(bench: RunnerBench) -> None:
    await bench.seen("a.txt", "one\n")
    await bench.call("write", path="b.txt", content="b\n")
    bench.put("c.txt", "c\n")
    again = await bench.reopen()
    assert (await again.call("edit", path="a.txt", old="one", new="1")).status == "completed"
    assert (await again.call("edit", path="b.txt", old="b", new="B")).status == "completed"
    result = await again.call("edit", path="c.txt", old="c", new="C")
    assert result.error is not None
    assert result.error.code == "NOT_OBSERVED"
    await again.store.close()


async def test_a_moved_file_is_known_under_its_new_name(bench: RunnerBench) -> None:
    await bench.seen("a.txt", "one\n")
    assert (await bench.call("move", path="a.txt", to="b.txt")).status == "completed"
    assert (await bench.call("edit", path="b.txt", old="one", new="1")).status == "completed"


async def test_a_file_that_changes_while_the_question_is_open_is_asked_about_again(bench: RunnerBench) -> None:
    """Public reports: H87."""
    path = await bench.seen("a.txt", "one\ntwo\nthree\n")

    def answer(request: object) -> str:
        if len(bench.requests) == 1:
            path.write_text("one\ntwo\nthree, saved by the user\n")
        return "allow_once"

    bench.answer = answer
    result = await bench.call("edit", path="a.txt", old="one", new="1")
    assert result.status == "completed"
    assert bench.text("a.txt") == "1\ntwo\nthree, saved by the user\n"
    first, second = bench.requests
    assert first.note is None
    assert second.note is not None
    assert "changed since" in second.note
    assert second.allow_session is False
    assert " three, saved by the user" in second.changes[0].hunks[0].lines
    update = await bench.last("tool/update")
    assert update["changes"][0]["provenance"] == "proposed"
    assert update["changes"][0]["before"]["blob"] == blob("one\ntwo\nthree, saved by the user\n")


async def test_a_change_that_no_longer_fits_after_the_question_is_stale(bench: RunnerBench) -> None:
    path = await bench.seen("a.txt", "one\n")

    def answer(request: object) -> str:
        path.write_text("something else\n")
        return "allow_once"

    bench.answer = answer
    result = await bench.call("edit", path="a.txt", old="one", new="1")
    assert result.error is not None
    assert result.error.code == "STALE"
    assert bench.text("a.txt") == "something else\n"


async def test_a_file_that_never_rests_is_given_up(bench: RunnerBench) -> None:
    path = await bench.seen("a.txt", "one\n")

    def answer(request: object) -> str:
        path.write_text(f"one\n{len(bench.requests)}\n")
        return "allow_once"

    bench.answer = answer
    result = await bench.call("edit", path="a.txt", old="one", new="1")
    assert result.error is not None
    assert result.error.code == "STALE"
    assert len(bench.requests) == 5


async def test_a_wipe_or_a_large_cut_is_pointed_out_and_is_for_a_person(bench: RunnerBench) -> None:
    """Public reports: G76, G82."""
    await bench.seen("a.py", "".join(f"line {n}\n" for n in range(300)))
    await bench.call("write", path="a.py", content="# … rest unchanged …\n")
    await bench.call("write", path="a.py", content="")
    cut, wipe = bench.requests
    assert cut.note is not None
    assert "large cut −300 +1" in cut.note
    assert wipe.note is not None
    assert "empties the file" in wipe.note
    assert (cut.allow_session, wipe.allow_session) == (False, False)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"path": 5, "old": "a"}, ["path", "new"]),
        ({"path": "a", "old": "a", "new": "b", "extra": 1}, ["extra"]),
        ('{"path": ', ["not JSON"]),
        ("[1, 2]", ["no object"]),
        ("", ["path", "old", "new"]),
    ],
)
async def test_every_violation_of_the_arguments_is_told_at_once(
    bench: RunnerBench, arguments: object, named: list[str]
) -> None:
    [result] = await bench.run(Call("x", "edit", arguments))
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == "INVALID_ARGUMENTS"
    for word in named:
        assert word in result.error.message
    assert (await bench.last("tool/call"))["proposal_error"]["code"] == "INVALID_ARGUMENTS"


async def test_an_unknown_tool_is_told_the_known_ones(bench: RunnerBench) -> None:
    [result] = await bench.run(Call("x", "Edit", {"path": "a"}))
    assert result.error is not None
    assert result.error.code == "INVALID_ARGUMENTS"
    assert "edit" in result.error.remedy
    assert (await bench.last("tool/call"))["arguments"] == {"path": "a"}


async def test_arguments_that_the_log_would_refuse_are_kept_as_text(bench: RunnerBench) -> None:
    [result] = await bench.run(Call("x", "free", {"command": "a\udce9b", "n": float("nan")}))
    assert result.error is not None
    assert result.error.code == "INVALID_ARGUMENTS"
    assert (await bench.last("tool/call"))["arguments"]["command"] == "a\\xE9b"


async def test_a_tool_that_raises_anything_fails_with_its_type_and_text(bench: RunnerBench) -> None:
    bench.free.fault = ZeroDivisionError("by nothing")
    result = await bench.call("free", command="x")
    assert result.error is not None
    assert result.error.code == "TOOL_FAULT"
    assert "ZeroDivisionError: by nothing" in result.error.message


async def test_a_tool_error_keeps_its_code_and_remedy(bench: RunnerBench) -> None:
    bench.free.fault = ToolError("OUT_OF_PAPER", "No paper.", "Add some.")
    result = await bench.call("free", command="x")
    assert str(result.error) == "OUT_OF_PAPER: No paper. Add some."


async def test_a_fault_after_the_write_is_failed_with_what_landed(bench: RunnerBench) -> None:
    result = await bench.call("several", writes={"a.txt": "a\n"}, then_raise="a hook failed")
    assert (result.status, bench.text("a.txt")) == ("failed", "a\n")
    assert [change.operation for change in result.changes] == ["add"]
    assert "Only this part" in result.content[0]["text"]


async def test_a_call_that_fails_half_way_claims_exactly_what_landed(bench: RunnerBench) -> None:
    await bench.seen("b.txt", "b\n")
    (bench.workspace / "b.txt").chmod(0o444)
    bench.answer = lambda request: (bench.workspace / "b.txt").chmod(0o444) or "allow_once"
    (bench.workspace / "b.txt").chmod(0o644)
    result = await bench.call("several", writes={"a.txt": "a\n", "b.txt": "B\n"})
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == "PERMISSION"
    assert [change.path for change in result.changes] == [str(bench.workspace / "a.txt")]
    assert (bench.text("a.txt"), bench.text("b.txt")) == ("a\n", "b\n")
    assert len((await bench.last("tool/result"))["changes"]) == 1


async def test_all_or_nothing_takes_the_first_part_back(bench: RunnerBench) -> None:
    await bench.seen("b.txt", "b\n")
    await bench.seen("c.txt", "c\n")
    bench.answer = lambda request: (bench.workspace / "c.txt").chmod(0o444) or "allow_once"
    result = await bench.call("several", writes={"a.txt": "a\n", "b.txt": None, "c.txt": "C\n"}, all_or_nothing=True)
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == "PERMISSION"
    assert (list(result.changes), result.warnings) == ([], [])
    assert not (bench.workspace / "a.txt").exists()
    assert (bench.text("b.txt"), bench.text("c.txt")) == ("b\n", "c\n")


async def test_steps_that_follow_one_another_on_a_file_are_told_as_one_change(bench: RunnerBench) -> None:
    await bench.seen("notes.md", "".join(f"line {n}\n" for n in range(100)))
    new = "".join(f"line {n}\n" for n in range(30))

    async def body(arguments: object, context: ToolContext) -> object:
        target = await context.files.resolve("notes.md")
        await context.apply(Step(target, Delete()))
        await context.apply(Step(target, Write(new)))
        return [text_block("done")]

    bench.script.body = body
    result = await bench.call("script", command="rewrite")
    [change] = result.changes
    assert (change.operation, change.added, change.removed) == ("modify", 0, 70)
    assert len(bench.requests) == 3, "the command, and each step that it had not planned"


async def test_bad_meta_costs_the_meta_only(bench: RunnerBench) -> None:
    bench.free.output = ToolOutput([text_block("fine")], meta={"when": {1, 2}})
    result = await bench.call("free", command="x")
    assert (result.status, result.content[0]["text"]) == ("completed", "fine")
    assert "when" in result.warnings[0]
    logged = await bench.last("tool/result")
    assert "meta" not in logged
    assert logged["warnings"]


async def test_meta_is_kept_as_it_is(bench: RunnerBench) -> None:
    bench.free.output = ToolOutput([text_block("fine")], meta={"window": [1, 2], "deep": [{"x": None}]})
    await bench.call("free", command="x")
    assert (await bench.last("tool/result"))["meta"] == {"window": [1, 2], "deep": [{"x": None}]}


async def test_a_presenter_that_raises_costs_its_card_only(bench: RunnerBench) -> None:
    bench.free.presenter_fault = KeyError("colour")
    result = await bench.call("free", command="x")
    assert result.status == "completed"
    assert "KeyError" in result.warnings[0]


async def test_an_image_goes_to_the_store_of_bytes(bench: RunnerBench) -> None:
    bench.free.output = [{"type": "image", "data": "aGVsbG8=", "media_type": "image/png"}]
    result = await bench.call("free", command="x")
    assert result.content[0]["data"] == "aGVsbG8="
    [block] = (await bench.last("tool/result"))["content"]
    assert (block["type"], block["bytes"], block["media_type"]) == ("image", 5, "image/png")
    assert bench.bytes.get(bench.log.session, block["blob"]) == b"hello"


async def test_the_executable_bit_is_a_change(bench: RunnerBench) -> None:
    await bench.seen("run.sh", "echo\n")
    result = await bench.call("several", writes={"run.sh": "echo\n"}, chmod=True)
    [change] = result.changes
    assert change.facts == ("made_executable",)
    assert (bench.workspace / "run.sh").stat().st_mode & 0o100


async def test_live_output_is_shown_while_a_call_runs(bench: RunnerBench) -> None:
    async def body(arguments: object, context: ToolContext) -> object:
        await context.progress("first\n")
        await context.progress("second\n")
        return [text_block("done")]

    bench.script.body = body
    await bench.call("script", command="x")
    updates = await bench.events("tool/update")
    assert [event.data["content"][0]["text"] for event in updates] == ["first\n"]


async def test_a_stale_edit_that_would_change_nothing_is_told_as_stale(bench: RunnerBench) -> None:
    path = await bench.seen("a.txt", "one\ntwo\n")
    path.write_text("one\nTWO\n")
    result = await bench.call("edit", path="a.txt", old="one", new="one")
    assert result.error is not None
    assert result.error.code == "STALE"


async def test_a_text_that_the_user_had_just_saved_is_known_once_written(bench: RunnerBench) -> None:
    path = await bench.seen("a.txt", "one\n")

    def answer(request: object) -> str:
        path.write_text("two\n")
        return "allow_once"

    bench.answer = answer
    result = await bench.call("write", path="a.txt", content="two\n")
    assert (result.status, list(result.changes)) == ("completed", [])
    bench.answer = "allow_once"
    assert (await bench.call("edit", path="a.txt", old="two", new="three")).status == "completed"
