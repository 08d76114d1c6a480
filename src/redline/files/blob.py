"""git's name for the bytes of a file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from redline.files.seam import Blob


def git_blob(data: bytes) -> Blob:
    """git's object id: SHA-1 of `blob <size>\\0` and the bytes, 40 hex digits; what `git hash-object` prints."""
    return git_blob_of(len(data), (data,))


def git_blob_of(size: int, chunks: Iterable[bytes]) -> Blob:
    """The same for bytes that come in pieces; `size` is their sum, because git hashes it first.

    hashlib and not pygit2: a file larger than memory must be hashed too, and it is three times as fast.
    """
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()
