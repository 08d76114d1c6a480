"""What counts as text, and how it is shown: UTF-8 without its BOM, each `\\r\\n` read as `\\n`, nothing else folded."""

from __future__ import annotations

from redline.files.error import FileError

BOM = b"\xef\xbb\xbf"
BINARY_PROBE = 8000
"""Bytes in which a NUL makes a file binary: git's own rule."""


def view(data: bytes) -> str | None:
    """The text of a file as a reader or a model sees it; None where the bytes are binary or not UTF-8.

    One leading BOM is left out and `\\r\\n` is read as `\\n`. A lone `\\r`, form feeds, U+2028 and all other characters
    stay as they are.
    """
    if is_binary(data):
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def is_binary(data: bytes) -> bool:
    return data.find(b"\0", 0, BINARY_PROBE) >= 0


def encoded(text: str, name: str) -> bytes:
    """`text` as UTF-8. `name` says which text it is, for the error.

    Raises `FileError("NOT_TEXT")` for a lone surrogate, which UTF-8 cannot hold: half a character, or a byte of a file
    that is not UTF-8.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        culprit = f"\\u{ord(text[error.start]):04x}"
        raise FileError(
            "NOT_TEXT",
            f"The {name} holds a lone surrogate ({culprit}, at character {error.start}), which UTF-8 cannot store.",
            "Send whole characters; bytes that are not UTF-8 can be kept but not written through this tool.",
        ) from None
