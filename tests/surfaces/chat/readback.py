"""What a reader of each platform gets: the payload as the platform would take it, its escapes undone.

Each platform gives, for a message: its size by the platform's own count, and its texts. A text is a sentence (`prose`)
or lines (`lines`); lines stand alone, so a text that is not one whole, closed frame raises here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from redline.surfaces.chat.paginate import LINE_GOES_ON, Measure
from redline.surfaces.discord import layout
from redline.surfaces.slack import blocks as slack
from redline.surfaces.telegram import rich

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redline.surfaces.chat.parts import Message

Read = list[tuple[str, str]]
"""Kind (`prose`, `lines`) and text."""


@dataclass(frozen=True)
class Platform:
    name: str
    measure: Measure
    size: Callable[[Message], int]
    limit: int
    """Documented."""
    read: Callable[[Message], Read]
    parts: Callable[[Message], int]
    parts_limit: int


def rejoined(messages: Iterable[Message], platform: Platform) -> str:
    """The lines of all messages as one text again. What a line's further piece is, its head says."""
    whole = ""
    head = ""
    for message in messages:
        for kind, text in platform.read(message):
            if kind == "prose":
                head = text
            else:
                inside = head.endswith(LINE_GOES_ON)
                whole += text if not whole or inside else f"\n{text}"
    return whole


def _slack_read(message: Message) -> Read:
    found: Read = []
    for block in slack.blocks(message):
        for element in block["elements"] if block["type"] == "rich_text" else ():
            text = "".join(one["text"] for one in element["elements"])
            found.append(("lines" if element["type"] == "rich_text_preformatted" else "prose", text))
    return found


def _slack_size(message: Message) -> int:
    return len(json.dumps(slack.blocks(message), ensure_ascii=False))


_FENCE = re.compile(r"```([a-z]*)\n(.*)\n```", re.DOTALL)


def _discord_read(message: Message) -> Read:
    found: Read = []
    for component in layout.view(message).to_components():
        text = component.get("content", "")
        head, fence, rest = text.partition("```")
        if head:
            found.append(("prose", _discord_prose(head.rstrip("\n"))))
        if fence:
            match = _FENCE.fullmatch(fence + rest)
            assert match is not None, text
            assert "```" not in match[2], text
            found.append(("lines", match[2].replace("\u200b", "")))
    return found


def _discord_prose(text: str) -> str:
    bare = "\n".join(line.removeprefix("**").removesuffix("**") for line in text.split("\n"))
    return re.sub(r"\\([^0-9A-Za-z\s])", r"\1", bare)


def _discord_size(message: Message) -> int:
    return sum(rich.units(component.get("content", "")) for component in layout.view(message).to_components())


def _rich_read(message: Message) -> Read:
    return _rich_blocks(rich.rich_message(message).model_dump(exclude_none=True)["blocks"])


def _rich_blocks(blocks: list[dict[str, Any]]) -> Read:
    found: Read = []
    for block in blocks:
        if block["type"] == "details":
            found.append(("prose", _rich_text(block["summary"])))
            found += _rich_blocks(block["blocks"])
        else:
            found.append(("lines" if block["type"] == "pre" else "prose", _rich_text(block["text"])))
    return found


def _rich_text(text: Any) -> str:
    if isinstance(text, list):
        return "".join(_rich_text(one) for one in text)
    return text if isinstance(text, str) else _rich_text(text["text"])


def _rich_size(message: Message) -> int:
    return sum(rich.units(text) for _, text in _rich_read(message))


class _Html(HTMLParser):
    """Strict: every tag known and closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.found: Read = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag in ("b", "i", "pre", "code"), tag
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        kind = "lines" if "pre" in self.open else "prose"
        if kind == "prose" and not self.open and not data.strip("\n"):
            return
        self.found.append((kind, data if kind == "lines" else data.strip("\n")))


def _html_read(message: Message) -> Read:
    return _Html(rich.html_text(message)).found


def _html_size(message: Message) -> int:
    return rich.units(_Html(rich.html_text(message)).text)


PLATFORMS = [
    Platform("slack", slack.MEASURE, _slack_size, 13_200, _slack_read, lambda m: len(slack.blocks(m)), 50),
    Platform(
        "discord", layout.MEASURE, _discord_size, 4_000, _discord_read,
        lambda m: layout.view(m).total_children_count, 40,
    ),
    Platform("telegram", rich.RICH, _rich_size, 32_768, _rich_read, lambda m: 3 * len(m.pieces), 500),
    Platform("telegram-html", rich.HTML, _html_size, 4_096, _html_read, lambda m: 0, 1),
]  # fmt: skip
