"""Several calls of one message: side by side where they touch nothing in common, else in order; and cancelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from redline.tools.tool import ToolContext, text_block
from runner_bench import RunnerBench, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from redline.tools.permission import PermissionRequest


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[RunnerBench]:
    async for made in opened(tmp_path):
        yield made


async def test_two_edits_of_one_file_in_one_message_are_both_kept(bench: RunnerBench) -> None:
    """Public reports: H83."""
    for number in range(50):
        name = f"{number}.txt"
        await bench.call("write", path=name, content="one\ntwo\nthree\nfour\n")
        results = await bench.run(
            bench.call_of("edit", path=name, old="one", new="1"),
            bench.call_of("edit", path=f"./{name}", old="four", new="4"),
        )
        assert [result.status for result in results] == ["completed", "completed"]
        assert bench.text(name) == "1\ntwo\nthree\n4\n"
        assert " 1" in results[1].changes[0].hunks[0].lines, "the second is computed on what the first has left"


async def test_calls_are_opened_and_recorded_in_the_order_of_the_message(bench: RunnerBench) -> None:
    release = asyncio.Event()

    async def answer(request: PermissionRequest) -> str:
        if request.paths[0].endswith("a.txt"):
            await release.wait()
        else:
            release.set()
        return "allow_once"

    bench.answer = answer
    calls = [bench.call_of("write", path=f"{name}.txt", content=name) for name in "abc"]
    await asyncio.wait_for(bench.run(*calls), 10)
    told = [(event.type, event.data["call"]) for event in await bench.events() if event.type.startswith("tool/")]
    ids = [call.id for call in calls]
    assert told == [*(("tool/call", id_) for id_ in ids), *(("tool/result", id_) for id_ in ids)]


async def test_a_call_that_waits_for_another_is_proposed_on_what_that_one_left(bench: RunnerBench) -> None:
    await bench.run(
        bench.call_of("write", path="a.txt", content="one\n"), bench.call_of("edit", path="a.txt", old="one", new="1")
    )
    first, second = await bench.events("tool/call")
    assert first.data["proposed"][0]["operation"] == "add"
    assert second.data["proposed"] == []
    update = await bench.last("tool/update")
    assert update["changes"][0]["operation"] == "modify"
    assert [request.changes[0].operation for request in bench.requests] == ["add", "modify"]
    assert bench.text("a.txt") == "1\n"


async def test_a_read_keeps_its_place_among_changes_of_the_same_file(bench: RunnerBench) -> None:
    results = await bench.run(
        bench.call_of("write", path="a.txt", content="first\n"),
        bench.call_of("read", path="a.txt"),
        bench.call_of("write", path="a.txt", content="second\n"),
        bench.call_of("read", path="a.txt"),
    )
    assert [result.content[0]["text"] for result in results] == ["done", "first\n", "done", "second\n"]


async def test_a_command_keeps_its_place_among_all_changes(bench: RunnerBench) -> None:
    seen: list[list[str]] = []

    async def body(arguments: object, context: ToolContext) -> object:
        seen.append(sorted(path.name for path in bench.workspace.iterdir()))
        return [text_block("listed")]

    bench.script.body = body
    await bench.run(
        bench.call_of("write", path="a.txt", content="a"),
        bench.call_of("script", command="ls"),
        bench.call_of("write", path="b.txt", content="b"),
    )
    assert seen == [["a.txt"]]


async def test_a_file_may_be_moved_and_edited_in_one_message(bench: RunnerBench) -> None:
    await bench.seen("a.txt", "one\n")
    results = await bench.run(
        bench.call_of("move", path="a.txt", to="b.txt"), bench.call_of("edit", path="b.txt", old="one", new="1")
    )
    assert [result.status for result in results] == ["completed", "completed"]
    assert bench.text("b.txt") == "1\n"


async def test_one_call_that_fails_stops_no_other(bench: RunnerBench) -> None:
    results = await bench.run(
        bench.call_of("edit", path="missing.txt", old="a", new="b"), bench.call_of("write", path="b.txt", content="b")
    )
    assert [result.status for result in results] == ["failed", "completed"]


async def test_a_cancellation_closes_what_runs_and_what_has_not_begun(bench: RunnerBench) -> None:
    asked = asyncio.Event()

    async def answer(request: PermissionRequest) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "allow_once"

    bench.answer = answer
    calls = [bench.call_of("write", path="a.txt", content="a"), bench.call_of("edit", path="a.txt", old="a", new="b")]
    running = asyncio.create_task(bench.run(*calls))
    await asyncio.wait_for(asked.wait(), 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    results = await bench.events("tool/result")
    assert [(event.data["call"], event.data["status"]) for event in results] == [
        (call.id, "cancelled") for call in calls
    ]
    assert all("not applied" in event.data["content"][0]["text"] for event in results)
    assert not (bench.workspace / "a.txt").exists()


@pytest.mark.parametrize("moment", range(1, 30, 4))
async def test_a_cancellation_at_any_moment_leaves_no_call_open_and_tells_what_landed(
    bench: RunnerBench, moment: int
) -> None:
    calls = [bench.call_of("write", path=f"{name}.txt", content=name) for name in "abcd"]
    running = asyncio.create_task(bench.run(*calls))
    for _ in range(moment * 3):
        await asyncio.sleep(0)
    await asyncio.sleep(moment / 1000)
    done = running.done()
    running.cancel()
    if not done:
        with pytest.raises(asyncio.CancelledError):
            await running
    results = {event.data["call"]: event.data for event in await bench.events("tool/result")}
    assert list(results) == [call.id for call in calls]
    for call, name in zip(calls, "abcd", strict=True):
        landed = (bench.workspace / f"{name}.txt").exists()
        assert bool(results[call.id]["changes"]) is landed
    intents = {event.data["call"] for event in await bench.store.open_intents(bench.log.session)}
    assert not intents


async def test_a_write_that_has_begun_is_carried_to_its_end_and_told(bench: RunnerBench) -> None:
    running = asyncio.create_task(bench.run(bench.call_of("write", path="a.txt", content="a")))
    await bench.until("file/intent")
    running.cancel()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    result = await bench.last("tool/result")
    assert bench.text("a.txt") == "a"
    assert [change["operation"] for change in result["changes"]] == ["add"]
    assert result["status"] in ("cancelled", "completed")
