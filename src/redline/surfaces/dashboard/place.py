"""Where a session is, and how its paths and texts are said on the wire."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_SURROGATE = re.compile("[\ud800-\udfff]")


def text(value: str) -> str:
    """Half characters, which JSON cannot carry and which stand for odd bytes, as what they are: `\\xNN`."""
    if value.isascii():
        return value
    return _SURROGATE.sub(_escape, value)


def texts(values: Iterable[str]) -> list[str]:
    return [text(value) for value in values]


@dataclass(frozen=True, slots=True)
class Place:
    """What a session's paths are relative to, and its name in addresses."""

    session: str
    workspace: str

    def name(self, path: str) -> str:
        """A path as people read it."""
        if self.workspace and path.startswith(self.workspace.rstrip(os.sep) + os.sep):
            return text(os.path.relpath(path, self.workspace))
        return text(path)


def _escape(hit: re.Match[str]) -> str:
    code = ord(hit[0])
    return f"\\x{code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04X}"
