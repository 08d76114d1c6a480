"""Mutations that meet others, other programs and cancellation, and what they hold up meanwhile."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from files.mutations import edit, names
from redline.files.error import FileError
from redline.files.local import LocalFiles
from redline.files.seam import (
    Action,
    Delete,
    EditText,
    Insert,
    Move,
    Outcome,
    Write,
)


class TestMeanwhile:
    async def test_two_edits_of_one_file_at_once_both_land(self, files: LocalFiles, workspace: Path) -> None:
        """Public reports: H83."""
        start = b"".join(b"line %d\n" % i for i in range(60))
        target = await files.resolve("a")
        for _ in range(50):
            (workspace / "a").write_bytes(start)
            first, second = await asyncio.gather(
                files.apply(target, edit("line 7\n", "seven\n")), files.apply(target, edit("line 50\n", "fifty\n"))
            )
            assert first.after == second.before
            after = start.replace(b"line 7\n", b"seven\n").replace(b"line 50\n", b"fifty\n")
            assert (workspace / "a").read_bytes() == after

    async def test_sessions_that_share_a_workspace_share_its_locks(self, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"0\n")
        (workspace / "link").symlink_to("a")
        sessions = [LocalFiles([workspace]) for _ in range(10)]
        targets = [await session.resolve("link" if n % 2 else "a") for n, session in enumerate(sessions)]
        edits = [EditText([Insert(1, f"{number}")]) for number in range(10)]
        await asyncio.gather(*(sessions[n].apply(targets[n], edits[n]) for n in range(10)))
        assert len((workspace / "a").read_bytes().splitlines()) == 11

    async def test_moves_in_a_circle_do_not_wait_for_each_other(self, files: LocalFiles, workspace: Path) -> None:
        for name in "ab":
            (workspace / name).write_bytes(name.encode())
        a, b = await files.resolve("a"), await files.resolve("b")
        async with asyncio.timeout(10):
            results = await asyncio.gather(
                *(files.apply(*pair) for pair in ((a, Move(b)), (b, Move(a)))), return_exceptions=True
            )
        assert all(isinstance(result, FileError) and result.code == "EXISTS" for result in results)

    async def test_files_of_different_names_do_not_wait(self, files: LocalFiles, workspace: Path) -> None:
        async def other(_outcome: Outcome) -> None:
            await files.apply(await files.resolve("b"), Write("b"))

        async with asyncio.timeout(10):
            await files.apply(await files.resolve("a"), Write("a"), before_commit=other)
        assert names(workspace) == ["a", "b"]

    @pytest.mark.parametrize("action", [Write("ours\n"), edit("old", "ours"), Delete(), "move", "move and edit"])
    async def test_a_file_that_somebody_saves_during_the_journal_is_not_overwritten(
        self, files: LocalFiles, workspace: Path, action: Action | str
    ) -> None:
        (workspace / "a").write_bytes(b"old\n")
        if isinstance(action, str):
            action = Move(await files.resolve("sub/b"), b"ours\n" if "edit" in action else None)

        async def save(_outcome: Outcome) -> None:
            then = (workspace / "a").stat()
            (workspace / "a").write_bytes(b"new\n")
            os.utime(workspace / "a", ns=(then.st_atime_ns, then.st_mtime_ns))

        with pytest.raises(FileError) as caught:
            await files.apply(await files.resolve("a"), action, before_commit=save)
        assert caught.value.code == "STALE"
        assert (workspace / "a").read_bytes() == b"new\n"
        assert names(workspace) == ["a"]

    @pytest.mark.parametrize("meanwhile", ["created", "deleted", "chmod", "became a folder"])
    async def test_other_changes_during_the_journal(self, files: LocalFiles, workspace: Path, meanwhile: str) -> None:
        path = workspace / "a"
        if meanwhile != "created":
            path.write_bytes(b"old\n")

        async def change(_outcome: Outcome) -> None:
            if meanwhile == "created":
                path.write_bytes(b"new\n")
            elif meanwhile == "chmod":
                path.chmod(0o600)
            else:
                path.unlink()
                if meanwhile == "became a folder":
                    path.mkdir()

        with pytest.raises(FileError) as caught:
            await files.apply(await files.resolve("a"), Write("ours\n"), before_commit=change)
        assert caught.value.code == "STALE"
        assert [name for name in names(workspace) if name != "a"] == []

    async def test_a_journal_that_fails_leaves_everything_as_it_was(self, files: LocalFiles, workspace: Path) -> None:
        async def fail(_outcome: Outcome) -> None:
            raise RuntimeError("the log is gone")

        with pytest.raises(RuntimeError):
            await files.apply(await files.resolve("new/folder/a"), Write("x"), before_commit=fail)
        assert names(workspace) == []
        await files.apply(await files.resolve("new/folder/a"), Write("x"))  # the lock was given back


class TestCancelled:
    async def test_before_the_commit_nothing_changes(self, files: LocalFiles, workspace: Path) -> None:
        reached = asyncio.Event()

        async def wait(_outcome: Outcome) -> None:
            reached.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(files.apply(await files.resolve("sub/a"), Write("x"), before_commit=wait))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert names(workspace) == []

    async def test_while_the_bytes_are_written_nothing_changes(self, workspace: Path) -> None:
        reached, go = threading.Event(), threading.Event()

        def slow(what: str, _seconds: float) -> None:
            if what == "file":
                reached.set()
                go.wait(10)

        files = LocalFiles([workspace], on_flush=slow)
        task = asyncio.create_task(files.apply(await files.resolve("a"), Write("x")))
        await asyncio.to_thread(reached.wait, 10)
        task.cancel()
        await asyncio.sleep(0.02)
        assert not task.done()  # the lock is held until the thread has let go
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert names(workspace) == []

    async def test_during_the_commit_it_is_carried_to_its_end(self, workspace: Path) -> None:
        reached, go = threading.Event(), threading.Event()

        def slow(what: str, _seconds: float) -> None:
            if what == "folder":
                reached.set()
                go.wait(10)

        files = LocalFiles([workspace], on_flush=slow)
        target = await files.resolve("a")
        outcomes: list[Outcome] = []

        async def caller() -> None:
            outcomes.append(await files.apply(target, Write("x")))
            await asyncio.sleep(60)

        task = asyncio.create_task(caller())
        await asyncio.to_thread(reached.wait, 10)
        task.cancel()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [outcome.operation for outcome in outcomes] == ["create"]
        assert (workspace / "a").read_bytes() == b"x"


async def test_flushes_are_named_and_timed(workspace: Path) -> None:
    seen: list[tuple[str, float]] = []
    files = LocalFiles([workspace], on_flush=lambda what, seconds: seen.append((what, seconds)))
    target = await files.resolve("a")
    await files.apply(target, Write("x"))
    assert [what for what, _ in seen] == ["file", "folder"]
    assert all(seconds >= 0 for _, seconds in seen)
    seen.clear()
    await files.apply(target, Delete())
    assert [what for what, _ in seen] == ["folder"]


async def test_the_loop_is_free_while_the_disk_works(workspace: Path) -> None:
    ticked = threading.Event()
    waited: list[bool] = []
    files = LocalFiles([workspace], on_flush=lambda _what, _seconds: waited.append(ticked.wait(10)))
    task = asyncio.create_task(files.apply(await files.resolve("a"), Write("x")))
    await asyncio.sleep(0.01)
    ticked.set()  # only reached while a flush waits if the flush does not hold the loop
    await task
    assert waited == [True, True]
