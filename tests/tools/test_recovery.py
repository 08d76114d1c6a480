"""After a crash: every call closed by what is on the disk."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from power_cut import STEPS, Power, PowerCut, cut_off
from redline.tools.recovery import Recovery, recover
from redline.tools.undo import undo
from runner_bench import RunnerBench, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from redline.sessions.events import Event


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[RunnerBench]:
    async for made in opened(tmp_path):
        yield made


async def recovered(bench: RunnerBench) -> Recovery:
    return await recover(bench.log, bench.bytes, bench.files)


LANDED = {"after the rename", "before the result"}
NOTHING_TO_CLOSE = {"before the call", "after the result"}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["write", "edit", "delete", "move"])
async def test_a_crash_at_any_step_of_any_mutation_is_closed_truthfully(
    bench: RunnerBench, step: str, name: str
) -> None:
    await bench.start_turn(1)
    await bench.seen("a.txt", "one\ntwo\n")
    call = {
        "write": bench.call_of("write", path="new.txt", content="new\n"),
        "edit": bench.call_of("edit", path="a.txt", old="one", new="1"),
        "delete": bench.call_of("delete", path="a.txt"),
        "move": bench.call_of("move", path="a.txt", to="b.txt"),
    }[name]
    again = await cut_off(bench, step, call)
    before = {"a.txt": "one\ntwo\n"}
    after = {
        "write": {**before, "new.txt": "new\n"},
        "edit": {"a.txt": "1\ntwo\n"},
        "delete": {},
        "move": {"b.txt": "one\ntwo\n"},
    }[name]
    landed = step in LANDED or step == "after the result"
    on_disk = {path.name: path.read_text() for path in again.workspace.iterdir()}
    assert on_disk == (after if landed else before)

    recovery = await recovered(again)
    assert recovery.turns == [1]
    if step in NOTHING_TO_CLOSE:
        assert recovery.calls == []
    else:
        [closed] = recovery.calls
        assert closed.call == call.id
        assert closed.status == ("completed" if step in LANDED else "interrupted")
        assert bool(closed.changes) is (step in LANDED)
        result = await again.last("tool/result")
        assert (result["status"], len(result["changes"])) == (closed.status, len(closed.changes))
        if closed.changes:
            assert result["changes"][0].get("provenance", "result") == "result"
            assert "error" not in result
        else:
            assert result["error"]["code"] == "INTERRUPTED"
    assert (await again.last("turn/ended")) == {"turn": 1, "reason": "interrupted"}
    assert await again.store.open_intents(again.log.session) == []

    seq = again.log.seq
    assert (await recovered(again)).found_nothing
    assert again.log.seq == seq, "a second recovery writes nothing"
    await again.store.close()


DRAFT = ".redline-0123456789abcdef.tmp"


@pytest.mark.parametrize("step", ["before the bytes", "before the rename"])
async def test_what_was_being_written_when_the_process_died_is_taken_away(bench: RunnerBench, step: str) -> None:
    await bench.start_turn(1)
    await bench.seen("here/a.txt", "one\n")
    await bench.seen("here/b.txt", "one\n")
    bench.put("there/c.txt", "c\n")
    bench.put("elsewhere/d.txt", "d\n")
    (bench.workspace / "way").symlink_to("elsewhere")
    again = await cut_off(
        bench,
        step,
        bench.call_of("move", path="here/a.txt", to="there/a.txt"),
        bench.call_of("write", path="way/new.txt", content="new\n"),
    )
    places = ["here", "there", "elsewhere"]
    for place in places:
        again.put(f"{place}/{DRAFT}", "half of a te")
        again.put(f"{place}/.redline-notes.tmp", "a user's own")
    await recovered(again)
    for place in places:
        assert not (again.workspace / place / DRAFT).exists(), place
        assert (again.workspace / place / ".redline-notes.tmp").exists()
    await again.store.close()


async def test_what_an_undo_was_writing_is_taken_away(bench: RunnerBench) -> None:
    await bench.start_turn(1)
    await bench.seen("here/a.txt", "one\n")
    bench.put("there/c.txt", "c\n")
    await bench.call("move", path="here/a.txt", to="there/a.txt")
    await bench.end_turn()
    Power(bench, "before an apply")
    with pytest.raises(PowerCut):
        await undo(bench.log, bench.bytes, bench.files, bench.redactor)
    del bench.store.submit, bench.bytes.put, bench.files.apply  # type: ignore[method-assign]
    again = await bench.reopen()
    for place in ("here", "there"):
        again.put(f"{place}/{DRAFT}", "half of a te")
    await recovered(again)
    assert [place for place in ("here", "there") if (again.workspace / place / DRAFT).exists()] == []
    await again.store.close()


async def test_a_file_that_holds_neither_is_unknown(bench: RunnerBench) -> None:
    await bench.start_turn(1)
    await bench.seen("a.txt", "one\n")
    again = await cut_off(bench, "after the rename", bench.call_of("edit", path="a.txt", old="one", new="1"))
    again.put("a.txt", "somebody else's\n")
    [closed] = (await recovered(again)).calls
    assert (closed.status, list(closed.changes)) == ("unknown", [])
    result = await again.last("tool/result")
    assert result["error"]["code"] == "UNKNOWN_OUTCOME"
    assert "neither" in result["content"][0]["text"]
    await again.store.close()


@pytest.mark.parametrize("instead", ["folder", "link out", "nothing"])
async def test_a_place_that_holds_no_file_any_more_is_unknown(bench: RunnerBench, instead: str) -> None:
    await bench.start_turn(1)
    await bench.seen("a.txt", "one\n")
    again = await cut_off(bench, "after the rename", bench.call_of("edit", path="a.txt", old="one", new="1"))
    path = again.workspace / "a.txt"
    path.unlink()
    if instead == "folder":
        path.mkdir()
    elif instead == "link out":
        path.symlink_to("/etc/hostname")
    assert [closed.status for closed in (await recovered(again)).calls] == ["unknown"]
    await again.store.close()


async def test_a_mode_that_changed_alone_is_judged_by_the_mode(bench: RunnerBench) -> None:
    await bench.start_turn(1)
    await bench.seen("run.sh", "echo\n")
    call = bench.call_of("several", writes={"run.sh": "echo\n"}, chmod=True)
    again = await cut_off(bench, "before the rename", call)
    assert [closed.status for closed in (await recovered(again)).calls] == ["interrupted"]
    call = again.call_of("several", writes={"run.sh": "echo\n"}, chmod=True)
    third = await cut_off(again, "after the rename", call)
    [closed] = (await recovered(third)).calls
    assert (closed.status, closed.changes[0].facts) == ("completed", ("made_executable",))
    await third.store.close()


async def test_a_part_of_a_call_is_interrupted_with_what_landed(bench: RunnerBench) -> None:
    await bench.start_turn(1)
    call = bench.call_of("several", writes={"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n"})
    again = await cut_off(bench, "before the intent", call, skip=2)
    [closed] = (await recovered(again)).calls
    assert closed.status == "interrupted"
    assert [Path(change.path).name for change in closed.changes] == ["a.txt", "b.txt"]
    await again.store.close()


async def test_an_all_or_nothing_that_was_being_taken_back_claims_what_is_left(bench: RunnerBench) -> None:
    await bench.start_turn(1)
    await bench.seen("c.txt", "c\n")
    bench.answer = lambda request: (bench.workspace / "c.txt").chmod(0o444) or "allow_once"
    call = bench.call_of("several", writes={"a.txt": "a\n", "b.txt": "b\n", "c.txt": "C\n"}, all_or_nothing=True)
    again = await cut_off(bench, "after the rename", call, skip=2)
    assert sorted(path.name for path in again.workspace.iterdir()) == ["a.txt", "c.txt"]
    [closed] = (await recovered(again)).calls
    assert closed.status == "interrupted"
    assert [Path(change.path).name for change in closed.changes] == ["a.txt"]
    await again.store.close()


async def test_calls_that_followed_one_another_on_a_file_are_each_judged_by_the_next(bench: RunnerBench) -> None:
    await bench.start_turn(1)

    await bench.call("write", path="a.txt", content="one\n")
    calls = [
        bench.call_of("edit", path="a.txt", old="one", new="two"),
        bench.call_of("edit", path="a.txt", old="two", new="three"),
    ]
    bench.answer = lambda request: "allow_once"
    power = Power(bench, "after the rename", skip=1)
    hold = bench.store.submit

    def never_a_result(events: list[Event], **rest: object) -> None:
        if events[0].type == "tool/result":
            events = [events[0].__class__(events[0].session, events[0].seq, events[0].at, "notice/raised", {})]
        hold(events, **rest)

    bench.store.submit = never_a_result
    with pytest.raises(PowerCut):
        await bench.run(*calls)
    assert power.off
    del bench.store.submit, bench.bytes.put, bench.files.apply
    again = await bench.reopen()
    assert again.text("a.txt") == "three\n"
    closed = (await recovered(again)).calls
    assert [call.status for call in closed] == ["completed", "completed"]
    assert [change.hunks[0].lines for call in closed for change in call.changes] == [
        ("-one", "+two"),
        ("-two", "+three"),
    ]
    await again.store.close()


async def test_a_move_cut_in_two_is_told_as_the_copy_that_it_is(bench: RunnerBench) -> None:
    await bench.start_turn(1)
    await bench.seen("a.txt", "one\n")
    again = await cut_off(bench, "before the rename", bench.call_of("move", path="a.txt", to="b.txt"))
    again.put("b.txt", "one\n")
    [closed] = (await recovered(again)).calls
    assert closed.status == "unknown"
    assert [(change.operation, Path(change.path).name) for change in closed.changes] == [("add", "b.txt")]
    await again.store.close()


async def test_requests_and_turns_that_were_open_are_closed(bench: RunnerBench) -> None:
    await bench.start_turn(3)
    asked = {"turn": 3, "call": "c1", "request": "r1", "title": "edit", "changes": [], "options": []}
    await bench.log.append("permission/asked", asked)
    again = await bench.reopen()
    recovery = await recovered(again)
    assert (recovery.permissions, recovery.turns) == (["r1"], [3])
    answered = await again.last("permission/answered")
    assert (answered["outcome"], answered["request"], answered["by"]) == ("cancelled", "r1", "the end of the turn")
    await again.store.close()


async def test_a_session_that_ended_well_is_left_alone(bench: RunnerBench) -> None:
    await bench.start_turn(1)
    await bench.call("write", path="a.txt", content="a")
    await bench.end_turn()
    again = await bench.reopen()
    seq = again.log.seq
    assert (await recovered(again)).found_nothing
    assert again.log.seq == seq
    await again.store.close()


@pytest.mark.parametrize("after", range(4))
async def test_a_crash_within_recovery_is_recovered_by_the_next(bench: RunnerBench, after: int) -> None:
    await bench.start_turn(1)
    await bench.log.append("permission/asked", {"turn": 1, "call": "x", "request": "r", "title": "", "changes": []})
    calls = [bench.call_of("write", path=f"{name}.txt", content=name) for name in "ab"]
    again = await cut_off(bench, "before the result", *calls)
    written = 0
    submit = again.store.submit

    def cut(events: list[Event], *, durable: bool, settled: Callable[[BaseException | None], None]) -> None:
        nonlocal written
        if written == after:
            asyncio.get_running_loop().call_soon(settled, PowerCut())
            return
        written += 1
        submit(events, durable=durable, settled=settled)

    again.store.submit = cut
    with pytest.raises(PowerCut):
        await recovered(again)
    del again.store.submit
    third = await again.reopen()
    await recovered(third)
    results = await third.events("tool/result")
    assert sorted(event.data["call"] for event in results) == sorted(call.id for call in calls)
    assert {event.data["status"] for event in results} <= {"completed", "interrupted"}
    for event in results:
        name = "ab"[[call.id for call in calls].index(event.data["call"])]
        assert bool(event.data["changes"]) is (third.workspace / f"{name}.txt").exists()
    assert len(await third.events("turn/ended")) == 1
    assert len(await third.events("permission/answered")) == 1
    assert (await recovered(third)).found_nothing
    await third.store.close()


async def test_what_an_interrupted_call_wrote_is_known_to_the_model(bench: RunnerBench) -> None:
    await bench.start_turn(1)
    again = await cut_off(bench, "after the rename", bench.call_of("write", path="a.txt", content="one\n"))
    await recovered(again)
    await again.runner.restore()
    again.turn = 2
    assert (await again.call("edit", path="a.txt", old="one", new="1")).status == "completed"
    await again.store.close()
