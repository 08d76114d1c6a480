"""Which file that is gone is which file that has come: by equal bytes first, then as git finds renames."""

# Paths are bytes here, as names on disk need not be text.
# ruff: noqa: PTH119

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, FileMode

from redline.workspace.index_file import EMPTY_BLOB, SYMLINK

if TYPE_CHECKING:
    from collections.abc import Sequence

SIMILAR_FILES = 200
"""Files on either side, over which only equal bytes tell a move."""
SIMILAR_BYTES = 32 << 20
"""Bytes of all these files together, likewise."""
_THRESHOLD = 50
"""Percent that must have stayed: git's own."""


@dataclass(frozen=True, slots=True)
class End:
    """Where a move may begin or end."""

    path: bytes
    mode: int
    blob: bytes
    size: int


def moves(git: pygit2.Repository, gone: Sequence[End], come: Sequence[End]) -> dict[bytes, bytes]:
    """From the new path to the old one. `git`: a repository that has the blobs."""
    found = _equal(gone, come)
    taken = set(found.values())
    gone = [end for end in gone if end.path not in taken and end.mode != SYMLINK and end.size]
    come = [end for end in come if end.path not in found and end.mode != SYMLINK and end.size]
    few = 0 < len(gone) <= SIMILAR_FILES and 0 < len(come) <= SIMILAR_FILES
    if few and sum(end.size for end in (*gone, *come)) <= SIMILAR_BYTES:
        found |= _similar(git, gone, come)
    return found


def _equal(gone: Sequence[End], come: Sequence[End]) -> dict[bytes, bytes]:
    """Of several that are equal, the one whose path is most like it. Empty files are all equal: their names decide."""
    left: dict[tuple[bytes, bool], list[End]] = defaultdict(list)
    for end in gone:
        left[end.blob, end.mode == SYMLINK].append(end)
    found: dict[bytes, bytes] = {}
    for same_name in (True, False):
        for end in come:
            if end.path in found or (end.blob == EMPTY_BLOB and not same_name):
                continue
            choice = [one for one in left[end.blob, end.mode == SYMLINK] if not same_name or _is_named_alike(one, end)]
            if choice:
                best = max(choice, key=lambda one: _common(one.path, end.path))
                left[end.blob, end.mode == SYMLINK].remove(best)
                found[end.path] = best.path
    return found


def _is_named_alike(first: End, second: End) -> bool:
    return os.path.basename(first.path) == os.path.basename(second.path)


def _common(first: bytes, second: bytes) -> int:
    """How many bytes their beginnings and their ends have in common."""
    return sum(
        sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
        for one, other in ((first, second), (first[::-1], second[::-1]))
    )


def _similar(git: pygit2.Repository, gone: Sequence[End], come: Sequence[End]) -> dict[bytes, bytes]:
    """git's own search, over two trees that hold nothing else."""
    trees = []
    try:
        trees = [_tree(git, b"gone", gone), _tree(git, b"come", come)]
        before, after = (git[tree].peel(pygit2.Tree) for tree in trees)
        diff = before.diff_to_tree(after)
        diff.find_similar(DiffFind.FIND_RENAMES, rename_threshold=_THRESHOLD, rename_limit=SIMILAR_FILES * 2)
        return {
            come[int(delta.new_file.path[4:])].path: gone[int(delta.old_file.path[4:])].path
            for delta in diff.deltas
            if delta.status == DeltaStatus.RENAMED
        }
    except (pygit2.GitError, KeyError, ValueError):  # a blob that is not kept: no move is told
        return {}
    finally:
        for tree in trees:
            name = str(tree)
            (Path(git.path) / "objects" / name[:2] / name[2:]).unlink(missing_ok=True)


def _tree(git: pygit2.Repository, prefix: bytes, ends: Sequence[End]) -> pygit2.Oid:
    builder = git.TreeBuilder()
    for number, end in enumerate(ends):
        oid = pygit2.Oid(raw=end.blob)
        if oid in git:
            builder.insert(f"{prefix.decode()}{number}", oid, FileMode.BLOB)
    return builder.write()
