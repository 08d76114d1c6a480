"""What breaks around a call: the log, the store of bytes, the disk; and secrets, which reach no log and no file."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from redline.files.seam import Write
from redline.sessions.store import StoreError
from redline.tools.builtin import builtin_toolset
from redline.tools.tool import Step, ToolOutput, text_block
from redline.transcript.fold import rows
from redline.transcript.rows import ToolRow
from redline.workspace.store import BytesError, ByteStore
from runner_bench import RunnerBench, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from redline.files.seam import Outcome, Target

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[RunnerBench]:
    async for made in opened(tmp_path):
        yield made


def fail_append(bench: RunnerBench, kind: str, call: str | None = None) -> None:
    """The store of the log is full for events of this type (and call)."""
    submit = bench.store.submit

    def failing(events: Any, *, durable: bool, settled: Callable[[StoreError | None], None]) -> None:
        if any(event.type == kind and call in (None, event.data["call"]) for event in events):
            error = StoreError("NO_SPACE", "The disk is full.", "Free some space.")
            asyncio.get_running_loop().call_soon(settled, error)
        else:
            submit(events, durable=durable, settled=settled)

    bench.store.submit = failing


async def test_without_an_intent_the_file_is_not_touched(bench: RunnerBench) -> None:
    await bench.seen("a.txt", "one\n")
    fail_append(bench, "file/intent")
    result = await bench.call("edit", path="a.txt", old="one", new="1")
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == "NO_SPACE"
    assert "untouched" in result.error.message
    assert bench.text("a.txt") == "one\n"
    assert sorted(path.name for path in bench.workspace.iterdir()) == ["a.txt"]
    assert (await bench.last("tool/result"))["changes"] == []


async def test_without_the_bytes_kept_the_file_is_not_touched(
    bench: RunnerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.seen("a.txt", "one\n")

    def full(self: ByteStore, session: str, *data: bytes, **known: object) -> list[str | None]:
        raise BytesError("NO_SPACE", "No space.", "Free some.")

    monkeypatch.setattr(ByteStore, "put", full)
    result = await bench.call("edit", path="a.txt", old="one", new="1")
    assert result.error is not None
    assert result.error.code == "NO_SPACE"
    assert bench.text("a.txt") == "one\n"
    assert not await bench.events("file/intent")


async def test_once_on_disk_a_fault_of_the_log_is_a_warning(bench: RunnerBench) -> None:
    fail_append(bench, "tool/result")
    result = await bench.call("write", path="a.txt", content="a\n")
    assert (result.status, len(result.changes), bench.text("a.txt")) == ("completed", 1, "a\n")
    assert "NO_SPACE" in result.warnings[-1]
    assert len(await bench.store.open_intents(bench.log.session)) == 1, "the next start will close it"


async def test_without_a_log_nothing_runs(bench: RunnerBench) -> None:
    fail_append(bench, "tool/call")
    with pytest.raises(StoreError):
        await bench.call("write", path="a.txt", content="a\n")
    assert not (bench.workspace / "a.txt").exists()


async def test_calls_that_were_opened_before_the_log_failed_are_closed(bench: RunnerBench) -> None:
    fail_append(bench, "tool/call", "c2")
    with pytest.raises(StoreError):
        await bench.run(
            bench.call_of("write", path="a.txt", content="a"), bench.call_of("write", path="b.txt", content="b")
        )
    assert (await bench.last("tool/result"))["status"] == "failed"
    assert list(bench.workspace.iterdir()) == []


def no_room_for(bench: RunnerBench, size: int) -> None:
    """The store of the log takes no event of more bytes than this."""
    submit = bench.store.submit

    def failing(events: Any, *, durable: bool, settled: Callable[[StoreError | None], None]) -> None:
        if any(len(json.dumps(event.data)) > size for event in events):
            error = StoreError("NO_SPACE", "The disk is full.", "Free some space.")
            asyncio.get_running_loop().call_soon(settled, error)
        else:
            submit(events, durable=durable, settled=settled)

    bench.store.submit = failing


async def test_a_call_that_the_log_has_no_room_for_fails_and_is_recorded_as_failed(bench: RunnerBench) -> None:
    await bench.seen("a.txt", "a\n")
    no_room_for(bench, 2000)
    large, small = await bench.run(
        bench.call_of("write", path="a.txt", content="x\n" * 5000), bench.call_of("write", path="b.txt", content="b\n")
    )
    assert large.error is not None
    assert (large.status, large.error.code, large.error.remedy) == ("failed", "NO_SPACE", "Free some space.")
    assert bench.text("a.txt") == "a\n"
    assert (small.status, bench.text("b.txt")) == ("completed", "b\n")
    started, _ = [event.data for event in await bench.events("tool/call")][-2:]
    assert started["proposal_error"]["code"] == "NO_SPACE"
    failed, completed = [event.data for event in await bench.events("tool/result")][-2:]
    assert (failed["status"], failed["error"]["code"], completed["status"]) == ("failed", "NO_SPACE", "completed")


async def test_a_result_that_the_log_has_no_room_for_is_recorded_in_a_few_bytes(bench: RunnerBench) -> None:
    await bench.seen("a.txt", "a\n")
    no_room_for(bench, 2000)

    async def talk(_: Any, context: Any) -> list[Any]:
        await context.apply(Step(await context.files.resolve("a.txt"), Write("b\n")))
        return [text_block("x" * 5000)]

    bench.script.body = talk
    result = await bench.call("script", command="go")
    assert "NO_SPACE" in result.warnings[-1]
    assert result.content == [text_block("x" * 5000)]
    recorded = await bench.last("tool/result")
    assert recorded["status"] == "completed"
    assert "could not be recorded" in recorded["content"][0]["text"]
    assert "NO_SPACE" in recorded["warnings"][-1]
    [change] = await bench.logged_changes()
    assert (change.path, change.added, change.removed) == (str(bench.workspace / "a.txt"), 1, 1)


async def test_a_write_that_reached_nothing_is_no_success(bench: RunnerBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Public reports: Q174."""
    await bench.seen("a.txt", "one\n")
    apply = bench.files.apply

    async def elsewhere(target: Target, action: Any, *, expected: Any = None, before_commit: Any = None) -> Outcome:
        outcome = await bench.files.preview(target, action)
        await before_commit(outcome)
        return outcome

    monkeypatch.setattr(bench.files, "apply", elsewhere)
    result = await bench.call("edit", path="a.txt", old="one", new="1")
    assert result.error is not None
    assert result.error.code == "NOT_APPLIED"
    assert list(result.changes) == []
    monkeypatch.setattr(bench.files, "apply", apply)


async def test_a_backend_that_fails_after_the_rename_loses_no_change(
    bench: RunnerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public reports: Q175."""
    apply = bench.files.apply

    async def then_raise(target: Target, action: Any, *, expected: Any = None, before_commit: Any = None) -> Outcome:
        await apply(target, action, expected=expected, before_commit=before_commit)
        raise OSError("the folder could not be flushed")

    monkeypatch.setattr(bench.files, "apply", then_raise)
    result = await bench.call("write", path="a.txt", content="a\n")
    assert result.status == "failed"
    assert [change.operation for change in result.changes] == ["add"]
    assert len((await bench.last("tool/result"))["changes"]) == 1


async def test_a_file_that_another_program_rewrites_at_once_is_told_with_a_warning(
    bench: RunnerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = bench.files.apply

    async def formatted(target: Target, action: Any, *, expected: Any = None, before_commit: Any = None) -> Outcome:
        outcome = await apply(target, action, expected=expected, before_commit=before_commit)
        target.real.write_text("formatted\n")
        return outcome

    monkeypatch.setattr(bench.files, "apply", formatted)
    result = await bench.call("write", path="a.txt", content="raw\n")
    assert result.status == "completed"
    assert "another program" in result.warnings[0]
    monkeypatch.setattr(bench.files, "apply", apply)
    stale = await bench.call("edit", path="a.txt", old="formatted", new="x")
    assert stale.error is not None
    assert stale.error.code == "STALE"
    await bench.call("read", path="a.txt")
    assert (await bench.call("edit", path="a.txt", old="formatted", new="x")).status == "completed"


async def test_a_permission_that_cannot_be_asked_for_counts_as_no(bench: RunnerBench) -> None:
    def answer(request: object) -> str:
        raise RuntimeError("the surface is gone")

    bench.answer = answer
    result = await bench.call("write", path="a.txt", content="a")
    assert result.status == "rejected"
    assert not (bench.workspace / "a.txt").exists()
    assert "the surface is gone" in result.warnings[0]


async def test_content_that_the_gate_refuses_costs_the_content_only(bench: RunnerBench) -> None:
    bench.free.output = ToolOutput([text_block("x" * 9_000_000)])
    result = await bench.call("free", command="x")
    assert result.status == "completed"
    logged = await bench.last("tool/result")
    assert (logged["status"], logged["content"]) == ("completed", [])
    assert "refused" in logged["warnings"][0]


async def test_a_secret_reaches_the_file_and_no_log(bench: RunnerBench) -> None:
    """Public reports: O157."""
    await bench.seen(".env", f"TOKEN={SECRET}\nNAME=a\n")
    result = await bench.call("edit", path=".env", old=f"TOKEN={SECRET}", new=f"TOKEN={SECRET[:-4]}ZZZZ")
    assert bench.text(".env") == f"TOKEN={SECRET[:-4]}ZZZZ\nNAME=a\n"
    [change] = result.changes
    assert (change.redacted, change.added, change.removed) == (True, 1, 1)
    await bench.store.close()
    for path in bench.folder.glob("log.db*"):
        assert SECRET[:30].encode() not in path.read_bytes()
    again = await RunnerBench.open(bench.folder, session=bench.log.session)
    assert (await again.logged_changes())[0].hunks[0].old_lines == 2
    await again.store.close()


async def test_a_mask_is_not_written_over_the_secret(bench: RunnerBench) -> None:
    """Public reports: O156."""
    await bench.seen(".env", f"TOKEN={SECRET}\nNAME=a\n")
    masked = bench.redactor.mask(f"TOKEN={SECRET}")
    assert masked != f"TOKEN={SECRET}"
    results = [
        await bench.call("write", path=".env", content=f"{masked}\nNAME=b\n"),
        await bench.call("edit", path=".env", old="NAME=a", new=masked),
        await bench.call("edit", path=".env", old=f"{masked}\nNAME=a", new="NAME=b"),
        await bench.call("script", command=f"echo '{masked}' > .env"),
    ]
    assert [result.error.code for result in results if result.error] == ["MASKED"] * 4
    assert bench.requests == []
    assert bench.text(".env") == f"TOKEN={SECRET}\nNAME=a\n"


async def test_a_secret_line_can_be_deleted_without_being_shown(bench: RunnerBench) -> None:
    """Public reports: O159."""
    await bench.seen(".env", f"TOKEN={SECRET}\nNAME=a\n")
    assert (await bench.call("cut", path=".env", first=1, last=1)).status == "completed"
    assert bench.text(".env") == "NAME=a\n"


async def test_a_mask_that_the_file_itself_holds_may_stay(bench: RunnerBench) -> None:
    """Public reports: O159."""
    mask = bench.redactor.mask(f"TOKEN={SECRET}")
    await bench.seen("notes.md", f"{mask}\nreal stars: *****\n")
    result = await bench.call("edit", path="notes.md", old="real stars", new="stars")
    assert result.status == "completed"
    assert bench.text("notes.md") == f"{mask}\nstars: *****\n"


async def test_error_texts_hold_no_secret(bench: RunnerBench) -> None:
    """Public reports: O160."""
    bench.free.fault = RuntimeError(f"near: TOKEN={SECRET}")
    result = await bench.call("free", command="x")
    assert SECRET not in result.content[0]["text"]
    assert result.error is not None
    assert SECRET not in result.error.message
    await bench.seen(".env", f"TOKEN={SECRET}\n")
    failed = await bench.call("edit", path=".env", old=f"TOKEN={SECRET[:-1]}", new="x", replace_all=True)
    wrong = await bench.call("edit", path=".env", old="TOKEN=ghp_wrong", new="x")
    for each in (failed, wrong):
        assert SECRET not in each.content[0]["text"]


@pytest.mark.parametrize("refused_by", ["the gate", "the disk"])
async def test_a_call_whose_text_the_log_cannot_take_still_names_its_file(bench: RunnerBench, refused_by: str) -> None:
    submit = bench.store.submit

    def little_room(events: Any, *, durable: bool, settled: Callable[[StoreError | None], None]) -> None:
        if any(len(json.dumps(event.data)) > 8192 for event in events):
            error = StoreError("NO_SPACE", "The disk is full.", "Free some space.")
            asyncio.get_running_loop().call_soon(settled, error)
        else:
            submit(events, durable=durable, settled=settled)

    if refused_by == "the disk":
        bench.store.submit = little_room
    size = 9 << 20 if refused_by == "the gate" else 16_384
    result = await bench.call("write", path="../outside/big.txt", content="x" * size)
    assert result.status == "failed"
    [row] = [row for row in rows(await bench.events(), builtin_toolset().by_name) if isinstance(row, ToolRow)]
    assert row.call_view.title == "Write ../outside/big.txt"
    assert (await bench.last("tool/call"))["arguments"]["content"]["omitted"] is True


async def test_where_not_even_the_name_can_be_kept_the_call_is(bench: RunnerBench) -> None:
    result = await bench.call("write", path="y" * 5000, content="x" * (9 << 20))
    assert result.status == "failed"
    told = (await bench.last("tool/call"))["arguments"]
    assert (told["path"]["omitted"], told["content"]["omitted"]) == (True, True)
