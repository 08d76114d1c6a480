"""Which file a patch speaks of, whatever its writer puts before the names: patches as git and diff print them."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from redline.changes.parse import parse

if TYPE_CHECKING:
    from pathlib import Path

    from redline.changes.record import FileChange

FOLDERS = ["a", "b", "c", "i", "o", "w", "1", "2", "src", "dev"]


def run(folder: Path, *words: str, **environment: str) -> str:
    who = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    names = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "n")
    done = subprocess.run(
        words,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **who, **names, **environment},
    )
    assert not done.stderr
    return done.stdout


def told(changes: list[FileChange]) -> list[tuple[str, str | None, str]]:
    return sorted((change.operation, change.old_path, change.path) for change in changes)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In every folder a file of each fate; beside them moves between folders whose names git uses as prefixes."""
    root = tmp_path_factory.mktemp("repository")
    run(root, "git", "init", "-q")
    for name in FOLDERS:
        folder = root / name
        folder.mkdir()
        (folder / "edited one.py").write_text("1\n")
        (folder / "null").write_text("1\n")
        (folder / "deleted").write_text("1\n")
        (folder / "emptied").write_text("")
        (folder / "mode of.sh").write_text("1\n")
        (folder / "data").write_bytes(b"\0\1")
    for name in ("m", "n"):
        (root / "a" / name).write_text(f"{name}\n" * 30)
    run(root, "git", "add", ".")
    run(root, "git", "commit", "-q", "-m", "one")
    for name in FOLDERS:
        folder = root / name
        (folder / "edited one.py").write_text("2\n")
        (folder / "null").write_text("2\n")
        (folder / "deleted").unlink()
        (folder / "emptied").unlink()
        (folder / "mode of.sh").chmod(0o755)
        (folder / "data").write_bytes(b"\0\2")
        (folder / "added one").write_text("unlike any other\n")
        (folder / "new one").write_text("")
    (root / "a" / "m").rename(root / "b" / "m")
    (root / "a" / "n").rename(root / "b" / "n")
    (root / "b" / "n").write_text("n\n" * 29 + "q\n")
    (root / "b" / "null").rename(root / "null")
    (root / "null").write_text("3\n")
    run(root, "git", "add", ".")
    return root


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--no-prefix",),
        ("--src-prefix=old/", "--dst-prefix=new/"),
        ("--src-prefix=x/y/", "--dst-prefix=z/"),
        ("--src-prefix=", "--dst-prefix=new/"),
        ("-R", "--no-prefix"),
        ("-R",),
    ],
)
@pytest.mark.parametrize("mnemonic", ["true", "false"])
def test_git_names_each_file_whatever_it_is_told_to_put_before_it(
    repository: Path, options: tuple[str, ...], mnemonic: str
) -> None:
    git = (
        "git",
        "-c",
        f"diff.mnemonicPrefix={mnemonic}",
        "diff",
        "--cached",
        "--find-renames",
        "--no-rename-empty",
        *options,
    )
    names = run(repository, *git, "--name-status", "-z").split("\0")[:-1]
    expected = []
    while names:
        sign = names.pop(0)[0]
        old = names.pop(0) if sign == "R" else None
        operation = {"A": "add", "D": "delete", "M": "modify", "R": "move"}[sign]
        expected.append((operation, old, names.pop(0)))
    assert len(expected) >= 8 * len(FOLDERS)
    assert told(parse(run(repository, *git))) == sorted(expected)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Europe/Berlin"])
@pytest.mark.parametrize("options", [("-ruN",), ("-r", "-u", "-N", "--label", "old/sub/f", "--label", "new/sub/f")])
def test_what_diff_finds_in_two_folders_is_no_move(tmp_path: Path, zone: str, options: tuple[str, ...]) -> None:
    for side in ("old", "new"):
        (tmp_path / side / "sub").mkdir(parents=True)
        (tmp_path / side / "sub" / "f").write_text(f"{side}\n")
    expected: list[tuple[str, str | None, str]] = [("modify", None, "sub/f")]
    if "--label" not in options:
        (tmp_path / "old" / "gone").write_text("1\n")
        (tmp_path / "new" / "added").write_text("1\n")
        expected += [("add", None, "added"), ("delete", None, "gone")]
    assert told(parse(run(tmp_path, "diff", *options, "old", "new", TZ=zone))) == sorted(expected)


def test_what_diff_finds_in_two_files_is_a_change_of_the_second(tmp_path: Path) -> None:
    (tmp_path / "f.orig").write_text("1\n")
    (tmp_path / "f").write_text("2\n")
    assert told(parse(run(tmp_path, "diff", "-u", "f.orig", "f"))) == [("modify", None, "f")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a/main.py", "b/main.py", ("modify", None, "main.py")),
        ("a/main.py", "a/main.py", ("modify", None, "a/main.py")),
        ("a/old.py", "b/new.py", ("move", "old.py", "new.py")),
        ("old.py", "new.py", ("move", "old.py", "new.py")),
        ("/dev/null", "b/new.py", ("add", None, "new.py")),
        ("/dev/null", "a/new.py", ("add", None, "a/new.py")),
        ("a/old.py", "/dev/null", ("delete", None, "old.py")),
        ("a/dev/null", "b/new.py", ("add", None, "new.py")),
        ("a/dev/null", "b/dev/null", ("modify", None, "dev/null")),
        ("/dev/null", "b/dev/null", ("add", None, "dev/null")),
        ("a/dev/null", "/dev/null", ("delete", None, "dev/null")),
    ],
)
def test_two_lines_alone_name_the_file(old: str, new: str, expected: tuple[str, str | None, str]) -> None:
    assert told(parse(f"--- {old}\n+++ {new}\n@@ -1 +1 @@\n-x\n+y\n")) == [expected]
