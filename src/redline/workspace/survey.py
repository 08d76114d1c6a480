"""From a snapshot and the disk to the changes between them: read, stored, paired into moves, described."""

# Paths are bytes here, as names on disk need not be text.
# ruff: noqa: PTH118, PTH119

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redline.changes.compare import blob_id, describe, without_basis
from redline.changes.record import FileChange, Side
from redline.changes.shorten import LOG_LIMIT
from redline.workspace import index_file
from redline.workspace.bounds import Limit, unkept
from redline.workspace.error import BytesError
from redline.workspace.index_file import EMPTY_BLOB, EXECUTABLE, SYMLINK
from redline.workspace.logged import as_logged
from redline.workspace.moves import End, moves
from redline.workspace.state import NOTHING, Reader, State, differ, read_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redline.changes.record import Operation
    from redline.sessions.redaction import Redactor
    from redline.workspace.snapshot import Signature, Snapshot
    from redline.workspace.store import ByteStore

_HUNKS = 32 << 20
"""Bytes of hunks of one survey; what comes after has few lines of each file, and its true totals."""
_FEW = 4 << 10
_MOMENT_SECONDS = 0.004
_PATIENCE_SECONDS = 0.15
"""So long one look waits in all for files that are being written."""
_FRESH_NS = 150_000_000
_AT_ONCE = 4096
"""Bytes: what the usual libraries write with one system call; a smaller file is there as a whole or is empty."""
_DRAFT = (".redline-", ".tmp")


@dataclass(frozen=True, slots=True)
class Found:
    """One change that was found on the disk."""

    change: FileChange
    """As the log keeps it: masked, cut, provenance `observed`."""
    before: bytes | None
    """The true bytes; None: there was no file, or they are not at hand (then `change.before` says what is known)."""
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Difference:
    """One path whose state is not the one of the snapshot."""

    path: bytes
    """Relative to the workspace; of a file outside it, absolute."""
    before: State
    after: State
    is_guess: bool = False
    """What was there before is not known."""

    @property
    def is_gone(self) -> bool:
        return self.after.kind == "none" and self.before.blob is not None

    @property
    def is_come(self) -> bool:
        return self.before.kind == "none" and self.after.blob is not None and not self.is_guess


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

    def read(self, path: bytes) -> State:
        if path.startswith(b"/"):
            return read_state(path, self._store.file_limit)
        return self._reader.read(path)

    def take(self, path: bytes, state: State) -> None:
        """Let the snapshot hold this state of a path."""
        snapshot = self.snapshot
        snapshot.apart.pop(path, None)
        snapshot.large.pop(path, None)
        if path.startswith(b"/"):
            if state.blob is not None:
                snapshot.outside[path] = state.entry
            else:
                snapshot.outside.pop(path, None)
        elif state.blob is not None:
            snapshot.put(path, state.entry)
        else:
            snapshot.drop(path)
            if state.kind == "large":
                snapshot.large[path] = _signature(state)

    def found(self, differences: Sequence[Difference], *, at_once: bool = False) -> list[Found]:
        """Keep the bytes of both sides, then say what happened. What cannot be kept is told all the same. `at_once`:
        say it first, and leave the bytes to `keep_rest`; until then the disk and this have them."""
        data = [side.data for one in differences for side in (one.before, one.after) if side.data is not None]
        moved = any(one.is_gone for one in differences) and any(one.is_come for one in differences)
        if at_once and not moved:
            self._rest += data
        else:
            self._put(*data)
        by_path = {difference.path: difference for difference in differences}
        origins = moves(
            self.snapshot.git,
            [_end(one.path, one.before) for one in differences if one.is_gone],
            [_end(one.path, one.after) for one in differences if one.is_come],
        )
        left_behind = set(origins.values())
        result: list[Found] = []
        budget = _HUNKS
        for difference in sorted(differences, key=lambda one: one.path):
            if difference.path in left_behind:
                continue
            origin = by_path.get(origins.get(difference.path, b""))
            for found in self._told(difference, origin, LOG_LIMIT if budget > 0 else _FEW):
                budget -= sum(len(line) for hunk in found.change.hunks for line in hunk.lines)
                result.append(found)
        return result

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
            return None
        if state.kind in ("folder", "special"):
            state = NOTHING
        entries = snapshot.outside if path.startswith(b"/") else snapshot.entries
        entry = entries.get(path) or snapshot.apart.get(path)
        signature = snapshot.large.get(path)
        if entry is None and signature is None and state.kind == "none":
            return None
        if signature is not None and state.kind == "large" and signature == _signature(state):
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

    def _told(self, one: Difference, origin: Difference | None, limit: int) -> list[Found]:
        """One change, or two where a file has become a link or a link a file."""
        before, after = one.before if origin is None else origin.before, one.after
        path = self._absolute(one.path)
        old_path = None if origin is None else self._absolute(origin.path)
        links = [side.kind == "symlink" for side in (before, after) if side.kind != "none"]
        if origin is None and len(set(links)) == 2:
            return [
                self._one(path, None, before, NOTHING, limit),
                self._one(path, None, NOTHING, after, limit),
            ]
        if one.is_guess:
            side = _side(after)
            change = without_basis(path, "modify", None, side, provenance="observed")
            return [Found(change, None, after.data)]
        return [self._one(path, old_path, before, after, limit)]

    def _one(self, path: str, old_path: str | None, before: State, after: State, limit: int) -> Found:
        known = all(side.kind == "none" or side.data is not None for side in (before, after))
        if not known:
            operation = _operation(before, after, old_path)
            change = without_basis(
                path, operation, _side(before), _side(after), old_path=old_path, provenance="observed"
            )
            return Found(change, before.data, after.data)
        change = describe(
            path,
            before.data,
            after.data,
            old_path=old_path,
            before_executable=before.mode == EXECUTABLE,
            after_executable=after.mode == EXECUTABLE,
            file_type="symlink" if "symlink" in (before.kind, after.kind) else None,
            provenance="observed",
        )
        return Found(as_logged(change, before.data, after.data, self._redactor, limit=limit), before.data, after.data)

    def _absolute(self, path: bytes) -> str:
        return os.fsdecode(os.path.join(self.snapshot.root, path))


def guessed(difference: Difference) -> Difference:
    return replace(difference, is_guess=True)


def _end(path: bytes, state: State) -> End:
    assert state.blob is not None
    data = state.data
    # Of a file whose line ends git had converted, the bytes and not git's blob are what can be found again.
    blob = state.blob if data is None else bytes.fromhex(blob_id(data))
    return End(path, state.mode, blob, len(data) if data is not None else 0)


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


def _side(state: State) -> Side | None:
    """What is known of a side whose bytes may not be at hand; no blob: it was never read."""
    if state.kind == "none":
        return None
    blob = "" if state.blob is None else state.blob.hex()
    size = len(state.data) if state.data is not None else state.facts.st_size if state.facts is not None else 0
    return Side(blob, size, executable=state.mode == EXECUTABLE)


def _operation(before: State, after: State, old_path: str | None) -> Operation:
    if before.kind == "none":
        return "add"
    if after.kind == "none":
        return "delete"
    return "modify" if old_path is None else "move"


def _is_draft(path: bytes) -> bool:
    name = os.fsdecode(os.path.basename(path))
    return name.startswith(_DRAFT[0]) and name.endswith(_DRAFT[1])
