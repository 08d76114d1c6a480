"""The work behind `observe.Observer`, in one thread at a time: the first snapshot, looks at named paths, sweeps."""

# Paths are bytes here, as names on disk need not be text.
# ruff: noqa: PTH118, PTH119

from __future__ import annotations

import os
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from redline.workspace import bounds, index_file
from redline.workspace.bounds import Limit, Limits
from redline.workspace.correction import correct
from redline.workspace.error import BytesError, SnapshotError
from redline.workspace.first_snapshot import FirstSnapshot
from redline.workspace.ignored import IgnoreRules
from redline.workspace.own_changes import OwnChanges
from redline.workspace.snapshot import Snapshot
from redline.workspace.survey import Survey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from redline.sessions.redaction import Redactor
    from redline.workspace.difference import Difference
    from redline.workspace.findings import Found
    from redline.workspace.last_changes import LastChanges
    from redline.workspace.state import State
    from redline.workspace.store import ByteStore

_IN_FOLDER = 2000
"""Known files of a folder that is named which are looked at at once; the sweep sees the rest."""
_TICK_NS = 10_000_000
"""A file's times come from a clock that ticks, and may be so much behind."""


class Lookout:
    """See `Observer`, whose methods these are. Not for two threads at once, `announce`, `withdraw`, `accept` and `stop`
    excepted."""

    def __init__(self, root: Path, store: ByteStore, session: str, redactor: Redactor, limits: Limits) -> None:
        """Raises BytesError, OSError."""
        self.root = root
        self.limits = limits
        self.limited: Limit | None = None
        self.stop = threading.Event()
        self._store = store
        self._session = session
        folder = store.repository(session) / "snapshot"
        folder.mkdir(mode=0o700, exist_ok=True)
        self._snapshot = Snapshot(folder, root, lambda blob: store.get(session, blob), store.file_limit)
        self._is_new = not self._snapshot.is_saved
        self._survey = Survey(self._snapshot, store, session, redactor)
        self._absent: set[bytes] = set()
        self._ignored = IgnoreRules(root, store.root)
        self._since = 0
        """When the turn began, in ns since 1970; 0: nobody said."""
        self._slow = 0
        self._own = OwnChanges()

    # The first look of a process.

    def start(
        self, progress: Callable[[int, int], None] | None, known: LastChanges
    ) -> tuple[list[Found], Limit | None]:
        """Never raises for what the disk gets wrong."""
        try:
            resumed = self.resume(known)
            if resumed is not None:
                return resumed
            self._snapshot.prepare()
            self._read_rules()
            first = FirstSnapshot(self.root, self._snapshot, self._survey, self._store, self._session, self.limits)
            self.limited = first.take(progress, self.stop)
            self._correct(known)
        except (OSError, BytesError, SnapshotError) as error:
            self.limited = bounds.failed(error)
        lost = None if self._is_new else bounds.SNAPSHOT_LOST
        return [], self.limited or lost or self._survey.unreadable()

    def resume(self, known: LastChanges) -> tuple[list[Found], Limit | None] | None:
        """As `start`; None: there is nothing to take up. Raises OSError, BytesError."""
        if self._is_new or not self._snapshot.load():
            return None
        self._read_rules()
        self._correct(known)
        return self.sweep()

    def _correct(self, known: LastChanges) -> None:
        later = ((self.key(name), change) for name, change in known.after(self._snapshot.told).items())
        correct(self._snapshot, self._survey, later, partial(self._store.put, self._session))

    # Looks.

    def sweep(self) -> tuple[list[Found], Limit | None]:
        if self.limited is not None:
            return [], self.limited
        snapshot, survey = self._snapshot, self._survey
        begun_ns, begun = time.time_ns(), time.monotonic()
        try:
            self._own.begin(snapshot)
            if _is_gone(self.root):
                return self._all_gone(), bounds.gone(self.root)
            newly_seen = self._read_rules()
            with ThreadPoolExecutor(1) as beside:  # a flush waits for the disk, a comparison for the processor
                keeping = beside.submit(survey.keep_rest)
                candidates = snapshot.candidates()
            unkept = keeping.result()
            if len(candidates) > self.limits.files:
                self.limited = bounds.too_many(self.limits.files)
                return [], self.limited
            differences = self._own.without(survey.differences(candidates), snapshot)
            found = survey.found(self._without_old(differences, newly_seen))
            snapshot.swept_at = begun_ns
            if snapshot.borrowed is not None and snapshot.borrowed.are_lost():
                self._read_borrowed()
        except (OSError, SnapshotError, BytesError) as error:
            self.limited = bounds.failed(error)
            return [], self.limited
        self._slow = self._slow + 1 if time.monotonic() - begun > self.limits.seconds else 0
        if self._slow > 1:
            self.limited = bounds.too_slow("Two sweeps in a row", self.limits.seconds)
        return found, self.limited or survey.trouble or unkept or survey.unreadable()

    def _all_gone(self) -> list[Found]:
        """The workspace itself is no more, so neither is any file in it. Should it come back, sweeps go on."""
        snapshot = self._snapshot
        known = {*snapshot.entries, *snapshot.large, *snapshot.apart}
        snapshot.swept_at = time.time_ns()
        return self._survey.found(self._own.without(self._survey.differences(sorted(known)), snapshot))

    def look(
        self, names: Iterable[str | os.PathLike[str]], existing: Iterable[str | os.PathLike[str]] = ()
    ) -> list[Found]:
        self._survey.keep_rest()
        self._own.begin(self._snapshot)
        differences: list[Difference] = []
        old = set(self._named(existing))
        for path in self._named(names):
            if path in old and path not in self._snapshot.entries and self._is_swept(path):
                continue
            if self._is_seen(path) or path in self._absent:
                differences += self._survey.differences([path])
                self._absent.discard(path)
            else:
                differences += self._guess(path)
        return self._survey.found(self._own.without(differences, self._snapshot), at_once=True)

    def note(self, names: Iterable[str | os.PathLike[str]]) -> None:
        self._own.begin(self._snapshot)
        for path in self._named(names):
            if self._is_seen(path):
                continue
            state = self._survey.read(path)
            if state.kind == "none":
                self._absent.add(path)
            elif state.kind in ("file", "symlink", "large") and not (
                self._since and _changed_since(state, self._since)
            ):
                if state.data is not None:
                    self._store.put(self._session, state.data)
                self._survey.take(path, state)

    def begin_turn(self) -> None:
        self._since = time.time_ns() - _TICK_NS

    def keep(self, told: int) -> None:
        self._survey.keep_rest()
        self._own.settle(self._snapshot)
        if self.limited is None and self._snapshot.swept_at:
            self._snapshot.told = told
            self._snapshot.save()

    @property
    def told(self) -> int:
        return self._snapshot.told

    # What Redline itself does.

    def announce(self, name: str | os.PathLike[str]) -> None:
        self._own.announce(self.key(name))

    def withdraw(self, name: str | os.PathLike[str]) -> None:
        self._own.withdraw(self.key(name))

    def accept(self, name: str | os.PathLike[str], blob: str | None, executable: bool, link: bool) -> None:
        mode = index_file.mode_for(executable, link=link)
        entry = None if blob is None else index_file.unlooked(mode, bytes.fromhex(blob))
        self._own.accept(self.key(name), entry)

    def close(self) -> None:
        self.stop.set()
        self._snapshot.close()

    # Parts of the above.

    def key(self, name: str | os.PathLike[str]) -> bytes:
        """Relative to the workspace, or absolute where it is outside; links are followed, but for the last step."""
        path = os.path.join(self._snapshot.root, os.fsencode(name))
        folder, last = os.path.split(os.path.normpath(path))
        path = os.path.join(os.path.realpath(folder), last)
        if path == self._snapshot.root:
            return b""
        prefix = self._snapshot.root.rstrip(b"/") + b"/"
        return path.removeprefix(prefix)

    def _named(self, names: Iterable[str | os.PathLike[str]]) -> list[bytes]:
        paths: dict[bytes, None] = {}
        for name in names:
            try:
                path = self.key(name)
            except (OSError, ValueError):  # half a character, a circle of links: no file has such a name
                continue
            if b"\0" in path or b".git" in path.split(b"/"):
                continue
            inside: list[bytes] = []
            if path and path not in self._snapshot.entries:
                inside = [one for one in self._snapshot.entries if one.startswith(path + b"/")]
            paths.update(dict.fromkeys(inside[:_IN_FOLDER]))
            if path:
                paths[path] = None
        return list(paths)

    def _is_seen(self, path: bytes) -> bool:
        """A sweep sees it, or has an earlier state of it to compare with."""
        snapshot = self._snapshot
        if any(path in known for known in (snapshot.entries, snapshot.large, snapshot.apart, snapshot.outside)):
            return True
        return self._is_swept(path)

    def _is_swept(self, path: bytes) -> bool:
        return self.limited is None and not path.startswith(b"/") and not self._snapshot.is_ignored(path)

    def _guess(self, path: bytes) -> list[Difference]:
        """Of a file that was never looked at: whether it changed its own times tell, what it was nothing does."""
        [*differences] = self._survey.differences([path])
        if not differences:
            return []
        state = differences[0].after
        if state.facts is not None and not _changed_since(state, self._since or self._snapshot.swept_at):
            if state.data is not None:
                self._store.put(self._session, state.data)
            return []
        return [replace(differences[0], is_guess=True)]

    def _without_old(self, differences: list[Difference], newly_seen: bool) -> list[Difference]:
        """Where rules of what is ignored have changed, files appear that nobody has touched."""
        if not newly_seen and not any(os.path.basename(one.path) == b".gitignore" for one in differences):
            return differences
        swept_at = self._snapshot.swept_at
        kept: list[Difference] = []
        old: list[Difference] = []
        for one in differences:
            untouched = one.is_come and one.after.facts is not None and one.after.facts.st_ctime_ns < swept_at
            (old if untouched else kept).append(one)
        data = [one.after.data for one in old if one.after.data is not None]
        if data:
            self._store.put(self._session, *data)
        return kept

    def _read_rules(self) -> bool:
        """Take over the rules of what is ignored; True: they have changed since the last sweep."""
        rules = self._ignored.changed()
        return rules is not None and self._snapshot.ignore(rules)

    def _read_borrowed(self) -> None:
        """The user's object store is gone: keep the bytes of what has not changed while the disk still has them."""
        snapshot = self._snapshot
        with self._store.pack(self._session) as pack:
            for path, entry in list(snapshot.entries.items()):
                state = self._survey.read(path)
                if state.blob is None or state.data is None:
                    continue
                # By its facts, since of a file with converted line ends the blob is another.
                if state.blob == index_file.blob_of(entry) or state.entry[:36] == entry[:36]:
                    pack.add(state.blob, state.data)
                    self._survey.take(path, state)
        snapshot.give_back()


def _is_gone(root: Path) -> bool:
    try:
        return not stat.S_ISDIR(root.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True


def _changed_since(state: State, moment: int) -> bool:
    return state.facts is not None and state.facts.st_ctime_ns >= moment
