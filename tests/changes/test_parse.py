"""Patches read back: by position, with whatever their writers do to names, line ends and colours."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.changes.compare import describe, without_basis
from redline.changes.parse import parse
from redline.changes.patch import PatchItem, git_patch, unified

if TYPE_CHECKING:
    from pathlib import Path

    from redline.changes.record import FileChange

texts = st.lists(
    st.sampled_from(
        ["a", "-- x", "++ y", "@@ -1 +1 @@", "--- a/x", "+++ b/x", "", "\\ No", "\r", "é", "diff --git a/x b/x"]
    ),
    max_size=14,
)


def only(text: str) -> FileChange:
    (change,) = parse(text)
    return change


@settings(max_examples=300, deadline=None)
@given(old=texts, new=texts, ends=st.tuples(st.booleans(), st.booleans()))
def test_what_is_printed_reads_back(old: list[str], new: list[str], ends: tuple[bool, bool]) -> None:
    """Public reports: K113."""
    before, after = (
        "".join(line + "\n" for line in side).encode()[: None if end else -1]
        for side, end in zip((old, new), ends, strict=True)
    )
    change = describe("/w/a b.txt", before, after)
    if not change.hunks:
        return
    git = git_patch([PatchItem(change, before, after)], root="/w")
    for text, path in ((unified(change), "/w/a b.txt"), (git, "a b.txt")):
        (read,) = parse(text)
        assert (read.path, read.operation, read.hunks) == (path, "modify", change.hunks)
        assert (read.added, read.removed, read.provenance) == (change.added, change.removed, "reported")
        assert {fact for fact in read.facts if "newline" in fact} == {
            fact for fact in change.facts if "newline" in fact
        }


def test_lines_that_look_like_headers_are_lines() -> None:
    """Public reports: K113."""
    change = only("--- q.sql\n+++ q.sql\n@@ -1,2 +1,2 @@\n--- drop me\n+++ x\n keep\n")
    assert (change.path, change.added, change.removed) == ("q.sql", 1, 1)
    assert change.hunks[0].lines == ("--- drop me", "+++ x", " keep")


def test_a_patch_of_a_patch_is_one_file() -> None:
    """Public reports: K115."""
    change = only("--- p.patch\n+++ p.patch\n@@ -1,1 +1,1 @@\n---- a/x\n++++ b/x\n")
    assert (change.added, change.removed) == (1, 1)


def test_a_marker_inside_a_hunk_is_no_line_and_ends_nothing() -> None:
    """Public reports: K114."""
    text = "--- a\n+++ a\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+++i;\n--- b\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"
    first, second = parse(text)
    assert (first.path, first.added, first.removed, second.path) == ("a", 1, 1, "b")
    assert first.hunks[0].lines == ("-a", "+++i;")
    assert first.facts == ("final_newline_added",)


def test_two_sections_with_nothing_between_are_two_changes() -> None:
    """Public reports: K117."""
    section = "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n"
    assert len(parse(section * 2)) == 2


def test_a_missing_count_means_one() -> None:
    """Public reports: K120."""
    (hunk,) = only("--- a\n+++ a\n@@ -2 +2 @@\n-x\n+y\n").hunks
    assert (hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines) == (2, 1, 2, 1)


def test_a_deleted_file_keeps_its_name() -> None:
    """Public reports: K121."""
    change = only("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n")
    assert (change.path, change.operation, change.removed) == ("x", "delete", 1)


def test_a_created_file_and_an_absolute_path() -> None:
    """Public reports: K120."""
    change = only("--- /dev/null\n+++ b//home/me/x\n@@ -0,0 +1 @@\n+x\n")
    assert (change.path, change.operation) == ("/home/me/x", "add")


def test_a_trailing_word_about_a_move_is_a_move_and_no_line() -> None:
    """Public reports: C28."""
    change = only("--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n\nMoved to: src/b.py\n")
    assert (change.operation, change.old_path, change.path) == ("move", "src/a.py", "src/b.py")
    assert (change.added, change.removed) == (1, 1)


@pytest.mark.parametrize(
    "path",
    [
        'docs/My Notes/排查 "x".md',
        "a b/c b/d.txt",
        "tab\there",
        "back\\slash",
        "line\nbreak",
        "-- dash",
        "é",
        "caf\udce9",
        "end ",
    ],
)
def test_every_path_survives(path: str, tmp_path: Path) -> None:
    """Public reports: K118."""
    before, after = b"one\n", b"two\n"
    change = describe(f"/w/{path}", before, after)
    patch = git_patch([PatchItem(change, before, after)], root="/w")
    (read,) = parse(patch)
    assert (read.path, read.operation) == (path, "modify")
    (read,) = parse(unified(change))
    assert read.path == f"/w/{path}"
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(before)
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, check=True)
    assert file.read_bytes() == after


def test_paths_that_git_itself_quotes() -> None:
    """Public reports: K118."""
    text = (
        'diff --git "a/\\346\\216\\222 \\"x\\".md" "b/\\346\\216\\222 \\"x\\".md"\nold mode 100644\nnew mode 100755\n'
    )
    change = only(text)
    assert (change.path, change.operation, change.facts) == ('排 "x".md', "modify", ("made_executable",))


def test_a_path_with_the_prefix_of_the_other_side_inside_is_no_rename() -> None:
    """Public reports: K118."""
    change = only("diff --git a/x b/y.txt b/x b/y.txt\nnew file mode 100644\nindex 0000000..e69de29\n")
    assert (change.path, change.operation) == ("x b/y.txt", "add")


def test_renames_copies_and_binary_files() -> None:
    text = (
        "diff --git a/old.py b/new.py\nsimilarity index 100%\nrename from old.py\nrename to new.py\n"
        "diff --git a/p.png b/p.png\nindex 1..2 100644\nBinary files a/p.png and b/p.png differ\n"
        "diff --git a/q.bin b/q.bin\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmX|>--- \n\n"
        "diff --git a/k.py b/copy.py\nsimilarity index 90%\ncopy from k.py\ncopy to copy.py\n"
        "--- a/k.py\n+++ b/copy.py\n@@ -1 +1 @@\n-x\n+y\n"
    )
    move, picture, blob, copy = parse(text)
    assert (move.operation, move.old_path, move.path, move.hunks) == ("move", "old.py", "new.py", ())
    assert picture.file_type == blob.file_type == "binary"
    assert (copy.operation, copy.path, copy.file_type, copy.hunks) == ("add", "copy.py", "unknown", ())


def test_a_patch_with_the_line_ends_of_windows() -> None:
    change = only("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n")
    assert (change.path, change.hunks[0].lines) == ("x", ("-a", "+b"))


def test_a_patch_of_a_file_with_the_line_ends_of_windows_keeps_them() -> None:
    assert only("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+b\r\n").hunks[0].lines == ("-a\r", "+b\r")


def test_colours_are_taken_off_and_escape_codes_of_the_content_are_not() -> None:
    coloured = (
        "\x1b[1m--- a/x\x1b[m\n\x1b[1m+++ b/x\x1b[m\n\x1b[36m@@ -1 +1 @@\x1b[m\n\x1b[31m-a\x1b[m\n\x1b[32m+b\x1b[m\n"
    )
    assert only(coloured).hunks[0].lines == ("-a", "+b")
    assert only("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+\x1b[31mb\n").hunks[0].lines == ("-a", "+\x1b[31mb")


def test_a_mail_around_the_patch_is_not_part_of_it() -> None:
    text = (
        "From 1234 Mon Sep 17\nSubject: [PATCH] x\n\n---\n a | 2 +-\n\n"
        "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n-- \n2.39.5\n\n"
    )
    change = only(text)
    assert (change.path, change.added, change.removed) == ("a", 1, 1)


def test_time_stamps_behind_names_are_not_part_of_them() -> None:
    assert only("--- a.txt\t2026-01-01 10:00\n+++ a.txt\t2026-01-02 10:00\n@@ -1 +1 @@\n-x\n+y\n").path == "a.txt"


def test_an_empty_context_line_may_have_lost_its_space() -> None:
    assert only("--- a\n+++ a\n@@ -1,3 +1,3 @@\n-x\n+y\n\n z\n").hunks[0].lines == ("-x", "+y", " ", " z")


def test_a_shortened_print_reads_back_as_shortened() -> None:
    """Public reports: J106."""
    before, after = (b"".join(b"%s %d\n" % (word, at) for at in range(5000)) for word in (b"old", b"new"))
    text = unified(describe("/w/a", before, after), limit=4096)
    assert len(text.encode()) < 4300
    assert text.endswith("\\ diff truncated\n")
    assert only(text).truncated


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello", "no patch"),
        ("--- a\n+++ a\n", "no hunk follows"),
        ("--- a\n+++ a\n@@ -1,2 +1,2 @@\n-x\n", "ends inside"),
        ("--- a\n+++ a\n@@ -1,2 +1 @@\n-x\nrubbish\n", "line 5"),
        ("@@ -1 +1 @@\n-x\n+y\n", "no file named"),
        ("diff --cc a\n@@@ -1,1 -1,1 +1,1 @@@\n", "combined"),
    ],
)
def test_what_is_not_a_whole_patch_is_refused_by_name(text: str, said: str) -> None:
    """Public reports: K120."""
    with pytest.raises(ValueError, match=said):
        parse(text)


def test_nothing_is_no_change() -> None:
    assert parse("") == parse(b" \n") == []


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "--- a\n",
                "+++ a\n",
                "@@ -1 +1 @@\n",
                "@@\n",
                "-x\n",
                "+y\n",
                " z\n",
                "\\ No newline\n",
                "diff --git a/x b/x\n",
                "rename from x\n",
                "new file mode 1\n",
                "\x1b[1m",
                '"',
                "Moved to: q\n",
                "GIT binary patch\n",
            ]
        ),
        max_size=14,
    ).map("".join)
)
def test_no_text_does_worse_than_a_value_error(text: str) -> None:
    try:
        for change in parse(text):
            unified(change)
    except ValueError:
        pass


@pytest.mark.parametrize("parents", [2, 3])
def test_gits_own_diff_of_a_conflict_is_refused_with_the_reason(parents: int, tmp_path: Path) -> None:
    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        who = ["-c", "user.name=n", "-c", "user.email=e", "-c", "merge.conflictStyle=merge"]
        return subprocess.run(["git", *who, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)

    def commit(branch: str, text: str) -> None:
        git("checkout", "-q", "-b", branch, *(["base"] if branch != "base" else []))
        (tmp_path / "f").write_text(text)
        git("add", "f")
        git("commit", "-q", "-m", branch)

    git("init", "-q")
    branches = [f"side{number}" for number in range(parents)]
    for branch in ("base", *branches):
        commit(branch, f"one\n{branch}\nlast\n")
    if parents == 2:
        git("merge", branches[0])
        text = git("diff").stdout
        assert text.startswith("diff --cc f\n")
        assert "\n@@@ -1,3 -1,3 +1,7 @@@\n" in text
    else:
        tree = git("rev-parse", "base^{tree}").stdout.strip()
        merge = git("commit-tree", tree, *(f"-p{branch}" for branch in branches), "-m", "m").stdout.strip()
        text = git("diff-tree", "--no-commit-id", "-p", "-c", merge).stdout
        assert text.startswith("diff --combined f\n")
        assert "\n@@@@ -" in text
    from_names = text[text.index("--- a/f\n") :]
    for whole in (text, "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n" + text, from_names):
        with pytest.raises(ValueError, match="combined diff"):
            parse(whole)


def fates() -> dict[str, FileChange]:
    """A change of each kind that may have no hunk, and one of each that has some."""
    text, data = b"one\ntwo\n", b"\0\1"
    pairs = {
        "text": (text, b"one\n"),
        "binary": (data, b"\0\2"),
        "empty": (b"", b""),
        "one line": (b"x" * 99, b"y" * 99),
    }
    found = {}
    for name, (old, new) in pairs.items():
        path = f"/w/{name}"
        found[f"{name} added"] = describe(path, None, new)
        found[f"{name} added, executable"] = describe(path, None, new, after_executable=True)
        found[f"{name} deleted"] = describe(path, old, None)
        found[f"{name} modified"] = describe(path, old, new)
        found[f"{name} made executable"] = describe(path, new, new, after_executable=True)
        found[f"{name} made not executable"] = describe(path, new, new, before_executable=True)
        found[f"{name} moved"] = describe(path, new, new, old_path="/w/before")
        found[f"{name} moved, executable"] = describe(path, new, new, old_path="/w/before", after_executable=True)
        found[f"{name} moved and modified"] = describe(path, old, new, old_path="/w/before")
    found["without bytes"] = without_basis("/w/a", "modify", None, None)
    found["without bytes moved"] = without_basis("/w/a", "move", None, None, old_path="/w/before")
    found["without bytes deleted"] = without_basis("/w/a", "delete", None, None)
    return found


@pytest.mark.parametrize("limit", [None, 60])
def test_the_plain_form_of_every_kind_of_change_reads_back_alone_and_in_a_row(limit: int | None) -> None:
    changes = list(fates().values())
    printed = [unified(change, limit=limit) for change in changes]
    for change, read in zip(changes, parse("".join(printed)), strict=True):
        text = unified(change, limit=limit)
        assert parse(text) == [read]
        assert (read.path, read.operation, read.old_path) == (change.path, change.operation, change.old_path)
        assert read.truncated or (read.added, read.removed) == (change.added, change.removed)
        assert read.truncated or (read.hunks, read.file_type) == (change.hunks, change.file_type)
        assert read.hunks or read.truncated or read.facts == change.facts
        assert unified(read, limit=limit) == text


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("empty added", "\\ empty file"),
        ("empty deleted", "\\ empty file"),
        ("text moved", "\\ same lines"),
        ("text made executable", "\\ made executable"),
        ("binary moved", "\\ binary file"),
        ("without bytes", "\\ no text to compare"),
    ],
)
def test_the_plain_form_of_a_change_without_hunks_says_what_it_is(name: str, last: str) -> None:
    lines = unified(fates()[name]).splitlines()
    assert (len(lines), lines[2]) == (3, last)


@pytest.mark.parametrize("number", ["9" * 16, "9" * 5000, "\u0661"])
def test_a_number_that_no_line_can_have_is_no_place(number: str) -> None:
    change = only(f"--- a/x\n+++ b/x\n@@ -{number} +{number} @@\n-a\n+b\n")
    assert (change.anchored, change.hunks[0].old_start, change.hunks[0].lines) == (False, 1, ("-a", "+b"))
