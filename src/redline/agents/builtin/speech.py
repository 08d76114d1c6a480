"""What a model is just saying: its text and thoughts, piece by piece into the log's streams."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponseStreamEvent

    from redline.sessions.log import SessionLog
    from redline.sessions.stream import TextStream

Kind = Literal["assistant/message", "assistant/thought"]


class Speech:
    """One answer's text. Each text part of the answer is a message of the log; one is open at a time, so that they are
    committed in the order in which they were said. Closing commits what was said so far."""

    def __init__(self, log: SessionLog, turn: int) -> None:
        self._log = log
        self._turn = turn
        self._answer = log.seq
        """Names this answer's messages: no other answer of the session starts at the same event."""
        self._kinds: dict[int, Kind] = {}
        self._opened: Counter[int] = Counter()
        self._open: int | None = None
        self._stream: TextStream | None = None

    async def hear(self, event: ModelResponseStreamEvent) -> None:
        """Take one event of the answer's stream; those that carry no text pass by."""
        if event.event_kind == "part_start":
            if event.part.part_kind == "text":
                self._kinds[event.index] = "assistant/message"
                await self._say(event.index, event.part.content)
            elif event.part.part_kind == "thinking":
                self._kinds[event.index] = "assistant/thought"
                await self._say(event.index, event.part.content)
        elif event.event_kind == "part_delta" and event.delta.part_delta_kind in ("text", "thinking"):
            await self._say(event.index, event.delta.content_delta or "")

    async def aclose(self) -> None:
        """Commit what is open."""
        stream, self._stream, self._open = self._stream, None, None
        if stream is not None:
            await stream.close()

    async def _say(self, index: int, text: str) -> None:
        if not text:
            return
        if self._stream is None or self._open != index:
            await self.aclose()
            # A part that goes on after another has begun goes on as a message of its own.
            again = f".{self._opened[index]}" if self._opened[index] else ""
            name = f"{self._answer}.{index}{again}"
            self._stream = self._log.text(self._kinds[index], self._turn, name)
            self._opened[index] += 1
            self._open = index
        await self._stream.write(text)
