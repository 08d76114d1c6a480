"""The objects of one session: a bare git repository that keeps bytes by their blob id, one by one or many in a pack.

Objects are written by this module and not by git, because durability is the point: see
`docs/decisions/store-of-bytes.md`. No git configuration is ever read.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from redline.changes.compare import blob_id
from redline.workspace import loose
from redline.workspace.disk import NEW_PREFIX, flush_folder, write_new_file
from redline.workspace.packs import Packs, PackWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_PACKED_FROM = 64
"""So many new blobs at once go into one pack: each loose object costs a flush of its own."""
_LEFT_SECONDS = 3_600.0
"""So old a file under a temporary name belongs to nobody alive."""
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"


class Objects:
    """Below `folder`, which is made when it is first needed. All methods raise OSError."""

    def __init__(self, folder: Path, flushed: Callable[[float], None]) -> None:
        """`flushed`: told how many seconds each flush to the disk took."""
        self.folder = folder
        self.lock = threading.Lock()
        """For the caller to hold around every method but `read` and `compress`, which take it where they need it."""
        self._objects = folder / "objects"
        self._flushed = flushed
        self._sound: set[str] = set()
        """Blobs that this process wrote or read whole, and whose folder it flushed: they need no second look."""
        self._packs: Packs | None = None

    def prepare(self) -> None:
        """The skeleton of a bare repository, by hand: making one through git would read the user's configuration."""
        if self._objects.is_dir():
            return
        root = self.folder.parent
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for made in (self.folder, self.folder / "refs"):
            made.mkdir(mode=0o700, exist_ok=True)
        for name, text in (("HEAD", "ref: refs/heads/none\n"), ("config", _CONFIG)):
            write_new_file(self.folder / name, text.encode())
        self._objects.mkdir(mode=0o700, exist_ok=True)  # last: it says that all the rest is there
        self._flush({self.folder, root, root.parent})

    def holds(self, blob: str) -> bool:
        """Whole, and so that a power cut does not take it."""
        path = self._path(blob)
        if blob in self._sound:
            if path.exists():
                return True
            self._sound.discard(blob)
        if _read(path, blob) is None:
            return self._packed().read(bytes.fromhex(blob)) is not None
        # Another process may have renamed it into place and not have flushed the folder yet.
        self._flush({path.parent, self._objects})
        self._sound.add(blob)
        return True

    def read(self, blob: str) -> bytes | None:
        """The bytes of a blob; None where they are not kept, or damaged."""
        data = _read(self._path(blob), blob)
        if data is None:
            with self.lock:
                data = self._packed().read(bytes.fromhex(blob))
        if data is None:
            self._sound.discard(blob)
        return data

    def write(self, missing: dict[str, bytes]) -> None:
        """Keep bytes by their blob ids, durably."""
        if len(missing) < _PACKED_FROM:
            self._write_loose(missing)
        else:
            self._write_pack(missing)

    def pack_folder(self) -> Path:
        """Where packs go."""
        folder = self._objects / "pack"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def compress(self, stop: threading.Event | None) -> int:
        """Compress what was written plain; the number of bytes saved. The lock is free between two objects. What a
        killed process has left half-written is removed."""
        saved = 0
        for left in self._objects.glob(f"*/{NEW_PREFIX}*"):
            if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                left.unlink()
        for path in sorted(self._objects.glob("??/" + "?" * 38)):
            if stop is not None and stop.is_set():
                break
            with self.lock:
                saved += _compress(path)
        return saved

    def forget(self) -> None:
        """The folder is about to go, or to be another one."""
        self._sound.clear()
        if self._packs is not None:
            self._packs.close()
            self._packs = None

    def _path(self, blob: str) -> Path:
        return self._objects / blob[:2] / blob[2:]

    def _packed(self) -> Packs:
        if self._packs is None:
            self._packs = Packs(self._objects / "pack")
        return self._packs

    def _write_loose(self, missing: dict[str, bytes]) -> None:
        folders = set()
        for blob, data in missing.items():
            path = self._path(blob)
            if not path.parent.is_dir():
                path.parent.mkdir(mode=0o700, exist_ok=True)
                folders.add(self._objects)
            self._flushed(write_new_file(path, loose.stored(data)))
            folders.add(path.parent)
        self._flush(folders)
        self._sound.update(missing)

    def _write_pack(self, missing: dict[str, bytes]) -> None:
        folder = self.pack_folder()
        begun = time.perf_counter()
        with PackWriter(folder) as writer:
            for blob, data in missing.items():
                writer.add(bytes.fromhex(blob), data)
            writer.finish()
        flush_folder(self._objects)
        self._flushed(time.perf_counter() - begun)

    def _flush(self, folders: set[Path]) -> None:
        begun = time.perf_counter()
        for folder in sorted(folders, reverse=True):
            flush_folder(folder)
        self._flushed(time.perf_counter() - begun)


def _read(path: Path, blob: str) -> bytes | None:
    try:
        packed = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    data = loose.unpacked(packed)
    return data if data is not None and blob_id(data) == blob else None


def _compress(path: Path) -> int:
    data = _read(path, path.parent.name + path.name)
    if data is None:
        return 0
    packed = loose.compressed(data)
    saved = path.stat().st_size - len(packed)
    if saved <= 0:
        return 0
    write_new_file(path, packed)
    flush_folder(path.parent)
    return saved
