"""The first snapshot of a git repository from its index: what git has looked at need not be read again.

The blobs stay in the user's object store, which the snapshot reads as an alternate. git's index tells of a file by its
times and size, and of its content by the blob after git's conversions. Conversions of line ends change the size, which
`Snapshot.bytes_of` sees when it needs the bytes. The others (filters, `$Id$`, encodings) may not: files that have such
are marked so that they are read from the disk.
"""

# Paths are bytes here, as names on disk need not be text.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pygit2

from redline.workspace import index_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from redline.workspace.index_file import Entry
    from redline.workspace.repository import UserRepository

_CONVERTING = (b"filter", b"ident", b"working-tree-encoding", b"[attr]")


@dataclass(frozen=True, slots=True)
class HeadStart:
    """What the user's index knows of the workspace."""

    entries: dict[bytes, Entry]
    objects: Path


def head_start(user: UserRepository, root: Path, most: int) -> HeadStart | None:
    """None: the index is passed over: it is of a kind that is not read here, or has over `most` files."""
    objects = os.fsencode(user.objects)
    if b"\n" in objects or not user.objects.is_dir():
        return None
    try:
        written = user.index.stat().st_mtime_ns
        data = user.index.read_bytes()
        if index_file.count(data) > most:
            return None
        entries = index_file.load(data)
    except (OSError, index_file.IndexFormatError):
        return None
    below = os.path.relpath(root, user.folder)
    prefix = b"" if below == "." else os.fsencode(below) + b"/"
    if prefix:
        entries = {path[len(prefix) :]: entry for path, entry in entries.items() if path.startswith(prefix)}
    for path, entry in entries.items():
        # Written in the tick in which git looked, or later: git itself would look again.
        if index_file.modified_ns(entry) >= written:
            entries[path] = index_file.doubted(entry)
    if any(_converts(text) for text in _attributes(user, prefix, entries)):
        _doubt_converted(user, prefix, entries)
    return HeadStart(entries, user.objects)


def _attributes(user: UserRepository, prefix: bytes, entries: Iterable[bytes]) -> Iterable[bytes]:
    """The texts of all files of attributes that may speak of the workspace, tracked or not."""
    folders = {os.path.dirname(path) for path in entries}
    for folder in list(folders):
        while folder:
            folder = os.path.dirname(folder)
            folders.add(folder)
    folders = {prefix + folder for folder in folders}
    outer = prefix.rstrip(b"/")
    while outer:
        outer = os.path.dirname(outer)
        folders.add(outer)
    inside = [os.path.join(os.fsencode(user.folder), folder, b".gitattributes") for folder in folders]
    for path in [*map(os.fsencode, user.attributes), *inside]:
        try:
            yield Path(os.fsdecode(path)).read_bytes()
        except OSError:
            continue


def _converts(text: bytes) -> bool:
    return any(word in text for word in _CONVERTING)


def _doubt_converted(user: UserRepository, prefix: bytes, entries: dict[bytes, Entry]) -> None:
    for path, entry in entries.items():
        if _is_converted(user.git, os.fsdecode(prefix + path)):
            entries[path] = index_file.doubted(entry)


def _is_converted(git: pygit2.Repository, path: str) -> bool:
    try:
        return any(git.get_attr(path, name) for name in ("filter", "ident", "working-tree-encoding"))
    except (pygit2.GitError, KeyError, ValueError, UnicodeError):
        return True
