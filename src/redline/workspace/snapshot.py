"""What a workspace held when it was last looked at, and what may have changed since, found by libgit2.

libgit2 compares the index of the snapshot's own git directory (`snapshot_folder`) with the disk as `git status` does,
without the user's repository having a part in it; what it names is read and judged by us.
"""

# Paths are bytes here, as names on disk need not be text.
# ruff: noqa: PTH114, PTH118

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pygit2

from redline.workspace import index_file
from redline.workspace.borrowed import BorrowedObjects
from redline.workspace.comparison import Comparison
from redline.workspace.error import SnapshotError
from redline.workspace.index_file import Entry
from redline.workspace.snapshot_folder import Saved, Signature, SnapshotFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MOST_AHEAD = 64
"""Changes after which the index file is written anew: with 10,000 files that takes half as long as a comparison."""
_AS_EFFECTIVE = os.access in os.supports_effective_ids


class Snapshot:
    """One workspace in one session. Not for two threads at once."""

    def __init__(self, folder: Path, root: Path, bytes_kept: Callable[[str], bytes | None], limit: int) -> None:
        """`folder`: where the snapshot is kept; `root`: the workspace, links followed; `bytes_kept`: gives the bytes
        of a blob from the session's store; `limit`: bytes of a file, above which its content is not looked at."""
        self.root = os.fsencode(root)
        self._entries: dict[bytes, Entry] = {}
        self._doubted: set[bytes] = set()
        self.large: dict[bytes, Signature] = {}
        self.apart: dict[bytes, Entry] = {}
        """Files that may not be read any more: libgit2 would fail at the first of them."""
        self.outside: dict[bytes, Entry] = {}
        """Files outside the workspace that calls have named, by absolute path."""
        self.swept_at = 0
        """When the last comparison began, in ns since 1970; 0: never."""
        self.told = 0
        """The last event of the log when it was saved: it holds what that and all before it tell; 0: nobody said."""
        self.borrowed: BorrowedObjects | None = None
        """The user's object store that blobs are read from."""
        self._bytes_kept = bytes_kept
        self._limit = limit
        self._folder = SnapshotFolder(folder, self.root)
        self._comparison = Comparison(folder, self.root)
        self._ahead: set[bytes] | None = None
        """Paths of which the index file does not know the last: they are always looked at. None: there is no file."""

    # What it holds.

    @property
    def entries(self) -> Mapping[bytes, Entry]:
        return self._entries

    def fill(self, entries: dict[bytes, Entry]) -> None:
        """Hold these files, and no others."""
        self._entries = entries
        self._doubted = {path for path, entry in entries.items() if index_file.is_doubted(entry)}
        self._ahead = None

    def get(self, path: bytes) -> Entry | None:
        """Of a file inside the workspace or outside; None: none was there, or it was one of `large` or `apart`."""
        return (self.outside if _is_outside(path) else self._entries).get(path)

    def put(self, path: bytes, entry: Entry) -> None:
        if _is_outside(path):
            self.outside[path] = entry
            return
        if self._entries.get(path) == entry:
            return
        self._entries[path] = entry
        if index_file.is_doubted(entry):
            self._doubted.add(path)
        else:
            self._doubted.discard(path)
        if self._ahead is not None:
            self._ahead.add(path)

    def drop(self, path: bytes) -> None:
        if _is_outside(path):
            self.outside.pop(path, None)
        elif self._entries.pop(path, None) is not None:
            self._doubted.discard(path)
            if self._ahead is not None:
                self._ahead.add(path)

    # Where it is kept.

    @property
    def is_saved(self) -> bool:
        """An earlier process has left one, whole or damaged."""
        return self._folder.is_saved

    def prepare(self) -> None:
        """Make the folder. Raises OSError."""
        self._folder.prepare()
        self._write_stores()

    def borrow(self, objects: Path) -> None:
        """Read blobs from the user's object store too. Raises OSError."""
        self.borrowed = BorrowedObjects.at(objects)
        self._write_stores()

    def give_back(self) -> None:
        """Do without the user's object store."""
        self.borrowed = None
        self._write_stores()

    def ignore(self, rules: bytes) -> bool:
        """Take over rules of what is ignored; False: they are those of before."""
        is_new = self._folder.write_rules(rules)
        if is_new:
            self._comparison.reopen()
        return is_new

    def load(self) -> bool:
        """Take up what was saved; False: there is nothing, or it is damaged or of another workspace."""
        loaded = self._folder.load()
        if loaded is None:
            return False
        entries, saved = loaded
        self._comparison.reload(entries)
        for path, entry in saved.ahead.items():
            entries.pop(path, None)
            if entry is not None:
                entries[path] = entry
        self.fill(entries)
        self._ahead = set(saved.ahead)
        self.large, self.apart, self.outside = dict(saved.large), dict(saved.apart), dict(saved.outside)
        self.swept_at, self.told = saved.swept_at, saved.told
        self.borrowed = None if saved.objects is None else BorrowedObjects(saved.objects)
        return True

    def save(self) -> None:
        """Keep it for a next start. Raises OSError."""
        self._write_index()
        ahead = {path: self._entries.get(path) for path in self._ahead or ()}
        objects = None if self.borrowed is None else self.borrowed.place
        saved = Saved(ahead, self.large, self.apart, self.outside, self.swept_at, self.told, objects)
        self._folder.save(saved)

    # What may have changed.

    def candidates(self) -> list[bytes]:
        """The paths where libgit2 sees a difference, and those that it cannot judge. Raises `SnapshotError`."""
        try:
            self._write_index()
            named = list(self._comparison.paths())
        except pygit2.GitError:
            self._set_unreadable_apart()
            self._write_index()
            try:
                named = list(self._comparison.paths())
            except pygit2.GitError as error:
                raise SnapshotError(str(error)) from error
        found: dict[bytes, None] = {}
        for path in named:
            if not path.endswith(b"/"):
                found[path] = None
            else:  # a repository of its own
                found.update(dict.fromkeys(self._comparison.inside(path)))
        found.update(dict.fromkeys(self._doubted))
        found.update(dict.fromkeys(self._ahead or ()))
        found.update(dict.fromkeys(self.large))
        found.update(dict.fromkeys(self.apart))
        return list(found)

    def is_ignored(self, path: bytes) -> bool:
        try:
            return bool(self.git.path_is_ignored(os.fsdecode(path)))
        except (pygit2.GitError, ValueError, UnicodeError):
            return False

    def bytes_of(self, entry: Entry) -> bytes | None:
        """The bytes that a file had, from the session's store or the user's; None: nobody has them (any more)."""
        blob = index_file.blob_of(entry)
        data = self._bytes_kept(blob.hex())
        if data is None and self.borrowed is not None:
            data = self.borrowed.read(blob, self._limit)
        size = index_file.size_of(entry)
        if data is None or len(data) == size or index_file.is_doubted(entry):
            return data
        # git had converted line ends when it wrote the file; its index still says how large the file was.
        converted = data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        return converted if len(converted) == size else None

    @property
    def git(self) -> pygit2.Repository:
        """Raises `SnapshotError`."""
        try:
            return self._comparison.git
        except pygit2.GitError as error:
            raise SnapshotError(str(error)) from error

    def close(self) -> None:
        self._comparison.reopen()

    # Parts of the above.

    def _write_index(self) -> None:
        if self._ahead is None or len(self._ahead) > _MOST_AHEAD:
            self._folder.write_index(self._entries)
            self._ahead = set()
            self._comparison.reload(self._entries)

    def _write_stores(self) -> None:
        self._folder.write_stores(None if self.borrowed is None else self.borrowed.folder)
        self._comparison.reopen()

    def _set_unreadable_apart(self) -> None:
        """libgit2 reads a file whose facts have changed, and fails as a whole where it may not."""
        for path in list(self._entries):
            full = os.path.join(self.root, path)
            try:
                # As the effective user, which libgit2 is too.
                readable = os.path.islink(full) or os.access(full, os.R_OK, effective_ids=_AS_EFFECTIVE)
            except OSError:
                readable = False
            if not readable and os.path.lexists(full):
                self.apart[path] = self._entries[path]
                self.drop(path)
                self._ahead = None  # the index file must not name it either


def _is_outside(path: bytes) -> bool:
    return path.startswith(b"/")
