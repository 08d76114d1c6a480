"""The live diff of a file says what `git diff HEAD` says of it, beside it in the same repository."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from redline.files.local import LocalFiles
from redline.sessions.redaction import Redactor
from redline.surfaces.dashboard.contract import FileDiff
from redline.surfaces.dashboard.file_diff import file_diff
from redline.surfaces.dashboard.place import Place

if TYPE_CHECKING:
    from collections.abc import Callable

    Look = Callable[[str], FileDiff]


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        settings = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.safecrlf=false")
        done = subprocess.run(["git", *settings, *arguments], cwd=self.folder, capture_output=True, check=True)
        return done.stdout.decode("utf-8", "surrogateescape")

    def write(self, name: str, content: bytes) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(content)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "so far")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.fixture
def look(repository: Repository) -> Look:
    async def resolved(name: str) -> FileDiff:
        target = await LocalFiles([repository.folder]).resolve(name)
        return file_diff(target, Place("s", str(repository.folder)), Redactor())

    def looked(name: str) -> FileDiff:
        return asyncio.run(resolved(name))

    return looked


def lines(diff: FileDiff) -> list[str]:
    assert diff.change is not None
    return [line for hunk in diff.change.hunks for line in hunk.lines]


def of_git(repository: Repository, name: str) -> list[str]:
    """The lines of git's own hunks."""
    said = repository.git("diff", "HEAD", "--no-color", "--no-ext-diff", "--", name).split("\n")
    at = next((number for number, line in enumerate(said) if line.startswith("@@")), len(said))
    return [line for line in said[at:] if line[:1] in (" ", "-", "+")]


def test_five_answers(repository: Repository, look: Look, tmp_path_factory: pytest.TempPathFactory) -> None:
    repository.write("same.txt", b"a\n")
    repository.write("changed.txt", b"a\nb\nc\n")
    repository.commit()
    repository.write("changed.txt", b"a\nB\nc\n")
    repository.write("new.txt", b"new\n")
    (repository.folder / "folder").mkdir()
    assert look("same.txt").state == "clean"
    changed = look("changed.txt")
    assert (changed.state, lines(changed)) == ("modified", of_git(repository, "changed.txt"))
    new = look("new.txt")
    assert (new.state, lines(new)) == ("untracked", ["+new"])
    folder = look("folder")
    assert (folder.state, folder.change) == ("failed", None)
    assert folder.problem is not None
    assert folder.problem.remedy
    outside = tmp_path_factory.mktemp("no-repository")
    (outside / "f.txt").write_bytes(b"a\n")
    target = asyncio.run(LocalFiles([outside]).resolve("f.txt"))
    assert file_diff(target, Place("s", str(outside)), Redactor()).state == "not_in_git"


def test_deleted_staged_and_committed_files(repository: Repository, look: Look) -> None:
    repository.write("gone.txt", b"a\nb\n")
    repository.write("deep/er/gone.txt", b"a\n")
    repository.commit()
    (repository.folder / "gone.txt").unlink()
    (repository.folder / "deep/er/gone.txt").unlink()
    (repository.folder / "deep/er").rmdir()
    repository.write("staged.txt", b"staged\n")
    repository.git("add", "staged.txt")
    gone = look("gone.txt")
    assert gone.change is not None
    assert (gone.state, gone.change.operation, lines(gone)) == ("modified", "delete", ["-a", "-b"])
    assert look("deep/er/gone.txt").state == "modified"
    staged = look("staged.txt")
    assert (staged.state, lines(staged)) == ("modified", of_git(repository, "staged.txt"))
    assert look("never-was.txt").state == "clean"
    repository.commit()
    assert (look("gone.txt").state, look("staged.txt").state) == ("clean", "clean")


def test_a_mode_a_link_and_binary_data(repository: Repository, look: Look) -> None:
    repository.write("run.sh", b"#!/bin/sh\n")
    repository.write("data.bin", b"\0\1\2")
    (repository.folder / "link").symlink_to("run.sh")
    repository.commit()
    (repository.folder / "run.sh").chmod(0o755)
    repository.write("data.bin", b"\0\1\2\3")
    (repository.folder / "link").unlink()
    (repository.folder / "link").symlink_to("data.bin")
    mode, data, link = look("run.sh"), look("data.bin"), look("link")
    assert mode.change is not None
    assert (mode.state, mode.change.facts, mode.change.hunks) == ("modified", ["made_executable"], [])
    assert data.change is not None
    assert (data.state, data.change.file_type, data.change.hunks) == ("modified", "binary", [])
    assert link.change is not None
    assert (link.state, link.change.file_type, lines(link)) == ("modified", "symlink", ["-run.sh", "+data.bin"])


def test_a_link_that_became_a_file_and_the_reverse(repository: Repository, look: Look) -> None:
    repository.write("b", b"b\n")
    (repository.folder / "a").symlink_to("b")
    repository.write("c", b"b")
    repository.commit()
    for name in ("a", "c"):
        (repository.folder / name).unlink()
    repository.write("a", b"b")  # the bytes of both are those of before
    (repository.folder / "c").symlink_to("b")
    for name, fact, file_type in (("a", "link_became_file", "text"), ("c", "file_became_link", "symlink")):
        change = look(name).change
        assert change is not None
        assert (change.operation, change.facts, change.file_type) == ("modify", [fact], file_type)
        assert lines(look(name)) == ["-b", "+b"]


@pytest.mark.parametrize("setting", ["autocrlf", "attributes"])
def test_line_ends_that_git_takes_for_its_own_are_no_change(repository: Repository, look: Look, setting: str) -> None:
    if setting == "autocrlf":
        repository.git("config", "core.autocrlf", "true")
    else:
        repository.write(".gitattributes", b"* text=auto eol=crlf\n")
    repository.write("f.txt", b"a\r\nb\r\n")
    repository.commit()
    assert of_git(repository, "f.txt") == []
    assert look("f.txt").state == "clean"
    repository.write("f.txt", b"a\r\nB\r\n")
    changed = look("f.txt")
    assert lines(changed) == of_git(repository, "f.txt")
    assert lines(changed) == [" a", "-b", "+B"]


def test_without_a_commit_everything_is_new(repository: Repository, look: Look) -> None:
    repository.write("f.txt", b"a\n")
    assert look("f.txt").state == "untracked"
    repository.git("add", "f.txt")
    assert look("f.txt").state == "modified"


def test_a_repository_inside_the_folder_answers_for_its_own_files(repository: Repository, look: Look) -> None:
    inner = repository.folder / "vendor"
    inner.mkdir()
    nested = Repository(inner)
    nested.write("f.txt", b"a\n")
    nested.commit()
    nested.write("f.txt", b"b\n")
    assert lines(look("vendor/f.txt")) == ["-a", "+b"]


def test_a_damaged_repository_is_a_failure_that_says_so(repository: Repository, look: Look) -> None:
    repository.write("f.txt", b"a\n")
    repository.commit()
    repository.write("f.txt", b"b\n")
    for found in (repository.folder / ".git" / "objects").rglob("*"):
        if found.is_file():
            found.chmod(0o600)
            found.write_bytes(b"not an object")
    answer = look("f.txt")
    assert answer.state == "failed"
    assert answer.problem is not None
    assert answer.problem.code == "GIT"


def test_nothing_that_the_repository_configures_is_run(repository: Repository, look: Look) -> None:
    """Whoever may write a file may write `.git/config`; a look at a diff shall not run what stands in it."""
    repository.write("f.txt", b"a\n")
    repository.write(".gitattributes", b"f.txt filter=trap diff=trap\n")
    repository.commit()
    trap = repository.folder.parent / "sprung"
    for key in ("filter.trap.clean", "filter.trap.smudge", "diff.trap.command", "diff.trap.textconv", "core.fsmonitor"):
        repository.git("config", key, f"sh -c 'touch {trap}; cat'")
    repository.write("f.txt", b"b\n")
    assert lines(look("f.txt")) == ["-a", "+b"]
    assert not trap.exists()


def test_a_large_file_is_named_and_not_compared(repository: Repository, look: Look) -> None:
    repository.write("big.txt", b"a\n" * (6 * 2**20))
    repository.commit()
    repository.write("big.txt", b"b\n" * (6 * 2**20))
    answer = look("big.txt")
    assert answer.state == "modified"
    assert answer.change is not None
    assert (answer.change.file_type, answer.change.hunks) == ("unknown", [])


def test_odd_bytes_in_a_line_and_in_a_name(repository: Repository, look: Look) -> None:
    repository.write("latin.txt", b"caf\xe9\n")
    answer = look("latin.txt")
    assert lines(answer) == ["+caf\\xE9"]
    assert answer.model_dump_json()
