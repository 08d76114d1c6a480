"""Edits on bytes: what is matched, what is refused, and what stays untouched."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.files.edits import edited
from redline.files.error import FileError
from redline.files.seam import DeleteLines, Insert, Replace

BOM = b"\xef\xbb\xbf"


def edit(data: bytes, old: str, new: str, *, replace_all: bool = False) -> bytes:
    return edited(data, [Replace(old, new, replace_all)])[0]


def refused(data: bytes, *edits: Replace | Insert | DeleteLines) -> FileError:
    with pytest.raises(FileError) as caught:
        edited(data, edits)
    assert caught.value.message
    assert caught.value.remedy
    return caught.value


class TestLineEnds:
    def test_one_edit_leaves_the_ends_of_other_lines(self) -> None:
        """Public reports: F58."""
        assert edit(b"a\r\nb\nc", "c", "C") == b"a\r\nb\nC"

    @pytest.mark.parametrize(
        ("old", "new", "after"),
        [
            ("alpha\nbeta", "A\nbeta", b"A\nbeta\r\ngamma\n"),
            ("beta\ngamma", "beta\nG", b"alpha\nbeta\r\nG\n"),
            ("alpha\nbeta\ngamma", "A\nbeta\nG", b"A\nbeta\r\nG\n"),
            ("alpha\r\nbeta", "A\r\nbeta", b"A\nbeta\r\ngamma\n"),
        ],
    )
    def test_a_match_across_mixed_ends_keeps_each_lines_own(self, old: str, new: str, after: bytes) -> None:
        """Public reports: F61."""
        assert edit(b"alpha\nbeta\r\ngamma\n", old, new) == after

    @pytest.mark.parametrize(
        ("data", "old", "new", "after"),
        [
            (b"a\r\nb\r\n", "a", "1\n2", b"1\r\n2\r\nb\r\n"),
            (b"a\nb\n", "a", "1\r\n2", b"1\n2\nb\n"),
            (b"a\r\nb", "b", "1\n2", b"a\r\n1\r\n2"),
            (b"a\r\nb\nc\n", "b", "1\n2", b"a\r\n1\n2\nc\n"),
            (b"one line", "one", "1\r\n2", b"1\r\n2 line"),
            (b"a\r\nb\nc\r\n", "a\nb\nc", "a\nnew\nb\nc", b"a\r\nnew\r\nb\nc\r\n"),
            (b"a\nb\r\nc\nd\r\n", "a\nb\nc\nd", "a\nc\nx\nd", b"a\nc\nx\nd\r\n"),
            (b"a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "b\nd", b"b\nd\n"),
        ],
    )
    def test_new_lines_take_the_ending_of_their_neighbours(self, data: bytes, old: str, new: str, after: bytes) -> None:
        assert edit(data, old, new) == after

    def test_a_lone_carriage_return_is_content(self) -> None:
        assert edit(b"a\rb\r\nc", "a\rb", "x\ry") == b"x\ry\r\nc"
        assert refused(b"a\r\nb", Replace("a\r", "x")).code == "NO_MATCH"

    @pytest.mark.parametrize(
        ("data", "old", "after"), [(b"a\nb\n", "b\n", b"a\nc"), (b"a\nb\n", "b", b"a\nc\n"), (b"a\nb", "b", b"a\nc")]
    )
    def test_the_final_newline_goes_only_if_it_was_asked_for(self, data: bytes, old: str, after: bytes) -> None:
        """Public reports: F70."""
        assert edit(data, old, "c") == after

    def test_many_replaced_lines_of_a_mixed_file_cost_no_quadratic_time(self) -> None:
        data = b"".join(b"line %d%s" % (i, b"\r\n" if i % 2 else b"\n") for i in range(30_000))
        old = data.decode().replace("\r\n", "\n")
        started = time.process_time()
        after = edit(data, old, "".join(f"new {i}\n" for i in range(29_000)))
        assert after.count(b"\n") == 29_000
        assert time.process_time() - started < 5  # quadratic: minutes


class TestBom:
    @pytest.mark.parametrize(
        ("old", "new", "after"),
        [
            ("a", "b", BOM + b"b\nc\n"),
            ("a", "\ufeffb", BOM + b"b\nc\n"),
            ("\ufeffa", "b", BOM + b"b\nc\n"),
            ("\ufeffa", "\ufeffb", BOM + b"b\nc\n"),
            ("a\nc\n", "", BOM),
        ],
    )
    def test_a_file_with_one_has_exactly_one_after(self, old: str, new: str, after: bytes) -> None:
        """Public reports: F63."""
        assert edit(BOM + b"a\nc\n", old, new) == after

    def test_a_file_without_gets_none(self) -> None:
        """Public reports: F63."""
        assert edit(b"a\n", "a", "b") == b"b\n"

    def test_two_stay_two(self) -> None:
        assert edit(BOM + BOM + b"a\n", "a", "b") == BOM + BOM + b"b\n"

    def test_an_insert_at_the_top_goes_behind_it(self) -> None:
        assert edited(BOM + b"a\r\n", [Insert(0, "\ufeffx")])[0] == BOM + b"x\r\na\r\n"

    def test_deleting_the_first_line_leaves_it(self) -> None:
        assert edited(BOM + b"a\nb\n", [DeleteLines(1, 1)])[0] == BOM + b"b\n"

    def test_a_file_of_a_bom_alone_counts_as_empty(self) -> None:
        assert edit(BOM, "", "x\n") == BOM + b"x\n"


class TestBytesThatAreNotUtf8:
    def test_odd_bytes_elsewhere_survive(self) -> None:
        """Public reports: F64."""
        assert edit(b"x = 1\n# caf\xe9\n", "x = 1", "x = 2") == b"x = 2\n# caf\xe9\n"

    def test_odd_bytes_on_the_edited_line_survive(self) -> None:
        """Public reports: F64."""
        assert edit(b"x = 1 # caf\xe9\n", "x = 1", "x = 2") == b"x = 2 # caf\xe9\n"

    def test_a_character_is_not_found_in_an_odd_byte(self) -> None:
        assert refused(b"caf\xe9\n", Replace("café", "tea")).code == "NO_MATCH"

    @pytest.mark.parametrize("change", [Replace("caf\udce9", "tea"), Replace("x", "\ud83d"), Insert(0, "\udce9")])
    def test_an_edit_that_names_odd_bytes_is_refused(self, change: Replace | Insert) -> None:
        assert refused(b"x\ncaf\xe9\n", change).code == "NOT_TEXT"

    def test_deleting_lines_that_hold_odd_bytes_is_refused(self) -> None:
        assert refused(b"x\ncaf\xe9\ny\n", DeleteLines(1, 2)).code == "NOT_TEXT"
        assert edited(b"x\ncaf\xe9\ny\n", [DeleteLines(3, 3)])[0] == b"x\ncaf\xe9\n"

    def test_a_binary_file_is_refused(self) -> None:
        assert refused(b"\x7fELF\0\0a", Replace("a", "b")).code == "NOT_TEXT"

    def test_utf16_is_refused(self) -> None:
        assert refused("a\n".encode("utf-16"), Replace("a", "b")).code == "NOT_TEXT"


class TestNothingIsFolded:
    @pytest.mark.parametrize(
        ("before", "old", "new", "after"),
        [
            ("It\u2019s\n", "\u2019", "'", "It's\n"),
            ("It's\n", "'", "\u2019", "It\u2019s\n"),
            ("\u201cx\u201d\n", "\u201cx\u201d", '"x"', '"x"\n'),
            ("cafe\u0301\n", "cafe\u0301", "caf\u00e9", "caf\u00e9\n"),
            ("caf\u00e9\n", "caf\u00e9", "cafe\u0301", "cafe\u0301\n"),
            ("\tx\n", "\tx", "    x", "    x\n"),
            ("a\u00a0b\n", "a\u00a0b", "a b", "a b\n"),
            ("x\n", "x", r"$& \1 \g<0> &amp;", "$& \\1 \\g<0> &amp;\n"),
            ("a.c\nabc\n", "a.c", "x", "x\nabc\n"),
        ],
    )
    def test_characters_count_as_typed(self, before: str, old: str, new: str, after: str) -> None:
        """Public reports: F67."""
        assert edit(before.encode(), old, new) == after.encode()

    @pytest.mark.parametrize(
        ("text", "old"),
        [("It\u2019s\n", "It's"), ("caf\u00e9\n", "cafe\u0301"), ("\tx = 1\n", "    x = 1"), ("X = 1\n", "x = 1")],
    )
    def test_a_near_miss_is_refused_and_its_line_told(self, text: str, old: str) -> None:
        error = refused(f"first\n{text}".encode(), Replace(old, "y"))
        assert error.code == "NO_MATCH"
        assert "line 2" in error.remedy


class TestPlaces:
    def test_overlapping_places_count_as_people_count_them(self) -> None:
        """Public reports: G72."""
        error = refused(b"foo\nfoo\nfoo\n", Replace("foo\nfoo\n", "z\n"))
        assert error.code == "AMBIGUOUS"
        assert "2 places" in error.message
        assert "lines 1, 2" in error.message

    def test_replace_all_of_a_self_overlapping_text_goes_left_to_right(self) -> None:
        """Public reports: G73."""
        assert edited(b"aaaa", [Replace("aa", "b", replace_all=True)]) == (b"bb", 2)
        assert edited(b"aaaaa", [Replace("aa", "b", replace_all=True)]) == (b"bba", 2)

    def test_replace_all_does_not_look_at_what_it_wrote(self) -> None:
        assert edited(b"a a", [Replace("a", "aa", replace_all=True)]) == (b"aa aa", 2)

    def test_a_pathological_count_stops(self) -> None:
        error = refused(b"a" * 1_000_000, Replace("a" * 500_000, "b"))
        assert "more than 100 places" in error.message

    def test_replace_all_in_one_enormous_line_costs_no_quadratic_time(self) -> None:
        started = time.process_time()
        after, count = edited(b"ab" * 200_000 + b"\nz\n", [Replace("b", "\n", replace_all=True)])
        assert count == 200_000
        assert after.count(b"\n") == 200_002
        assert time.process_time() - started < 5  # quadratic: minutes

    @pytest.mark.parametrize("data", [b"one\n", b"\n", b" "])
    def test_an_empty_old_text_is_refused_in_a_file_that_is_not_empty(self, data: bytes) -> None:
        """Public reports: G75."""
        assert refused(data, Replace("", "x\n")).code == "NO_MATCH"
        assert refused(data, Replace("", "x\n", replace_all=True)).code == "NO_MATCH"

    def test_an_empty_old_text_fills_an_empty_file(self) -> None:
        assert edit(b"", "", "x\r\n") == b"x\r\n"

    def test_a_long_old_text_is_quoted_in_part(self) -> None:
        assert len(refused(b"x", Replace("y" * 10_000, "z")).message) < 200


class TestLines:
    @pytest.mark.parametrize(
        ("data", "line", "text", "after"),
        [
            (b"a\nb\n", 0, "x", b"x\na\nb\n"),
            (b"a\nb\n", 1, "x\n", b"a\nx\nb\n"),
            (b"a\nb\n", 2, "x\ny", b"a\nb\nx\ny\n"),
            (b"a\r\nb\n", 1, "x\ny", b"a\r\nx\r\ny\r\nb\n"),
            (b"a\r\nb\n", 2, "x", b"a\r\nb\nx\n"),
            (b"a\r\nb\n", 0, "x", b"x\r\na\r\nb\n"),
            (b"a\nb", 2, "x", b"a\nb\nx"),
            (b"a\nb", 2, "x\n", b"a\nb\nx\n"),
            (b"a\r\nb", 2, "x", b"a\r\nb\r\nx"),
            (b"", 0, "x", b"x\n"),
            (b"a", 0, "x", b"x\na"),
            (b"a\nb\n", 1, "\n", b"a\n\nb\n"),
            (b"a\rb\x0cc\n", 1, "x", b"a\rb\x0cc\nx\n"),
        ],
    )
    def test_insert(self, data: bytes, line: int, text: str, after: bytes) -> None:
        assert edited(data, [Insert(line, text)])[0] == after

    @pytest.mark.parametrize(
        ("data", "first", "last", "after"),
        [(b"a\nb\r\nc", 2, 2, b"a\nc"), (b"a\nb\nc", 3, 3, b"a\nb\n"), (b"a\nb\n", 1, 2, b"")],
    )
    def test_delete(self, data: bytes, first: int, last: int, after: bytes) -> None:
        assert edited(data, [DeleteLines(first, last)])[0] == after

    @pytest.mark.parametrize(
        "change", [Insert(3, "x"), Insert(-1, "x"), DeleteLines(0, 1), DeleteLines(2, 3), DeleteLines(2, 1)]
    )
    def test_lines_that_are_not_there_are_refused(self, change: Insert | DeleteLines) -> None:
        error = refused(b"a\nb\n", change)
        assert error.code == "NO_MATCH"
        assert "2 lines" in error.message


class TestSeveral:
    def test_each_edit_works_on_the_result_of_the_one_before(self) -> None:
        assert edited(b"a\n", [Replace("a", "b"), Replace("b", "c"), Insert(1, "d")]) == (b"c\nd\n", 2)

    def test_one_that_fails_undoes_all_and_is_named(self) -> None:
        error = refused(b"a\n", Replace("a", "b"), Replace("a", "c"))
        assert error.code == "NO_MATCH"
        assert "Edit 2 of 2" in error.message


# The oracle matches the true bytes with a pattern, where the code matches normalised bytes and maps back.

_ODD = st.sampled_from([b"a", b"b", b"\n", b"\r\n", b"\r", b"\xe9", b"\xc3", b"\xa9", "é".encode(), b"ab\n", BOM])
_DATA = st.lists(_ODD, max_size=40).map(b"".join)
_TEXT = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "\r", "é", "ab"]), min_size=1, max_size=6).map("".join)


def _pattern(text: str, *, exact: bool) -> bytes:
    forms = {b"\n": rb"(?:\r\n|(?<!\r)\n)" if exact else rb"\r?\n", b"\r": rb"\r(?!\n)" if exact else rb"\r"}
    raw = text.encode().replace(b"\r\n", b"\n")
    return b"".join(forms.get(bytes([byte]), re.escape(bytes([byte]))) for byte in raw)


def _check(data: bytes, change: Replace, after: bytes, count: int) -> None:
    places = list(re.finditer(_pattern(change.old, exact=True), data, re.DOTALL))
    assert count == len(places)
    outside, at = [], 0
    for place in places:
        outside.append(re.escape(data[at : place.start()]))
        at = place.end()
    outside.append(re.escape(data[at:]))
    assert re.fullmatch(_pattern(change.new, exact=False).join(outside), after, re.DOTALL)


@given(_DATA, _TEXT, st.one_of(st.just(""), _TEXT), st.booleans())
@settings(max_examples=600)
def test_bytes_outside_a_match_are_never_touched(data: bytes, old: str, new: str, replace_all: bool) -> None:
    """Public reports: F58, F60, F61."""
    change = Replace(old, new, replace_all)
    overlapping = len(re.findall(b"(?=" + _pattern(old, exact=True) + b")", data, re.DOTALL))
    if overlapping == 0 or (overlapping > 1 and not replace_all):
        assert refused(data, change).code == ("AMBIGUOUS" if overlapping else "NO_MATCH")
    else:
        _check(data, change, *edited(data, [change]))


_EDITS = st.lists(
    st.one_of(
        st.builds(Replace, _TEXT, _TEXT, st.booleans()),
        st.builds(Insert, st.integers(0, 5), _TEXT),
        st.builds(DeleteLines, st.integers(1, 4), st.integers(1, 4)),
    ),
    min_size=1,
    max_size=5,
)


@given(_DATA, _EDITS)
@settings(max_examples=400)
def test_a_sequence_of_edits_is_each_edit_alone_in_turn(
    data: bytes, edits: Sequence[Replace | Insert | DeleteLines]
) -> None:
    step, failed = data, False
    for change in edits:
        try:
            before, (step, count) = step, edited(step, [change])
        except FileError:
            failed = True
            break
        if isinstance(change, Replace):
            _check(before, change, step, count)
        else:
            _check_lines(before, change, step)
        assert step.startswith(BOM) or not before.startswith(BOM)
    if failed:
        with pytest.raises(FileError):
            edited(data, edits)
    else:
        assert edited(data, edits)[0] == step


def _check_lines(before: bytes, change: Insert | DeleteLines, after: bytes) -> None:
    bom = BOM if before.startswith(BOM) else b""
    lines = re.findall(rb"[^\n]*\n|[^\n]+", before[len(bom) :])
    if isinstance(change, DeleteLines):
        assert after == bom + b"".join(lines[: change.first - 1] + lines[change.last :])
    else:
        head, tail = bom + b"".join(lines[: change.line]), b"".join(lines[change.line :])
        assert after.startswith(head)
        assert after.endswith(tail)
        new = after[len(head) : len(after) - len(tail)]
        assert new.replace(b"\r", b"").strip(b"\n") == change.text.replace("\r", "").encode().strip(b"\n")
