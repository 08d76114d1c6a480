"""Turning changes round, and taking one back while the rest of the file has moved on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.changes.apply import apply_hunks
from redline.changes.compare import describe
from redline.changes.reverse import Conflict, reverse, take_back

ROWS = [f"row {number}" for number in range(40)]
texts = st.lists(st.sampled_from([b"a", b"b", b"\r", b"", b"\xff"]), max_size=12).map(b"\n".join)
blocks = st.lists(st.sampled_from([b"x", b"y", b"z"]), min_size=0, max_size=4)


def text(rows: list[str], end: str = "\n") -> bytes:
    return ("\n".join(rows) + end).encode()


def with_row(rows: list[str], at: int, *new: str) -> list[str]:
    return [*rows[:at], *new, *rows[at + 1 :]]


@settings(max_examples=300, deadline=None)
@given(before=texts, after=texts)
def test_a_reversed_change_leads_back(before: bytes, after: bytes) -> None:
    back = reverse(describe("/w/a", before, after))
    if back.file_type == "text":
        assert apply_hunks(after, back.hunks, final_newline=not before or before.endswith(b"\n")) == before
    assert reverse(back) == describe("/w/a", before, after)


def test_a_reversed_move_goes_back_and_a_reversed_add_deletes() -> None:
    back = reverse(describe("/w/b", b"x\n", b"y\n", old_path="/w/a"))
    assert (back.path, back.old_path, back.operation) == ("/w/a", "/w/b", "move")
    assert reverse(describe("/w/a", None, b"x\n")).operation == "delete"


@settings(max_examples=200, deadline=None)
@given(before=texts, after=texts)
def test_an_untouched_file_goes_back_to_the_byte(before: bytes, after: bytes) -> None:
    assert take_back(after, before, after) == before
    assert take_back(before, before, after) == before


@settings(max_examples=200, deadline=None)
@given(old=blocks, new=blocks, above=blocks, below=blocks, end=st.sampled_from(["", "\n"]))
def test_what_happened_elsewhere_stays(
    old: list[bytes], new: list[bytes], above: list[bytes], below: list[bytes], end: str
) -> None:
    head, tail = ([f"{word} {number}" for number in range(8)] for word in ("head", "tail"))
    changed, original = ([*head, *(line.decode() for line in part), *tail] for part in (new, old))
    extra_above, extra_below = ([line.decode() for line in part] for part in (above, below))
    current = [*extra_above, *changed, *extra_below]
    assert take_back(text(current, end), text(original, end), text(changed, end)) == text(
        [*extra_above, *original, *extra_below], end
    )


def test_two_changes_of_one_file_are_taken_back_apart() -> None:
    first = with_row(ROWS, 5, "five", "and more")
    second = with_row(first, 30, "thirty")
    assert take_back(text(second), text(ROWS), text(first)) == text(with_row(ROWS, 29, "thirty"))


def test_a_neighbouring_line_may_have_changed() -> None:
    after = with_row(ROWS, 5, "five")
    current = with_row(after, 6, "six")
    assert take_back(text(current), text(ROWS), text(after)) == text(with_row(ROWS, 6, "six"))


def test_removed_lines_come_back_where_they_were() -> None:
    after = [*ROWS[:10], *ROWS[13:]]
    current = ["new first", *with_row(after, 30, "changed")]
    assert take_back(text(current), text(ROWS), text(after)) == text(["new first", *with_row(ROWS, 33, "changed")])


def test_lines_that_were_changed_again_are_refused_with_what_they_are_now() -> None:
    after = with_row(ROWS, 5, "five")
    current = with_row(after, 5, "FIVE")
    with pytest.raises(Conflict, match="changed again since") as refusal:
        take_back(text(current), text(ROWS), text(after))
    assert "-five" in refusal.value.hunks[0].lines
    assert "+FIVE" in refusal.value.hunks[0].lines


def test_one_conflict_refuses_the_whole() -> None:
    after = with_row(with_row(ROWS, 5, "five"), 30, "thirty")
    with pytest.raises(Conflict):
        take_back(text(with_row(after, 30, "other")), text(ROWS), text(after))


def test_a_place_that_was_put_right_by_hand_is_left_alone() -> None:
    after = with_row(with_row(ROWS, 5, "five"), 30, "thirty")
    assert take_back(text(with_row(after, 30, "row 30")), text(ROWS), text(after)) == text(ROWS)


def test_lines_that_were_carried_elsewhere_are_found_by_their_context() -> None:
    after = with_row(ROWS, 20, "twenty")
    current = [*after[:15], *after[26:], *after[15:26]]
    expected = [*ROWS[:15], *ROWS[26:], *ROWS[15:26]]
    assert take_back(text(current), text(ROWS), text(after)) == text(expected)


def test_lines_that_stand_twice_now_are_ambiguous() -> None:
    after = with_row(ROWS, 20, "twenty")
    block = after[15:26]
    with pytest.raises(Conflict):
        take_back(text([*with_row(after, 20, "gone"), *block, *block]), text(ROWS), text(after))


def test_an_insertion_at_the_very_place_of_a_removal_is_ambiguous() -> None:
    after = [*ROWS[:10], *ROWS[11:]]
    current = [*after[:10], "somebody's", *after[10:]]
    with pytest.raises(Conflict):
        take_back(text(current), text(ROWS), text(after))


def test_line_ends_and_the_byte_order_mark_survive() -> None:
    before = b"\xef\xbb\xbfa\r\nb\r\nc\n"
    after = b"\xef\xbb\xbfa\r\nB\r\nc\n"
    assert take_back(after + b"d\r\n", before, after) == before + b"d\r\n"


def test_a_final_newline_is_taken_back_while_the_last_line_stands() -> None:
    assert take_back(b"new\na\nb", b"a\nb\n", b"a\nb") == b"new\na\nb\n"
    assert take_back(b"new\na\nb\n", b"a\nb", b"a\nb\n") == b"new\na\nb"
    assert take_back(b"a\nB\nc\n", b"a\nb\n", b"a\nB") == b"a\nb\nc\n"


def test_new_line_ends_of_the_whole_file_are_a_conflict() -> None:
    before, after = text(ROWS), text(with_row(ROWS, 5, "five"))
    with pytest.raises(Conflict):
        take_back(after.replace(b"\n", b"\r\n"), before, after)


def test_a_conflict_names_the_lines_in_the_way_and_no_neighbours() -> None:
    after = with_row(ROWS, 6, "six")
    current = ["new first", *with_row(with_row(after, 3, "three"), 6, "SIX")]
    with pytest.raises(Conflict, match=r"\(line 8\)") as refusal:
        take_back(text(current), text(ROWS), text(after))
    [hunk] = refusal.value.hunks
    assert hunk.lines == ("-six", "+SIX")
    assert (hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines) == (7, 1, 8, 1)
