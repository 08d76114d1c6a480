"""Where files may be: paths resolved to places inside the roots, and folders opened without following a link."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from redline.files.error import FileError
from redline.files.failures import failure, shown
from redline.files.seam import Target

_WAY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PASS = _WAY | getattr(os, "O_PATH", os.O_RDONLY)  # a folder on the way need only be passable, not readable
_ESCAPED = re.compile(r"\\x([89A-Fa-f][0-9A-Fa-f])")


@dataclass(slots=True)
class Folder:
    """An open folder. What is done in it is done by descriptor: a link put in the path's way later leads nowhere."""

    fd: int
    path: Path
    made: list[Path] = field(default_factory=list)
    """Folders that were created on the way, outermost first."""

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def take_back(self) -> None:
        """Remove the folders that were created, where still empty."""
        for path in reversed(self.made):
            try:
                path.rmdir()
            except OSError:
                return


class Roots:
    """The folders inside which files may be touched."""

    def __init__(self, roots: Sequence[Path]) -> None:
        if not roots:
            raise FileError("NOT_FOUND", "No folder was given to work in.", "Name at least one folder.")
        self.paths = tuple(Path(os.path.realpath(root)) for root in roots)
        for root in self.paths:
            if not root.is_dir():
                raise FileError("NOT_FOUND", f"{shown(root)} is not a folder.", "Name an existing folder.")

    def root_of(self, real: Path) -> Path | None:
        return next((root for root in self.paths if real == root or real.is_relative_to(root)), None)

    def resolve(self, path: str, *, link: bool = False) -> Target:
        """The place that `path` names, every link followed. Relative paths start at the first root; `~` is not
        expanded. `link`: the last step is not followed, and the name is taken to the letter.

        Raises `FileError`: OUTSIDE_WORKSPACE, NOT_FOUND, NOT_REGULAR.
        """
        if not path.strip():
            raise FileError("NOT_FOUND", "The path is empty.", "Name a file.")
        if path.startswith("~"):
            raise FileError(
                "OUTSIDE_WORKSPACE",
                f"{shown(path)} starts with `~`, which is not expanded here.",
                "Use a path inside the workspace; write `./~…` for a file that is really named so.",
            )
        try:
            os.fsencode(path)
            return self._checked(path, link=link)
        except ValueError:  # a NUL, or half a character
            raise FileError(
                "NOT_FOUND", f"{shown(path)} holds a character that no file name can have.", "Check the path."
            ) from None
        except OSError as error:
            raise failure(error, self.paths[0] / path) from error

    def _checked(self, path: str, *, link: bool) -> Target:
        named = self._named(path, to_the_letter=link)
        real = Path(os.path.realpath(named))
        if link:
            folder, name = os.path.split(named)
            real = Path(os.path.realpath(folder), name)
        if self.root_of(real) is None:
            raise FileError(
                "OUTSIDE_WORKSPACE",
                f"{shown(path)} leads to {shown(real)}, outside the workspace {shown(self.paths[0])}.",
                "Use a path inside the workspace.",
            )
        if not link and _is_link(real):
            raise FileError(
                "NOT_REGULAR", f"{shown(path)} is a link that leads in a circle.", "Name the file that is meant."
            )
        if path.endswith("/") and not real.is_dir():
            raise FileError("NOT_FOUND", f"{shown(path)} names a folder that does not exist.", "Name a file.")
        return Target(path=Path(named), real=real, link=link)

    def _named(self, path: str, *, to_the_letter: bool) -> str:
        if path.startswith("//"):  # a place of its own to POSIX, and the root to everybody
            path = "/" + path.lstrip("/")
        joined = self.paths[0] / path
        named = os.path.normpath(joined)
        if ".." in Path(path).parts and os.path.realpath(named) != os.path.realpath(joined):
            return os.path.realpath(joined)  # `..` behind a link: the words lead elsewhere than the disk
        if not to_the_letter and "\\x" in path and not os.path.lexists(named):
            # A name that is not UTF-8 is shown with its odd bytes as \xE9, and understood when it comes back so.
            odd = _ESCAPED.sub(lambda hit: chr(0xDC00 + int(hit[1], 16)), named)
            return odd if os.path.lexists(odd) else named
        return named

    def open_folder(self, path: Path, *, create: bool = False) -> Folder:
        """Open the folder `path` (resolved: no link in it) step by step from its root, following no link.

        `create`: make what is missing, with the umask's permissions. Raises `FileError`.
        """
        root = self.root_of(path)
        if root is None:
            raise FileError("OUTSIDE_WORKSPACE", f"{shown(path)} is outside the workspace.", "Choose a path inside.")
        here = root
        folder = Folder(-1, path)
        steps = path.relative_to(root).parts
        try:
            folder.fd = os.open(root, os.O_DIRECTORY | os.O_CLOEXEC | (_PASS if steps else os.O_RDONLY))
            for number, name in enumerate(steps, 1):
                here = here / name
                self._step(folder, name, here, last=number == len(steps), create=create)
        except OSError as error:
            folder.close()
            folder.take_back()
            raise self._told(error, here) from error
        return folder

    def _step(self, folder: Folder, name: str, here: Path, *, last: bool, create: bool) -> None:
        flags = _WAY | os.O_RDONLY if last else _PASS
        try:
            inner = os.open(name, flags, dir_fd=folder.fd)
        except FileNotFoundError:
            if not create:
                raise
            try:
                os.mkdir(name, dir_fd=folder.fd)
                folder.made.append(here)
            except FileExistsError:
                pass  # somebody else made it meanwhile
            inner = os.open(name, flags, dir_fd=folder.fd)
        folder.close()
        folder.fd = inner

    @staticmethod
    def _told(error: OSError, here: Path) -> FileError:
        try:
            kind = os.lstat(here).st_mode
        except OSError:
            return failure(error, here)
        if stat.S_ISLNK(kind):
            return FileError(
                "OUTSIDE_WORKSPACE",
                f"{shown(here)} has become a link since the path was resolved.",
                "Name the path again, so that the link is checked.",
            )
        if not stat.S_ISDIR(kind):
            return FileError("NOT_REGULAR", f"{shown(here)} is not a folder.", "Choose a path below a folder.")
        return failure(error, here)


def _is_link(path: Path) -> bool:
    """Raises `OSError` for a name that the system does not take, as `Path.is_symlink` does not from Python 3.14 on."""
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return False
        raise
