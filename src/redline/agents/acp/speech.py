"""What a foreign agent is just saying: its text and thoughts, piece by piece into the log's streams."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redline.agents.acp.bulk import Bulk
    from redline.agents.acp.calls import Calls
    from redline.agents.acp.normalise import Text
    from redline.sessions.log import SessionLog
    from redline.sessions.stream import TextStream

SILENCE_SECONDS = 2.0
"""After its turn nothing tells when an agent has said all: so long it must have been silent. A model that writes a word
a second goes on in its message; and of what was said, only an end that may be the beginning of a secret is not shown
meanwhile."""
_LONG = 1 << 20
"""Characters of a message that are taken at once, so that an event has room for them."""

_log = logging.getLogger(__name__)


class Speech:
    """One message is open at a time, so that they are committed in the order in which they were said. It is open until
    another begins or `end` is called, since a secret is recognised only in the whole of a message; of what comes after
    its turn, at the latest until the agent has been silent."""

    def __init__(self, log: SessionLog, bulk: Bulk, calls: Calls) -> None:
        self._log = log
        self._bulk = bulk
        self._calls = calls
        """Which turn it is, and whether it still runs."""
        self._lock = asyncio.Lock()
        """A turn may come to its end while something is still being said."""
        self._stream: TextStream | None = None
        self._said: tuple[int, str, str | None] = (0, "", None)
        """Turn, kind and the agent's own id of the message that was begun last."""
        self._messages = 0
        self._silence: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    async def say(self, heard: Text) -> None:
        """Take a piece of what the agent says."""
        if not heard.text:
            return
        meta = None if heard.meta is None else await self._bulk.slim(heard.meta)
        async with self._lock:
            self._wait_no_more()
            stream = await self._stream_for(heard)
            if not self._calls.running:
                self._silence = asyncio.get_running_loop().call_later(SILENCE_SECONDS, self._end_of, stream)
            for start in range(0, len(heard.text), _LONG):
                await stream.write(heard.text[start : start + _LONG], meta)
            if heard.alone:
                await self._fall_silent()

    async def end(self) -> None:
        """Commit what was being said."""
        async with self._lock:
            await self._fall_silent()

    async def _stream_for(self, heard: Text) -> TextStream:
        turn, (of_turn, kind, message) = self._calls.turn, self._said
        goes_on = (turn, heard.kind) == (of_turn, kind) and heard.message in (None, "", message)
        if self._stream is None or not goes_on or heard.alone:
            await self._fall_silent()
            self._messages += 1
            self._said = (turn, heard.kind, heard.message)
            type_ = "assistant/message" if heard.kind == "agent" else "assistant/thought"
            self._stream = self._log.text(type_, turn, f"{self._log.seq}.{self._messages}")
        return self._stream

    async def _fall_silent(self) -> None:
        self._wait_no_more()
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.close()

    def _wait_no_more(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _end_of(self, stream: TextStream) -> None:
        """The agent has been silent since its last piece of this message."""
        self._silence = None
        ending = asyncio.ensure_future(self._end_unless_it_goes_on(stream))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _end_unless_it_goes_on(self, stream: TextStream) -> None:
        async with self._lock:
            if self._stream is not stream or self._silence is not None:
                return
            try:
                await self._fall_silent()
            except Exception:  # no turn is there to fail, as with a message that cannot be handled after its end
                _log.exception("what an agent said after its turn could not be kept")
