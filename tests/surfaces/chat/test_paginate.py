"""Any change fits any platform: within its limits, balanced, and the same text when it is read back."""

from __future__ import annotations

import os
import random
import unicodedata
from dataclasses import replace

import pytest

from eventmaker import change
from redline.changes.record import FileChange
from redline.surfaces.chat import cards
from redline.surfaces.chat.cards import Setting
from redline.surfaces.chat.paginate import Measure, paginate
from redline.surfaces.chat.parts import Buttons, Choice, File, Message, Page, Part, Text, Verbatim
from surfaces.chat.readback import PLATFORMS, Platform, rejoined

DIFFS = int(os.environ.get("REDLINE_CHAT_DIFFS", "1000"))
"""Random diffs for each platform; the whole property is 20,000."""

_PIECES = [
    "```", "````", "``", "`", "```````", "&", "<", ">", "&amp;", "<!channel>", "<@U123>", "@everyone", "\\", "*", "_",
    "~", "||", "# ", "[x](y)", "</code></pre>", "<b>", "\t", " ", "  ", "", "word", "x = 1", "\u4ef7\u683c", "\xe9",
    "e\u0301", "👩\u200d💻", "👍🏽", "\U00020000", "\x1b[1A", "\u202e", "\u200b", "\u00a0", "\r", "\x00", "\udce9",
    "\ud83d", '"', "'", "{}", "@@ -1 +1 @@",
]  # fmt: skip


def _line(of: random.Random) -> str:
    if of.random() < 0.02:
        return of.choice(["a", "`", "&", "👩\u200d💻", "e\u0301", "x "]) * of.randrange(1000, 7000)
    return "".join(of.choice(_PIECES) for _ in range(of.randrange(8)))


def random_change(of: random.Random) -> FileChange:
    before = [_line(of) for _ in range(of.randrange(60))]
    grown = [_line(of) for _ in range(1500)] if of.random() < 0.02 else []
    after = list(before)
    for _ in range(of.randrange(1, 12)):
        at = of.randrange(len(after) + 1)
        after[at : at + of.randrange(3)] = [_line(of) for _ in range(of.randrange(4))]
    after += grown
    ends = of.choice(["\n", "\n", "\r\n"])
    texts = [ends.join(lines) + (ends if lines and of.random() < 0.8 else "") for lines in (before, after)]
    sides = [text.encode("utf-8", "surrogatepass") for text in texts]
    name = "".join(of.choice(["a", "_", "*", "`", "<", "[1]", ".py"]) for _ in range(of.randrange(1, 9)))
    return change(name.strip(".") or "a", sides[0] if of.random() < 0.8 else None, sides[1])


def _messages(pages: list[Page]) -> list[Message]:
    return [page for page in pages if isinstance(page, Message)]


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda one: one.name)
def test_any_change_fits_stands_alone_and_reads_back_as_the_diff(platform: Platform) -> None:
    """Public reports: N142, N145, N151."""
    of = random.Random(20_000)
    setting = Setting(workspace="/w")
    several = 0
    for _ in range(DIFFS):
        made = random_change(of)
        text = cards.hunk_text(made)
        pages = paginate(cards.whole(made, setting, cards.head(made, setting, "Edited", "applied")), platform.measure)
        messages = _messages(pages)
        several += len(messages) > 1
        for message in messages:
            assert platform.size(message) <= platform.limit
            assert platform.parts(message) <= platform.parts_limit
        assert rejoined(messages, platform) == text
    assert several > DIFFS // 100


def _random_parts(of: random.Random, count: int) -> list[Part]:
    parts: list[Part] = []
    for _ in range(count):
        lines = "\n".join(cards.visible_lines(_line(of)) for _ in range(of.randrange(1, 40)))
        kind = of.randrange(8)
        if kind < 3:
            parts.append(Text(lines or "x", of.choice(["plain", "strong", "quiet", "reply"])))
        elif kind < 6:
            parts.append(Verbatim(lines or "x", head="Edited a.py", label="a.py"))
        elif kind == 6:
            parts.append(File("a.diff", lines.encode()))
        else:
            parts.append(Buttons("t", (Choice("yes", "Yes", "yes"), Choice("no", "No", "no"))))
    return parts


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda one: one.name)
def test_pages_that_are_full_do_not_change_while_the_end_grows(platform: Platform) -> None:
    of = random.Random(7)
    for _ in range(12):
        parts = _random_parts(of, 14)
        before: list[Page] = []
        for count in range(1, len(parts) + 1):
            now = paginate(parts[:count], platform.measure)
            assert all(platform.size(message) <= platform.limit for message in _messages(now))
            assert all(platform.parts(message) <= platform.parts_limit for message in _messages(now))
            kept = [page for page in before if isinstance(page, Message)][:-1]
            assert [page for page in now if isinstance(page, Message)][: len(kept)] == kept
            assert [page for page in now if isinstance(page, File)] == [
                one for one in parts[:count] if isinstance(one, File)
            ]
            before = now


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda one: one.name)
def test_a_reply_that_is_still_written_changes_only_its_last_message(platform: Platform) -> None:
    written = "\n".join(f"{number} some words of a reply that goes on" for number in range(1200))
    before: list[Page] = []
    for end in range(100, len(written), 997):
        now = paginate([Text("Turn", "strong"), Text(written[:end])], platform.measure)
        assert now[: len(before) - 1] == before[:-1]
        before = now


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda one: one.name)
def test_a_text_is_measured_as_it_is_sent(platform: Platform) -> None:
    """Public reports: N151. 2,850 characters that grow to more than 4,500 when they are escaped."""
    line = "+<!channel> <@U123> a && b <&> "
    text = (line * 100)[:2850]
    pages = paginate([Verbatim(text, head="Edited a", label="a"), Text(text)], platform.measure)
    messages = _messages(pages)
    assert all(platform.size(message) <= platform.limit for message in messages)
    assert rejoined(messages, platform) == text
    assert any(text[:1000] in read for message in messages for kind, read in platform.read(message) if kind == "prose")


_MARKDOWN = ["# ", "## ", "a", "**b**", "`c`", "**", "`", "*", " ", "\n", "\n# a\n", "&", "é", "text ", "#", "- "]


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda one: one.name)
def test_any_reply_fits_whatever_its_markdown(platform: Platform) -> None:
    of = random.Random(7)
    replies = ["# a\n" * 600, "## Section\n" * 300, "`a`\n" * 900, "**a** `b` " * 900, "**abc** " + "`x`" * 2000]
    for _ in range(60):
        few = of.sample(_MARKDOWN, of.randrange(1, 5))
        replies.append("".join(of.choices(few, k=of.randrange(10, 3000))))
    for reply in replies:
        for message in _messages(paginate([Text(reply, "reply"), Text("Turn 1 done", "strong")], platform.measure)):
            assert platform.size(message) <= platform.limit, reply[:80]


def test_a_file_comes_before_the_buttons_that_follow_it() -> None:
    buttons = Buttons("t", (Choice("yes", "Yes"),))
    pages = paginate([Text("May this be done?"), File("a.diff", b""), buttons], PLATFORMS[0].measure)
    assert [type(page) for page in pages] == [Message, File, Message]
    assert pages[-1] == Message((buttons,))


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda one: one.name)
@pytest.mark.parametrize("files", [0, 1])
def test_what_ends_a_question_stands_on_the_page_of_its_buttons(platform: Platform, files: int) -> None:
    ended = "Rejected by Ada."
    buttons = Buttons("t", (Choice("yes", "Allow once"), Choice("no", "Reject")))
    for length in (10, *range(platform.measure.limit - 900, platform.measure.limit, 40)):
        before: list[Part] = [Text("May this be done?", "strong"), Text("x" * length), *[File("a.diff", b"")] * files]
        asked = paginate([*before, buttons], platform.measure)
        settled = paginate([*before, replace(buttons, settled=ended)], platform.measure)
        assert len(settled) == len(asked)
        assert settled[:-1] == asked[:-1]
        assert not any(isinstance(piece, Buttons) for page in _messages(settled) for piece in page.pieces)
        assert _messages(settled)[-1].pieces[-1] == Text(ended, "strong")


_PLAIN = Measure(limit=100, pieces=5, prose=len, lines=len, frame=10)


def _texts(pages: list[Page]) -> list[str]:
    return [getattr(piece, "text", "") for page in _messages(pages) for piece in page.pieces]


def test_a_cut_falls_between_hunks_if_it_can() -> None:
    first = "@@ -1 +1 @@\n-" + "a" * 50
    second = "@@ -9 +9 @@\n-" + "b" * 50
    assert _texts(paginate([Verbatim(f"{first}\n{second}", label="a")], _PLAIN)) == [first, second]


def test_a_cut_falls_between_lines_else() -> None:
    lines = [f"+{number:02}" + "c" * 30 for number in range(6)]
    pages = _texts(paginate([Verbatim("\n".join(lines), label="a")], _PLAIN))
    assert "\n".join(pages) == "\n".join(lines)
    assert all(page.split("\n")[0] in lines for page in pages)


def test_a_line_that_is_longer_than_a_message_is_cut_and_its_further_pieces_say_so() -> None:
    """Public reports: N147."""
    pages = paginate([Verbatim("+" + "x" * 250, head="Edited a", label="a")], _PLAIN)
    heads = [piece.head for page in _messages(pages) for piece in page.pieces if isinstance(piece, Verbatim)]
    assert heads[0] == "Edited a"
    assert set(heads[1:]) == {"a, the line goes on"}
    assert "".join(_texts(pages)) == "+" + "x" * 250


@pytest.mark.parametrize("unit", ["e\u0301", "👩\u200d💻", "👍🏽", "\U00020000", "🏳\ufe0f\u200d🌈"])
@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda one: one.name)
def test_no_cut_falls_inside_a_character_with_its_marks(platform: Platform, unit: str) -> None:
    for shift in range(3):
        text = "+" + "x" * shift + unit * 17_000
        pages = _texts(paginate([Verbatim(text, label="a")], platform.measure))
        assert len(pages) > 1
        assert "".join(pages) == text
        for piece in pages[1:]:
            assert unicodedata.category(piece[0]) not in ("Mn", "Mc", "Me")
            assert piece[0] not in "\u200d\ufe0f🏽"
        for piece in pages[:-1]:
            assert piece[-1] != "\u200d"


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda one: one.name)
@pytest.mark.parametrize("before", [0, 40])
def test_the_head_of_a_hunk_stands_with_its_first_line(platform: Platform, before: int) -> None:
    lines = ["@@ -1,40 +1,40 @@", *["+ab"] * before] if before else []
    text = "\n".join([*lines, "@@ -0,0 +1 @@", "+" + "x" * (2 * platform.measure.limit)])
    pages = paginate([Verbatim(text, head="Created a.txt")], platform.measure)
    pieces = [piece for page in pages if isinstance(page, Message) for piece in page.pieces]
    assert len(pages) > 1
    assert not any(piece.text.split("\n")[-1].startswith("@@") for piece in pieces)
