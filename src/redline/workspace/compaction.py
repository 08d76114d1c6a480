"""Compressing the bytes of closed sessions, in the background: nobody waits for it, and an exit hardly does."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import TYPE_CHECKING

from redline.workspace.error import BytesError

if TYPE_CHECKING:
    from redline.workspace.store import ByteStore

_log = logging.getLogger(__name__)


class Compaction:
    """Sessions are compressed one after the other, on a thread that does not keep the process alive."""

    def __init__(self, store: ByteStore) -> None:
        self._store = store
        self._waiting: deque[str] = deque()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, session: str) -> None:
        """Compress what it keeps, soon. A session that is never added again after an exit is left as it is, whole."""
        with self._lock:
            self._waiting.append(session)
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._run, name="redline-compaction", daemon=True)
                self._thread.start()

    def close(self, patience: float) -> None:
        """Let it work for so many seconds, then stop it at the next object, without waiting any longer."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(patience)
        self._stop.set()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting or self._stop.is_set():
                    self._thread = None
                    return
                session = self._waiting.popleft()
            try:
                self._store.compact(session, self._stop)
            except BytesError as error:  # deleted meanwhile, or no room: it stays as it was
                _log.info("the bytes of session %s were not compressed: %s", session, error)
            except Exception:
                _log.exception("the bytes of session %s were not compressed", session)
