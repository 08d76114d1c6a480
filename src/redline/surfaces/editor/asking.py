"""What an editor is asked of its files, and how long its answer is waited for."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from redline.protocol.connection import ConnectionClosed, RpcError
from redline.surfaces.editor.buffer_text import plain

if TYPE_CHECKING:
    from redline.files.seam import Content, Target
    from redline.surfaces.editor.screen import Wire

_log = logging.getLogger(__name__)
SECONDS = 30.0
"""How long an editor may take to answer."""
SILENT = "the editor has not answered"
"""Why it did not take a text, as far as is known."""


class Asking:
    """Of one session. `gone` is what each piece of work takes with it as it begins."""

    def __init__(self, wire: Wire, session: str) -> None:
        self._wire = wire
        self._session = session
        self.gone = asyncio.Event()
        """Set once nobody waits any more for what is under way."""

    @property
    def closed(self) -> bool:
        return self._wire.closed

    def let_go(self) -> None:
        self.gone.set()
        self.gone = asyncio.Event()

    async def text(self, target: Target, gone: asyncio.Event) -> str | None:
        """What the buffer holds; None: that is not to be had."""
        try:
            answer = await self._ask("fs/read_text_file", target, gone)
        except (RpcError, ConnectionClosed, TimeoutError) as problem:
            _log.debug("the editor does not read %s: %s", target.path, problem)
            return None
        text = answer.get("content") if isinstance(answer, dict) else None
        return plain(text) if isinstance(text, str) and "\0" not in text else None

    async def write(self, target: Target, content: Content | None, gone: asyncio.Event) -> str | None:
        """Hand the new text to the editor. Why it does not take it; None: it says that it does."""
        text = None if content is None else content.text
        if text is None:
            return "it is no text that an editor can hold"
        try:
            await self._ask("fs/write_text_file", target, gone, content=text)
        except RpcError as problem:
            return f"the editor refused it ({problem.message})"
        except ConnectionClosed:
            return "the editor is gone"
        except TimeoutError:
            return SILENT
        return None

    async def _ask(self, method: str, target: Target, gone: asyncio.Event, **more: str) -> Any:
        """Raises `RpcError`, `ConnectionClosed`, or TimeoutError, also where nobody waits for the answer any more."""
        if gone.is_set():
            raise TimeoutError
        params = {"sessionId": self._session, "path": str(target.path), **more}
        asking = asyncio.ensure_future(self._wire.request(method, params, seconds=SECONDS, withdrawn=True))
        leaving = asyncio.ensure_future(gone.wait())
        try:
            await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                raise TimeoutError
            return asking.result()
        finally:
            asking.cancel()
            leaving.cancel()


def fits(content: Content | None) -> bool:
    """Whether an editor can be handed these bytes: text, and not too large to be held here."""
    return content is not None and content.text is not None
