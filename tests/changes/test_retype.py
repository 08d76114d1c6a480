"""A change of type as one change for a reader, and as git's two."""

from __future__ import annotations

import itertools

import pytest

from redline.changes.codec import from_json, to_json
from redline.changes.compare import describe
from redline.changes.record import FileChange
from redline.changes.retype import halves, halves_of, joined
from redline.changes.shorten import shortened

BYTES = [b"", b"a.txt", b"a.txt\n", b"one\ntwo\n", b"one\ntwo", b"a\0b", b"\xff\n", "é\r\nx".encode()]


def gone(data: bytes, *, link: bool, path: str = "/w/f") -> FileChange:
    return describe(path, data, None, file_type="symlink" if link else None, before_executable=not link)


def come(data: bytes, *, link: bool, path: str = "/w/f") -> FileChange:
    return describe(path, None, data, file_type="symlink" if link else None)


@pytest.mark.parametrize("link_first", [True, False])
def test_two_halves_are_one_and_come_apart_again(link_first: bool) -> None:
    for first, last in itertools.product(BYTES, BYTES):
        pair = (gone(first, link=link_first), come(last, link=not link_first))
        [one] = joined(pair)
        assert (one.operation, one.added, one.removed) == ("modify", pair[1].added, pair[0].removed)
        assert one.facts[0] == ("link_became_file" if link_first else "file_became_link")
        assert halves(one) == pair
        assert from_json(to_json(one)) == one
        assert joined((one,)) == (one,)


def test_what_is_no_change_of_type_stays_as_it_is() -> None:
    for changes in (
        [],
        [gone(b"x\n", link=False)],
        [gone(b"x\n", link=False), come(b"y\n", link=False)],  # a file that was made anew
        [gone(b"x\n", link=False), come(b"a\0", link=False)],  # from text to binary
        [gone(b"x", link=True), come(b"y", link=True)],
        [come(b"x", link=True), gone(b"x", link=True)],
        [gone(b"x", link=True), come(b"y\n", link=False, path="/w/g")],
    ):
        assert joined(changes) == tuple(changes)
        assert halves_of(changes) == changes


def test_others_keep_their_order_around_it() -> None:
    link, file = gone(b"x", link=True), come(b"y\n", link=False)
    above, between, below = (come(b"z\n", link=False, path=f"/w/{name}") for name in "abc")
    [first, second, one, third] = joined([above, link, between, file, below])
    assert [first, second, third] == [above, between, below]
    assert halves(one) == (link, file)


def test_a_cut_half_says_so_of_the_whole() -> None:
    cut = shortened(come(b"line\n" * 400, link=False), 400)
    assert cut.truncated
    [one] = joined([gone(b"x", link=True), cut])
    assert (one.truncated, one.added, one.removed) == (True, 400, 1)
