"""How far sweeps go, and what is said where they go no further."""

# Paths are bytes here, as names on disk need not be text.
# ruff: noqa: PTH118

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from redline.workspace.error import BytesError, SnapshotError

_NAMED_ONLY = "From now on only the files that a call names are checked."
_NAMED_FILES = 5
"""That may not be read, of which a notice gives the names."""
_ADVICE = "Start Redline in the folder that is worked on, or let git ignore what is generated."


@dataclass(frozen=True, slots=True)
class Limits:
    """Past one of these only paths that calls name are looked at."""

    files: int = 200_000
    """That are not ignored."""
    bytes: int = 1 << 30
    """Of a first snapshot, compressed, where no git repository has the bytes already."""
    seconds: float = 10.0
    """Of a sweep, twice in a row."""
    first_seconds: float = 30.0
    """Of a first snapshot."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Why not everything is seen, or kept: a stable code, what the matter is, what can be done."""

    code: str
    """TOO_MANY_FILES, TOO_LARGE, TOO_SLOW, UNREADABLE, PERMISSION, IO: sweeps have been given up. NO_SPACE: likewise,
    or what was found could not be kept. FILE_UNREADABLE: some files are not looked at, all others are. SNAPSHOT_LOST:
    what changed before this start is not known. WORKSPACE_GONE: the folder itself is no more."""
    message: str
    remedy: str

    @property
    def is_of_files(self) -> bool:
        """It concerns the files that it names, and nothing else."""
        return self.code == "FILE_UNREADABLE"

    @property
    def matter(self) -> str:
        """What is said once: of other files it is said again."""
        return self.message if self.is_of_files else self.code


SNAPSHOT_LOST = Limit(
    "SNAPSHOT_LOST",
    "The record of how the workspace was is damaged; what changed between the last session and now is not known.",
    "Nothing need be done: from now on changes are seen again.",
)


def gone(root: Path) -> Limit:
    return Limit(
        "WORKSPACE_GONE",
        f"The workspace {root} is gone: it was deleted, or moved away, with all that was in it.",
        "Make the folder again; redline undo then puts back the files whose bytes are kept.",
    )


def too_many(files: int) -> Limit:
    return Limit("TOO_MANY_FILES", f"The workspace holds more than {files:,} files. {_NAMED_ONLY}", _ADVICE)


def too_large(size: int) -> Limit:
    return Limit("TOO_LARGE", f"The workspace's files take more than {size >> 20:,} MiB. {_NAMED_ONLY}", _ADVICE)


def too_slow(what: str, seconds: float) -> Limit:
    return Limit("TOO_SLOW", f"{what} took more than {seconds:g} s. {_NAMED_ONLY}", _ADVICE)


def failed(error: OSError | BytesError | SnapshotError) -> Limit:
    if isinstance(error, BytesError):
        return Limit(error.code, f"{error.message} {_NAMED_ONLY}", error.remedy)
    if isinstance(error, SnapshotError):
        return Limit(
            "UNREADABLE",
            f"The workspace could not be compared: {error}. {_NAMED_ONLY}",
            "Look at that file or folder, then start Redline again.",
        )
    return Limit("IO", f"The snapshot could not be kept: {error}. {_NAMED_ONLY}", "Check the disk, then start again.")


def unkept(error: BytesError) -> Limit:
    return Limit(error.code, f"{error.message} What was just found is shown, but cannot be undone.", error.remedy)


def unreadable(paths: Sequence[str]) -> Limit:
    """`paths`: of the files, at least one."""
    named = ", ".join(paths[:_NAMED_FILES]) + (f" and {len(paths) - _NAMED_FILES} more" if paths[_NAMED_FILES:] else "")
    them = "it" if len(paths) == 1 else "them"
    return Limit(
        "FILE_UNREADABLE",
        f"May not be read: {named}. What is done to {them} is not seen; all other files are looked at.",
        f"Make {them} readable, and Redline looks at {them} again.",
    )


def has_more_files(root: Path, most: int, seconds: float, is_ignored: Callable[[bytes], bool]) -> Limit | None:
    """Whether a walk meets more than `most` files in folders that are not ignored, or takes too long."""
    end = time.monotonic() + seconds
    count = 0
    for names in _files_by_folder(os.fsencode(root), is_ignored):
        count += names
        if count > most:
            return too_many(most)
        if time.monotonic() > end:
            return too_slow("Counting the workspace's files", seconds)
    return None


def _files_by_folder(root: bytes, is_ignored: Callable[[bytes], bool]) -> Iterator[int]:
    waiting = [b""]
    while waiting:
        folder = waiting.pop()
        files = 0
        try:
            with os.scandir(os.path.join(root, folder)) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        files += 1
                    elif entry.name != b".git" and not is_ignored(os.path.join(folder, entry.name) + b"/"):
                        waiting.append(os.path.join(folder, entry.name))
        except OSError:
            continue
        yield files
