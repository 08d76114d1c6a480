"""Comparing a snapshot's index with the disk, by libgit2: which paths may have changed.

Nearly all of a comparison is the system's answers to "what are this file's facts?", one a file. git asks in several
threads, libgit2 in one; so a larger workspace is compared in two halves at once (`halves`), each through a handle of
its own, since no handle may be used by two threads.
"""

# Paths are bytes here, as names on disk need not be text.
# ruff: noqa: PTH118

from __future__ import annotations

import contextlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pygit2
from pygit2.enums import ConfigLevel, DiffOption, RepositoryOpenFlag
from pygit2.errors import check_error
from pygit2.ffi import C, ffi

from redline.workspace.halves import Cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

_LISTING = DiffOption.INCLUDE_UNTRACKED | DiffOption.RECURSE_UNTRACKED_DIRS
_WORTH_TWO = 2_000
"""Files from which on a second thread saves more than it costs."""
_LEVELS = (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL)
_opening = threading.Lock()


class Comparison:
    """Of the index file in `folder`, a git directory, with the files below `root`. Not for two threads at once."""

    def __init__(self, folder: Path, root: bytes) -> None:
        self._folder = folder
        self._root = root
        self._handles: list[pygit2.Repository] = []
        self._cut: Cut | None = None
        self._is_loaded = False

    @property
    def git(self) -> pygit2.Repository:
        """A handle on the git directory. Raises `pygit2.GitError`."""
        return self._handle(0)

    def reopen(self) -> None:
        """The configuration, the rules or the object stores of the git directory have changed."""
        self._handles = []
        self._is_loaded = False

    def reload(self, paths: Iterable[bytes]) -> None:
        """The index file was written anew and holds `paths`, in any order."""
        self._is_loaded = False
        known = sorted(paths)
        self._cut = Cut.through(known) if len(known) >= _WORTH_TWO and _processors() > 1 else None

    def paths(self) -> Iterator[bytes]:
        """Where the disk differs from the index, or may; a repository that the index knows no file of is named with a
        slash at its end. Raises `pygit2.GitError`."""
        halves = None if self._cut is None else self._cut.halves(self._root)
        if halves is None:
            self._load(1)
            yield from _paths(self.git.index.diff_to_workdir(_LISTING))
            return
        self._load(2)
        with ThreadPoolExecutor(1) as beside:  # the call into libgit2 lets other threads run
            second = beside.submit(_compare, self._handles[1], halves[1])
            first = _compare(self._handles[0], halves[0])
        yield from _paths(first)
        yield from _paths(second.result())

    def inside(self, folder: bytes) -> Iterator[bytes]:
        """The files of a repository inside the workspace, which libgit2 takes for a submodule as long as the index
        names none of them."""
        inner = _open(self._folder, os.path.join(self._root, folder))
        index = pygit2.Index()
        index._repo = inner  # type: ignore[assignment]
        try:
            named = list(_paths(index.diff_to_workdir(_LISTING)))
        except pygit2.GitError:  # it may not be read: it costs itself only
            return
        for path in named:
            if path.endswith(b"/"):
                yield from self.inside(folder + path)
            else:
                yield folder + path

    def _handle(self, number: int) -> pygit2.Repository:
        while len(self._handles) <= number:
            self._handles.append(_open(self._folder, self._root))
            self._is_loaded = False
        return self._handles[number]

    def _load(self, handles: int) -> None:
        self._handle(handles - 1)
        if not self._is_loaded:
            for git in self._handles:
                git.index.read(True)
            self._is_loaded = True


def _compare(git: pygit2.Repository, below: Sequence[bytes]) -> Any:
    """`Index.diff_to_workdir` for some files and folders alone, which pygit2 does not offer."""
    options = ffi.new("git_diff_options *")
    check_error(C.git_diff_options_init(options, 1))
    options.flags = int(_LISTING | DiffOption.DISABLE_PATHSPEC_MATCH)
    # Each as a file and as a folder: libgit2 keeps step with the index, where `a-b` stands before `a/b` but after `a`.
    names = [ffi.new("char []", name) for path in below for name in (path, path + b"/")]
    listed = ffi.new("char *[]", names)
    options.pathspec.strings, options.pathspec.count = listed, len(names)
    found = ffi.new("git_diff **")
    check_error(C.git_diff_index_to_workdir(found, git._repo, git.index._index, options))
    return pygit2.Diff.from_c(bytes(ffi.buffer(found)[:]), git)


def _paths(diff: Any) -> Iterator[bytes]:
    for delta in diff.deltas:
        path = delta.new_file.raw_path
        if b".git" not in path.lower().split(b"/"):
            yield path


def _open(folder: Path, root: bytes) -> pygit2.Repository:
    """Raises `pygit2.GitError`."""
    paths = pygit2.settings.search_path
    with _opening:
        # The paths are the whole process's: emptied only while libgit2 reads the configuration, which it then keeps.
        before = [paths[level] for level in _LEVELS]
        try:
            for level in _LEVELS:
                paths[level] = ""
            git = pygit2.Repository(str(folder), RepositoryOpenFlag.BARE)
            git.config  # noqa: B018 - read now
            git.workdir = os.fsdecode(root)
        except (UnicodeError, ValueError) as error:
            raise pygit2.GitError(str(error)) from error
        finally:
            for level, path in zip(_LEVELS, before, strict=True):
                paths[level] = path
    return git


def _processors() -> int:
    """That this process may use."""
    with contextlib.suppress(AttributeError, OSError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
