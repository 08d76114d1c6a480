"""Text that a model is just writing: shown at once, committed within a second, and never a secret in pieces.

What is shown and what is committed are the same characters: the text as the door masks it. A secret is recognised only
once it is whole, so the end of the text is held back until it cannot grow into one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol

from redline.sessions.gate import escaped
from redline.sessions.growing_text import GrowingText
from redline.sessions.redaction import Redactor

COMMIT_SECONDS = 1.0
"""The longest that shown text waits for its commit."""
COMMIT_CHARACTERS = 64 * 2**10


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of a message that is shown before it is committed."""

    message: str
    turn: int
    type: str
    """`assistant/message` or `assistant/thought`."""
    text: str
    offset: int = 0
    """Characters of the message before this piece, so that a listener can tell what is committed already."""


class Log(Protocol):
    """What a stream needs of its log."""

    @property
    def redactor(self) -> Redactor: ...

    def tell_text(self, delta: TextDelta) -> None: ...

    async def append_masked(self, type: str, data: dict[str, Any]) -> Any: ...  # noqa: A002


class TextStream:
    """One message. `write` what arrives, then `close`; both raise what a commit in between raised."""

    def __init__(self, log: Log, type: str, turn: int, message: str) -> None:  # noqa: A002
        self._log = log
        self._type = type
        self._turn = turn
        self._message = message
        self._text = GrowingText(log.redactor)
        self._shown = 0
        self._waiting: list[str] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._commits: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None
        self._closed = False
        self._meta: Any = None

    async def write(self, delta: str, meta: Any = None) -> None:
        """Show and keep a further piece of the message. `meta`: JSON that came with it and is kept beside it; a piece
        with one is committed at once instead of being shown before."""
        if self._closed:
            raise ValueError(f"message {self._message} is closed")
        self._raise()
        if meta != self._meta:
            await self._commit()
            self._meta = meta
        self._show(self._text.feed(escaped(delta)))
        if self._size >= COMMIT_CHARACTERS or self._meta is not None:
            await self._commit()

    async def close(self) -> None:
        """Show and commit the rest; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._show(self._text.end())
        if self._timer is not None:
            self._timer.cancel()
        await self._commit()
        if self._commits:
            await asyncio.gather(*self._commits)
        self._raise()

    def _show(self, text: str) -> None:
        if not text:
            return
        if self._meta is None:
            self._log.tell_text(TextDelta(self._message, self._turn, self._type, text, self._shown))
        self._shown += len(text)
        self._waiting.append(text)
        self._size += len(text)
        if self._timer is None and not self._closed:
            self._timer = asyncio.get_running_loop().call_later(COMMIT_SECONDS, self._due)

    def _due(self) -> None:
        self._timer = None
        commit = asyncio.ensure_future(self._commit_later())
        self._commits.add(commit)
        commit.add_done_callback(self._commits.discard)

    async def _commit_later(self) -> None:
        try:
            await self._commit()
        except Exception as error:
            self._error = self._error or error

    async def _commit(self) -> None:
        text, self._waiting, self._size = "".join(self._waiting), [], 0
        if text:
            data = {"turn": self._turn, "message": self._message, "text": text}
            if self._meta is not None:
                data["meta"] = self._log.redactor.mask_json(self._meta, foreign=True)[0]
            await self._log.append_masked(self._type, data)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error
