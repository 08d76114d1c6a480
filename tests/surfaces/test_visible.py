"""No character of foreign text reaches a terminal unseen."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.surfaces.visible import hidden_kinds, pieces, visible, visible_prose

_EMOJI_PARTS = "\u200d\ufe0f\ufe0e"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1A\x1b[2K", "^[[1A^[[2K"),
        ("\x1b]52;c;QQ==\x07", "^[]52;c;QQ==^G"),
        ("a\tb\nc\rd\x7f", "a^Ib^Jc^Md^?"),
        ("\x9b31m", "<U+009B>31m"),
        ("admin\u202e\u2066", "admin<U+202E><U+2066>"),
        ("zero\u200bwidth\u2060\ufeff\u00ad", "zero<U+200B>width<U+2060><U+FEFF><U+00AD>"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("blank\u3164\u2800", "blank<U+3164><U+2800>"),
        ("line\u2028feed\u0085", "line<U+2028>feed<U+0085>"),
        ("no\u00a0break", "no<U+00A0>break"),
        ("r\udce9sum\ud83d", "r\\xE9sum\\uD83D"),
        ("\u0301+x", "\u25cc\u0301+x"),
        ("na\u00efve 価格 ok", "na\u00efve 価格 ok"),
    ],
)
def test_what_would_not_be_seen_is_written_out(text: str, shown: str) -> None:
    """Public reports: M136."""
    assert visible(text) == shown


@pytest.mark.parametrize("emoji", ["⚠\ufe0f", "👩\u200d💻", "🏳\ufe0f\u200d🌈", "1\ufe0f\u20e3", "👍🏽"])
def test_an_emoji_stays_whole(emoji: str) -> None:
    assert visible(f"a {emoji} b") == f"a {emoji} b"
    assert not hidden_kinds(emoji)


def test_a_joiner_outside_of_an_emoji_does_not() -> None:
    assert visible("ad\u200dmin") == "ad<U+200D>min"
    assert hidden_kinds("ad\u200dmin") == {"invisible"}


def test_kinds_for_the_warning() -> None:
    assert hidden_kinds("plain \u00e9 text\twith tab\r") == frozenset()
    assert hidden_kinds("a\x1bb") == {"control"}
    assert hidden_kinds("a\rb") == {"control"}
    assert hidden_kinds("a\u202eb\u200b") == {"bidirectional", "invisible"}


def test_prose_keeps_its_lines_and_its_typography() -> None:
    assert visible_prose("one\r\n\ttwo\u00a0%\n") == "one\n    two %\n"
    assert visible_prose("fake\x1b[2J") == "fake^[[2J"


@given(st.text(st.characters(codec=None), max_size=40))
def test_nothing_hidden_comes_out(text: str) -> None:
    for shown in (visible(text), visible_prose(text).replace("\n", "")):
        shown.encode()
        for character in shown:
            if character not in _EMOJI_PARTS:
                assert unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
    assert "".join(piece.text for piece in pieces(text)) == visible(text)
