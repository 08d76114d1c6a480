"""The live `git diff HEAD` of one file, read with libgit2: nothing that a repository configures is run, and nothing in
it is written. Secrets are masked as at the log's door."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pygit2
from pygit2.enums import FileStatus

from redline.changes.compare import describe, without_basis
from redline.changes.record import Side
from redline.changes.retype import joined
from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.asked import require_shown
from redline.surfaces.dashboard.changes import shown_change
from redline.surfaces.dashboard.place import text
from redline.workspace.logged import as_logged

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.files.seam import Target
    from redline.sessions.redaction import Redactor
    from redline.surfaces.dashboard.place import Place

BASIS = 10 * 2**20
"""Bytes of a side above which no lines are compared: the bound of the diff basis."""
_PLAIN, _EXECUTABLE, _LINK = 0o100644, 0o100755, 0o120000

State = Literal["clean", "modified", "untracked", "not_in_git"]


@dataclass(frozen=True, slots=True)
class _File:
    data: bytes | None
    """None: over the bound."""
    size: int
    mode: int

    @property
    def side(self) -> Side:
        return Side(blob="", size=self.size, executable=self.mode == _EXECUTABLE)


class _NoFileError(Exception):
    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.problem = wire.Problem(code=code, message=message, remedy=remedy)


def file_diff(target: Target, place: Place, redactor: Redactor) -> wire.FileDiff:
    """Blocks. What goes wrong is the answer `failed`. Raises `GatewayError` SECRET_FILE only: nothing is said of such a
    file."""
    path = os.fspath(target.path)
    require_shown(path)
    require_shown(os.path.realpath(path))
    state: State | Literal["failed"] = "failed"
    change, problem = None, None
    try:
        state, change = _looked_up(target.path, redactor)
    except _NoFileError as failed:
        problem = failed.problem
    except (pygit2.GitError, OSError, ValueError) as error:
        remedy = "Try `git diff HEAD` in a terminal there."
        problem = wire.Problem(code="GIT", message=text(f"git cannot tell: {error}."), remedy=remedy)
    return wire.FileDiff(
        path=text(path),
        name=place.name(path),
        state=state,
        change=None if change is None else shown_change(place, change, whole=True),
        problem=problem,
    )


def _looked_up(path: Path, redactor: Redactor) -> tuple[State, FileChange | None]:
    repository = _repository(path)
    if repository is None:
        return "not_in_git", None
    inside = os.path.relpath(Path(os.path.realpath(path.parent)) / path.name, os.path.realpath(repository.workdir))
    head, now = _in_head(repository, inside), _on_disk(path)
    status = _status(repository, inside)
    if (head is None and now is None) or (head is not None and now is not None and status == FileStatus.CURRENT):
        return "clean", None
    before, after = None if head is None else head.data, None if now is None else now.data
    require_shown(str(path), before, after)
    if head is not None and now is not None and (before is None or after is None):
        change = without_basis(str(path), "modify", head.side, now.side, provenance="observed")
    elif (head is not None and before is None) or (now is not None and after is None):
        operation: Literal["add", "delete"] = "add" if head is None else "delete"
        sides = (None if head is None else head.side, None if now is None else now.side)
        change = without_basis(str(path), operation, *sides, provenance="observed")
    else:
        if before is not None and after is not None and b"\r" not in before and _is_normalised(repository, inside):
            after = after.replace(b"\r\n", b"\n")
        modes = (None if head is None else head.mode, None if now is None else now.mode)
        if before == after and modes[0] == modes[1]:
            return "clean", None
        change = _compared(str(path), before, after, modes)
    known = head is not None or bool(status & FileStatus.INDEX_NEW)
    return ("modified" if known else "untracked"), as_logged(change, before, after, redactor)


def _compared(path: str, before: bytes | None, after: bytes | None, modes: tuple[int | None, int | None]) -> FileChange:
    if before is not None and after is not None and (modes[0] == _LINK) != (modes[1] == _LINK):
        halves = [_compared(path, before, None, (modes[0], None)), _compared(path, None, after, (None, modes[1]))]
        (change,) = joined(halves)
        return change
    return describe(
        path,
        before,
        after,
        before_executable=modes[0] == _EXECUTABLE,
        after_executable=modes[1] == _EXECUTABLE,
        file_type="symlink" if _LINK in modes else None,
        provenance="observed",
    )


def _repository(path: Path) -> pygit2.Repository | None:
    """The innermost one that the file stands in."""
    folder = path.parent
    while not folder.is_dir():  # the file may be gone with its folder
        folder = folder.parent
    found = pygit2.discover_repository(str(folder))
    if found is None or ".git" in folder.parts:
        return None
    repository = pygit2.Repository(found)
    return None if repository.is_bare else repository


def _in_head(repository: pygit2.Repository, inside: str) -> _File | None:
    if repository.head_is_unborn:
        return None
    try:
        found = repository.head.peel(pygit2.Commit).tree[inside]
    except KeyError:
        return None
    if not isinstance(found, pygit2.Blob):
        raise _NoFileError("NOT_REGULAR", "HEAD has a folder or a submodule of that name.", "Name a file inside it.")
    return _File(None if found.size > BASIS else found.data, found.size, int(found.filemode))


def _on_disk(path: Path) -> _File | None:
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            return _File(os.fsencode(path.readlink()), found.st_size, _LINK)
        if not stat.S_ISREG(found.st_mode):
            raise _NoFileError("NOT_REGULAR", "This is a folder or a device, not a file.", "Name a file.")
        mode = _EXECUTABLE if found.st_mode & stat.S_IXUSR else _PLAIN
        return _File(None if found.st_size > BASIS else _bytes(path), found.st_size, mode)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _bytes(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - of a descriptor
        return file.read(BASIS)


def _status(repository: pygit2.Repository, inside: str) -> FileStatus:
    try:
        return FileStatus(repository.status_file(inside)) & ~FileStatus.IGNORED
    except KeyError:
        return FileStatus.CURRENT


def _is_normalised(repository: pygit2.Repository, inside: str) -> bool:
    """git takes CRLF on the disk for the LF that it keeps."""
    attribute = repository.get_attr(inside, "text")
    if attribute is None and repository.get_attr(inside, "eol") is None:
        try:
            return repository.config["core.autocrlf"] in ("true", "input")
        except KeyError:
            return False
    return attribute is not False
