"""What a sweep sees of a workspace that git knows, or that holds repositories of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from redline.workspace.bounds import Limits
from sighted import Sighted, ready


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


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "loose"])
@pytest.mark.parametrize("restarted", [True, False], ids=["restarted", "same process"])
async def test_bytes_of_before_outlive_the_users_repository(seen: Sighted, packed: bool, restarted: bool) -> None:
    """One command that removes `.git` and changes what was committed there."""
    seen.write("a", b"one\n")
    seen.write("b", b"two\n")
    seen.repository()
    if packed:
        seen.git("gc", "-q")
    await seen.begin()
    if restarted:
        await seen.observer.keep()
        await seen.observer.close()
        await seen.begin()
    seen.sh("rm -rf .git; echo changed > a; rm b; git init -q")
    changed, gone = (await seen.observer.sweep()).found
    assert (changed.before, changed.after) == (b"one\n", b"changed\n")
    assert (gone.before, gone.after) == (b"two\n", None)


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


async def test_ignored_files_do_not_count(seen: Sighted) -> None:
    seen.write(".gitignore", b"generated\n")
    for number in range(30):
        seen.write(f"generated/f{number}")
    seen.limits = Limits(files=20)
    await ready(seen, in_git=False)
