"""The folder of a snapshot: a git directory of its own, and beside its index what a next process takes up.

It holds an index file that only Redline writes, an `info/attributes` that turns every conversion off, and the user's
rules of what is ignored. No git configuration is read but its own.
"""

# Paths are bytes here, as names on disk need not be text.
# ruff: noqa: PTH118, PTH121

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redline.workspace import index_file
from redline.workspace.disk import write_new_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from redline.workspace.borrowed import Place
    from redline.workspace.index_file import Entry

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

Signature = tuple[int, int, int, int]
"""Of a file that is too large to be read: size, time of change in ns, inode, mode."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What a snapshot held when it was saved, beside the entries of its index file."""

    ahead: Mapping[bytes, Entry | None]
    """Later entries than those of the index file; None: the file was gone."""
    large: Mapping[bytes, Signature]
    apart: Mapping[bytes, Entry]
    outside: Mapping[bytes, Entry]
    swept_at: int
    told: int
    objects: Place | None
    """The user's object store that blobs are read from."""


class SnapshotFolder:
    """Of one session, at `path`, beside the session's objects; `root` is the workspace, links followed."""

    def __init__(self, path: Path, root: bytes) -> None:
        self._path = path
        self._root = root

    @property
    def is_saved(self) -> bool:
        """An earlier process has left a snapshot, whole or damaged."""
        return (self._path / "state.json").exists()

    def prepare(self) -> None:
        """Make the git directory. Raises OSError."""
        for name in ("", "objects", "objects/info", "refs", "info"):
            (self._path / name).mkdir(mode=0o700, exist_ok=True)
        none = json.dumps(os.fsdecode(os.fsencode(self._path / "none")))
        ignorecase = "true" if _ignores_case(self._root) else "false"
        texts = {
            "HEAD": b"ref: refs/heads/none\n",
            "config": os.fsencode(_CONFIG.format(none=none, ignorecase=ignorecase)),
            "info/attributes": _ATTRIBUTES,
            "info/exclude": b"",
        }
        for name, text in texts.items():
            write_new_file(self._path / name, text)

    def write_stores(self, borrowed: Path | None) -> None:
        """Let git read blobs from the session's objects, and from the user's. Raises OSError."""
        stores = [self._path.parent / "objects", *([borrowed] if borrowed is not None else [])]
        text = b"".join(os.fsencode(store) + b"\n" for store in stores)
        write_new_file(self._path / "objects/info/alternates", text)

    def write_rules(self, rules: bytes) -> bool:
        """What is ignored; False: it was the same before. Raises OSError."""
        path = self._path / "info" / "exclude"
        with contextlib.suppress(OSError):
            if path.read_bytes() == rules:
                return False
        write_new_file(path, rules)
        return True

    def write_index(self, entries: Mapping[bytes, Entry]) -> None:
        """Raises OSError."""
        _replace(self._path / "index", index_file.dump(entries))

    def save(self, saved: Saved) -> None:
        """Raises OSError."""
        state = {
            "version": _VERSION,
            "root": os.fsdecode(self._root),
            "swept_at": saved.swept_at,
            "told": saved.told,
            "objects": saved.objects,
            "ahead": {os.fsdecode(path): None if one is None else one.hex() for path, one in saved.ahead.items()},
            "large": {os.fsdecode(path): signature for path, signature in saved.large.items()},
            "apart": {os.fsdecode(path): entry.hex() for path, entry in saved.apart.items()},
            "outside": {os.fsdecode(path): entry.hex() for path, entry in saved.outside.items()},
        }
        _replace(self._path / "state.json", json.dumps(state).encode())

    def load(self) -> tuple[dict[bytes, Entry], Saved] | None:
        """The index file and the rest; None: there is nothing, or it is damaged or of another workspace."""
        try:
            data = (self._path / "index").read_bytes()
            state = json.loads((self._path / "state.json").read_bytes())
            if state["version"] != _VERSION or os.fsencode(state["root"]) != self._root:
                return None
            saved = Saved(
                ahead={
                    os.fsencode(path): None if one is None else bytes.fromhex(one)
                    for path, one in state["ahead"].items()
                },
                large={os.fsencode(path): _signature(value) for path, value in state["large"].items()},
                apart=_entries(state["apart"]),
                outside=_entries(state["outside"]),
                swept_at=int(state["swept_at"]),
                told=int(state.get("told", 0)),
                objects=None if state["objects"] is None else _place(state["objects"]),
            )
            return index_file.load(data), saved
        except (OSError, ValueError, KeyError, TypeError, AttributeError, index_file.IndexFormatError):
            return None


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


def _entries(value: dict[str, str]) -> dict[bytes, Entry]:
    return {os.fsencode(path): bytes.fromhex(entry) for path, entry in value.items()}


def _signature(value: Any) -> Signature:
    size, modified, inode, mode = value
    return int(size), int(modified), int(inode), int(mode)


def _place(value: Any) -> Place:
    path, device, inode = value
    return str(path), int(device), int(inode)
