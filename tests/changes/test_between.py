"""Two changes of one state: what leads from the one's result to the other's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.changes.apply import apply_hunks
from redline.changes.between import between
from redline.changes.compare import blob_id, describe
from redline.changes.record import FileChange

LINES = st.lists(st.sampled_from(["a", "b", "c", "x\r", "", "é"]), max_size=40)
TEXT = st.builds(lambda lines, end: ("\n".join(lines) + end * bool(lines)).encode(), LINES, st.sampled_from(["\n", ""]))
LONG = b"".join(b"line %d\n" % number for number in range(1000))


def after(change: FileChange, before: bytes) -> bytes:
    return apply_hunks(before, change.hunks, final_newline=change.after is None or change.after.final_newline)


@given(st.one_of(TEXT, st.none()), st.one_of(TEXT, st.none()), st.one_of(TEXT, st.none()))
def test_applied_to_what_the_first_left_it_gives_what_the_second_left(
    start: bytes | None, one: bytes | None, two: bytes | None
) -> None:
    if start is None and None in (one, two):
        return  # there was no file and there is none
    found = between(describe("/w/a", start, one), describe("/w/a", start, two))
    if one == two:
        assert found is None
        return
    assert found is not None
    assert (found.operation == "add", found.operation == "delete") == (one is None, two is None)
    assert after(found, one or b"") == (two or b"")
    blobs = [side and side.blob for side in (found.before, found.after)]
    assert blobs == [None if side is None else blob_id(side) for side in (one, two)]


@pytest.mark.parametrize(("first", "second"), [(3, 990), (500, 502), (990, 3), (1, 1000)])
def test_lines_that_neither_shows_are_not_needed(first: int, second: int) -> None:
    one = LONG.replace(b"line %d\n" % (first - 1), b"one\n")
    two = one.replace(b"line %d\n" % (second - 1), b"two\nand more\n")
    found = between(describe("/w/a", LONG, one), describe("/w/a", LONG, two))
    assert found == replace(describe("/w/a", one, two), before=found and found.before, after=found and found.after)


def test_a_move_goes_on_from_where_the_file_was() -> None:
    edited, moved = describe("/w/a", b"a\n", b"b\n"), describe("/w/c", b"a\n", b"b\n", old_path="/w/a")
    found = between(edited, moved)
    assert found is not None
    assert (found.operation, found.old_path, found.path, found.hunks) == ("move", "/w/a", "/w/c", ())


def test_what_is_not_shown_whole_or_began_elsewhere_gives_nothing() -> None:
    one, two = describe("/w/a", b"a\n", b"b\n"), describe("/w/a", b"a\n", b"c\n")
    assert between(one, replace(two, redacted=True)) is None
    assert between(replace(one, truncated=True), two) is None
    assert between(one, describe("/w/a", b"b\n", b"c\n")) is None
    assert between(one, describe("/w/b", b"a\n", b"c\n")) is None
    assert between(describe("/w/a", b"\0", b"\0\0"), describe("/w/a", b"\0", b"\0\1")) is None
