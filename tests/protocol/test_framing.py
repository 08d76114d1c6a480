"""Lines of any length, cut from a stream that comes in any pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redline.protocol.framing import Lines, Overlong


@given(st.lists(st.binary().map(lambda line: line.replace(b"\n", b"").replace(b"\r", b""))), st.integers(1, 50))
def test_whatever_the_pieces_the_lines_are_the_same(lines: list[bytes], size: int) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cutter = Lines()
    found = [line for at in range(0, len(stream), size) for line in cutter.feed(stream[at : at + size])]
    assert found == [line for line in lines if line]
    assert cutter.rest() is None


def test_the_last_line_may_lack_its_end() -> None:
    cutter = Lines()
    assert cutter.feed(b"one\r\ntw") == [b"one"]
    assert cutter.rest() == b"tw"


def test_a_line_over_the_limit_is_passed_over_and_named_and_the_next_one_is_whole() -> None:
    cutter = Lines(1000)
    long = b'{"jsonrpc":"2.0","id":17,"method":"fs/write_text_file","params":"' + b"x" * 5000 + b'"}'
    for at in range(0, len(long), 700):
        assert cutter.feed(long[at : at + 700]) == []
    found = cutter.feed(b'\n{"next":1}\n')
    assert found == [Overlong(len(long), "fs/write_text_file", "17"), b'{"next":1}']


def test_an_overlong_line_is_not_kept() -> None:
    cutter = Lines(1000)
    for _ in range(1000):
        cutter.feed(b"y" * 10_000)
    assert len(cutter._held) <= 64 * 1024
    assert cutter.feed(b"\n") == [Overlong(10_000_000, None, None)]


def test_a_line_that_comes_whole_is_measured_too() -> None:
    [found] = Lines(10).feed(b"x" * 11 + b"\n")
    assert found == Overlong(11, None, None)
