"""What a chat shows, as a small neutral list: text, lines that stand as they are, buttons, files.

Everything in a part is plain: every hidden character is visible already and nothing is markup. How a platform frames,
escapes and counts it is the platform's own business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tone = Literal["plain", "strong", "quiet", "reply"]
"""`reply`: what an agent wrote, of which `spans.spans` finds what is strong or code."""


@dataclass(frozen=True, slots=True)
class Text:
    """Sentences, newlines kept."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Lines that stand exactly as they are: the hunks of a change, a command, a code block of a reply."""

    text: str
    """Without a newline at the end."""
    head: str = ""
    """The line above: of a change what happened to which file, with its counts and whether it is on disk."""
    label: str = ""
    """What a further piece of it is called, where one message does not hold it: the path."""
    language: str = "diff"


@dataclass(frozen=True, slots=True)
class Choice:
    id: str
    name: str
    kind: Literal["yes", "no", "plain"] = "plain"


@dataclass(frozen=True, slots=True)
class Buttons:
    """Choices of which one may be pressed."""

    token: str
    """Comes back with the press: at most 32 ASCII characters, since Telegram allows 64 bytes with the choice."""
    choices: tuple[Choice, ...]
    asks: str = ""
    """What the choices are about, where a message of buttons alone needs a text: a notification, for one."""
    settled: str = ""
    """How the question ended: stands where the buttons were, on the same page. Empty: it is open."""


@dataclass(frozen=True, slots=True)
class File:
    name: str
    content: bytes
    title: str = ""


Part = Text | Verbatim | Buttons | File
Piece = Text | Verbatim | Buttons


@dataclass(frozen=True, slots=True)
class Message:
    """What one message of a platform holds."""

    pieces: tuple[Piece, ...]


Page = Message | File
"""What is posted at once: a message, which may be edited later, or a file, which never is."""
