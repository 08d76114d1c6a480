"""git's name for the bytes of a file."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable

from redline.files.seam import Blob

REMEMBERED = 1 << 20
"""Bytes of a text up to which its id is remembered for a while."""


def git_blob(data: bytes) -> Blob:
    """git's object id: SHA-1 of `blob <size>\\0` and the bytes, 40 hex digits; what `git hash-object` prints.

    One edit asks for the same two texts again and again (preview, apply, the look afterwards), so the last few are
    remembered: to compare bytes takes a twentieth of the time.
    """
    if len(data) > REMEMBERED:
        return git_blob_of(len(data), (data,))
    for known, blob in tuple(_last):
        if known is data or (len(known) == len(data) and known == data):
            return blob
    blob = git_blob_of(len(data), (data,))
    _last.appendleft((data, blob))
    return blob


_last: deque[tuple[bytes, Blob]] = deque(maxlen=8)
"""The newest first: it is the one that is mostly asked for."""


def git_blob_of(size: int, chunks: Iterable[bytes]) -> Blob:
    """The same for bytes that come in pieces; `size` is their sum, because git hashes it first.

    hashlib and not pygit2: a file larger than memory must be hashed too, and it is three times as fast.
    """
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()
