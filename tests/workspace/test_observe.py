"""What a sweep says happened, for every way in which files change behind the tools."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import threading
from pathlib import Path

import pytest

from redline.changes.compare import blob_id
from redline.sessions.redaction import Redactor
from redline.workspace import survey
from redline.workspace.bounds import Limits
from redline.workspace.observe import Observer
from sighted import SESSION, Sighted, said

BOTH = pytest.mark.parametrize("in_git", [True, False], ids=["git", "no git"])


async def ready(seen: Sighted, *, in_git: bool = True) -> Sighted:
    if in_git:
        seen.repository()
    await seen.begin()
    assert seen.first.limited is None
    assert seen.first.found == []
    return seen


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


@BOTH
async def test_links_are_their_targets_text(seen: Sighted, in_git: bool) -> None:
    outside = seen.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("never read")
    seen.sh("ln -s ../outside folder; ln -s nowhere dangling; ln -s loop loop")
    await ready(seen, in_git=in_git)
    seen.sh("ln -sfn ../elsewhere folder; rm dangling; ln -s a b")
    (outside / "secret.txt").write_text("changed")
    changes = await seen.sweep()
    assert [said(change, seen.root) for change in changes] == [
        ("add", "b"),
        ("delete", "dangling"),
        ("modify", "folder"),
    ]
    assert {change.file_type for change in changes} == {"symlink"}
    assert changes[2].hunks[0].lines == ("-../outside", "+../elsewhere")


async def test_a_file_that_becomes_a_link_goes_and_comes(seen: Sighted) -> None:
    seen.write("a")
    seen.write("b")
    await ready(seen)
    seen.sh("rm a && ln -s b a")
    changes = await seen.sweep()
    assert [(change.operation, change.file_type) for change in changes] == [("delete", "text"), ("add", "symlink")]
    seen.sh("rm a && echo x > a")
    changes = await seen.sweep()
    assert [(change.operation, change.file_type) for change in changes] == [("delete", "symlink"), ("add", "text")]


async def test_a_folder_becomes_a_file_and_a_file_a_folder(seen: Sighted) -> None:
    seen.write("folder/a", b"one of a kind\n")
    seen.write("file", b"x\n")
    await ready(seen)
    seen.sh("rm -r folder && echo 123456 > folder && rm file && mkdir file && echo 99999 > file/inner")
    assert await seen.told() == [("delete", "file"), ("add", "file/inner"), ("add", "folder"), ("delete", "folder/a")]
    assert await seen.told() == []


async def test_a_folder_replaced_by_a_link_is_not_followed(seen: Sighted) -> None:
    seen.write("folder/a", b"kept\n")
    outside = seen.root.parent / "outside"
    outside.mkdir()
    (outside / "a").write_text("kept\n")
    await ready(seen)
    seen.sh("rm -r folder && ln -s ../outside folder")
    assert await seen.told() == [("add", "folder"), ("delete", "folder/a")]


async def test_sockets_pipes_and_drafts_are_not_seen(seen: Sighted, monkeypatch: pytest.MonkeyPatch) -> None:
    seen.write("was-a-file")
    await ready(seen)
    seen.sh("mkfifo pipe; rm was-a-file; mkfifo was-a-file; echo x > .redline-0123456789abcdef.tmp")
    with socket.socket(socket.AF_UNIX) as listening, monkeypatch.context() as here:
        here.chdir(seen.root)  # an address is short
        listening.bind("socket")
        assert await seen.told() == [("delete", "was-a-file")]


async def test_names_that_are_not_utf8(seen: Sighted) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    seen.write(name, b"one\n")
    await ready(seen)
    seen.write(name, b"two\n")
    seen.write(os.fsdecode(b"\xff\xfe/x"), b"new\n")
    changes = await seen.sweep()
    assert [os.fsencode(change.path).rsplit(b"/", 1)[1] for change in changes] == [b"caf\xe9.txt", b"x"]
    await seen.begin()
    assert seen.first.found == []


async def test_names_with_newlines_quotes_and_stars(seen: Sighted) -> None:
    names = ["a\nb", 'q"uote', "*", "[x]", " lead", "trail ", "back\\slash", "#hash", "!bang", "ünï"]
    await ready(seen)
    for number, name in enumerate(names):
        seen.write(name, b"content %d\n" % number)
    assert {name for _, name in await seen.told()} == set(names)
    assert await seen.told() == []


async def test_what_git_ignores_is_not_swept(seen: Sighted) -> None:
    seen.write(".gitignore", b"*.log\n/build/\n")
    seen.git("init", "-q")
    seen.git("config", "core.excludesFile", "~/ignored")
    Path.home().joinpath("ignored").write_text("*.swp\n")
    (seen.root / ".git/info/exclude").write_text("private\n")
    await ready(seen)
    for name in ("x.log", "build/out", "y.swp", "private"):
        seen.write(name)
    seen.write("seen.txt", b"yes\n")
    assert await seen.told() == [("add", "seen.txt")]


async def test_a_tracked_file_is_seen_although_it_is_ignored(seen: Sighted) -> None:
    seen.write("kept.log", b"1\n")
    seen.repository()
    seen.write(".gitignore", b"*.log\n")
    await seen.begin()
    seen.write("kept.log", b"2\n")
    assert await seen.told() == [("modify", "kept.log")]


async def test_files_that_only_become_visible_are_no_changes(seen: Sighted) -> None:
    seen.write(".gitignore", b"build\n")
    seen.write("build/old", b"was there\n")
    await ready(seen)
    await asyncio.sleep(0.02)
    assert await seen.told() == []
    seen.write(".gitignore", b"")
    seen.write("build/new", b"has come\n")
    assert await seen.told() == [("modify", ".gitignore"), ("add", "build/new")]
    seen.write("build/old", b"is changed\n")
    [found] = (await seen.observer.sweep()).found
    assert (found.change.operation, found.before) == ("modify", b"was there\n")


async def test_a_workspace_below_the_repositorys_root(seen: Sighted) -> None:
    top = seen.root
    seen.write(".gitignore", b"*.log\n/part/out/\n/other/a\n")
    seen.write("part/a", b"a\n")
    seen.write("other/a", b"a\n")
    seen.repository()
    seen.root = top / "part"
    await seen.begin()
    for name in ("x.log", "out/x"):
        seen.write(name)
    (top / "other/a").write_text("not mine")
    seen.write("a", b"b\n")
    [found] = (await seen.observer.sweep()).found
    assert (found.change.path, found.before) == (str(top / "part/a"), b"a\n")


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


# Moves.


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


# Repositories inside.


async def test_repositories_inside_are_walked_as_folders(seen: Sighted) -> None:
    seen.write("inner/a", b"inner a\n")
    seen.write("inner/deep/b", b"inner b\n")
    seen.repository("inner/deep")
    seen.repository("inner")
    seen.write("top", b"top\n")
    seen.repository()
    await seen.begin()
    assert await seen.told() == []
    seen.write("inner/a", b"changed\n")
    seen.write("inner/deep/b", b"changed too\n")
    seen.write("inner/deep/new", b"new\n")
    assert await seen.told() == [("modify", "inner/a"), ("modify", "inner/deep/b"), ("add", "inner/deep/new")]
    seen.git("commit", "-aqm", "again", folder="inner")
    assert await seen.told() == []


async def test_a_submodule_is_walked_as_a_folder(seen: Sighted) -> None:
    library = seen.root.parent / "library"
    library.mkdir()
    Sighted(library, seen.store).write("lib.txt", b"lib\n")
    Sighted(library, seen.store).repository()
    seen.write("top", b"top\n")
    seen.git("init", "-q")
    seen.git("submodule", "--quiet", "add", str(library), "lib")
    seen.repository()
    await seen.begin()
    seen.write("lib/lib.txt", b"changed\n")
    assert await seen.told() == [("modify", "lib/lib.txt")]


async def test_a_repository_that_appears_or_disappears_changes_nothing(seen: Sighted) -> None:
    seen.write("part/a", b"a\n")
    seen.write("part/b", b"b\n")
    await ready(seen)
    seen.git("init", "-q", folder="part")
    assert await seen.told() == []
    seen.write("part/a", b"changed\n")
    seen.write("part/c", b"c\n")
    assert await seen.told() == [("modify", "part/a"), ("add", "part/c")]
    seen.sh("rm -rf part/.git")
    assert await seen.told() == []
    seen.sh("rm -rf part")
    assert await seen.told() == [("delete", "part/a"), ("delete", "part/b"), ("delete", "part/c")]


async def test_a_clone_that_arrives_is_files_that_arrive(seen: Sighted) -> None:
    source = seen.root.parent / "source"
    source.mkdir()
    Sighted(source, seen.store).write("x/lib.txt", b"lib\n")
    Sighted(source, seen.store).repository()
    await ready(seen)
    seen.git("clone", "-q", str(source), "clone")
    assert await seen.told() == [("add", "clone/x/lib.txt")]


async def test_the_users_repository_may_go(seen: Sighted) -> None:
    """The snapshot borrows its objects; what can still be read is kept when they go."""
    seen.write("a", b"one\n")
    seen.write("b", b"two\n")
    await ready(seen)
    seen.sh("rm -rf .git")
    assert await seen.told() == []
    seen.write("a", b"changed\n")
    [found] = (await seen.observer.sweep()).found
    assert (found.before, found.after) == (b"one\n", b"changed\n")
    seen.git("init", "-q")
    assert await seen.told() == []


async def test_commits_branches_and_stashes_change_what_they_change_on_disk(seen: Sighted) -> None:
    seen.write("a", b"one\n")
    await ready(seen)
    seen.write("a", b"two\n")
    assert await seen.told() == [("modify", "a")]
    seen.git("commit", "-aqm", "second")
    seen.git("gc", "-q")
    assert await seen.told() == []
    seen.git("checkout", "-q", "HEAD~1")
    [found] = (await seen.observer.sweep()).found
    assert (found.before, found.after) == (b"two\n", b"one\n")


async def test_the_users_repository_is_never_written(seen: Sighted) -> None:
    seen.write("a", b"one\n")
    seen.repository()

    def facts() -> dict[str, tuple[int, int, bytes]]:
        return {
            str(path): (path.stat().st_mtime_ns, path.stat().st_ino, path.read_bytes() if path.is_file() else b"")
            for path in (seen.root / ".git", *sorted((seen.root / ".git").rglob("*")))
        }

    before = facts()
    await seen.begin()
    seen.write("a", b"two\n")
    seen.write("b", b"new\n")
    assert len(await seen.told()) == 2
    await seen.observer.look(["a", ".git/config"])
    assert facts() == before


# Named paths.


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


# Redline's own changes.


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


# Restarts.


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
    await seen.begin(known={one.change.path: one.change for one in found})
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
    await seen.begin(known={one.change.path: one.change for one in (found, later)})
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


# Bounds.


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


async def test_ignored_files_do_not_count(seen: Sighted) -> None:
    seen.write(".gitignore", b"generated\n")
    for number in range(30):
        seen.write(f"generated/f{number}")
    seen.limits = Limits(files=20)
    await ready(seen, in_git=False)


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
