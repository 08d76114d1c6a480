"""Messages as Discord's components: text displays, and rows of buttons.

4,000 characters over all text displays of a message and 40 components
(docs.discord.com/developers/components/reference); counted in UTF-16 units, the larger reading. Sentences are escaped
with backslashes, which Discord's Markdown takes before any punctuation, so `__init__` stays what it is. Lines stand in
a fence marked with their language; a fence knows no escape, so each run of three and more backticks is broken with
zero-width spaces (no other one can stand in the text, since hidden characters are visible by then).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import discord

from redline.surfaces.chat.paginate import Measure
from redline.surfaces.chat.parts import Buttons, Message, Text, Verbatim
from redline.surfaces.chat.spans import Span, spans

if TYPE_CHECKING:
    from redline.surfaces.chat.parts import Choice

LIMIT = 3_900
COMPONENTS = 30
ID = "redline"
"""Begins the `custom_id` of every button of ours."""
_FRAME = 32
_MARKUP = re.compile(r"([\\*_~`|<>#\[\]@:-])")
_RUN = re.compile(r"`{3,}")


def escaped(text: str) -> str:
    """Sentences."""
    return _MARKUP.sub(r"\\\1", text)


def fenced(text: str, language: str) -> str:
    return f"```{language}\n{unbroken(text)}\n```"


def unbroken(text: str) -> str:
    """The lines with every run of backticks broken that could close their fence."""
    return _RUN.sub(lambda run: "\u200b".join(run[0]), text) if "```" in text else text


def _prose(text: str) -> int:
    # Each line may be framed with two asterisks on either side.
    return _units(escaped(text)) + 4 + 4 * text.count("\n")


def _lines(text: str) -> int:
    return _units(unbroken(text))


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


MEASURE = Measure(limit=LIMIT, pieces=COMPONENTS, prose=_prose, lines=_lines, frame=_FRAME)


def view(message: Message) -> discord.ui.LayoutView:
    """Buttons carry their `custom_id` and are heard by the client, so that they work after a restart too."""
    made = discord.ui.LayoutView(timeout=None)
    for piece in message.pieces:
        if isinstance(piece, Buttons):
            made.add_item(_row(piece))
        else:
            made.add_item(discord.ui.TextDisplay(text(piece)))
    return made


def text(piece: Text | Verbatim) -> str:
    """What a text display holds."""
    if isinstance(piece, Verbatim):
        head = f"**{escaped(piece.head)}**\n" if piece.head else ""
        return head + fenced(piece.text, piece.language)
    if piece.tone == "reply":
        return "".join(_styled(span) for span in spans(piece.text))
    lines = escaped(piece.text).split("\n")
    if piece.tone == "quiet":
        return "\n".join(f"*{line}*" if line.strip() else line for line in lines)
    if piece.tone == "strong":
        return "\n".join(f"**{line}**" if line.strip() else line for line in lines)
    return "\n".join(lines)


def _styled(span: Span) -> str:
    if span.style == "code":
        return f"`{span.text}`"  # it holds no backtick
    return f"**{escaped(span.text)}**" if span.style == "strong" else escaped(span.text)


def _row(buttons: Buttons) -> discord.ui.ActionRow[discord.ui.LayoutView]:
    return discord.ui.ActionRow(*(_button(buttons.token, choice) for choice in buttons.choices))


def _button(token: str, choice: Choice) -> discord.ui.Button[discord.ui.LayoutView]:
    styles = {"yes": discord.ButtonStyle.success, "no": discord.ButtonStyle.danger}
    return discord.ui.Button(
        label=choice.name[:80],
        custom_id=f"{ID}:{token}:{choice.id}",
        style=styles.get(choice.kind, discord.ButtonStyle.secondary),
    )
