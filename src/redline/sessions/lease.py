"""Who runs a session: a lock that the system takes back when its holder dies, in whatever way."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

from redline.sessions.store import StoreError, is_session_name

_TRIES = 10
_PAUSE = 0.01
"""Seconds. `is_running` holds the lock for a moment, which is no reason to call a session busy."""


class Lease:
    """Held from `take` to `release`, by one process and one lease in it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, folder: Path, session: str) -> Lease:
        """Raise `StoreError` BUSY if another live holder has it, PERMISSION, NO_SPACE or IO if the file cannot be
        made."""
        path = _lock_file(folder, session)
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(_PAUSE)
            descriptor = _open(path)
            if _locked(descriptor, fcntl.LOCK_EX) and _is_still(path, descriptor):
                _sign(path, descriptor)
                return cls(path, descriptor)
            os.close(descriptor)
        raise busy(folder, session)

    def release(self) -> None:
        """Give it back; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        # Deleted while still locked: whoever opened the old file in the meantime finds it gone and opens a new one.
        if _is_still(self._path, descriptor):
            self._path.unlink(missing_ok=True)
        os.close(descriptor)

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def busy(folder: Path, session: str) -> StoreError:
    """What is said of a session that some live process holds."""
    holder = _holder(_lock_file(folder, session))
    return StoreError(
        "BUSY", f"Session {session} is in use by {holder}.", "Close it there, or start a new session here."
    )


def is_running(folder: Path, session: str) -> bool:
    """Whether some live process holds the session's lease."""
    try:
        descriptor = os.open(_lock_file(folder, session), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _locked(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def held(folder: Path) -> list[str]:
    """The sessions whose leases some live process holds, perhaps this one."""
    try:
        names = sorted(path.stem for path in folder.iterdir() if path.suffix == ".lock")
    except OSError:
        return []
    return [name for name in names if is_session_name(name) and is_running(folder, name)]


def _lock_file(folder: Path, session: str) -> Path:
    if not is_session_name(session):
        raise StoreError("NO_SESSION", f"{session!r} is not the name of a session.", "List them: redline sessions.")
    return folder / f"{session}.lock"


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _told(error, path) from error


def _sign(path: Path, descriptor: int) -> None:
    """Write into a locked file who holds it. On a full disk it stays unsaid: the lock is what counts, and without it no
    session could be deleted."""
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return
        path.unlink(missing_ok=True)
        os.close(descriptor)
        raise _told(error, path) from error


def _told(error: OSError, path: Path) -> StoreError:
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError("PERMISSION", f"{path} cannot be written: {error.strerror}.", "Check who owns the folder.")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError("NO_SPACE", f"{path} cannot be written: {error.strerror}.", "Free some space and try again.")
    return StoreError("IO", f"{path} cannot be opened: {error.strerror}.", "Check the folder and its disk.")


def _locked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether the locked file is the one that stands at the path."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _holder(path: Path) -> str:
    try:
        number = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        number = ""
    return f"process {number}" if number.isdigit() else "another process"
