"""What the bytes before and after say, as hunks and as a record."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.changes import engine
from redline.changes.apply import apply_hunks
from redline.changes.codec import from_json, to_json
from redline.changes.compare import compare, describe, side, without_basis
from redline.changes.patch import PatchItem, git_patch, unified

CASES = json.loads((Path(__file__).parent / "edge_cases.json").read_text(encoding="utf-8"))
PIECES = [
    b"a",
    b"b",
    b"  c",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xed\xa0\xbd",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"\x0c",
]
texts = st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join) | st.binary(max_size=80)
lines = st.lists(st.sampled_from([b"", b"x", b"y", b"    }", b"\tz", b"x\r"]), max_size=80)


def finished(data: bytes) -> bool:
    return not data or data.endswith(b"\n")


def applied(before: bytes, after: bytes) -> bytes:
    return apply_hunks(before, compare(before, after), final_newline=finished(after))


def bytes_of(case: dict[str, str]) -> tuple[bytes, bytes]:
    return case["before"].encode("utf-8", "surrogatepass"), case["after"].encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_each_known_edge_case_applies_and_survives_the_log(case: dict[str, str]) -> None:
    before, after = bytes_of(case)
    assert applied(before, after) == after
    change = describe("/w/case.txt", before, after)
    assert from_json(json.loads(json.dumps(to_json(change)))) == change


def test_the_counts_of_every_edge_case_are_those_of_git(tmp_path: Path) -> None:
    expected = {}
    for case in CASES:
        before, after = bytes_of(case)
        for folder, data in (("old", before), ("new", after)):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / case["name"]).write_bytes(data)
        change = describe("/w/case.txt", before, after)
        if before != after and change.file_type == "text":
            expected[case["name"]] = (change.added, change.removed)
    command = ["git", "diff", "--no-index", "--no-renames", "--text", "--numstat", "old", "new"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    counted = {}
    for line in told.splitlines():
        added, removed, path = line.split("\t")
        if added != "-":  # git counts no lines of a binary file
            counted[path.rpartition("/")[2].rstrip("}")] = (int(added), int(removed))
    assert {name: counted[name] for name in expected} == expected


def test_git_takes_the_patch_of_every_edge_case_and_takes_it_back(tmp_path: Path) -> None:
    applies_both_ways([bytes_of(case) for case in CASES], tmp_path)


@settings(max_examples=12, deadline=None)
@given(pairs=st.lists(st.tuples(texts, texts), min_size=1, max_size=12))
def test_git_takes_the_patch_of_any_texts(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[bytes, bytes]]
) -> None:
    applies_both_ways(pairs, tmp_path_factory.mktemp("git"))


@settings(max_examples=400, deadline=None)
@given(before=texts, after=texts)
def test_applying_the_hunks_gives_the_new_bytes(before: bytes, after: bytes) -> None:
    assert applied(before, after) == after


@settings(max_examples=200, deadline=None)
@given(head=lines, old=lines, new=lines, tail=lines, times=st.integers(1, 12))
def test_cutting_off_what_is_common_changes_no_hunk(
    head: list[bytes], old: list[bytes], new: list[bytes], tail: list[bytes], times: int
) -> None:
    filling = [b"line %d" % number for number in range(300)]
    before = b"\n".join([*filling, *head * times, *old, *tail * times, *filling]) + b"\n"
    after = b"\n".join([*filling, *head * times, *new, *tail * times, *filling]) + b"\n"
    whole = engine.hunks_of(engine.patch_text(before, after), 0, finished=True)
    assert compare(before, after) == list(whole)


def test_distant_sites_are_hunks_of_their_own_and_near_ones_share_one() -> None:
    rows = [f"row {number}" for number in range(100)]

    def hunks(*changed: int) -> int:
        new = ["changed" if at in changed else row for at, row in enumerate(rows)]
        return len(compare("\n".join(rows).encode(), "\n".join(new).encode()))

    assert hunks(10, 30, 50, 70, 90) == 5
    assert hunks(10, 17) == 1, "six lines between"
    assert hunks(10, 18) == 2, "seven lines between"


def test_a_hunk_has_three_lines_of_context_and_numbers_from_one() -> None:
    before = b"".join(b"%d\n" % number for number in range(1, 10))
    (hunk,) = compare(before, before.replace(b"5\n", b"five\n"))
    assert (hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines) == (2, 7, 2, 7)
    assert hunk.lines == (" 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8")


def test_only_a_newline_ends_a_line() -> None:
    """Public reports: J100."""
    before = b"a\rb\nc\n"
    after = "a\rb\nC\x0b\x0c\x85\u2028diff --git a/evil b/evil\u2029\n".encode()
    (hunk,) = compare(before, after)
    assert hunk.lines == (" a\rb", "-c", "+C\x0b\x0c\x85\u2028diff --git a/evil b/evil\u2029")


def test_an_overwrite_is_a_change_and_not_a_new_file() -> None:
    """Public reports: C24."""
    change = describe("/w/a.txt", b"a\nb\nc\n", b"a\nB\nc\n")
    assert (change.operation, change.removed, change.added) == ("modify", 1, 1)


def test_an_empty_file_is_not_a_missing_one() -> None:
    """Public reports: C39."""
    assert describe("/w/a.txt", b"", b"x\n").operation == "modify"
    assert describe("/w/a.txt", None, b"x\n").operation == "add"
    assert describe("/w/a.txt", b"x\n", b"").operation == "modify"
    assert describe("/w/a.txt", b"x\n", None).operation == "delete"
    empty = describe("/w/a.txt", None, b"")
    assert (empty.operation, empty.hunks, empty.added) == ("add", (), 0)


def test_a_create_shows_the_whole_file_and_is_exact_at_any_size() -> None:
    change = describe("/w/a.txt", None, b"row\n" * 150_000)
    (hunk,) = change.hunks
    assert (hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines) == (0, 0, 1, 150_000)
    assert (change.exact, change.added, change.removed) == (True, 150_000, 0)


def test_removing_one_line_of_many_is_one_line() -> None:
    """Public reports: C26."""
    before = b"".join(b"l%d\n" % number for number in range(1, 56))
    change = describe("/w/a.txt", before, before.replace(b"l7\n", b""))
    assert (change.removed, change.added) == (1, 0)


def test_numbers_are_those_of_the_final_file() -> None:
    """Public reports: J109."""
    before = b"".join(b"%d\n" % number for number in range(1, 41))
    after = before.replace(b"5\n", b"5\nx\ny\nz\n", 1).replace(b"30\n", b"thirty\n")
    first, second = compare(before, after)
    assert first.new_start == first.old_start == 3
    assert second.new_start == second.old_start + 3


def test_a_change_of_line_ends_alone_is_visible_and_named() -> None:
    change = describe("/w/a.txt", b"a\nb\n", b"a\r\nb\r\n")
    assert (change.removed, change.added, change.facts) == (2, 2, ("line_endings_changed",))


def test_a_change_of_the_final_newline_alone_is_visible_and_named() -> None:
    change = describe("/w/a.txt", b"a\nb", b"a\nb\n")
    assert change.hunks[0].lines == (" a", "-b", "+b")
    assert change.facts == ("final_newline_added",)


def test_a_change_of_the_byte_order_mark_alone_is_visible_and_named() -> None:
    """Public reports: F63."""
    change = describe("/w/a.txt", b"\xef\xbb\xbfa\n", b"a\n")
    assert (change.removed, change.added, change.facts) == (1, 1, ("bom_removed",))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It\u2019s\n", "It's\n"),
        ("It's\n", "It\u2019s\n"),
        ("\u00e9\n", "e\u0301\n"),
        ("a b\n", "a\u00a0b\n"),
        ("\tx\n", "        x\n"),
    ],
)
def test_characters_that_look_alike_are_different(before: str, after: str) -> None:
    """Public reports: F67."""
    change = describe("/w/a.txt", before.encode(), after.encode())
    assert (change.removed, change.added) == (1, 1)


def test_a_lost_final_newline_is_seen_beside_another_change() -> None:
    """Public reports: F70."""
    change = describe("/w/a.txt", b"a\nb\n", b"a\nc")
    assert (change.removed, change.added, change.facts) == (1, 1, ("final_newline_removed",))
    assert unified(change).endswith("-b\n+c\n\\ No newline at end of file\n")
    assert "No newline" not in unified(describe("/w/a.txt", b"a\nb\n", b"a\nc\n"))


def test_one_edit_in_a_file_of_mixed_line_ends_is_one_line() -> None:
    """Public reports: F58."""
    change = describe("/w/a.txt", b"a\r\nb\nc", b"a\r\nb\nC")
    assert (change.removed, change.added, change.facts) == (1, 1, ())


def test_a_nul_early_makes_a_file_binary_and_a_late_one_does_not() -> None:
    assert describe("/w/a", b"a\0\n", b"b\0\n").file_type == "binary"
    assert describe("/w/a", b"a\0\n", b"b\0\n").hunks == ()
    late = b"x" * 8000 + b"\0\n"
    assert describe("/w/a", late, late + b"y\n").added == 1


def test_bytes_that_are_not_utf8_keep_their_hunks() -> None:
    """Public reports: F64."""
    change = describe("/w/a", b"caf\xe9\n", b"caf\xe8\n")
    assert change.hunks[0].lines == ("-caf\udce9", "+caf\udce8")
    assert change.before is not None
    assert not change.before.utf8


def test_the_facts_of_a_side() -> None:
    told = side(b"\xef\xbb\xbfa\r\nb\nc", executable=True)
    assert told.blob == "8546a21b0e022e7e4ef94f9aab6c5caa9d042090"
    assert (told.size, told.eol, told.bom, told.final_newline, told.lines) == (9, "mixed", True, False, 3)
    assert side(b"").blob == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert (side(b"").eol, side(b"").final_newline, side(b"").lines) == ("none", True, 0)
    assert side(b"a\r\nb\r\n").eol == "crlf"
    assert side(b"a\nb\n").eol == "lf"


def test_binary_data_has_no_line_ends_to_speak_of() -> None:
    change = describe("/w/a", b"\0a\r\n", b"\xef\xbb\xbf\0b\nc", after_executable=True)
    assert (change.file_type, change.facts) == ("binary", ("made_executable",))


def test_a_move_with_an_edit_keeps_both_paths() -> None:
    change = describe("/w/b.py", b"a\nb\n", b"a\nB\n", old_path="/w/a.py")
    assert (change.operation, change.old_path, change.path, change.added) == ("move", "/w/a.py", "/w/b.py", 1)


def test_what_has_no_basis_claims_no_lines() -> None:
    change = without_basis("/w/big", "modify", None, side(b"small\n"))
    assert (change.file_type, change.exact, change.hunks, change.added) == ("unknown", False, (), 0)


def test_a_change_needs_a_file_on_some_side() -> None:
    with pytest.raises(ValueError, match="before or after"):
        describe("/w/a", None, None)
    with pytest.raises(ValueError, match="move"):
        describe("/w/a", None, b"", old_path="/w/b")


def applies_both_ways(pairs: list[tuple[bytes, bytes]], folder: Path) -> None:
    items = []
    for number, (before, after) in enumerate(pairs):
        change = describe(f"/w/it is {number}.txt", before, after)
        unified(change)
        (folder / f"it is {number}.txt").write_bytes(before)
        if before != after:
            items.append(PatchItem(change, before, after))
    if not items:
        return
    patch = git_patch(items, root="/w")
    for options, side_of in (((), 1), (("-R",), 0)):
        command = ["git", "apply", "--whitespace=nowarn", *options, "-"]
        done = subprocess.run(command, cwd=folder, input=patch, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert [(folder / f"it is {at}.txt").read_bytes() for at in range(len(pairs))] == [
            pair[side_of] for pair in pairs
        ]
