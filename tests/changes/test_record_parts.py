"""The record as JSON, shortened, masked, applied and printed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.changes.apply import apply_hunks
from redline.changes.codec import from_json, hunk_from_json, side_from_json, to_json
from redline.changes.compare import describe, side, without_basis
from redline.changes.mask import mask_lines
from redline.changes.patch import PatchItem, git_patch, unified
from redline.changes.record import FileChange, Hunk
from redline.changes.shorten import LOG_LIMIT, shortened

texts = st.lists(st.sampled_from([b"a", b"bb", b"\xff", b"", b"c" * 30]), max_size=40).map(b"\n".join)


@settings(max_examples=200, deadline=None)
@given(before=st.none() | texts, after=texts, executable=st.booleans())
def test_the_record_survives_the_log(before: bytes | None, after: bytes, executable: bool) -> None:
    change = describe("/w/a", before, after, after_executable=executable)
    assert from_json(to_json(change)) == change


def test_defaults_are_left_out() -> None:
    value = to_json(without_basis("/w/a", "delete", None, None, provenance="reported"))
    assert value == {
        "path": "/w/a",
        "operation": "delete",
        "file_type": "unknown",
        "exact": False,
        "provenance": "reported",
    }


def test_keys_of_a_later_version_are_passed_over() -> None:
    assert from_json({"path": "/w/a", "operation": "add", "mood": "good"}).path == "/w/a"


HUNK = {"old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 1, "lines": ["-a", "+b"]}


@pytest.mark.parametrize(
    ("value", "culprit"),
    [
        (None, "change"),
        ([], "change"),
        ({}, "path"),
        ({"path": "/a", "operation": "paint"}, "operation"),
        ({"path": "/a", "operation": "add", "added": -1}, "added"),
        ({"path": "/a", "operation": "add", "added": True}, "added"),
        ({"path": "/a", "operation": "add", "exact": 1}, "exact"),
        ({"path": "/a", "operation": "add", "hunks": "x"}, "hunks"),
        ({"path": "/a", "operation": "add", "hunks": [HUNK, {}]}, r"hunks\[1\]"),
        ({"path": "/a", "operation": "add", "hunks": [{**HUNK, "lines": ["-a", "b"]}]}, r"hunks\[0\]\.lines\[1\]"),
        ({"path": "/a", "operation": "add", "hunks": [{**HUNK, "lines": ["-a", "+b\n+c"]}]}, r"hunks\[0\]\.lines\[1\]"),
        ({"path": "/a", "operation": "add", "hunks": [{**HUNK, "old_lines": 2}]}, r"hunks\[0\]\.lines"),
        ({"path": "/a", "operation": "add", "before": {"size": 1}}, r"before\.blob"),
    ],
)
def test_a_malformed_record_is_refused_with_the_path_of_the_culprit(value: Any, culprit: str) -> None:
    with pytest.raises(ValueError, match=f"^{culprit}"):
        from_json(value)


def test_sides_and_hunks_read_by_themselves() -> None:
    assert hunk_from_json(HUNK).lines == ("-a", "+b")
    assert side_from_json({"blob": "x", "size": 3}).lines is None


@settings(max_examples=200, deadline=None)
@given(before=texts, after=texts, limit=st.integers(0, 400))
def test_a_shortened_change_is_whole_hunks_of_a_true_prefix(before: bytes, after: bytes, limit: int) -> None:
    """Public reports: J106."""
    change = describe("/w/a", before, after)
    short = shortened(change, limit)
    assert (short.added, short.removed) == (change.added, change.removed)
    assert from_json(to_json(short)) == short, "every hunk holds what its header counts"
    assert sum(len(line.encode("utf-8", "surrogateescape")) + 1 for hunk in short.hunks for line in hunk.lines) <= limit
    for kept, whole in zip(short.hunks, change.hunks, strict=False):
        assert kept.lines == whole.lines[: len(kept.lines)]
        assert any(line[0] != " " for line in kept.lines)
    assert short.truncated == (short.hunks != change.hunks)


def test_a_short_change_is_left_as_it_is() -> None:
    change = describe("/w/a", b"a\n", b"b\n")
    assert shortened(change, LOG_LIMIT) is change


def test_one_enormous_line_shortens_too() -> None:
    change = describe("/w/a", b"x" * 2_000_000 + b"1", b"x" * 2_000_000 + b"2")
    text = unified(change)
    assert len(text) < 1000
    assert text.endswith("\\ diff truncated\n")
    assert (change.added, change.removed) == (1, 1)


def test_a_mask_keeps_the_arithmetic() -> None:
    before, after = b"one\nTOKEN=old\nthree\nfour\n", b"one\nTOKEN=new\nthree\nFOUR\n"
    change = describe("/w/.env", before, after)
    masked = mask_lines(change, {2: "TOKEN=⟦redacted⟧"}, {2: "TOKEN=⟦redacted⟧"})
    assert masked.hunks[0].lines == (" one", "-TOKEN=⟦redacted⟧", "+TOKEN=⟦redacted⟧", " three", "-four", "+FOUR")
    assert masked.redacted
    assert replace(masked, hunks=change.hunks, redacted=False) == change


def test_a_mask_follows_the_numbers_of_each_side_and_covers_context() -> None:
    before = b"".join(b"%d\n" % number for number in range(1, 31))
    after = before.replace(b"3\n", b"3\nnew\n", 1).replace(b"25\n", b"twenty-five\n")
    masked = mask_lines(describe("/w/a", before, after), {24: "***"}, {25: "***", 1: "first"})
    assert masked.hunks[0].lines[0] == " first"
    assert " ***" in masked.hunks[1].lines
    assert " 24" not in masked.hunks[1].lines


def test_a_mask_of_lines_that_no_hunk_shows_changes_nothing() -> None:
    change = describe("/w/a", b"a\n" * 50, b"b\n" + b"a\n" * 49)
    assert mask_lines(change, {40: "***"}, {40: "***"}) is change
    assert mask_lines(change, {}, {}) is change


@pytest.mark.parametrize(
    "hunk",
    [
        Hunk(2, 1, 2, 1, ("-x", "+y")),
        Hunk(1, 2, 1, 2, ("-a", "+y")),
        Hunk(9, 1, 9, 1, ("-a", "+y")),
        Hunk(1, 1, 2, 1, ("-a", "+y")),
    ],
)
def test_a_hunk_that_does_not_fit_is_refused(hunk: Hunk) -> None:
    with pytest.raises(ValueError, match="hunk 1"):
        apply_hunks(b"a\nb\n", [hunk], final_newline=True)


def test_an_addition_without_context_goes_to_its_place() -> None:
    """Public reports: J111."""
    lines = b"".join(b"%d\n" % number for number in range(1, 11))
    assert apply_hunks(lines, [Hunk(2, 0, 3, 1, ("+x",))], final_newline=True) == lines.replace(b"2\n", b"2\nx\n", 1)


def test_the_marker_of_a_missing_newline_stands_once_behind_the_right_line() -> None:
    """Public reports: J102, J103."""
    change = describe("/w/a", b"1\n2\n3", b"1\n1.5\n2\n3\n")
    assert unified(change) == (
        "--- /w/a\n+++ /w/a\n@@ -1,3 +1,4 @@\n 1\n+1.5\n 2\n-3\n\\ No newline at end of file\n+3\n"
    )
    assert "No newline" not in unified(describe("/w/a", b"a\rb\nc\n", b"a\rb\nC\n"))


def test_the_marker_stands_behind_context_too_and_only_at_the_end_of_the_file() -> None:
    before = b"0\n1\n2\n3\n4"
    assert unified(describe("/w/a", before, b"0\nx\n2\n3\n4")).endswith(" 4\n\\ No newline at end of file\n")
    assert "No newline" not in unified(describe("/w/a", before, b"x\n1\n2\n3\n4"))


def test_the_plain_form_of_what_has_no_hunks_says_what_it_is() -> None:
    assert unified(describe("/w/a", b"\0", b"\0\0")).endswith("\\ binary file\n")
    assert unified(without_basis("/w/a", "modify", None, side(b""))).endswith("\\ no text to compare\n")
    assert unified(describe("/w/a", b"x", b"x", after_executable=True)).endswith("\\ made executable\n")
    assert unified(describe("/w/a", None, b"x\n")) == "--- /dev/null\n+++ /w/a\n@@ -0,0 +1 @@\n+x\n"


def test_masked_and_shortened_records_print_their_true_bytes_for_git() -> None:
    before, after = b"TOKEN=old\n", b"TOKEN=new\n"
    change: FileChange = mask_lines(describe("/w/a", before, after), {1: "***"}, {1: "***"})
    patch = git_patch([PatchItem(shortened(change, 0), before, after)], root="/w")
    assert b"\n-TOKEN=old\n+TOKEN=new\n" in patch


def test_a_patch_without_the_bytes_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="/w/a: the bytes before"):
        git_patch([PatchItem(describe("/w/a", b"x", b"y"), None, b"y")], root=None)
    with pytest.raises(ValueError, match="/w/a: the bytes after"):
        git_patch([PatchItem(describe("/w/a", b"x", b"y"), b"x", None)], root=None)
