"""A workspace that is too large, too slow or too full: what is still told of it, and what is said instead."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from pathlib import Path

import pytest

from redline.sessions.redaction import Redactor
from redline.workspace.bounds import Limits
from redline.workspace.observe import Observer
from sighted import SESSION, Sighted, ready


async def test_a_file_over_the_limit_is_known_by_its_facts(seen: Sighted) -> None:
    path = seen.write("large.bin", b"x" * 300_000)
    seen.write("small.txt", b"small\n")
    await ready(seen)
    assert await seen.told() == []
    with path.open("ab") as file:
        file.write(b"y")
    [change] = await seen.sweep()
    assert (change.operation, change.file_type, change.after and change.after.size) == ("modify", "unknown", 300_001)
    assert await seen.told() == []
    seen.write("small.txt", b"x" * 300_000)
    [change] = await seen.sweep()
    assert (change.operation, change.before and change.before.size) == ("modify", 6)
    path.unlink()
    assert await seen.told() == [("delete", "large.bin")]


@pytest.mark.parametrize("repository", [False, True])
async def test_a_workspace_that_is_deleted_has_a_delete_for_each_file_and_may_come_back(
    seen: Sighted, repository: bool
) -> None:
    seen.write("a.txt", b"a\n")
    seen.write("folder/b.txt", b"b\n")
    if repository:
        seen.repository()
        seen.git("add", "-A")
    await seen.begin()
    seen.write("folder/b.txt", b"B\n")
    shutil.rmtree(seen.root)
    sweep = await seen.observer.sweep()
    assert [(one.change.operation, Path(one.change.path).name) for one in sweep.found] == [
        ("delete", "a.txt"), ("delete", "b.txt"),
    ]  # fmt: skip
    assert sweep.limited is not None
    assert sweep.limited.code == "WORKSPACE_GONE"
    if not repository:
        assert [one.before for one in sweep.found] == [b"a\n", b"b\n"]
    assert (await seen.observer.sweep()).found == []
    seen.root.mkdir()
    seen.write("new.txt", b"new\n")
    again = await seen.observer.sweep()
    assert ([one.change.operation for one in again.found], again.limited) == (["add"], None)


async def test_too_many_files_step_back_to_named_paths(seen: Sighted) -> None:
    for number in range(30):
        seen.write(f"f{number}", b"%d\n" % number)
    seen.limits = Limits(files=20)
    await seen.begin()
    assert seen.first.limited is not None
    assert seen.first.limited.code == "TOO_MANY_FILES"
    await seen.observer.note(["f1"])
    seen.write("f1", b"changed\n")
    seen.write("f2", b"changed\n")
    [found] = await seen.observer.look(["f1"])
    assert (found.before, found.after) == (b"1\n", b"changed\n")
    sweep = await seen.observer.sweep()
    assert (sweep.found, sweep.limited) == ([], seen.first.limited)
    await seen.observer.keep()
    await seen.begin()
    assert seen.first.found == []
    assert seen.first.limited is not None
    assert seen.first.limited.code == "TOO_MANY_FILES"


async def test_too_many_bytes_step_back(seen: Sighted) -> None:
    for number in range(30):
        seen.write(f"f{number}", os.urandom(5000))
    seen.limits = Limits(bytes=50_000)
    await seen.begin()
    assert seen.first.limited is not None
    assert seen.first.limited.code == "TOO_LARGE"


async def test_slow_sweeps_step_back(seen: Sighted) -> None:
    seen.limits = Limits(seconds=0.0)
    await ready(seen)
    assert (await seen.observer.sweep()).limited is None
    limit = (await seen.observer.sweep()).limited
    assert limit is not None
    assert limit.code == "TOO_SLOW"


async def test_a_full_store_still_tells_what_changed(seen: Sighted) -> None:
    seen.write("a", b"one\n")
    await ready(seen)
    seen.store.cap = 0
    seen.write("a", b"two\n")
    [found] = (await seen.observer.sweep()).found
    assert (found.before, found.after) == (b"one\n", b"two\n")


async def test_the_first_look_can_be_stopped(seen: Sighted) -> None:
    for number in range(3000):
        seen.write(f"d{number % 10}/f{number}")
    observer = Observer(seen.root, seen.store, SESSION, Redactor())
    begun = threading.Event()
    task = asyncio.create_task(observer.start(lambda done, total: begun.set()))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await seen.begin()
    assert await seen.told() == []


async def test_progress_of_the_first_look(seen: Sighted) -> None:
    for number in range(600):
        seen.write(f"f{number}")
    reports: list[tuple[int, int]] = []
    await seen.begin(progress=lambda done, total: reports.append((done, total)))
    assert reports[0] == (0, 600)
    assert reports[-1] == (600, 600)
