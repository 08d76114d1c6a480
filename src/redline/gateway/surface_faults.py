"""Surfaces that failed to show something: said once of each, and nothing else comes of it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from redline.sessions.gate import GateError
from redline.sessions.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_log = logging.getLogger(__name__)


class SurfaceFaults:
    """In one session; call it with the name of the surface and what it raised."""

    def __init__(self, notice: Callable[[str, str, str], Awaitable[None]]) -> None:
        """`notice` keeps a code, a message and a remedy in the log."""
        self._notice = notice
        self._faulty: set[str] = set()
        self._telling: set[asyncio.Task[None]] = set()

    def __call__(self, name: str, error: Exception) -> None:
        _log.error("The surface %s failed", name, exc_info=error)
        if name in self._faulty:
            return
        self._faulty.add(name)
        message = f"The surface {name!r} failed to show something: {type(error).__name__}: {error}"
        task = asyncio.get_running_loop().create_task(self._tell(message))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def told(self, seconds: float) -> None:
        """Wait until the log has what there is to say, but no longer than `seconds`."""
        if self._telling:
            await asyncio.wait(self._telling, timeout=seconds)

    async def _tell(self, message: str) -> None:
        try:
            await self._notice("SURFACE_FAULT", message, "The log holds everything: redline show draws it again.")
        except (StoreError, GateError):
            _log.exception("A notice could not be kept")
