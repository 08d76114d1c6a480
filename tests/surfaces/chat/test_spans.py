"""The styles of a reply: found where they are meant, and never markup for a platform."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.surfaces.chat.parts import Message, Text
from redline.surfaces.chat.spans import Span, spans
from redline.surfaces.discord import layout
from redline.surfaces.slack import blocks
from redline.surfaces.telegram import rich


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Renamed `total`.", [Span("Renamed "), Span("total", "code"), Span(".")]),
        ("a **b c** d", [Span("a "), Span("b c", "strong"), Span(" d")]),
        ("## What I did\nx", [Span("What I did", "strong"), Span("\nx")]),
        ("2 ** 3 ** 4", [Span("2 ** 3 ** 4")]),
        ("__init__ and *args", [Span("__init__ and *args")]),
        ("`open", [Span("`open")]),
        ("``a`b``", [Span("``a`b``")]),
        ("`a\nb`", [Span("`a\nb`")]),
        ("`**a**`", [Span("**a**", "code")]),
        ("#channel", [Span("#channel")]),
        ("", [Span("")]),
    ],
)
def test_what_is_found(text: str, found: list[Span]) -> None:
    assert spans(text) == found


@given(st.text("ab`*# \n<@!>\\", max_size=60))
def test_nothing_is_lost_but_marks(text: str) -> None:
    rest = iter(text)
    joined = "".join(span.text for span in spans(text))
    assert all(letter in rest for letter in joined), "in order"
    assert sorted(text.replace("`", "").replace("*", "").replace("#", "").replace(" ", "")) == sorted(
        joined.replace("`", "").replace("*", "").replace("#", "").replace(" ", "")
    )


def test_each_platform_gets_structure_and_no_markup() -> None:
    reply = Text("See `<@U1>` and **<!channel>** or [this](http://x) @everyone", "reply")
    (block,) = blocks.blocks(Message((reply,)))
    elements = block["elements"][0]["elements"]
    assert [(one["text"], one.get("style")) for one in elements[1:4]] == [
        ("<@U1>", {"code": True}),
        (" and ", None),
        ("<!channel>", {"bold": True}),
    ]
    text = layout.text(reply)
    assert text.startswith("See `<@U1>` and **\\<!channel\\>** or ")
    assert "[this]" not in text
    assert "<code>&lt;@U1&gt;</code> and <b>&lt;!channel&gt;</b>" in rich.html_text(Message((reply,)))
