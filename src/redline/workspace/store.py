"""The private store of bytes: before and after of every change, by git's blob id, one bare repository a session.

The session log names bytes by blob id and may hold masks; the bytes themselves are here, true to the last one, readable
by the user alone, and gone with the session. Each session's folder is a bare git repository (`git cat-file` reads it),
so that snapshots of the workspace can share its objects: see `objects`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import threading
import time
from typing import TYPE_CHECKING

from redline.changes.compare import blob_id
from redline.sessions.store import StoreError
from redline.workspace.disk import flush_folder
from redline.workspace.error import BytesError as BytesError
from redline.workspace.error import named_errors
from redline.workspace.objects import Objects
from redline.workspace.packs import PackWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

FILE_LIMIT = 32 * 2**20
"""Bytes of one file; larger ones are not kept."""
CAP = 2 * 2**30
"""Bytes on disk of all sessions together."""

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)
_BLOB = re.compile(r"[0-9a-f]{40}", re.ASCII)
_DOOMED = ".deleted-"
_RECOUNT_SECONDS = 30.0


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
        self._sessions: dict[str, Objects] = {}
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
        objects = self._objects(session)
        with objects.lock, named_errors(f"keep the bytes of session {session}", self.root):
            missing = {blob: one for blob, one in wanted.items() if not objects.holds(blob)}
            refused = self._over_cap(missing)
            for blob in refused:
                del missing[blob]
            if missing:
                objects.prepare()
                objects.write(missing)
                with self._lock:
                    if self._total is not None:
                        self._total += sum(map(len, missing.values()))
        return [None if blob is None or blob in refused else blob for blob in blobs]

    def get(self, session: str, blob: str) -> bytes | None:
        """The bytes of a blob; None where they are not kept, or damaged: wrong bytes are never given."""
        if not _BLOB.fullmatch(blob):
            return None
        with named_errors(f"read bytes of session {session}", self.root):
            return self._objects(session).read(blob)

    def delete(self, session: str) -> bool:
        """Remove all bytes of a session; False: there were none. Deleted from view at once, whole or not at all."""
        objects = self._objects(session)
        doomed = self.root / f"{_DOOMED}{session}-{os.getpid()}-{time.time_ns()}"
        with objects.lock, named_errors(f"delete the bytes of session {session}", self.root):
            objects.forget()
            try:
                objects.folder.rename(doomed)
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
        with named_errors("count the bytes kept", self.root):
            total = sum(_file_sizes(self.root))
        with self._lock:
            self._total, self._counted_at = total, time.monotonic()
        return total

    def sink(self, session: str) -> SessionBytes:
        """The store as seen by one session's log."""
        return SessionBytes(self, session)

    def repository(self, session: str) -> Path:
        """The session's bare git repository, made if it is not there yet."""
        objects = self._objects(session)
        with objects.lock, named_errors(f"make the store of session {session}", self.root):
            objects.prepare()
        return objects.folder

    @contextlib.contextmanager
    def pack(self, session: str) -> Iterator[PackWriter]:
        """A pack of the session to fill: many blobs at little cost, for a first snapshot. It is kept, durably, when
        the block ends without an error. Bounds are for the caller to heed. Raises BytesError."""
        with named_errors(f"keep the bytes of session {session}", self.root):
            objects = self._objects(session)
            with objects.lock:
                objects.prepare()
            with PackWriter(objects.pack_folder()) as writer:
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
        with named_errors(f"compress the bytes of session {session}", self.root):
            saved = self._objects(session).compress(stop)
        with self._lock:
            self._total = None
        return saved

    def _objects(self, session: str) -> Objects:
        if not _SESSION.fullmatch(session):
            raise BytesError(
                "BAD_SESSION", f"{session!r} is no name of a session.", "Names have letters, digits, '.', '_' and '-'."
            )
        with self._lock:
            objects = self._sessions.get(session)
            if objects is None:
                objects = self._sessions[session] = Objects(self.root / session, self._tell)
            return objects

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

    def _clear_doomed(self) -> None:
        for doomed in self.root.glob(f"{_DOOMED}*"):
            shutil.rmtree(doomed, ignore_errors=True)

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


def _file_sizes(root: Path) -> Iterator[int]:
    for folder, _, names in os.walk(root):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # deleted meanwhile by another process
                yield os.lstat(f"{folder}/{name}").st_size
