"""Cutting a tree of files in two halves of about as many files each, for two threads.

A half is a list of files and folders, a folder standing for all that is in it. The halves are those on either side of a
path in the middle: at each folder on the way to it, the names before it and the names after it. What is on the disk now
is listed there, so that a new name is in a half as well.
"""

# Paths are bytes here, as names on disk need not be text.
# ruff: noqa: PTH118, PTH208

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_NAMES = 1_000
"""Names of one folder; the list of a fuller one costs more than a second thread saves."""
_FINE = 8
"""A folder with less than this part of all files is left whole."""
_PATTERN = re.compile(rb"[*?\[\]\\!#\s]")
"""What has a meaning in a pathspec, which libgit2 turns off for files only."""


class Step(NamedTuple):
    """One folder on the way to the middle."""

    folder: bytes
    """With a slash at its end; empty for the root."""
    middle: bytes
    """The name in it that the middle is in or is."""
    known: frozenset[bytes]
    """The names in it below which files are known."""


class Cut(NamedTuple):
    """Where a tree is cut."""

    steps: tuple[Step, ...]

    @classmethod
    def through(cls, paths: Sequence[bytes]) -> Cut | None:
        """In the middle of `paths`, which are sorted. None: no cut is worth it."""
        steps: list[Step] = []
        folder, within = b"", paths
        while len(within) * _FINE > len(paths):
            names = _names(within, len(folder))
            if len(names) > _MOST_NAMES:
                break
            # Of the whole, the middle; it is in `folder`, as the steps before went towards it.
            middle = paths[len(paths) // 2][len(folder) :].partition(b"/")[0]
            steps.append(Step(folder, middle, names))
            folder += middle + b"/"
            start = bisect_left(within, folder)
            end = bisect_left(within, folder[:-1] + b"0", start)  # the sign after the slash
            within = within[start:end]
        return cls(tuple(steps)) if steps else None

    def halves(self, root: bytes) -> tuple[list[bytes], list[bytes]] | None:
        """The files and folders of each half, relative to `root`. Where none can be listed, those that are known.

        None: one of them is empty, the disk has more names than is worth it, a name would be taken for a pattern, or a
        folder on the way is none any more.
        """
        first: list[bytes] = []
        second: list[bytes] = []
        for step in self.steps:
            if step.folder and not _is_folder(os.path.join(root, step.folder[:-1])):
                return None
            names = step.known.union(_listed(os.path.join(root, step.folder)))
            if len(names) > 2 * _MOST_NAMES or _PATTERN.search(b"/".join(names)):
                return None
            first += [step.folder + name for name in names if name < step.middle]
            second += [step.folder + name for name in names if name > step.middle]
        last = self.steps[-1]
        (first if len(first) < len(second) else second).append(last.folder + last.middle)
        return (first, second) if first and second else None


def _names(paths: Sequence[bytes], start: int) -> frozenset[bytes]:
    return frozenset(path[start:].partition(b"/")[0] for path in paths)


def _listed(folder: bytes) -> list[bytes]:
    try:
        return [name for name in os.listdir(folder) if name.lower() != b".git"]
    except OSError:
        return []


def _is_folder(path: bytes) -> bool:
    """Itself, and not through a link."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
