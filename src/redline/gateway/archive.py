"""The archive: every session of one data folder, with its log, its bytes and its lease.

sessions.db   the session logs
bytes/        before and after of every change
leases/       who runs which session
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redline
from redline.sessions.lease import Lease, busy, is_running
from redline.sessions.log import SessionLog, new_session_name
from redline.sessions.redaction import Redactor
from redline.sessions.sqlite import SqliteStore
from redline.sessions.store import StoreError, Summary
from redline.tools.recovery import Recovery, recover
from redline.workspace.compaction import Compaction
from redline.workspace.observe import Observer
from redline.workspace.store import CAP, FILE_LIMIT, ByteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from redline.files.seam import Files

LAST = "last"
"""Names the session that was used last."""


COMPACTION_SECONDS = 0.3
"""How long closing waits at most for the bytes of closed sessions to be compressed."""


@dataclass(slots=True)
class OpenSession:
    """A session that this process runs: it holds the lease until `close`."""

    log: SessionLog
    store: ByteStore
    redactor: Redactor
    lease: Lease
    recovery: Recovery | None = None
    """What was closed when a session was resumed; None: nothing was looked at, since it is new."""
    closed: Callable[[str], None] | None = None
    """Hears its name once it has been closed."""

    def close(self) -> None:
        """Give the lease back; a second call does nothing."""
        self.lease.release()
        if self.closed is not None:
            self.closed(self.log.session)
            self.closed = None

    def __enter__(self) -> OpenSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Archive:
    """Made by `open`. Reading needs no lease; writing a session does."""

    def __init__(self, data: Path, store: SqliteStore, content: ByteStore) -> None:
        self.data = data
        self.store = store
        self.bytes = content
        self.redactor = Redactor()
        self._compaction = Compaction(content)

    @classmethod
    def open(cls, data: Path, *, file_limit: int = FILE_LIMIT, cap: int = CAP) -> Archive:
        """Open the data folder, private to the user; it is made if it is not there. Blocks for a moment.

        Raises `StoreError`: PERMISSION, NEWER_SCHEMA, CORRUPT, NO_SPACE or IO. `file_limit` and `cap` bound the bytes
        kept of a file and of all sessions.
        """
        _make_private(data)
        return cls(
            data, SqliteStore.open(data / "sessions.db"), ByteStore(data / "bytes", file_limit=file_limit, cap=cap)
        )

    async def list(self, *, limit: int = 100, before: int | None = None) -> list[Summary]:
        """Newest first; no events are read."""
        return await self.store.sessions(limit=limit, before=before)

    async def summary(self, session: str) -> Summary:
        """Raises `StoreError` NO_SESSION."""
        found = await self.store.summary(session)
        if found is None:
            raise _no_session(session)
        return found

    async def find(self, name: str) -> str:
        """The session that `name` means: its id, `last`, or the beginning of one id or of its random end, as long as no
        other session fits. Raises `StoreError`: NO_SESSION, or AMBIGUOUS with the ids that fit."""
        if await self.store.summary(name) is not None:
            return name
        ids = [summary.session for summary in await self.store.sessions(limit=1 if name == LAST else 100_000)]
        if name == LAST:
            if ids:
                return ids[0]
            raise _no_session(name)
        wanted = name.lower()
        fitting = [one for one in ids if one.startswith(wanted) or one.rpartition("-")[2].startswith(wanted)]
        if not wanted or not fitting:
            raise _no_session(name)
        if len(fitting) > 1:
            shown = ", ".join(fitting[:5]) + (f" and {len(fitting) - 5} more" if len(fitting) > 5 else "")
            raise StoreError("AMBIGUOUS", f"{name!r} fits {len(fitting)} sessions: {shown}.", "Give more of the id.")
        return fitting[0]

    def is_running(self, session: str) -> bool:
        """Some live process, perhaps this one, holds it."""
        return is_running(self._leases, session)

    def require_free(self, session: str) -> None:
        """Raises `StoreError` BUSY for a session that runs, as whatever would change it does."""
        if self.is_running(session):
            raise busy(self._leases, session)

    async def start(
        self, workspace: Path, agent: str, *, model: str = "", surface: str = "", more: Mapping[str, Any] | None = None
    ) -> OpenSession:
        """A new session with its first event. `more` goes into `session/started` beside what this knows itself."""
        session = new_session_name()
        log = await SessionLog.create(self.store, self.redactor, session=session, blobs=self.bytes.sink(session))
        log.leases = self._leases
        lease = await self._take(log.session)
        data = {"workspace": str(workspace), "agent": agent, "surface": surface, "redline": redline.__version__}
        try:
            await log.append("session/started", {**(more or {}), **data, **({"model": model} if model else {})})
        except BaseException:
            lease.release()
            raise
        return OpenSession(log, self.bytes, self.redactor, lease, closed=self._compaction.add)

    async def resume(self, session: str, files: Files) -> OpenSession:
        """A session of before, by its full id. What a crash left open is closed truthfully first, by looking at the
        disk through `files`. Raises `StoreError`: NO_SESSION, or BUSY while it runs elsewhere."""
        summary = await self.summary(session)
        lease = await self._take(session)
        try:
            log = await SessionLog.open(self.store, self.redactor, session, blobs=self.bytes.sink(session))
            log.leases = self._leases
            recovery = await self._recovered(log, files, Path(summary.workspace))
        except BaseException:
            lease.release()
            raise
        return OpenSession(log, self.bytes, self.redactor, lease, recovery, self._compaction.add)

    async def _recovered(self, log: SessionLog, files: Files, workspace: Path) -> Recovery:
        if not workspace.is_absolute() or not await asyncio.to_thread(workspace.is_dir):
            return await recover(log, self.bytes, files)  # a folder that is gone tells nothing of its files
        observer = Observer(workspace, self.bytes, log.session, self.redactor)
        try:
            return await recover(log, self.bytes, files, observer=observer)
        finally:
            await observer.close()

    async def delete(self, session: str) -> bool:
        """Remove a session with its bytes; False: there was none. Raises `StoreError` BUSY for one that runs."""
        lease = await self._take(session)
        try:
            try:
                found = await self.store.delete(session)
            except StoreError as error:
                if error.code != "NO_SPACE":
                    raise
                # Its bytes first then, which takes no space and gives back what they took.
                found = await asyncio.to_thread(self.bytes.delete, session)
                return await self.store.delete(session) or found
            kept = await asyncio.to_thread(self.bytes.delete, session)
        finally:
            lease.release()
        return found or kept

    async def close(self) -> None:
        await self.store.close()
        await asyncio.to_thread(self._compaction.close, COMPACTION_SECONDS)

    async def __aenter__(self) -> Archive:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def _leases(self) -> Path:
        return self.data / "leases"

    async def _take(self, session: str) -> Lease:
        return await asyncio.to_thread(Lease.take, self._leases, session)


def _make_private(data: Path) -> None:
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        if data.stat().st_uid == os.getuid() and data.stat().st_mode & 0o077:
            data.chmod(0o700)
    except OSError as error:
        code = "PERMISSION" if isinstance(error, PermissionError) else "IO"
        raise StoreError(
            code,
            f"The data folder {data} cannot be used: {error.strerror}.",
            "Mend it, or name another one with data in the configuration or REDLINE_DATA.",
        ) from error


def _no_session(name: str) -> StoreError:
    return StoreError("NO_SESSION", f"There is no session {name!r}.", "List them with: redline sessions")
