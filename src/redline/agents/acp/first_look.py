"""The first look at the workspace, and at what the log says of the agent's past: in the background, since nobody has to
wait for it but the first prompt."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from redline.agents.acp.past import Past

if TYPE_CHECKING:
    from redline.agents.acp.watch import Watch
    from redline.sessions.log import SessionLog


class FirstLook:
    """Of one agent in one session."""

    def __init__(self, log: SessionLog, watch: Watch) -> None:
        self.past = Past()
        """As it is known so far."""
        self._log = log
        self._watch = watch
        self._looking: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Once; whoever waits for it begins it, too."""
        self._begun()

    async def done(self) -> Past:
        """Wait for it; raises what it raised."""
        await asyncio.shield(self._begun())
        return self.past

    async def done_within(self, seconds: float) -> bool:
        """Wait for it no longer than that. True: it has been taken."""
        looking = self._begun()
        await asyncio.wait({looking}, timeout=seconds)
        return looking.done() and looking.exception() is None

    async def end(self) -> None:
        """Break it off, if it still goes on."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})

    def _begun(self) -> asyncio.Task[None]:
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        return self._looking

    async def _look(self) -> None:
        self.past = await Past.read(self._log)
        await self._watch.start(self.past.changes)
        await self._watch.keep()
