"""Many blobs in one file: git packs, written whole and read by blob id.

A loose object costs a file and a flush; the first snapshot of a workspace has thousands of them. These packs hold
blobs only, each whole and compressed, so that git reads them and a few lines here do too. The format is that of
https://git-scm.com/docs/pack-format.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import struct
import time
import zlib
from typing import TYPE_CHECKING

from redline.changes.compare import blob_id
from redline.workspace.disk import NEW_PREFIX, flush, flush_folder, write_new_file

if TYPE_CHECKING:
    from pathlib import Path

_BLOB = 3
_LARGE_OFFSET = 0x80000000
_MAGIC = b"\xfftOc\0\0\0\2"


class PackWriter:
    """Takes blobs one by one; `finish` puts the pack under its name, flushed. Use it as a context."""

    def __init__(self, folder: Path) -> None:
        """`folder`: `objects/pack` of a repository; it must exist."""
        self._folder = folder
        self._path = folder / f"{NEW_PREFIX}{os.getpid()}-{time.time_ns()}.pack"
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._file = os.fdopen(descriptor, "w+b")
        self._file.write(bytes(12))
        self._at = 12
        self._entries: dict[bytes, tuple[int, int]] = {}

    def __enter__(self) -> PackWriter:
        return self

    def __exit__(self, *_: object) -> None:
        """Throws away what was not finished."""
        self._file.close()
        with contextlib.suppress(OSError):
            self._path.unlink()

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._at

    def add(self, blob: bytes, data: bytes, level: int = 1) -> None:
        """`blob`: the 20 bytes of the id of `data`. One that is there already is not written again."""
        if blob in self._entries:
            return
        raw = _object_header(len(data)) + zlib.compress(data, level)
        self._file.write(raw)
        self._entries[blob] = (self._at, zlib.crc32(raw))
        self._at += len(raw)

    def finish(self) -> None:
        """Raises OSError; then nothing is there under the pack's name. An empty pack is not kept."""
        if not self._entries:
            return
        self._file.seek(0)
        self._file.write(struct.pack(">4sII", b"PACK", 2, len(self._entries)))
        self._file.flush()
        self._file.seek(0)
        digest = hashlib.sha1(usedforsecurity=False)
        while chunk := self._file.read(1 << 20):
            digest.update(chunk)
        self._file.write(digest.digest())
        self._file.flush()
        flush(self._file.fileno())
        name = hashlib.sha1(b"".join(sorted(self._entries)), usedforsecurity=False).hexdigest()
        self._path.chmod(0o400)
        self._path.rename(self._folder / f"pack-{name}.pack")
        # Readers look for the index: it comes last.
        write_new_file(self._folder / f"pack-{name}.idx", self._index(digest.digest()))
        flush_folder(self._folder)

    def _index(self, pack: bytes) -> bytes:
        blobs = sorted(self._entries)
        fan, below = [], 0
        for first in range(256):
            while below < len(blobs) and blobs[below][0] <= first:
                below += 1
            fan.append(below)
        offsets, large = [], []
        for blob in blobs:
            offset = self._entries[blob][0]
            if offset >= _LARGE_OFFSET:
                large.append(offset)
                offset = _LARGE_OFFSET | (len(large) - 1)
            offsets.append(offset)
        number = len(blobs)
        body = b"".join(
            (
                _MAGIC,
                struct.pack(">256I", *fan),
                *blobs,
                struct.pack(f">{number}I", *(self._entries[blob][1] for blob in blobs)),
                struct.pack(f">{number}I", *offsets),
                struct.pack(f">{len(large)}Q", *large),
                pack,
            )
        )
        return body + hashlib.sha1(body, usedforsecurity=False).digest()


class Packs:
    """The packs of one repository, opened when they are first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, _Pack] = {}

    def read(self, blob: bytes) -> bytes | None:
        """The bytes of a blob; None where no pack has it, or what it has is damaged. Raises OSError."""
        found = self._find(blob)
        if found is None:
            return None
        pack, offset = found
        data = pack.read(offset)
        return data if data is not None and blob_id(data) == blob.hex() else None

    def close(self) -> None:
        for pack in self._open.values():
            pack.close()
        self._open.clear()

    def _find(self, blob: bytes) -> tuple[_Pack, int] | None:
        for pack in self._open.values():
            if (offset := pack.find(blob)) is not None:
                return pack, offset
        for pack in self._new():
            if (offset := pack.find(blob)) is not None:
                return pack, offset
        return None

    def _new(self) -> list[_Pack]:
        try:
            names = {path.name for path in self._folder.glob("pack-*.idx")}.difference(self._open)
        except FileNotFoundError:
            return []
        found = []
        for name in names:
            with contextlib.suppress(FileNotFoundError, ValueError):
                self._open[name] = _Pack(self._folder / name)
                found.append(self._open[name])
        return found


class _Pack:
    def __init__(self, index: Path) -> None:
        with index.open("rb") as file:
            self._index = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with index.with_suffix(".pack").open("rb") as file:
            self._pack = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._index[:8] != _MAGIC or len(self._index) < 1072:
            raise ValueError(f"{index} is no index of a pack")
        self._number = struct.unpack_from(">I", self._index, 8 + 255 * 4)[0]
        if len(self._index) < 1072 + self._number * 28:
            raise ValueError(f"{index} ends too early")

    def find(self, blob: bytes) -> int | None:
        low = struct.unpack_from(">I", self._index, 8 + (blob[0] - 1) * 4)[0] if blob[0] else 0
        high = struct.unpack_from(">I", self._index, 8 + blob[0] * 4)[0]
        while low < high:
            middle = (low + high) // 2
            there = self._index[1032 + middle * 20 : 1052 + middle * 20]
            if there == blob:
                return self._offset(middle)
            if there < blob:
                low = middle + 1
            else:
                high = middle
        return None

    def _offset(self, position: int) -> int:
        table = 1032 + self._number * 24
        offset: int = struct.unpack_from(">I", self._index, table + position * 4)[0]
        if offset & _LARGE_OFFSET:
            large = table + self._number * 4 + (offset & ~_LARGE_OFFSET) * 8
            offset = struct.unpack_from(">Q", self._index, large)[0]
        return offset

    def read(self, offset: int) -> bytes | None:
        try:
            byte = self._pack[offset]
            if (byte >> 4) & 7 != _BLOB:
                return None
            size, shift = byte & 15, 4
            while byte & 0x80:
                offset += 1
                byte = self._pack[offset]
                size |= (byte & 0x7F) << shift
                shift += 7
            inflate = zlib.decompressobj()
            data = inflate.decompress(memoryview(self._pack)[offset + 1 :], size) if size else b""
        except (IndexError, zlib.error):
            return None
        return data if len(data) == size else None

    def close(self) -> None:
        with contextlib.suppress(BufferError):
            self._index.close()
            self._pack.close()


def _object_header(size: int) -> bytes:
    byte = (_BLOB << 4) | (size & 15)
    size >>= 4
    header = bytearray()
    while size:
        header.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    header.append(byte)
    return bytes(header)
