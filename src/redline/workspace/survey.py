"""Comparing paths with the snapshot: each is read, waited for while it is being written, and what differs is kept."""

# Paths are bytes here, as names on disk need not be text.
# ruff: noqa: PTH118, PTH119

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from redline.files.draft import DRAFT_PREFIX, DRAFT_SUFFIX
from redline.workspace import index_file
from redline.workspace.bounds import Limit, unkept, unreadable
from redline.workspace.difference import Difference
from redline.workspace.error import BytesError
from redline.workspace.findings import findings
from redline.workspace.index_file import EMPTY_BLOB, SYMLINK
from redline.workspace.state import NOTHING, Reader, State, differ, read_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redline.sessions.redaction import Redactor
    from redline.workspace.findings import Found
    from redline.workspace.snapshot import Snapshot
    from redline.workspace.snapshot_folder import Signature
    from redline.workspace.store import ByteStore

_MOMENT_SECONDS = 0.004
_PATIENCE_SECONDS = 0.15
"""So long one look waits in all for files that are being written."""
_FRESH_NS = 150_000_000
_AT_ONCE = 4096
"""Bytes: what the usual libraries write with one system call; a smaller file is there as a whole or is empty."""


class Survey:
    """Compares paths of one workspace with its snapshot, and brings the snapshot up to date."""

    def __init__(self, snapshot: Snapshot, store: ByteStore, session: str, redactor: Redactor) -> None:
        self.snapshot = snapshot
        self._store = store
        self._session = session
        self._redactor = redactor
        self.trouble: Limit | None = None
        """Why what was found last is not kept."""
        self._reader = Reader(snapshot.root, store.file_limit)
        self._rest: list[bytes] = []
        self._denied: set[bytes] = set()
        self._told_denied: set[bytes] = set()

    def differences(self, paths: Iterable[bytes]) -> list[Difference]:
        """Of these paths, each as it is now. The snapshot then holds what was found, so that it is found once."""
        self._reader = Reader(self.snapshot.root, self._store.file_limit)
        self.trouble = None
        found, fresh = [], {}
        for path in paths:
            state = None if _is_draft(path) else self._seen(path)
            if state is not None and _is_fresh(state) and (_in_parts(state) or self._is_emptied(path, state)):
                fresh[path] = state
            elif state is not None:
                found.append(self._difference(path, state))
        self._wait_for(fresh)
        found += [self._difference(path, state) for path, state in fresh.items()]
        return [one for one in found if one is not None]

    def set_aside(self, path: bytes, state: State) -> None:
        """Let a first snapshot hold of a file that may not be read what can be told without reading it."""
        self._denied.add(path)
        if state.facts is not None and path not in self.snapshot.entries:
            self.snapshot.large[path] = _signature(state)

    def unreadable(self) -> Limit | None:
        """Those of the files looked at that may not be read, each named once until it may be read again."""
        new = sorted(self._denied - self._told_denied)
        self._told_denied |= self._denied
        self._denied.clear()
        return unreadable([os.fsdecode(path) for path in new]) if new else None

    def read(self, path: bytes) -> State:
        if path.startswith(b"/"):
            return read_state(path, self._store.file_limit)
        return self._reader.read(path)

    def take(self, path: bytes, state: State) -> None:
        """Let the snapshot hold this state of a path."""
        snapshot = self.snapshot
        snapshot.apart.pop(path, None)
        snapshot.large.pop(path, None)
        if state.blob is not None:
            snapshot.put(path, state.entry)
        else:
            snapshot.drop(path)
            if state.kind == "large" and not path.startswith(b"/"):
                snapshot.large[path] = _signature(state)

    def found(self, differences: Sequence[Difference], *, at_once: bool = False) -> list[Found]:
        """Keep the bytes of both sides, then say what happened. What cannot be kept is told all the same. `at_once`:
        say it first, and leave the bytes to `keep_rest`; until then the disk and this have them."""
        data = [side.data for one in differences for side in (one.before, one.after) if side.data is not None]
        # git looks for renames among the blobs that the store has.
        moved = any(one.is_gone for one in differences) and any(one.is_come for one in differences)
        if at_once and not moved:
            self._rest += data
        else:
            self._put(*data)
        return findings(differences, self.snapshot.root, self.snapshot.git, self._redactor)

    def keep_rest(self) -> Limit | None:
        """Keep the bytes of what was told at once. What kept them from being kept."""
        self.trouble, data, self._rest = None, self._rest, []
        self._put(*data)
        return self.trouble

    # Parts of the above.

    def _seen(self, path: bytes) -> State | None:
        """None: its facts say that it is what it was."""
        known = self.snapshot.entries.get(path)
        return None if known is not None and self._reader.is_as(path, known) else self.read(path)

    def _wait_for(self, fresh: dict[bytes, State]) -> None:
        """What was written just now may be a part of what is being written, and a file that had content and is empty is
        most likely about to be written: look again a moment later, and on while it changes, so that it is told once."""
        watched, until = list(fresh), time.monotonic() + _PATIENCE_SECONDS
        while watched and time.monotonic() < until:
            time.sleep(_MOMENT_SECONDS)
            moved_on = {path for path in watched if self._has_moved_on(path, fresh[path])}
            fresh.update((path, self.read(path)) for path in moved_on)
            watched = [path for path in watched if path in moved_on or self._is_emptied(path, fresh[path])]

    def _has_moved_on(self, path: bytes, state: State) -> bool:
        try:
            return state.facts is not None and differ(state.facts, os.lstat(os.path.join(self.snapshot.root, path)))
        except OSError:
            return True

    def _is_emptied(self, path: bytes, state: State) -> bool:
        known = self.snapshot.entries.get(path)
        had_content = known is not None and index_file.blob_of(known) != EMPTY_BLOB
        return had_content and state.data == b"" and _is_fresh(state)

    def _difference(self, path: bytes, state: State) -> Difference | None:
        snapshot = self.snapshot
        if state.kind == "denied":
            self._denied.add(path)
            return None
        self._told_denied.discard(path)
        if state.kind in ("folder", "special"):
            state = NOTHING
        entry = snapshot.get(path) or snapshot.apart.get(path)
        signature = snapshot.large.get(path)
        if entry is None and signature is None and state.kind == "none":
            return None
        if signature is not None and state.kind == "large" and signature == _signature(state):
            return None
        if signature is not None and state.kind == "file" and signature[:3] == _signature(state)[:3]:
            self.take(path, state)  # the file that could not be read: its facts say that nobody has touched it since
            self._put(*([] if state.data is None else [state.data]))
            return None
        before = self._before(entry, signature)
        self.take(path, state)
        if state.blob is None or before.mode != state.mode:
            return Difference(path, before, state)
        if before.blob == state.blob and _had_size(entry, state):
            return None
        if before.data is not None and before.data == state.data:
            # git had converted its line ends. Nobody has the bytes as they are but the disk.
            self._put(state.data)
            return None
        return Difference(path, before, state)

    def _before(self, entry: index_file.Entry | None, signature: Signature | None) -> State:
        if signature is not None:
            return State("large", signature[3])
        if entry is None:
            return NOTHING
        mode = index_file.mode_of(entry)
        data = self.snapshot.bytes_of(entry)
        blob = index_file.blob_of(entry)
        return State("symlink" if mode == SYMLINK else "file", mode, data, blob)

    def _put(self, *data: bytes) -> None:
        if data:
            try:
                self._store.put(self._session, *data)
            except BytesError as error:
                self.trouble = unkept(error)


def _had_size(entry: index_file.Entry | None, state: State) -> bool:
    """Whether the file had as many bytes as it has. git's index names what git made of a file's line ends, so the same
    blob may stand for other bytes of another size."""
    if entry is None or index_file.is_doubted(entry) or state.data is None:
        return True
    return index_file.size_of(entry) == len(state.data)


def _in_parts(state: State) -> bool:
    return state.facts is not None and state.facts.st_size >= _AT_ONCE


def _is_fresh(state: State) -> bool:
    return state.facts is not None and time.time_ns() - state.facts.st_mtime_ns < _FRESH_NS


def _signature(state: State) -> Signature:
    assert state.facts is not None
    return (state.facts.st_size, state.facts.st_mtime_ns, state.facts.st_ino, state.mode)


def _is_draft(path: bytes) -> bool:
    name = os.fsdecode(os.path.basename(path))
    return name.startswith(DRAFT_PREFIX) and name.endswith(DRAFT_SUFFIX)
