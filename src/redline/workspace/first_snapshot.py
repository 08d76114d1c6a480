"""The first snapshot of a workspace: from git's index where there is one, and by reading every other file."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from redline.workspace import bounds, index_file
from redline.workspace.head_start import head_start
from redline.workspace.repository import UserRepository

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from redline.workspace.bounds import Limit, Limits
    from redline.workspace.snapshot import Snapshot
    from redline.workspace.store import ByteStore
    from redline.workspace.survey import Survey

_EVERY = 256
"""Files between two reports of progress."""
_LOOSE = 2000
"""Files that are read at first though git has their bytes, since it may lose them."""


class Stopped(Exception):  # noqa: N818 - not a fault, an ending
    """The caller has gone."""


class FirstSnapshot:
    """Taken once, into an empty snapshot."""

    def __init__(
        self, root: Path, snapshot: Snapshot, survey: Survey, store: ByteStore, session: str, limits: Limits
    ) -> None:
        self._root = root
        self._snapshot = snapshot
        self._survey = survey
        self._store = store
        self._session = session
        self._limits = limits

    def take(self, progress: Callable[[int, int], None] | None, stop: threading.Event) -> Limit | None:
        """Why it was given up; None: it is taken and saved. Raises `Stopped` once `stop` is set, SnapshotError,
        BytesError, OSError."""
        snapshot, limits = self._snapshot, self._limits
        begun = time.time_ns()
        user = UserRepository.around(self._root)
        start = head_start(user, self._root, limits.files) if user is not None else None
        if start is not None:
            snapshot.borrow(start.objects)
            large = [path for path, one in start.entries.items() if index_file.size_of(one) > self._store.file_limit]
            for path in large:
                del start.entries[path]
            snapshot.fill(start.entries)
            candidates = [*dict.fromkeys((*snapshot.candidates(), *large, *self._loose(start.entries)))]
        else:
            limit = bounds.has_more_files(self._root, limits.files, limits.first_seconds, snapshot.is_ignored)
            if limit is not None:
                return limit
            candidates = snapshot.candidates()
        if len(candidates) > limits.files:
            return bounds.too_many(limits.files)
        limit = self._read_all(candidates, progress, stop)
        if limit is None:
            snapshot.swept_at = begun
            snapshot.save()
        return limit

    def _loose(self, entries: Mapping[bytes, index_file.Entry]) -> list[bytes]:
        """Files whose blobs are in files of their own in the user's store, which nothing keeps there."""
        borrowed = self._snapshot.borrowed
        loose = set() if borrowed is None else borrowed.loose({index_file.blob_of(one) for one in entries.values()})
        return [path for path, one in entries.items() if index_file.blob_of(one) in loose][:_LOOSE]

    def _read_all(
        self, candidates: list[bytes], progress: Callable[[int, int], None] | None, stop: threading.Event
    ) -> Limit | None:
        """Read files into the snapshot, and their bytes into one pack."""
        if not candidates:
            return None
        end = time.monotonic() + self._limits.first_seconds
        with self._store.pack(self._session) as pack:
            for number, path in enumerate(sorted(candidates)):
                if number % _EVERY == 0:
                    if stop.is_set():
                        raise Stopped
                    if progress is not None:
                        progress(number, len(candidates))
                state = self._survey.read(path)
                if state.kind == "denied":
                    self._survey.set_aside(path, state)
                if state.kind in ("folder", "special", "denied"):
                    continue
                if state.blob is not None and state.data is not None:
                    pack.add(state.blob, state.data)
                self._survey.take(path, state)
                if pack.size > self._limits.bytes:
                    return bounds.too_large(self._limits.bytes)
                if time.monotonic() > end:
                    return bounds.too_slow("The first look at the workspace", self._limits.first_seconds)
        if progress is not None:
            progress(len(candidates), len(candidates))
        return None
