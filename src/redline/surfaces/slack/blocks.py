"""Messages as Slack's blocks.

Text stands in `rich_text` blocks: structured, so nothing of it is markup, no `<!channel>` in a file pings anybody, and
no backticks close a block. What Slack counts is not documented whole: 50 blocks a message
(docs.slack.dev/reference/block-kit/blocks), 12,000 characters over all `markdown` blocks
(docs.slack.dev/reference/block-kit/blocks/markdown-block), and `msg_blocks_too_long` near 13,200 characters of all
blocks together, with readings that differ on what a character is (slackapi/bolt-js#2509, #2867). So the largest
reading is counted: bytes of JSON with `&`, `<` and `>` as entities, and every block with its own JSON.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from redline.surfaces.chat.paginate import Measure
from redline.surfaces.chat.parts import Buttons, Message, Text, Verbatim
from redline.surfaces.chat.spans import spans

if TYPE_CHECKING:
    from redline.surfaces.chat.parts import Choice, Piece

LIMIT = 12_000
BLOCKS = 48
_FRAME = 220
"""JSON of one block around its text, with a head's."""
_MARKS = re.compile(r"[`*#]")
_ELEMENT = 64
"""JSON of one element around its text, at most."""


def size(text: str) -> int:
    """Bytes of the text in JSON, `&`, `<` and `>` counted as entities."""
    grown = 4 * text.count("&") + 3 * text.count("<") + 3 * text.count(">")
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2 + grown


def _prose(text: str) -> int:
    """As a reply, which is the largest: line by line, each span an element of its own, and one for what lies between
    two lines."""
    return sum(_line_size(line) for line in text.split("\n")) + size("\n") * text.count("\n")


def _line_size(line: str) -> int:
    if not _MARKS.search(line):
        return size(line)
    found = spans(line)
    if len(found) == 1 and not found[0].style:
        return size(line)
    return sum(size(span.text) + _ELEMENT for span in found) + _ELEMENT


MEASURE = Measure(limit=LIMIT, pieces=BLOCKS, prose=_prose, lines=size, frame=_FRAME)


def blocks(message: Message, *, languages: bool = True) -> list[dict[str, Any]]:
    """`languages`: name them, for Slack to colour."""
    return [_block(piece, languages=languages) for piece in message.pieces]


def summary(message: Message) -> str:
    """What a notification says: the first line, with the three characters escaped that Slack gives a meaning."""
    first = next((piece.asks if isinstance(piece, Buttons) else _first_line(piece) for piece in message.pieces), "")
    return escaped(first[:200]) or "Redline"


def escaped(text: str) -> str:
    """For a field that is mrkdwn (docs.slack.dev/messaging/formatting-message-text#escaping)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _first_line(piece: Text | Verbatim) -> str:
    return ((piece.head if isinstance(piece, Verbatim) else "") or piece.text).partition("\n")[0]


def _block(piece: Piece, *, languages: bool) -> dict[str, Any]:
    match piece:
        case Text():
            return {"type": "rich_text", "elements": [_section(_styled(piece))]}
        case Verbatim():
            preformatted: dict[str, Any] = {
                "type": "rich_text_preformatted", "elements": [{"type": "text", "text": piece.text}],
            }  # fmt: skip
            if piece.language and languages:
                preformatted["language"] = piece.language
            head = [_section([_text(piece.head, "bold")])] if piece.head else []
            return {"type": "rich_text", "elements": [*head, preformatted]}
        case Buttons():
            return {"type": "actions", "elements": [_button(piece.token, choice) for choice in piece.choices]}


def _section(elements: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": elements}


def _styled(piece: Text) -> list[dict[str, Any]]:
    if piece.tone == "reply":
        styles = {"strong": "bold", "code": "code", "": ""}
        return [_text(span.text, styles[span.style]) for span in spans(piece.text)]
    return [_text(piece.text, {"strong": "bold", "quiet": "italic"}.get(piece.tone, ""))]


def _text(text: str, style: str) -> dict[str, Any]:
    element: dict[str, Any] = {"type": "text", "text": text}
    return {**element, "style": {style: True}} if style else element


def _button(token: str, choice: Choice) -> dict[str, Any]:
    button: dict[str, Any] = {
        "type": "button",
        "text": {"type": "plain_text", "text": choice.name[:75], "emoji": False},
        "action_id": f"redline.answer.{choice.id}",
        "value": f"{token} {choice.id}",
    }
    if choice.kind != "plain":
        button["style"] = "primary" if choice.kind == "yes" else "danger"
    return button
