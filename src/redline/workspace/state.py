"""One name on the disk as it is now: read whole, by a descriptor, following no link, and not torn by a writer."""

# Paths are bytes here, as names on disk need not be text.
# ruff: noqa: PTH114, PTH115, PTH118, PTH120

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from typing import Literal

from redline.changes.compare import blob_id
from redline.workspace.index_file import EXECUTABLE, FILE, SYMLINK, Entry, doubted, entry, is_doubted

Kind = Literal["file", "symlink", "large", "none", "folder", "special", "denied"]

_TRIES = 3
_TICK_NS = 50_000_000
"""A clock that stamps files may stand still for so long: two writes within it can leave the same time."""
_COARSE_TICK_NS = 2_100_000_000
"""Where times have no fractions of a second, as on FAT."""


@dataclass(frozen=True, slots=True)
class State:
    """What is there."""

    kind: Kind
    """large: a file over the limit, which was not read. special: a socket, a pipe, a device. denied: may not be read,
    or not even be looked at."""
    mode: int = 0
    """As git knows modes: FILE, EXECUTABLE, SYMLINK; 0 for what is neither."""
    data: bytes | None = None
    blob: bytes | None = None
    """20 bytes."""
    facts: os.stat_result | None = None
    settled: bool = True
    """False: it may have changed within the tick of the clock, or kept changing while it was read."""

    @property
    def entry(self) -> Entry:
        """Of a file or a link."""
        assert self.facts is not None
        assert self.blob is not None
        one = entry(self.facts, self.mode, self.blob)
        return one if self.settled else doubted(one)


NOTHING = State("none")


class Reader:
    """Reads states below one folder, for a while: what it has learnt about folders holds as long."""

    def __init__(self, root: bytes, limit: int) -> None:
        """`root`: with every link followed. `limit`: bytes of a file that is read."""
        self._root = root
        self._limit = limit
        self._folders: dict[bytes, bool] = {b"": True}

    def read(self, path: bytes) -> State:
        """`path`: relative to the root. Never raises OSError."""
        if not self._is_inside(os.path.dirname(path)):
            return NOTHING  # a folder on the way has become a link: the path of old leads nowhere
        return read_state(os.path.join(self._root, path), self._limit)

    def is_as(self, path: bytes, known: Entry) -> bool:
        """Its facts say that it is what it was, so that it need not be read."""
        if is_doubted(known) or not self._is_inside(os.path.dirname(path)):
            return False
        try:
            facts = os.lstat(os.path.join(self._root, path))
        except OSError:
            return False
        mode = SYMLINK if stat.S_ISLNK(facts.st_mode) else _mode(facts) if stat.S_ISREG(facts.st_mode) else 0
        return entry(facts, mode, known[40:60])[:60] == known[:60]

    def _is_inside(self, folder: bytes) -> bool:
        known = self._folders.get(folder)
        if known is None:
            known = self._is_inside(os.path.dirname(folder)) and not os.path.islink(os.path.join(self._root, folder))
            self._folders[folder] = known
        return known


def read_state(path: bytes, limit: int) -> State:
    """What stands at `path`, its last step not followed. Never raises OSError."""
    for _ in range(_TRIES):
        try:
            state = _read(path, limit)
        except (FileNotFoundError, NotADirectoryError):
            return NOTHING
        except OSError:
            return State("denied")
        if state is not None:
            return state
    try:
        return _read(path, limit, patient=False) or State("denied")
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING
    except OSError:
        return State("denied")


def _read(path: bytes, limit: int, *, patient: bool = True) -> State | None:
    """None: it changed while it was read."""
    begun = time.time_ns()
    facts = os.lstat(path)
    if stat.S_ISDIR(facts.st_mode):
        return State("folder", facts=facts)
    if stat.S_ISLNK(facts.st_mode):
        target = os.readlink(path)
        if differ(facts, os.lstat(path)) and patient:
            return None
        return State("symlink", SYMLINK, target, _blob(target), facts, _is_settled(facts, begun))
    if not stat.S_ISREG(facts.st_mode):
        return State("special", facts=facts)
    mode = _mode(facts)
    if facts.st_size > limit:
        return State("large", mode, facts=facts)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        return State("denied", mode, facts=facts)
    try:
        data = _bytes_of(descriptor, facts.st_size)
        unchanged = not differ(facts, os.fstat(descriptor))
    finally:
        os.close(descriptor)
    if not unchanged and (patient or len(data) > limit):
        return None
    return State("file", mode, data, _blob(data), facts, unchanged and _is_settled(facts, begun))


def _mode(facts: os.stat_result) -> int:
    return EXECUTABLE if facts.st_mode & stat.S_IXUSR else FILE


def _bytes_of(descriptor: int, size: int) -> bytes:
    """A little more than what there should be, so that a file that has grown is noticed."""
    parts, left = [], size + 1
    while left:
        part = os.read(descriptor, left)
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def differ(first: os.stat_result, second: os.stat_result) -> bool:
    """The file was written, replaced or made something else in between."""
    return (first.st_ino, first.st_size, first.st_mtime_ns, first.st_ctime_ns, first.st_mode) != (
        second.st_ino, second.st_size, second.st_mtime_ns, second.st_ctime_ns, second.st_mode,
    )  # fmt: skip


def _is_settled(facts: os.stat_result, begun: int) -> bool:
    last = max(facts.st_mtime_ns, facts.st_ctime_ns)
    tick = _TICK_NS if facts.st_mtime_ns % 10**9 or facts.st_ctime_ns % 10**9 else _COARSE_TICK_NS
    return last < begun - tick


def _blob(data: bytes) -> bytes:
    return bytes.fromhex(blob_id(data))
