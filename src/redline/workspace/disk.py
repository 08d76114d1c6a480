"""Writing that lasts: a file is whole under its name and flushed, or it is not there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


NEW_PREFIX = ".new-"
"""Of the name of a file that is being written."""


def write_new_file(path: Path, data: bytes) -> float:
    """Write a private, read-only file under a temporary name, flush it, and rename it into place; seconds that the
    flush took. The folder is not flushed: see `flush_folder`. Raises OSError and leaves nothing behind."""
    beside = path.parent / f"{NEW_PREFIX}{os.getpid()}-{threading.get_ident()}-{time.time_ns()}"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            begun = time.perf_counter()
            flush(descriptor)
            took = time.perf_counter() - begun
        finally:
            os.close(descriptor)
        beside.rename(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    return took


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder, so that a rename survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)


def flush(descriptor: int) -> None:
    """To the disk itself: macOS keeps what `fsync` gives it in the drive's cache, unless asked for more."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        try:
            fcntl.fcntl(descriptor, full)
        except OSError:  # some network and FUSE folders know no such request
            os.fsync(descriptor)
        return
    os.fsync(descriptor)
