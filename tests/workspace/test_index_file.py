"""git's index, in each version that git writes, and with everything in it that is not a plain file."""

from __future__ import annotations

import pytest

from redline.workspace import index_file
from redline.workspace.index_file import IndexFormatError, dump, load
from sighted import Sighted


def names(seen: Sighted) -> list[bytes]:
    return list(load((seen.root / ".git/index").read_bytes()))


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_version_is_read(seen: Sighted, version: str) -> None:
    for name in ("a", "b/c", "b/cc", "b/d" * 40, "l" * 200):
        seen.write(name, name.encode())
    seen.repository()
    seen.git("update-index", f"--index-version={version}")
    entries = load((seen.root / ".git/index").read_bytes())
    listed = seen.git("ls-files", "-s").splitlines()
    assert [
        f"{index_file.mode_of(one):o} {index_file.blob_of(one).hex()} 0\t{path.decode()}"
        for path, one in entries.items()
    ] == listed
    assert load(dump(entries)) == {path: one[:60] + len(path).to_bytes(2, "big") for path, one in entries.items()}


def test_git_reads_what_is_written(seen: Sighted) -> None:
    for name in ("a", "b/c", "x" * 200):
        seen.write(name, name.encode())
    seen.repository()
    before = seen.git("ls-files", "-s")
    index = seen.root / ".git/index"
    index.write_bytes(dump(load(index.read_bytes())))
    assert seen.git("ls-files", "-s") == before
    assert seen.git("status", "--porcelain") == ""


def test_what_says_nothing_of_the_disk_is_left_out(seen: Sighted) -> None:
    for name in ("plain", "assumed", "skipped", "meant"):
        seen.write(name)
    seen.git("init", "-q")
    seen.git("add", "plain", "assumed", "skipped")
    seen.git("add", "-N", "meant")
    seen.git("update-index", "--assume-unchanged", "assumed")
    seen.git("update-index", "--skip-worktree", "skipped")
    assert names(seen) == [b"plain"]


def test_unmerged_files_are_left_out(seen: Sighted) -> None:
    seen.write("a", b"one\n")
    seen.write("b", b"one\n")
    seen.repository()
    seen.git("checkout", "-q", "-b", "other")
    seen.write("a", b"two\n")
    seen.git("commit", "-qam", "two")
    seen.git("checkout", "-q", "-")
    seen.write("a", b"three\n")
    seen.git("commit", "-qam", "three")
    with pytest.raises(Exception, match="merge"):
        seen.git("merge", "-q", "other")
    assert names(seen) == [b"b"]


@pytest.mark.parametrize(
    "command", [("update-index", "--split-index"), ("sparse-checkout", "set", "--sparse-index", "d")]
)
def test_an_index_that_needs_more_is_refused(seen: Sighted, command: tuple[str, ...]) -> None:
    seen.write("d/a")
    seen.write("e/b")
    seen.repository()
    seen.git(*command)
    with pytest.raises(IndexFormatError, match="extension"):
        names(seen)


@pytest.mark.parametrize(
    "command", [("update-index", "--split-index"), ("sparse-checkout", "set", "--sparse-index", "d")]
)
async def test_a_workspace_with_such_an_index_is_read_from_the_disk(seen: Sighted, command: tuple[str, ...]) -> None:
    seen.write("d/a", b"one\n")
    seen.write("e/b", b"one\n")
    seen.repository()
    seen.git(*command)
    await seen.begin()
    assert await seen.told() == []
    seen.write("d/a", b"two\n")
    assert await seen.told() == [("modify", "d/a")]


async def test_a_sha256_repository_is_read_from_the_disk(seen: Sighted) -> None:
    seen.git("init", "-q", "--object-format=sha256")
    seen.write("a", b"one\n")
    seen.git("add", "a")
    await seen.begin()
    seen.write("a", b"two\n")
    assert await seen.told() == [("modify", "a")]


async def test_files_that_git_was_told_to_pass_over_are_seen(seen: Sighted) -> None:
    seen.write("assumed", b"one\n")
    seen.write("skipped", b"one\n")
    seen.repository()
    seen.git("update-index", "--assume-unchanged", "assumed")
    seen.git("update-index", "--skip-worktree", "skipped")
    await seen.begin()
    seen.write("assumed", b"two\n")
    seen.write("skipped", b"two\n")
    assert await seen.told() == [("modify", "assumed"), ("modify", "skipped")]


async def test_a_linked_working_tree(seen: Sighted) -> None:
    seen.write("a", b"one\n")
    seen.repository()
    linked = seen.root.parent / "linked"
    seen.git("worktree", "add", "-q", str(linked))
    seen.root = linked
    await seen.begin()
    seen.write("a", b"two\n")
    [found] = (await seen.observer.sweep()).found
    assert (found.before, found.after) == (b"one\n", b"two\n")


@pytest.mark.parametrize("data", [b"", b"DIRC", b"x" * 100, b"DIRC\0\0\0\x09" + bytes(40)])
def test_what_is_no_index_is_refused(data: bytes) -> None:
    with pytest.raises(IndexFormatError):
        load(data)
