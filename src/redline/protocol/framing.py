"""Messages on a byte stream: one JSON value a line, of any length up to a stated maximum.

A line has no cliff: it grows as its bytes arrive, and each byte is looked at once. A line over the maximum is passed
over without being kept, and what its beginning says of itself is told, so that whoever waits for it can be answered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MESSAGE_LIMIT = 64 * 2**20
"""Bytes of one message."""
_HEAD = 64 * 1024
"""Bytes of an overlong line that are searched for what it is."""

_ID = re.compile(rb'"id"\s*:\s*(\d+|"(?:[^"\\]|\\.){0,200}")')
_METHOD = re.compile(rb'"method"\s*:\s*"([A-Za-z0-9_$./-]{1,100})"')


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line that was passed over, mostly for its length."""

    size: int
    """Bytes, as far as they were counted: all of them."""
    method: str | None
    """Read off its beginning, as far as that says it."""
    id: str | None
    """JSON text of the id, likewise."""


class Lines:
    """Cuts a stream into lines. Feed it chunks; it gives each whole line once, without its end."""

    def __init__(self, limit: int = MESSAGE_LIMIT) -> None:
        self._limit = limit
        self._held = bytearray()
        self._passed_over = 0
        """Bytes of the overlong line that is just passing; 0: none is."""

    def feed(self, chunk: bytes) -> list[bytes | Overlong]:
        """The lines that end in this chunk, in order; empty ones are left out."""
        found: list[bytes | Overlong] = []
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            line = self._end(piece)
            if line:
                found.append(line)
        self._hold(rest)
        return found

    def rest(self) -> bytes | Overlong | None:
        """What came after the last line end, once the stream has ended: a torn line, or one that lacks its end."""
        return self._end(b"") or None

    def _hold(self, piece: bytes) -> None:
        if self._passed_over:
            self._passed_over += len(piece)
            return
        self._held += piece
        if len(self._held) > self._limit:
            self._passed_over = len(self._held)
            del self._held[_HEAD:]

    def _end(self, piece: bytes) -> bytes | Overlong:
        if not self._held and len(piece) <= self._limit:
            return piece.rstrip(b"\r")
        self._hold(piece)
        held, size = bytes(self._held), self._passed_over
        self._held.clear()
        self._passed_over = 0
        return _overlong(held, size) if size else held.rstrip(b"\r")


def glance(line: bytes) -> Overlong:
    """What the beginning of a line says of it, where the line itself cannot be read."""
    return _overlong(line[:_HEAD], len(line))


def _overlong(head: bytes, size: int) -> Overlong:
    method, identity = _METHOD.search(head), _ID.search(head)
    return Overlong(
        size,
        method[1].decode("ascii") if method else None,
        identity[1].decode("utf-8", "replace") if identity else None,
    )
