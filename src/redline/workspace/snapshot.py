"""What a workspace held when it was last looked at, and what may have changed since, found by libgit2.

A snapshot is a folder beside the session's bytes: a git directory of its own with an index file that only Redline
writes, an `info/attributes` that turns every conversion off, and the user's rules of what is ignored. libgit2 compares
the index with the disk as `git status` does, without the user's repository having a part in it; what it names is read
and judged by us. No git configuration is read but the snapshot's own.
"""

# Paths are bytes here, as names on disk need not be text.
# ruff: noqa: PTH114, PTH118, PTH121

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pygit2

from redline.workspace import index_file
from redline.workspace.borrowed import BorrowedObjects, Place
from redline.workspace.comparison import Comparison
from redline.workspace.disk import write_new_file
from redline.workspace.error import SnapshotError
from redline.workspace.index_file import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = true
\tfilemode = true
\tsymlinks = true
\tignorecase = {ignorecase}
\tprecomposeunicode = false
\tautocrlf = false
\tsafecrlf = false
\ttrustctime = true
\tfsyncobjectfiles = false
\texcludesfile = {none}
\tattributesfile = {none}
"""
_ATTRIBUTES = b"* -text -eol -crlf -ident -filter -working-tree-encoding\n"
_VERSION = 1
_MOST_AHEAD = 64
"""Changes after which the index file is written anew: with 10,000 files that takes half as long as a comparison."""
_AS_EFFECTIVE = os.access in os.supports_effective_ids

Signature = tuple[int, int, int, int]
"""Of a file that is too large to be read: size, time of change in ns, inode, mode."""


class Snapshot:
    """One workspace in one session. Not for two threads at once."""

    def __init__(self, folder: Path, root: Path, bytes_kept: Callable[[str], bytes | None], limit: int) -> None:
        """`folder`: where the snapshot is kept; `root`: the workspace, links followed; `bytes_kept`: gives the bytes
        of a blob from the session's store; `limit`: bytes of a file, above which its content is not looked at."""
        self.folder = folder
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

    def put(self, path: bytes, entry: Entry) -> None:
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
        if self._entries.pop(path, None) is not None:
            self._doubted.discard(path)
            if self._ahead is not None:
                self._ahead.add(path)

    # Where it is kept.

    def prepare(self) -> None:
        """Make the skeleton. Raises OSError."""
        for name in ("", "objects", "objects/info", "refs", "info"):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        none = json.dumps(os.fsdecode(os.fsencode(self.folder / "none")))
        ignorecase = "true" if _ignores_case(self.root) else "false"
        texts = {
            "HEAD": b"ref: refs/heads/none\n",
            "config": os.fsencode(_CONFIG.format(none=none, ignorecase=ignorecase)),
            "info/attributes": _ATTRIBUTES,
            "info/exclude": b"",
        }
        for name, text in texts.items():
            write_new_file(self.folder / name, text)
        self._write_alternates()

    def borrow(self, objects: Path) -> None:
        """Read blobs from the user's object store too. Raises OSError."""
        self.borrowed = BorrowedObjects.at(objects)
        self._write_alternates()

    def give_back(self) -> None:
        """Do without the user's object store."""
        self.borrowed = None
        self._write_alternates()

    def ignore(self, rules: bytes) -> bool:
        """Take over rules of what is ignored; False: they are those of before."""
        path = self.folder / "info" / "exclude"
        with contextlib.suppress(OSError):
            if path.read_bytes() == rules:
                return False
        write_new_file(path, rules)
        self._comparison.reopen()
        return True

    def load(self) -> bool:
        """Take up what was saved; False: there is nothing, or it is damaged or of another workspace."""
        try:
            data = (self.folder / "index").read_bytes()
            state = json.loads((self.folder / "state.json").read_bytes())
            if state["version"] != _VERSION or os.fsencode(state["root"]) != self.root:
                return False
            entries = index_file.load(data)
            self._comparison.reload(entries)
            ahead = {os.fsencode(path): entry for path, entry in state["ahead"].items()}
            for path, entry in ahead.items():
                entries.pop(path, None)
                if entry is not None:
                    entries[path] = bytes.fromhex(entry)
            self.fill(entries)
            self._ahead = set(ahead)
            self.large = {os.fsencode(path): _signature(value) for path, value in state["large"].items()}
            self.apart = _entries_of(state["apart"])
            self.outside = _entries_of(state["outside"])
            self.swept_at = int(state["swept_at"])
            self.told = int(state.get("told", 0))
            self.borrowed = None if state["objects"] is None else BorrowedObjects(_place(state["objects"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, index_file.IndexFormatError):
            return False
        return True

    def save(self) -> None:
        """Keep it for a next start. Raises OSError."""
        self._write_index()
        state = {
            "version": _VERSION,
            "root": os.fsdecode(self.root),
            "swept_at": self.swept_at,
            "told": self.told,
            "objects": None if self.borrowed is None else self.borrowed.place,
            "ahead": {os.fsdecode(path): _hex(self._entries.get(path)) for path in self._ahead or ()},
            "large": {os.fsdecode(path): signature for path, signature in self.large.items()},
            "apart": {os.fsdecode(path): entry.hex() for path, entry in self.apart.items()},
            "outside": {os.fsdecode(path): entry.hex() for path, entry in self.outside.items()},
        }
        _replace(self.folder / "state.json", json.dumps(state).encode())

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
            _replace(self.folder / "index", index_file.dump(self._entries))
            self._ahead = set()
            self._comparison.reload(self._entries)

    def _write_alternates(self) -> None:
        own = self.folder.parent / "objects"
        lines = [own, *([self.borrowed.folder] if self.borrowed is not None else [])]
        write_new_file(self.folder / "objects/info/alternates", b"".join(os.fsencode(line) + b"\n" for line in lines))
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


def _replace(path: Path, data: bytes) -> None:
    """Not flushed: after a power cut a damaged file is noticed, and a fresh snapshot taken."""
    beside = path.with_name(f".new-{path.name}")
    beside.write_bytes(data)
    beside.rename(path)


def _ignores_case(root: bytes) -> bool:
    """The disk takes `README` and `readme` for one name."""
    parent, name = os.path.split(root)
    try:
        return name.swapcase() != name and os.path.samefile(root, os.path.join(parent, name.swapcase()))
    except OSError:
        return False


def _entries_of(value: dict[str, str]) -> dict[bytes, Entry]:
    return {os.fsencode(path): bytes.fromhex(entry) for path, entry in value.items()}


def _hex(entry: Entry | None) -> str | None:
    return None if entry is None else entry.hex()


def _signature(value: Any) -> Signature:
    size, modified, inode, mode = value
    return int(size), int(modified), int(inode), int(mode)


def _place(value: Any) -> Place:
    path, device, inode = value
    return str(path), int(device), int(inode)
