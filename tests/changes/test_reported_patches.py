"""Public reports about patches whose lines look like something else, from the bytes to the patch and back."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from redline.changes.acp import to_blocks
from redline.changes.compare import describe
from redline.changes.parse import parse
from redline.changes.patch import PatchItem, git_patch, unified

if TYPE_CHECKING:
    from pathlib import Path


def applied_by_git(folder: Path, name: str, before: bytes, patch: bytes) -> bytes:
    """What git itself makes of the file."""
    (folder / name).write_bytes(before)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=folder, input=patch, check=True)
    assert [path.name for path in folder.iterdir()] == [name]
    return (folder / name).read_bytes()


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r"])
def test_a_line_that_holds_another_kind_of_line_break_forges_no_header(separator: str, tmp_path: Path) -> None:
    """Public reports: J100."""
    before, after = b"a\n", f"a\nx{separator}diff --git a/evil b/evil\n".encode()
    change = describe("/w/a.txt", before, after)
    assert (change.removed, change.added) == (0, 1)
    patch = git_patch([PatchItem(change, before, after)], root="/w")
    for text, path in ((unified(change), "/w/a.txt"), (patch, "a.txt")):
        (read,) = parse(text)
        assert (read.path, read.removed, read.added) == (path, 0, 1)
    assert applied_by_git(tmp_path, "a.txt", before, patch) == after


def test_a_marker_between_two_lines_is_in_neither_text_and_no_count() -> None:
    """Public reports: J105."""
    lines = ["-a", "\\ No newline at end of file", "+b"]
    (change,) = parse("\n".join(["--- x", "+++ x", "@@ -1 +1 @@", *lines, ""]))
    assert (change.removed, change.added) == (1, 1)
    [block] = to_blocks(change)
    assert (block["oldText"], block["newText"]) == ("a", "b\n")


@pytest.mark.parametrize(
    ("name", "before", "after", "counts"),
    [
        ("q.sql", b"-- drop me\nkeep\n", b"++ x\nkeep\n", (1, 1)),
        ("q.sql", b"-- drop me\n-- a/x\n", b"++ b/x\n", (2, 1)),
        ("x.yaml", b"---\na: 1\n", b"a: 1\n", (1, 0)),
        ("x.yaml", b"a: 1\n", b"---\na: 1\n--- \n", (0, 2)),
    ],
)
def test_lines_that_begin_like_a_header_are_counted(
    name: str, before: bytes, after: bytes, counts: tuple[int, int], tmp_path: Path
) -> None:
    """Public reports: K113."""
    change = describe(f"/w/{name}", before, after)
    assert (change.removed, change.added) == counts
    patch = git_patch([PatchItem(change, before, after)], root="/w")
    for text in (unified(change), patch):
        (read,) = parse(text)
        assert (read.removed, read.added) == counts
    assert applied_by_git(tmp_path, name, before, patch) == after
