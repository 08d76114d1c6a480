"""What is known of a text already leads to the same facts as to look at it again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from redline.changes.compare import describe, side

texts = st.lists(st.sampled_from([b"a", b"b\r", b"", b"\xff", b"c"]), max_size=30).flatmap(
    lambda lines: st.sampled_from([b"\n".join(lines), b"\n".join(lines) + b"\n", b""])
)


@settings(deadline=None)
@given(texts, texts)
def test_sides_told_from_what_is_known_are_those_that_are_seen(before: bytes, after: bytes) -> None:
    plain = describe("/a", before, after)
    known = describe("/a", before, after, before_side=side(before), after_blob=side(after).blob)
    assert known == plain
    assert (known.before, known.after) == (side(before), side(after))
