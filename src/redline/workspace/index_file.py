"""git's index file, read and written: the list of files of a snapshot, with the facts that tell whether one changed.

An entry is kept as the 62 bytes that it has in the file: times, device, inode, mode, owner, size, blob id and flags.
Versions 2 to 4 are read, as https://git-scm.com/docs/index-format describes them; version 2 is written. An index that
needs more than that (split, sparse, SHA-256) is refused.
"""

from __future__ import annotations

import hashlib
import os
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Entry = bytes
"""The fixed part of an index entry, 62 bytes."""

FILE, EXECUTABLE, SYMLINK = 0o100644, 0o100755, 0o120000
EMPTY_BLOB = bytes.fromhex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")

_FACTS = struct.Struct(">10I")
_HEAD = 62
_EXTENDED, _ASSUME_VALID, _STAGE = 0x4000, 0x8000, 0x3000
_NAME_LENGTH = 0xFFF
_SKIP_WORKTREE, _INTENT_TO_ADD = 0x4000, 0x2000
_LOW = 0xFFFFFFFF


class IndexFormatError(Exception):
    """The bytes are no index that can be read here; the message says why."""


def entry(facts: os.stat_result, mode: int, blob: bytes) -> Entry:
    """`blob`: 20 bytes. The flags are written by `dump`."""
    seconds, nanoseconds = divmod(facts.st_mtime_ns, 10**9)
    changed_seconds, changed_nanoseconds = divmod(facts.st_ctime_ns, 10**9)
    numbers = (
        changed_seconds, changed_nanoseconds, seconds, nanoseconds,
        facts.st_dev, facts.st_ino, mode, facts.st_uid, facts.st_gid, facts.st_size,
    )  # fmt: skip
    return _FACTS.pack(*(number & _LOW for number in numbers)) + blob + b"\0\0"


def unlooked(mode: int, blob: bytes) -> Entry:
    """An entry that matches no file on the disk by its facts: the file is to be read before anything is said of it."""
    return _FACTS.pack(0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + blob + b"\0\0"


def mode_for(executable: bool, *, link: bool) -> int:
    """Of a file, or of a symbolic link, which is executable for nobody."""
    return SYMLINK if link else EXECUTABLE if executable else FILE


def mode_of(one: Entry) -> int:
    return int.from_bytes(one[24:28], "big")


def size_of(one: Entry) -> int:
    return int.from_bytes(one[36:40], "big")


def blob_of(one: Entry) -> bytes:
    return one[40:60]


def modified_ns(one: Entry) -> int:
    return int.from_bytes(one[8:12], "big") * 10**9 + int.from_bytes(one[12:16], "big")


def doubted(one: Entry) -> Entry:
    """As git marks an entry whose file may have changed within the tick of its clock: with the size 0."""
    return one[:36] + b"\0\0\0\0" + one[40:]


def is_doubted(one: Entry) -> bool:
    return one[36:40] == b"\0\0\0\0" and one[40:60] != EMPTY_BLOB


def load(data: bytes) -> dict[bytes, Entry]:
    """The files of an index by path, in its order. Raises `IndexFormatError`.

    Left out: submodules, unmerged paths, and what git was told not to look at (assume-valid, skip-worktree,
    intent-to-add), since its facts then say nothing about the disk.
    """
    entries: dict[bytes, Entry] = {}
    for path, head, extended in _entries(data):
        flags = int.from_bytes(head[60:62], "big")
        if flags & (_STAGE | _ASSUME_VALID) or extended & (_SKIP_WORKTREE | _INTENT_TO_ADD):
            continue
        if mode_of(head) in (FILE, EXECUTABLE, SYMLINK):
            entries[path] = head
    return entries


def dump(entries: Mapping[bytes, Entry]) -> bytes:
    """The bytes of an index file, version 2."""
    parts = [b"DIRC" + struct.pack(">II", 2, len(entries))]
    for path in sorted(entries):
        length = len(path)
        flags = min(length, _NAME_LENGTH)
        padding = b"\0" * (8 - (62 + length) % 8)
        parts.append(b"%b%b%b%b" % (entries[path][:60], flags.to_bytes(2, "big"), path, padding))
    body = b"".join(parts)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def count(data: bytes) -> int:
    """How many entries an index says it has. Raises `IndexFormatError`."""
    return _header(data)[1]


def _header(data: bytes) -> tuple[int, int]:
    if len(data) < 32 or data[:4] != b"DIRC":
        raise IndexFormatError("it does not begin as an index does")
    version, entries = struct.unpack_from(">II", data, 4)
    if version not in (2, 3, 4):
        raise IndexFormatError(f"its version is {version}")
    return version, entries


def _entries(data: bytes) -> Iterator[tuple[bytes, Entry, int]]:
    version, number = _header(data)
    digest = hashlib.sha1(data[:-20], usedforsecurity=False).digest()
    if data[-20:] not in (digest, bytes(20)):  # zeros: git was told not to compute it (index.skipHash)
        raise IndexFormatError("its checksum is wrong")
    at, path = 12, b""
    for _ in range(number):
        head = data[at : at + _HEAD]
        if len(head) < _HEAD:
            raise IndexFormatError("it ends too early")
        start, extended = at + _HEAD, 0
        if head[60] & 0x40:
            extended = int.from_bytes(data[start : start + 2], "big")
            start += 2
        kept = b""
        if version == 4:
            strip, start = _offset(data, start)
            kept = path[: len(path) - strip]
        end = data.find(b"\0", start)
        if end < 0:
            raise IndexFormatError("it ends too early")
        path = kept + data[start:end]
        at = end + 1 if version == 4 else at + ((end - at) // 8 + 1) * 8
        yield path, head, extended
    _check_extensions(data, at)


def _check_extensions(data: bytes, at: int) -> None:
    """An extension whose name is in small letters changes what the entries mean."""
    while at + 8 <= len(data) - 20:
        name = data[at : at + 4]
        if not name[:1].isupper():
            raise IndexFormatError(f"it needs the extension {name.decode('latin-1')!r}")
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    if at != len(data) - 20:
        raise IndexFormatError("it does not end where it says")


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """A number in the form that git uses for offsets, and where it ends."""
    try:
        byte = data[at]
        value = byte & 0x7F
        while byte & 0x80:
            at += 1
            byte = data[at]
            value = ((value + 1) << 7) | (byte & 0x7F)
    except IndexError:
        raise IndexFormatError("it ends too early") from None
    return value, at + 1
