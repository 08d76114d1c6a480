"""A change is told once: by name or by a sweep, of Redline's own hand or another's, before a restart or after it."""

from __future__ import annotations

import asyncio

import pytest

from redline.changes.compare import blob_id
from redline.workspace import survey
from redline.workspace.findings import Found
from redline.workspace.last_changes import LastChanges
from sighted import BOTH, SESSION, Sighted, ready, said


def logged(*found: Found) -> LastChanges:
    """As the log tells of changes after the snapshot was kept."""
    known = LastChanges()
    for one in found:
        known.add(one.change)
    return known


async def test_named_paths_are_told_at_once_and_not_again(seen: Sighted) -> None:
    seen.write("a.txt")
    seen.write("b.txt")
    await ready(seen)
    seen.write("a.txt", b"changed\n")
    seen.write("b.txt", b"changed\n")
    seen.write("new.txt", b"new\n")
    found = await seen.observer.look([seen.root / "a.txt", "new.txt", "missing", "a\0b", ".git/HEAD"])
    assert [said(one.change, seen.root) for one in found] == [("modify", "a.txt"), ("add", "new.txt")]
    assert await seen.told() == [("modify", "b.txt")]


@BOTH
async def test_our_own_change_outside_the_workspace_beside_a_look(seen: Sighted, in_git: bool) -> None:
    seen.write("a.txt")
    if in_git:
        seen.repository()
    await seen.begin()
    outside = seen.root.parent / "outside.txt"
    outside.write_text("before\n")
    await seen.observer.note([outside])
    seen.observer.announce(outside)
    outside.write_text("ours\n")
    assert await seen.observer.look([outside]) == []
    await seen.observer.keep()
    seen.store.put(SESSION, b"ours\n")
    seen.observer.accept(outside, blob_id(b"ours\n"))
    assert await seen.told() == []
    outside.write_text("theirs\n")
    [found] = await seen.observer.look([outside])
    assert found.before == b"ours\n"
    assert await seen.told() == []


async def test_ignored_and_outside_files_that_were_noted(seen: Sighted) -> None:
    seen.write(".gitignore", b"*.log\n")
    seen.write("x.log", b"before\n")
    outside = seen.root.parent / "outside.txt"
    outside.write_text("before\n")
    names = ["x.log", "later.log", outside]
    await ready(seen)
    await seen.observer.note(names)
    seen.write("x.log", b"after\n")
    seen.write("later.log", b"new\n")
    outside.write_text("after\n")
    found = await seen.observer.look(names)
    assert [(one.change.operation, one.before, one.after) for one in found] == [
        ("modify", b"before\n", b"after\n"),
        ("add", None, b"new\n"),
        ("modify", b"before\n", b"after\n"),
    ]
    assert await seen.observer.look(names) == []


async def test_an_ignored_file_that_nobody_noted_is_not_called_new(seen: Sighted) -> None:
    seen.write(".gitignore", b"*.log\n")
    seen.write("old.log", b"old\n")
    seen.write("x.log", b"before\n")
    await ready(seen)
    await asyncio.sleep(0.02)
    await seen.sweep()
    await asyncio.sleep(0.02)
    seen.write("x.log", b"after\n")
    [found] = await seen.observer.look(["x.log", "old.log"])
    assert (found.change.operation, found.change.file_type, found.before) == ("modify", "unknown", None)
    seen.write("old.log", b"new\n")
    [found] = await seen.observer.look(["old.log"])
    assert (found.change.operation, found.before) == ("modify", b"old\n")


async def test_a_named_folder_stands_for_its_files(seen: Sighted) -> None:
    seen.write("d/a", b"only a\n")
    seen.write("d/e/b", b"only b\n")
    await ready(seen)
    seen.sh("rm -r d")
    found = await seen.observer.look(["d"])
    assert [said(one.change, seen.root) for one in found] == [("delete", "d/a"), ("delete", "d/e/b")]


async def test_what_redline_recorded_itself_is_not_told_again(seen: Sighted) -> None:
    path = seen.write("a.txt", b"before\n")
    gone = seen.write("gone.txt")
    await ready(seen)
    new = seen.write("new.txt", b"mine\n")
    path.write_bytes(b"mine too\n")
    gone.unlink()
    seen.store.put(SESSION, b"mine\n", b"mine too\n")
    seen.observer.accept(path, blob_id(b"mine too\n"))
    seen.observer.accept(new, blob_id(b"mine\n"))
    seen.observer.accept(gone, None)
    assert await seen.told() == []


async def test_what_others_do_to_a_file_after_redline_is_told(seen: Sighted) -> None:
    path = seen.write("a.txt", b"before\n")
    await ready(seen)
    seen.store.put(SESSION, b"mine\n")
    path.write_bytes(b"mine\n")
    seen.observer.accept(path, blob_id(b"mine\n"))
    seen.sh("echo theirs >> a.txt")
    [found] = (await seen.observer.sweep()).found
    assert (found.before, found.after) == (b"mine\n", b"mine\ntheirs\n")


async def test_a_change_on_its_way_is_left_to_whoever_makes_it(seen: Sighted) -> None:
    path = seen.write("a.txt", b"before\n")
    await ready(seen)
    seen.observer.announce(path)
    path.write_bytes(b"mine\n")
    assert await seen.told() == []
    seen.store.put(SESSION, b"mine\n")
    seen.observer.accept(path, blob_id(b"mine\n"))
    assert await seen.told() == []
    seen.observer.announce(path)
    seen.observer.withdraw(path)
    path.write_bytes(b"theirs\n")
    assert await seen.told() == [("modify", "a.txt")]


@BOTH
async def test_a_next_start_tells_what_changed_since_the_last_sweep(seen: Sighted, in_git: bool) -> None:
    seen.write("a", b"one\n")
    seen.write("b", b"two\n")
    await ready(seen, in_git=in_git)
    seen.write("a", b"told\n")
    assert await seen.told() == [("modify", "a")]
    seen.write("b", b"not told yet\n")
    await seen.begin()
    assert [said(found.change, seen.root) for found in seen.first.found] == [("modify", "b")]
    assert seen.first.found[0].before == b"two\n"


async def test_what_was_found_and_not_recorded_is_found_again(seen: Sighted) -> None:
    seen.write("a", b"one\n")
    await ready(seen)
    seen.write("a", b"two\n")
    [found] = (await seen.observer.sweep()).found  # and killed before it was in the log
    await seen.begin()
    assert [one.change for one in seen.first.found] == [found.change]


async def test_what_the_log_has_is_not_told_again_after_a_crash(seen: Sighted) -> None:
    seen.write("a", b"one\n")
    seen.write("b", b"gone\n")
    await ready(seen)
    seen.write("a", b"two\n")
    seen.sh("rm b")
    found = (await seen.observer.sweep()).found  # recorded, and killed before `keep`
    await seen.begin(known=logged(*found))
    assert seen.first.found == []


@pytest.mark.parametrize(("at", "told"), [(6, []), (7, []), (8, ["modify"])])
async def test_of_what_is_told_up_to_the_last_keep_the_snapshot_is_right_and_of_the_rest_the_log(
    seen: Sighted, at: int, told: list[str]
) -> None:
    """The log tells one change of a file; then its user makes another, which is where a turn begins."""
    seen.write("a", b"one\n")
    await ready(seen)
    seen.write("a", b"two\n")
    [found] = (await seen.observer.sweep()).found
    seen.write("a", b"two\nthe user's\n")
    await seen.observer.sweep()
    await seen.observer.keep(7)
    known = LastChanges()
    known.add(found.change, at)
    await seen.begin(known=known)
    assert [one.change.operation for one in seen.first.found] == told
    assert seen.observer.told == 7


async def test_what_redline_itself_did_is_kept_without_another_look(seen: Sighted) -> None:
    seen.write("a", b"one\n")
    await ready(seen)
    path = seen.write("a", b"two\n")
    seen.store.put(SESSION, b"two\n")
    seen.observer.accept(path, blob_id(b"two\n"))
    await seen.observer.keep(7)
    await seen.begin()
    assert seen.first.found == []


@pytest.mark.parametrize("command", ["rm l; echo now a file >l", "rm f; ln -s a f", "rm l; mkdir l; echo >l/x"])
async def test_nor_is_a_link_that_had_become_something_else(seen: Sighted, command: str) -> None:
    seen.write("a", b"one\n")
    seen.write("f", b"a file\n")
    seen.sh("ln -s a l")
    await ready(seen)
    seen.sh(command)
    found = (await seen.observer.sweep()).found  # recorded, and killed before `keep`
    await seen.begin(known=logged(*found))
    assert seen.first.found == []


async def test_bytes_of_a_change_that_was_told_at_once_are_kept_by_the_next_look_or_the_next_start(
    seen: Sighted,
) -> None:
    seen.write("a", b"one\n")
    seen.write("b", b"one of b\n")
    await ready(seen)
    seen.write("a", b"two\n")
    [found] = await seen.observer.look(["a"])
    assert (found.change.added, found.before, found.after) == (1, b"one\n", b"two\n")
    await seen.observer.sweep()
    seen.check(found)
    seen.write("b", b"two of b\n")
    [later] = await seen.observer.look(["b"])  # recorded, and killed at once
    assert seen.store.get(SESSION, blob_id(b"two of b\n")) is None
    await seen.begin(known=logged(found, later))
    assert seen.first.found == []
    seen.check(later)


async def test_a_file_that_was_just_emptied_to_be_written_is_seen_as_it_is_written(
    seen: Sighted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As most programs write: the file is emptied when it is opened, and filled a moment later."""
    path = seen.write("a")
    await ready(seen)

    def meanwhile(_: float) -> None:
        path.write_bytes(b"one\n2\nthree\n")

    monkeypatch.setattr(survey.time, "sleep", meanwhile)
    path.write_bytes(b"")
    [found] = await seen.observer.look(["a"])
    assert (found.change.added, found.change.removed) == (1, 1)
    assert await seen.told() == []


async def test_a_file_that_stays_empty_is_told_as_emptied(seen: Sighted) -> None:
    path = seen.write("a")
    await ready(seen)
    path.write_bytes(b"")
    [change] = await seen.sweep()
    assert (change.operation, change.added, change.removed) == ("modify", 0, 3)


async def test_a_damaged_snapshot_is_replaced_and_said(seen: Sighted) -> None:
    seen.write("a", b"one\n")
    await ready(seen)
    index = seen.store.root / SESSION / "snapshot/index"
    index.write_bytes(index.read_bytes()[:-3])
    await seen.begin()
    assert seen.first.limited is not None
    assert seen.first.limited.code == "SNAPSHOT_LOST"
    seen.write("a", b"two\n")
    assert await seen.told() == [("modify", "a")]


async def test_the_snapshot_goes_with_the_session(seen: Sighted) -> None:
    seen.write("a", b"one\n")
    await ready(seen, in_git=False)
    await seen.observer.close()
    assert seen.store.delete(SESSION)
    assert list(seen.store.root.iterdir()) == []
