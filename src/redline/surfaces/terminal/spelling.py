"""Text as a terminal prints it whose encoding lacks some of its characters: as escapes, which are laid out as such."""

from __future__ import annotations

from rich.text import Text


def spelt(text: Text, encoding: str) -> Text:
    """The same text where the encoding has every character of it."""
    plain = text.plain
    if plain.isascii() or encoding.startswith("utf") or _is_in(plain, encoding):
        return text
    lacking = [at for at, character in enumerate(plain) if not _is_in(character, encoding)]
    cuts = sorted({cut for at in lacking for cut in (at, at + 1)} - {0, len(plain)})
    result = Text()
    for part in text.divide(cuts):
        escapes = part.plain.encode(encoding, "backslashreplace").decode(encoding)
        if escapes == part.plain:
            result.append_text(part)
            continue
        escaped = Text(escapes, style=part.style)
        for span in part.spans:
            escaped.stylize(span.style)
        result.append_text(escaped)
    return result


def _is_in(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
