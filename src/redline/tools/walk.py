"""The files below a folder, for searching: regular ones only, no link followed, what git ignores left out.

Runs in a thread. Every step asks whether to stop, so a cancelled search ends within one folder or one file.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pygit2

VERSION_CONTROL = frozenset({".git", ".hg", ".jj", ".svn"})


class Stopped(Exception):  # noqa: N818 - not a fault, an ending
    """The time is up, or the caller has gone."""


@dataclass(slots=True)
class Deadline:
    """When a search must end: after so many seconds, or once somebody calls `cancel`."""

    seconds: float
    _event: Event = field(default_factory=Event)
    _end: float = 0.0

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.seconds

    def cancel(self) -> None:
        self._event.set()

    def check(self) -> None:
        """Raises `Stopped`."""
        if self._event.is_set() or time.monotonic() > self._end:
            raise Stopped


@dataclass(frozen=True, slots=True)
class Found:
    """One regular file."""

    path: str
    name: str
    """Relative to the folder that was walked, with `/`."""
    size: int
    modified: float


def walk(folder: Path, deadline: Deadline, *, ignored: bool) -> Iterator[Found]:
    """In the order of their names, folder by folder. `ignored`: also what git ignores.

    A folder that may not be read is passed over. Raises `Stopped`.
    """
    excluded = (lambda _path, _is_folder: False) if ignored else _git_rules(folder)
    waiting = [(str(folder), "")]
    while waiting:
        current, prefix = waiting.pop()
        deadline.check()
        below = []
        try:
            with os.scandir(current) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            name, path = prefix + entry.name, f"{current}/{entry.name}"
            if _is_folder(entry):
                if entry.name not in VERSION_CONTROL and not excluded(path, True):
                    below.append((path, name + "/"))
            elif not excluded(path, False):
                with suppress(OSError):
                    facts = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(facts.st_mode):
                        yield Found(path, name, facts.st_size, facts.st_mtime)
        waiting.extend(reversed(below))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def read_regular(path: str, limit: int) -> bytes | None:
    """The bytes of a regular file, or None: it is none (any more), is over `limit`, or may not be read."""
    try:
        # Not blocking, so that a pipe put in a file's place cannot hang the search; no link in the last step.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > limit:
            return None
        pieces = []
        left = limit
        while left > 0 and (piece := os.read(descriptor, min(left, max(facts.st_size + 1, 65536)))):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _git_rules(folder: Path) -> Callable[[str, bool], bool]:
    """Whether git ignores a path, by its own rules; nothing is ignored outside a repository."""
    try:
        place = pygit2.discover_repository(str(folder))
        repository = pygit2.Repository(place) if place else None
    except (pygit2.GitError, OSError, ValueError):
        repository = None
    if repository is None or repository.workdir is None:
        return lambda _path, _is_folder: False
    root = os.path.realpath(repository.workdir)

    def excluded(path: str, is_folder: bool) -> bool:
        name = os.path.relpath(path, root)
        try:
            return bool(repository.path_is_ignored(name + "/" if is_folder else name))
        except (pygit2.GitError, ValueError, UnicodeError):
            return False

    return excluded
