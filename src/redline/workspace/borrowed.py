"""The user's object store, which a snapshot reads instead of keeping thousands of blobs a second time.

It may go at any moment: `rm -rf .git`, another clone in its place, `git gc`. Its packs are therefore held open, and can
be read for as long as this process lives, whoever deletes them. Blobs in files of their own cannot be held so; they are
for the caller to keep.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import pygit2

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_MOST_PACKS = 64
"""Held open, the largest first: each takes a descriptor."""
_FIRST_NAME = 8 + 256 * 4
"""Where the first id stands in a pack's index, version 2 (https://git-scm.com/docs/pack-format)."""

Place = tuple[str, int, int]
"""Of a folder: path, device, inode."""


class BorrowedObjects:
    """One object store, read and never written."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._store: pygit2.Odb | None = None
        self._hold()

    @classmethod
    def at(cls, folder: Path) -> BorrowedObjects:
        """Raises OSError."""
        facts = folder.stat()
        return cls((str(folder), facts.st_dev, facts.st_ino))

    @property
    def folder(self) -> Path:
        return Path(self.place[0])

    def are_lost(self) -> bool:
        """The store is gone, or is another one."""
        try:
            facts = self.folder.stat()
        except OSError:
            return True
        return (facts.st_dev, facts.st_ino) != self.place[1:]

    def read(self, blob: bytes, limit: int) -> bytes | None:
        """The bytes of a blob, `blob` being the 20 of its id; None: it is not there any more, or is over `limit`."""
        if self._store is None:
            return None
        oid = pygit2.Oid(raw=blob)
        with contextlib.suppress(pygit2.GitError, KeyError, ValueError):
            if self._store.read_header(oid)[1] <= limit:
                return self._store.read(oid)[1]
        return None

    def loose(self, blobs: Collection[bytes]) -> set[bytes]:
        """Those of `blobs` that are in files of their own."""
        return {blob for blob in self._loose() if blob in blobs}

    def _loose(self) -> Iterator[bytes]:
        for folder in _names(self.folder):
            if len(folder) == 2:
                for name in _names(self.folder / folder):
                    with contextlib.suppress(ValueError):
                        yield bytes.fromhex(folder + name)

    def _hold(self) -> None:
        """Read something of each pack: libgit2 opens one at its first use, and keeps it open."""
        with contextlib.suppress(pygit2.GitError, OSError):
            self._store = pygit2.Odb(str(self.folder))
            indexes = sorted((self.folder / "pack").glob("*.idx"), key=lambda one: -one.stat().st_size)
            for index in indexes[:_MOST_PACKS]:
                with index.open("rb") as file:
                    file.seek(_FIRST_NAME)
                    first = file.read(20)
                with contextlib.suppress(pygit2.GitError, KeyError, ValueError):
                    self._store.read_header(pygit2.Oid(raw=first))


def _names(folder: Path) -> list[str]:
    try:
        return [one.name for one in folder.iterdir()]
    except OSError:
        return []
