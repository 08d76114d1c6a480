"""Making every character of foreign text visible.

A terminal obeys control characters; terminals, browsers and chat programs reorder text at bidirectional ones and draw
nothing for others. So none of them reaches a surface. Controls stand in caret notation (ESC is `^[`, which every font
has), odd bytes as `\\xE9`, all other hidden characters as their code point, `<U+202E>`. Joiners and selectors inside an
emoji are left alone: there they are not hidden, they are the emoji.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

_BIDI = frozenset((0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_BLANK = frozenset((0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0))
"""Printable by category, and drawn as nothing."""
_SELECTORS = frozenset((*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x180B, 0x1810)))
_JOINER, _EMOJI_SELECTOR, _TEXT_SELECTOR = 0x200D, 0xFE0F, 0xFE0E
_KEYCAP = 0x20E3


class Piece(NamedTuple):
    """A run of text, and whether it stands for hidden characters."""

    text: str
    stands_for_hidden: bool


class _Replacements(dict[int, str | int]):
    """For `str.translate`: each character's visible form, worked out when first met."""

    def __missing__(self, code: int) -> str | int:
        self[code] = form = _form(code)
        return form


def _form(code: int) -> str | int:
    if code < 0x20 or code == 0x7F:
        return f"^{chr(code ^ 0x40)}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02X}"
    if 0xD800 <= code <= 0xDFFF:
        return f"\\u{code:04X}"
    if code in _BIDI or code in _BLANK or code in _SELECTORS:
        return f"<U+{code:04X}>"
    category = unicodedata.category(chr(code))
    # Cn: not a character (yet), so nobody can say what a terminal makes of it.
    if category in ("Cc", "Cf", "Cn", "Zl", "Zp") or (category == "Zs" and code not in (0x20, 0x3000)):
        return f"<U+{code:04X}>"
    return code


_TABLE = _Replacements()


def visible(text: str) -> str:
    """For a line, a path, a title: every character seen, tabs and newlines too."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(piece.text for piece in pieces(text))


def visible_prose(text: str) -> str:
    """For text in sentences and for a command's output: newlines stay, tabs become spaces, a carriage return before a
    newline goes, and the spaces of good typography (no-break ones) stay."""
    lines = text.replace("\r\n", "\n").expandtabs(4).split("\n")
    return "\n".join(_prose_line(line) for line in lines)


def _prose_line(line: str) -> str:
    if line.isascii() and line.isprintable():
        return line
    spaced = "".join(" " if unicodedata.category(c) == "Zs" and c != "\u3000" else c for c in line)
    return visible(spaced)


def pieces(text: str) -> list[Piece]:
    """The visible form in runs, so that what stands for a hidden character can be drawn differently."""
    if text.isascii() and text.isprintable():
        return [Piece(text, False)]
    if text.translate(_TABLE) == text:
        return [Piece(_anchored(text), False)]
    found: list[Piece] = []
    plain: list[str] = []
    for at, character in enumerate(text):
        form = _TABLE[ord(character)]
        if isinstance(form, int) or _belongs_to_emoji(text, at):
            plain.append(character)
            continue
        if plain:
            found.append(Piece(_anchored("".join(plain)) if not found else "".join(plain), False))
            plain = []
        found.append(Piece(form, True))
    if plain:
        found.append(Piece("".join(plain), False))
    return found


def _anchored(text: str) -> str:
    """A combining mark at the beginning would be drawn onto what stands before the text: give it a circle to stand
    on."""
    return f"\u25cc{text}" if text and unicodedata.combining(text[0]) else text


def _belongs_to_emoji(text: str, at: int) -> bool:
    code = ord(text[at])
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if code in (_EMOJI_SELECTOR, _TEXT_SELECTOR):
        keycap = before in "0123456789#*" and bool(after) and ord(after) == _KEYCAP
        return bool(before) and (_is_picture(before) or keycap)
    if code == _JOINER:
        joined = before == "\ufe0f" or _is_picture(before)
        return bool(before) and joined and _is_picture(after)
    return False


def _is_picture(character: str) -> bool:
    if not character or ord(character) < 0xA9:
        return False
    return unicodedata.category(character) in ("So", "Sm") or 0x1F3FB <= ord(character) <= 0x1F3FF


def hidden_kinds(text: str) -> frozenset[str]:
    """What a reader should be warned of: `control`, `bidirectional`, `invisible`. Tabs and a carriage return at the
    end of the line are no reason to warn."""
    if text.isascii() and text.isprintable():
        return frozenset()
    kinds: set[str] = set()
    line = text.removesuffix("\r")
    for at, character in enumerate(line):
        code = ord(character)
        if code == 0x09 or isinstance(_TABLE[code], int) or _belongs_to_emoji(line, at):
            continue
        if code < 0x20 or 0x7F <= code <= 0x9F:
            kinds.add("control")
        elif code in _BIDI:
            kinds.add("bidirectional")
        elif not 0xD800 <= code <= 0xDFFF and unicodedata.category(character) != "Zs":
            kinds.add("invisible")
    return frozenset(kinds)
