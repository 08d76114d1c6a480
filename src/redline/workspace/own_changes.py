"""What Redline's own tools change, so that a look that runs beside them neither misses nor doubles it."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

from redline.workspace import index_file

if TYPE_CHECKING:
    from redline.workspace.difference import Difference
    from redline.workspace.snapshot import Snapshot


class OwnChanges:
    """Of one session. `announce`, `withdraw` and `accept` may be called from any thread, and do not wait for a look."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Counter[bytes] = Counter()
        self._accepted: list[tuple[bytes, index_file.Entry | None]] = []
        self._touched: set[bytes] = set()

    def announce(self, path: bytes) -> None:
        with self._lock:
            self._running[path] += 1
            self._touched.add(path)

    def withdraw(self, path: bytes) -> None:
        with self._lock:
            self._end(path)

    def accept(self, path: bytes, entry: index_file.Entry | None) -> None:
        with self._lock:
            self._end(path)
            self._touched.add(path)
            self._accepted.append((path, entry))

    def begin(self, snapshot: Snapshot) -> None:
        """A look begins: what was accepted so far is what the snapshot holds."""
        with self._lock:
            self._touched = set(self._running)
            self._take(snapshot)

    def settle(self, snapshot: Snapshot) -> None:
        """Let the snapshot hold what was accepted so far. Between looks."""
        with self._lock:
            self._take(snapshot)

    def without(self, differences: list[Difference], snapshot: Snapshot) -> list[Difference]:
        """A look has read the disk: what was touched meanwhile is left for the next one to judge."""
        with self._lock:
            for one in differences:
                if one.path in self._touched:
                    if one.before.blob is None:
                        snapshot.drop(one.path)
                    else:
                        snapshot.put(one.path, index_file.unlooked(one.before.mode, one.before.blob))
            self._take(snapshot)
            return [one for one in differences if one.path not in self._touched]

    def _end(self, path: bytes) -> None:
        if self._running[path] > 1:
            self._running[path] -= 1
        else:
            del self._running[path]

    def _take(self, snapshot: Snapshot) -> None:
        for path, entry in self._accepted:
            if entry is None:
                snapshot.drop(path)
            else:
                snapshot.put(path, entry)
            snapshot.large.pop(path, None)
        self._accepted.clear()
