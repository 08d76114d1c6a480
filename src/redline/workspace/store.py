"""The private store of bytes: before and after of every change, by git's blob id, one bare repository a session.

The session log names bytes by blob id and may hold masks; the bytes themselves are here, true to the last one, readable
by the user alone, and gone with the session. Each session's folder is a bare git repository (`git cat-file` reads it),
so that snapshots of the workspace can share its objects. Objects are written as loose objects by this module, because
durability is the point: see `docs/decisions/store-of-bytes.md`. No git configuration is ever read.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import shutil
import threading
import time
from typing import TYPE_CHECKING, Literal

from redline.changes.compare import blob_id
from redline.sessions.store import StoreError
from redline.workspace import loose
from redline.workspace.disk import NEW_PREFIX, flush_folder, write_new_file
from redline.workspace.packs import Packs, PackWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

BytesErrorCode = Literal["NO_SPACE", "PERMISSION", "BAD_SESSION", "IO"]

FILE_LIMIT = 32 * 2**20
"""Bytes of one file; larger ones are not kept."""
CAP = 2 * 2**30
"""Bytes on disk of all sessions together."""

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)
_BLOB = re.compile(r"[0-9a-f]{40}", re.ASCII)
_DOOMED = ".deleted-"
_RECOUNT_SECONDS = 30.0
_PACKED_FROM = 64
"""So many new blobs at once go into one pack: each loose object costs a flush of its own."""
_LEFT_SECONDS = 3_600.0
"""So old a file under a temporary name belongs to nobody alive."""
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"


class BytesError(Exception):
    """Bytes could not be kept, read or deleted: a stable code, what was wrong, what to do next."""

    def __init__(self, code: BytesErrorCode, message: str, remedy: str) -> None:
        super().__init__(f"{code}: {message} {remedy}")
        self.code: BytesErrorCode = code
        self.message = message
        self.remedy = remedy


class ByteStore:
    """Bytes of all sessions below `root` (created with mode 0700). Safe for several threads and processes.

    `on_flush(name, seconds)` is told how long each flush to the disk took, under the name "bytes".
    """

    def __init__(
        self,
        root: Path,
        *,
        file_limit: int = FILE_LIMIT,
        cap: int = CAP,
        on_flush: Callable[[str, float], None] | None = None,
    ) -> None:
        self.root = root
        self.file_limit = file_limit
        self.cap = cap
        self._on_flush = on_flush
        self._lock = threading.Lock()
        self._session_locks: dict[str, threading.Lock] = {}
        self._sound: dict[str, set[str]] = {}
        """Blobs that this process wrote or read whole, and whose folder it flushed: they need no second look."""
        self._packs: dict[str, Packs] = {}
        self._total: int | None = None
        self._counted_at = 0.0

    def put(self, session: str, *data: bytes, known: Sequence[str] | None = None) -> list[str | None]:
        """Keep byte strings; the answer holds a blob id for each, or None for one that is over a bound. `known`: their
        ids, where somebody has computed them already.

        They are on the disk when this returns, flushed together. A full store keeps what it has and refuses the new:
        old sessions' bytes go only when their session is deleted. Raises BytesError; then none of `data` is promised.
        """
        ids: Sequence[str | None] = known or [None] * len(data)
        blobs = [
            (given or blob_id(one)) if len(one) <= self.file_limit else None
            for one, given in zip(data, ids, strict=True)
        ]
        wanted = {blob: one for blob, one in zip(blobs, data, strict=True) if blob is not None}
        with self._session_lock(session), _named_errors(f"keep the bytes of session {session}", self.root):
            objects = self._folder(session) / "objects"
            missing = {blob: one for blob, one in wanted.items() if not self._holds(session, objects, blob)}
            refused = self._over_cap(missing)
            for blob in refused:
                del missing[blob]
            if missing:
                self._prepare(session)
                if len(missing) < _PACKED_FROM:
                    self._write(session, objects, missing)
                else:
                    self._write_pack(objects, missing)
                with self._lock:
                    if self._total is not None:
                        self._total += sum(map(len, missing.values()))
        return [None if blob is None or blob in refused else blob for blob in blobs]

    def get(self, session: str, blob: str) -> bytes | None:
        """The bytes of a blob; None where they are not kept, or damaged: wrong bytes are never given."""
        if not _BLOB.fullmatch(blob):
            return None
        with _named_errors(f"read bytes of session {session}", self.root):
            data = _read_object(_object_path(self._folder(session) / "objects", blob), blob)
            if data is None:
                with self._session_lock(session):
                    data = self._packs_of(session).read(bytes.fromhex(blob))
        if data is None:
            self._sound.get(session, set()).discard(blob)
        return data

    def delete(self, session: str) -> bool:
        """Remove all bytes of a session; False: there were none. Deleted from view at once, whole or not at all."""
        folder = self._folder(session)
        doomed = self.root / f"{_DOOMED}{session}-{os.getpid()}-{time.time_ns()}"
        with self._session_lock(session), _named_errors(f"delete the bytes of session {session}", self.root):
            self._sound.pop(session, None)
            if session in self._packs:
                self._packs.pop(session).close()
            try:
                folder.rename(doomed)
            except FileNotFoundError:
                found = False
            else:
                found = True
                flush_folder(self.root)
            self._clear_doomed()
        with self._lock:
            self._total = None
        return found

    def size(self) -> int:
        """Bytes that all sessions take on the disk, counted now."""
        with _named_errors("count the bytes kept", self.root):
            total = sum(_file_sizes(self.root))
        with self._lock:
            self._total, self._counted_at = total, time.monotonic()
        return total

    def sink(self, session: str) -> SessionBytes:
        """The store as seen by one session's log."""
        return SessionBytes(self, session)

    def repository(self, session: str) -> Path:
        """The session's bare git repository, made if it is not there yet."""
        with self._session_lock(session), _named_errors(f"make the store of session {session}", self.root):
            self._prepare(session)
        return self._folder(session)

    @contextlib.contextmanager
    def pack(self, session: str) -> Iterator[PackWriter]:
        """A pack of the session to fill: many blobs at little cost, for a first snapshot. It is kept, durably, when
        the block ends without an error. Bounds are for the caller to heed. Raises BytesError."""
        with _named_errors(f"keep the bytes of session {session}", self.root):
            self._prepare_locked(session)
            folder = self._folder(session) / "objects" / "pack"
            folder.mkdir(mode=0o700, exist_ok=True)
            with PackWriter(folder) as writer:
                yield writer
                writer.finish()
        with self._lock:
            self._total = None

    def compact(self, session: str, stop: threading.Event | None = None) -> int:
        """Compress what was kept in a hurry; the number of bytes saved. For a session that has been closed; one that is
        taken up meanwhile waits for one object at most. `stop`: ends it after the object that it is at.

        A kill in its middle costs nothing: an object is whole under its name, stored or compressed. What a killed
        process has left half-written is removed.
        """
        saved = 0
        with _named_errors(f"compress the bytes of session {session}", self.root):
            objects = self._folder(session) / "objects"
            for left in objects.glob(f"??/{NEW_PREFIX}*"):
                if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                    left.unlink()
            for path in sorted(objects.glob("??/" + "?" * 38)):
                if stop is not None and stop.is_set():
                    break
                with self._session_lock(session):
                    saved += _compress_object(path)
        with self._lock:
            self._total = None
        return saved

    def _folder(self, session: str) -> Path:
        if not _SESSION.fullmatch(session):
            raise BytesError(
                "BAD_SESSION", f"{session!r} is no name of a session.", "Names have letters, digits, '.', '_' and '-'."
            )
        return self.root / session

    def _session_lock(self, session: str) -> threading.Lock:
        with self._lock:
            return self._session_locks.setdefault(session, threading.Lock())

    def _packs_of(self, session: str) -> Packs:
        """Under the session's lock."""
        packs = self._packs.get(session)
        if packs is None:
            packs = self._packs[session] = Packs(self._folder(session) / "objects" / "pack")
        return packs

    def _prepare_locked(self, session: str) -> None:
        with self._session_lock(session):
            self._prepare(session)

    def _write_pack(self, objects: Path, missing: dict[str, bytes]) -> None:
        folder = objects / "pack"
        folder.mkdir(mode=0o700, exist_ok=True)

        def write() -> None:
            with PackWriter(folder) as writer:
                for blob, data in missing.items():
                    writer.add(bytes.fromhex(blob), data)
                writer.finish()
            _flush_folders({objects})

        self._timed(write)

    def _holds(self, session: str, objects: Path, blob: str) -> bool:
        path = _object_path(objects, blob)
        sound = self._sound.setdefault(session, set())
        if blob in sound:
            if path.exists():
                return True
            sound.discard(blob)
        if _read_object(path, blob) is None:
            return self._packs_of(session).read(bytes.fromhex(blob)) is not None
        # Another process may have renamed it into place and not have flushed the folder yet.
        self._timed(lambda: _flush_folders({path.parent, objects}))
        sound.add(blob)
        return True

    def _over_cap(self, missing: dict[str, bytes]) -> set[str]:
        """What does not fit any more, judged by the bytes uncompressed, in the order given."""
        if not missing:
            return set()
        needed = sum(map(len, missing.values()))
        with self._lock:
            total, stale = self._total, time.monotonic() - self._counted_at > _RECOUNT_SECONDS
        # Far from the cap, what other processes wrote since the last count cannot matter.
        if total is None or total + needed > self.cap or (stale and total > self.cap // 2):
            total = self.size()
        refused = set()
        for blob, data in missing.items():
            if total + len(data) > self.cap:
                refused.add(blob)
            else:
                total += len(data)
        return refused

    def _prepare(self, session: str) -> None:
        """The skeleton of a bare repository, by hand: making one through git would read the user's configuration."""
        folder = self._folder(session)
        if (folder / "objects").is_dir():
            return
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for made in (folder, folder / "refs"):
            made.mkdir(mode=0o700, exist_ok=True)
        for name, text in (("HEAD", "ref: refs/heads/none\n"), ("config", _CONFIG)):
            write_new_file(folder / name, text.encode())
        (folder / "objects").mkdir(mode=0o700, exist_ok=True)  # last: it says that all the rest is there
        self._timed(lambda: _flush_folders({folder, self.root, self.root.parent}))

    def _write(self, session: str, objects: Path, missing: dict[str, bytes]) -> None:
        folders = set()
        for blob, data in missing.items():
            path = _object_path(objects, blob)
            if not path.parent.is_dir():
                path.parent.mkdir(mode=0o700, exist_ok=True)
                folders.add(objects)
            flushed = write_new_file(path, loose.stored(data))
            self._tell(flushed)
            folders.add(path.parent)
        self._timed(lambda: _flush_folders(folders))
        self._sound.setdefault(session, set()).update(missing)

    def _clear_doomed(self) -> None:
        for doomed in self.root.glob(f"{_DOOMED}*"):
            shutil.rmtree(doomed, ignore_errors=True)

    def _timed(self, flush: Callable[[], None]) -> None:
        begun = time.perf_counter()
        flush()
        self._tell(time.perf_counter() - begun)

    def _tell(self, seconds: float) -> None:
        if self._on_flush is not None:
            self._on_flush("bytes", seconds)


class SessionBytes:
    """One session's side of the store: where its log puts what is too large for an event."""

    def __init__(self, store: ByteStore, session: str) -> None:
        self.store = store
        self.session = session

    async def put(self, data: bytes) -> str | None:
        """Keep the bytes; their blob id, or None where they are over a bound. Raises StoreError: to the log that asks
        for this, its event is what could not be kept."""
        try:
            [blob] = await asyncio.to_thread(self.store.put, self.session, data)
        except BytesError as error:
            raise StoreError(error.code, error.message, error.remedy) from error
        return blob


def _object_path(objects: Path, blob: str) -> Path:
    return objects / blob[:2] / blob[2:]


def _read_object(path: Path, blob: str) -> bytes | None:
    try:
        packed = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    data = loose.unpacked(packed)
    return data if data is not None and blob_id(data) == blob else None


def _compress_object(path: Path) -> int:
    blob = path.parent.name + path.name
    data = _read_object(path, blob)
    if data is None:
        return 0
    packed = loose.compressed(data)
    saved = path.stat().st_size - len(packed)
    if saved <= 0:
        return 0
    write_new_file(path, packed)
    flush_folder(path.parent)
    return saved


def _flush_folders(folders: set[Path]) -> None:
    for folder in sorted(folders, reverse=True):
        flush_folder(folder)


def _file_sizes(root: Path) -> Iterator[int]:
    for folder, _, names in os.walk(root):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # deleted meanwhile by another process
                yield os.lstat(f"{folder}/{name}").st_size


@contextlib.contextmanager
def _named_errors(doing: str, root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _bytes_error(error, doing, root) from error


def _bytes_error(error: OSError, doing: str, root: Path) -> BytesError:
    reason = f"Cannot {doing}: {error.strerror or error} ({error.filename or root})."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return BytesError("NO_SPACE", reason, "Free some space, or delete old sessions with `redline delete SESSION`.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return BytesError("PERMISSION", reason, f"Make {root} writable for you, or choose another data folder.")
    return BytesError("IO", reason, f"Check the disk that holds {root} and try again.")
