"""git's loose objects, for blobs: how their bytes stand in a file.

A new object is stored, not compressed: zlib's fastest level takes 3.5 ms for a file of 5,000 lines, both sides of an
edit have to be written, and the user waits. `ByteStore.compact` makes it up once the session is closed.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = 65_535
"""Bytes in a stored block of a deflate stream, at most (RFC 1951, 3.2.4)."""


def header(data: bytes) -> bytes:
    """What stands before the bytes in an object, and is hashed with them."""
    return b"blob %d\0" % len(data)


def stored(data: bytes) -> bytes:
    """The object of a blob as a zlib stream without compression: what `zlib.compress(…, 0)` gives, but copied once."""
    return b"".join(_parts(header(data), data))


def compressed(data: bytes) -> bytes:
    """The object of a blob at zlib's usual level."""
    return zlib.compress(header(data) + data, 6)


def unpacked(packed: bytes) -> bytes | None:
    """The bytes of a blob's object; None where they are no such object."""
    try:
        head, _, data = zlib.decompress(packed).partition(b"\0")
    except zlib.error:
        return None
    return data if head + b"\0" == header(data) else None


def _parts(head: bytes, data: bytes) -> Iterator[bytes | memoryview]:
    yield b"\x78\x01"
    view = memoryview(data)
    first = _BLOCK - len(head)
    yield _block(len(head) + len(view[:first]), last=len(view) <= first)
    yield head
    yield view[:first]
    for at in range(first, len(view), _BLOCK):
        piece = view[at : at + _BLOCK]
        yield _block(len(piece), last=at + _BLOCK >= len(view))
        yield piece
    yield struct.pack(">I", zlib.adler32(data, zlib.adler32(head)))


def _block(size: int, *, last: bool) -> bytes:
    return struct.pack("<BHH", last, size, size ^ 0xFFFF)
