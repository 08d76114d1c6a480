"""What a sweep says happened, for every way in which files change behind the tools."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from sighted import BOTH, SESSION, Sighted, ready, said


@BOTH
async def test_an_untouched_workspace_has_no_changes(seen: Sighted, in_git: bool) -> None:
    seen.write("a.txt")
    seen.write("deep/er/b.txt")
    await ready(seen, in_git=in_git)
    assert await seen.told() == []
    assert await seen.told() == []


@BOTH
async def test_a_command_that_edits_in_place_is_a_change_with_its_true_lines(seen: Sighted, in_git: bool) -> None:
    seen.write("a.txt")
    await ready(seen, in_git=in_git)
    seen.sh("sed -i s/two/2/ a.txt")
    [change] = await seen.sweep()
    assert (change.operation, change.path) == ("modify", str(seen.root / "a.txt"))
    assert change.hunks[0].lines == (" one", "-two", "+2", " three")
    assert await seen.told() == []


@BOTH
async def test_created_and_deleted_files_are_told_once(seen: Sighted, in_git: bool) -> None:
    seen.write("old.txt", b"old\n")
    await ready(seen, in_git=in_git)
    (seen.root / "old.txt").unlink()
    seen.write("new/file.txt", b"something else\n")
    assert await seen.told() == [("add", "new/file.txt"), ("delete", "old.txt")]
    assert await seen.told() == []


async def test_a_file_that_was_changed_before_the_start_is_where_it_starts(seen: Sighted) -> None:
    seen.write("a.txt")
    seen.repository()
    seen.write("a.txt", b"edited by the user\n")
    seen.write("untracked.txt", b"by the user\n")
    await seen.begin()
    assert await seen.told() == []
    seen.sh("echo more >> a.txt; echo more >> untracked.txt")
    assert [change.removed for change in await seen.sweep()] == [0, 0]


async def test_same_size_and_same_times_within_a_tick_of_the_clock(seen: Sighted) -> None:
    path = seen.write("a.txt", b"first\n")
    await ready(seen)
    for number in range(20):
        path.write_bytes(b"%05d\n" % number)
        assert await seen.told() == [("modify", "a.txt")]
        path.write_bytes(b"%05d\n" % (number + 100))
        assert await seen.told() == [("modify", "a.txt")]


async def test_same_size_with_the_old_time_put_back(seen: Sighted) -> None:
    path = seen.write("a.txt", b"first\n")
    os.utime(path, ns=(10**18, 10**18))
    await ready(seen)
    path.write_bytes(b"other\n")
    os.utime(path, ns=(10**18, 10**18))
    assert await seen.told() == [("modify", "a.txt")]


async def test_a_touch_is_no_change(seen: Sighted) -> None:
    path = seen.write("a.txt")
    await ready(seen)
    path.touch()
    os.utime(path, (1, 1))
    assert await seen.told() == []


async def test_written_back_between_two_sweeps_is_no_change(seen: Sighted) -> None:
    path = seen.write("a.txt", b"same\n")
    await ready(seen)
    path.write_bytes(b"else\n")
    path.write_bytes(b"same\n")
    assert await seen.told() == []


async def test_files_that_come_and_go_are_no_changes(seen: Sighted) -> None:
    await ready(seen)
    seen.sh("echo x > temporary && rm temporary && mkdir d && echo y > d/f && rm -r d")
    assert await seen.told() == []


async def test_the_executable_bit_alone(seen: Sighted) -> None:
    seen.write("run.sh", b"echo\n")
    await ready(seen)
    seen.sh("chmod +x run.sh")
    [change] = await seen.sweep()
    assert change.facts == ("made_executable",)
    assert change.hunks == ()
    seen.sh("chmod g-r run.sh")
    assert await seen.told() == []


async def test_a_binary_file(seen: Sighted) -> None:
    seen.write("a.bin", b"\0one")
    await ready(seen)
    seen.write("a.bin", b"\0two")
    [change] = await seen.sweep()
    assert (change.operation, change.file_type, change.hunks) == ("modify", "binary", ())


async def test_empty_files_and_empty_folders(seen: Sighted) -> None:
    await ready(seen)
    seen.sh("mkdir -p empty/folder; touch empty.txt")
    [change] = await seen.sweep()
    assert (change.operation, change.after and change.after.size) == ("add", 0)
    seen.sh("rm empty.txt")
    assert await seen.told() == [("delete", "empty.txt")]


async def test_crlf_files_keep_their_bytes(seen: Sighted) -> None:
    seen.write(".gitattributes", b"* text=auto\n")
    seen.write("a.txt", b"one\r\ntwo\r\n")
    await ready(seen)
    seen.sh("printf 'three\\r\\n' >> a.txt")
    [found] = (await seen.observer.sweep()).found
    assert (found.before, found.after) == (b"one\r\ntwo\r\n", b"one\r\ntwo\r\nthree\r\n")
    assert found.change.added == 1


async def test_crlf_that_git_itself_wrote_is_not_taken_for_the_blob(seen: Sighted) -> None:
    seen.write("a.txt", b"one\ntwo\n")
    seen.write("b.txt", b"one\ntwo\nmoved\n")
    seen.repository()
    seen.git("config", "core.autocrlf", "true")
    seen.sh("rm a.txt b.txt")
    seen.git("checkout", "-q", ".")
    assert (seen.root / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    await asyncio.sleep(0.1)
    seen.git("update-index", "--refresh")
    await seen.begin()
    assert await seen.told() == []
    (seen.root / "a.txt").touch()
    assert await seen.told() == []
    seen.sh("printf 'three\\r\\n' >> a.txt; mv b.txt c.txt")
    [appended, moved] = (await seen.observer.sweep()).found
    assert (appended.before, appended.change.added, appended.change.removed) == (b"one\r\ntwo\r\n", 1, 0)
    assert said(moved.change, seen.root) == ("move", "b.txt -> c.txt")


@pytest.mark.parametrize("how", ["core.autocrlf true", "core.autocrlf input", "* text=auto", "*.txt text eol=crlf"])
async def test_line_ends_that_git_would_take_for_equal_are_a_change(seen: Sighted, how: str) -> None:
    """CRLF to LF and back, of a committed file, where git's blob is the same for both."""
    seen.git("init", "-q")
    if how.startswith("core"):
        seen.git("config", *how.split())
    else:
        seen.write(".gitattributes", how.encode() + b"\n")
    seen.write("a.txt", b"one\r\ntwo\r\n")
    seen.write("mixed.txt", b"one\r\ntwo\n")
    seen.repository()
    await asyncio.sleep(0.1)
    seen.git("update-index", "--refresh")
    await seen.begin()
    assert await seen.told() == []
    seen.sh("sed -i 's/\\r$//' a.txt")
    [to_lf] = (await seen.observer.sweep()).found
    assert (to_lf.before, to_lf.after) == (b"one\r\ntwo\r\n", b"one\ntwo\n")
    assert (to_lf.change.added, to_lf.change.removed) == (2, 2)
    seen.sh("sed -i 's/$/\\r/' a.txt")
    [to_crlf] = (await seen.observer.sweep()).found
    assert (to_crlf.before, to_crlf.after) == (b"one\ntwo\n", b"one\r\ntwo\r\n")
    seen.sh("sed -i 's/\\r$//' mixed.txt")
    assert await seen.told() == [("modify", "mixed.txt")]


@pytest.mark.parametrize("attribute", ["filter=shout", "ident", "working-tree-encoding=UTF-16LE"])
async def test_conversions_that_git_makes_do_not_reach_the_bytes(seen: Sighted, attribute: str) -> None:
    text = "$Id$ hello\n"
    content = text.encode("utf-16-le") if "encoding" in attribute else text.encode()
    seen.write(".gitattributes", f"*.txt {attribute}\n".encode())
    seen.git("init", "-q")
    seen.git("config", "filter.shout.clean", "tr a-z A-Z")
    seen.git("config", "filter.shout.smudge", "tr A-Z a-z")
    seen.write("a.txt", content)
    seen.repository()
    await seen.begin()
    assert await seen.told() == []
    seen.write("a.txt", content + content)
    [found] = (await seen.observer.sweep()).found
    assert (found.before, found.after) == (content, content * 2)


async def test_another_writer_while_a_sweep_reads(seen: Sighted) -> None:
    """Whatever moment a sweep catches, it tells a state that was there, and the last one in the end."""
    path = seen.write("a.txt", b"start\n")
    await ready(seen)
    end = threading.Event()
    written = [b"start\n"]

    def write() -> None:
        number = 0
        while not end.is_set():
            number += 1
            text = b"%d\n" % number * (number % 2000)
            written.append(text)
            path.write_bytes(text)

    writer = threading.Thread(target=write)
    writer.start()
    state = b"start\n"
    for _ in range(10):
        for found in (await seen.observer.sweep()).found:
            assert found.before == state or found.before is None
            state = found.after or b""
    end.set()
    writer.join()
    for found in (await seen.observer.sweep()).found:
        assert found.before == state
        state = found.after or b""
    assert state == path.read_bytes()


async def test_secrets_are_masked_and_the_true_bytes_kept(seen: Sighted) -> None:
    seen.write("env", b"x=1\n")
    await ready(seen)
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    seen.write("env", f"x=1\ntoken = {token}\n".encode())
    [found] = (await seen.observer.sweep()).found
    assert found.change.redacted
    assert token not in str(found.change)
    assert found.change.after is not None
    assert token.encode() in (seen.store.get(SESSION, found.change.after.blob) or b"")


async def test_a_move_is_told_as_one(seen: Sighted) -> None:
    seen.write("a/one.txt", b"1\n" * 30)
    seen.write("a/two.txt", b"2\n" * 30)
    seen.write("tool", b"#!/bin/sh\n" * 9)
    seen.write("data.bin", bytes(range(256)) * 20)
    await ready(seen)
    seen.sh("mkdir b; mv a/one.txt b/one.txt; mv a/two.txt b/two.txt; echo more >> b/two.txt")
    seen.sh("mv tool script && chmod +x script; mv data.bin moved.bin && printf x >> moved.bin")
    changes = await seen.sweep()
    assert [said(change, seen.root) for change in changes] == [
        ("move", "a/one.txt -> b/one.txt"),
        ("move", "a/two.txt -> b/two.txt"),
        ("move", "data.bin -> moved.bin"),
        ("move", "tool -> script"),
    ]
    assert [change.added for change in changes] == [0, 1, 0, 0]
    assert changes[2].file_type == "binary"
    assert changes[3].facts == ("made_executable",)


async def test_equal_files_move_to_the_name_that_is_like_theirs(seen: Sighted) -> None:
    for name in ("a", "b", "c"):
        seen.write(f"old/{name}", b"equal\n")
        seen.write(f"old/{name}.empty", b"")
    await ready(seen)
    seen.sh("mv old new")
    assert await seen.told() == [
        ("move", f"old/{name} -> new/{name}") for name in ("a", "a.empty", "b", "b.empty", "c", "c.empty")
    ]


async def test_unlike_files_are_not_paired(seen: Sighted) -> None:
    seen.write("a", b"".join(b"line %d\n" % number for number in range(50)))
    seen.write("empty1", b"")
    await ready(seen)
    seen.sh("rm a empty1; seq 1000 1050 > b; touch empty2")
    assert await seen.told() == [("delete", "a"), ("add", "b"), ("delete", "empty1"), ("add", "empty2")]
