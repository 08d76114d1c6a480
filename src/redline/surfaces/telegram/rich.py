"""Messages for Telegram: rich messages of blocks, and HTML where the server knows none.

A rich message holds 32,768 characters and 500 blocks (core.telegram.org/bots/api#rich-message-formatting-options, Bot
API 10.1); its blocks are structured, so nothing is escaped. An HTML message holds 4,096 characters after entities are
parsed (core.telegram.org/bots/api#sendmessage), counted in UTF-16 units (…#messageentity); the three characters that
HTML gives a meaning are escaped, and what is sent is counted, which is never less.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from aiogram.types import (
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputRichBlockDetails,
    InputRichBlockParagraph,
    InputRichBlockPreformatted,
    InputRichMessage,
    RichTextBold,
    RichTextCode,
    RichTextItalic,
)

from redline.surfaces.chat.paginate import Measure
from redline.surfaces.chat.parts import Buttons, Message, Text, Verbatim
from redline.surfaces.chat.spans import Span, spans

if TYPE_CHECKING:
    from aiogram.types import InputRichBlockUnion, RichTextUnion

    from redline.surfaces.chat.parts import Piece

RICH_LIMIT = 30_000
RICH_PARTS = 150
"""A change takes three blocks: details, their summary, the lines."""
HTML_LIMIT = 4_000
OPEN_LINES = 40
"""Lines of a change up to which its details are open."""


def units(text: str) -> int:
    """UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _escaped_units(text: str) -> int:
    return units(escaped(text))


def escaped(text: str) -> str:
    return html.escape(text, quote=False)


RICH = Measure(limit=RICH_LIMIT, pieces=RICH_PARTS, prose=units, lines=units, frame=8)
HTML = Measure(limit=HTML_LIMIT, pieces=1000, prose=_escaped_units, lines=_escaped_units, frame=80)


def rich_message(message: Message) -> InputRichMessage:
    """Entity detection is off: an `@name` or a `/command` in a file is text."""
    blocks = [block for piece in message.pieces for block in _blocks(piece)]
    return InputRichMessage(
        blocks=blocks or [InputRichBlockParagraph(text=_asked(message))], skip_entity_detection=True
    )


def html_text(message: Message) -> str:
    return "\n".join(_html(piece) for piece in message.pieces if not isinstance(piece, Buttons)) or escaped(
        _asked(message)
    )


def plain_text(message: Message) -> str:
    """Without any markup: for a server that cannot parse the entities of an HTML message."""
    said = [piece for piece in message.pieces if not isinstance(piece, Buttons)]
    return "\n".join("\n".join(filter(None, (getattr(piece, "head", ""), piece.text))) for piece in said) or _asked(
        message
    )


def _asked(message: Message) -> str:
    """The text of a message of buttons alone, since there is none without."""
    return next((piece.asks for piece in message.pieces if isinstance(piece, Buttons) and piece.asks), "Your answer?")


def keyboard(message: Message) -> InlineKeyboardMarkup | None:
    """`callback_data` holds 64 bytes (core.telegram.org/bots/api#inlinekeyboardbutton)."""
    rows = [
        [InlineKeyboardButton(text=choice.name, callback_data=f"{piece.token} {choice.id}")]
        for piece in message.pieces
        if isinstance(piece, Buttons)
        for choice in piece.choices
    ]
    return InlineKeyboardMarkup(inline_keyboard=rows) if rows else None


def _blocks(piece: Piece) -> list[InputRichBlockUnion]:
    match piece:
        case Text():
            styled: RichTextUnion = piece.text
            if piece.tone == "strong":
                styled = RichTextBold(text=piece.text)
            elif piece.tone == "quiet":
                styled = RichTextItalic(text=piece.text)
            elif piece.tone == "reply":
                styled = [_rich(span) for span in spans(piece.text)]
            return [InputRichBlockParagraph(text=styled)]
        case Verbatim():
            lines = InputRichBlockPreformatted(text=piece.text, language=piece.language or None)
            if not piece.head:
                return [lines]
            is_open = piece.text.count("\n") < OPEN_LINES
            return [InputRichBlockDetails(summary=RichTextBold(text=piece.head), blocks=[lines], is_open=is_open)]
        case Buttons():
            return []


def _rich(span: Span) -> RichTextUnion:
    styles = {"strong": RichTextBold, "code": RichTextCode}
    return styles[span.style](text=span.text) if span.style else span.text


def _html(piece: Text | Verbatim) -> str:
    if isinstance(piece, Text) and piece.tone == "reply":
        tags = {"strong": "b", "code": "code"}
        return "".join(
            f"<{tags[span.style]}>{escaped(span.text)}</{tags[span.style]}>" if span.style else escaped(span.text)
            for span in spans(piece.text)
        )
    if isinstance(piece, Text):
        tag = {"strong": "b", "quiet": "i"}.get(piece.tone)
        return f"<{tag}>{escaped(piece.text)}</{tag}>" if tag else escaped(piece.text)
    head = f"<b>{escaped(piece.head)}</b>\n" if piece.head else ""
    language = f' class="language-{escaped(piece.language)}"' if piece.language else ""
    return f"{head}<pre><code{language}>{escaped(piece.text)}</code></pre>"
