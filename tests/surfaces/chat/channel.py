"""A platform in memory: it keeps what stands in it, and answers as it is told to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from redline.surfaces.chat.parts import Buttons, File, Message, Page
from redline.surfaces.chat.platform import Pace, Place, Refused
from surfaces.chat.readback import PLATFORMS

_NO_PAGE = Message(())

if TYPE_CHECKING:
    from redline.surfaces.chat.paginate import Measure


@dataclass
class Channel:
    name: str = "slack"
    mark: str = "/"
    measure: Measure = PLATFORMS[0].measure
    tempo: Pace = field(default_factory=Pace)
    stands: dict[str, Page] = field(default_factory=dict)
    calls: list[tuple[float, str, str]] = field(default_factory=list)
    """When, what, and what came of it."""
    answers: list[BaseException | None] = field(default_factory=list)
    """To the next calls."""
    seconds: float = 0.0
    dies: tuple[str, bool] | None = None
    """The next call of that kind never ends; whether it is carried out all the same."""
    died: asyncio.Event = field(default_factory=asyncio.Event)

    def pace(self, channel: str) -> Pace:
        return self.tempo

    async def post(self, place: Place, message: Message) -> str:
        return await self._call("post", message)

    async def edit(self, place: Place, posted: str, message: Message) -> None:
        await self._call("edit", message, posted)

    async def delete(self, place: Place, posted: str) -> None:
        await self._call("delete", _NO_PAGE, posted)

    async def upload(self, place: Place, file: File) -> str:
        return await self._call("upload", file)

    async def _call(self, what: str, page: Page, posted: str = "") -> str:
        at = asyncio.get_running_loop().time()
        if self.seconds:
            await asyncio.sleep(self.seconds)
        answer = self.answers.pop(0) if self.answers else None
        self.calls.append((at, what, type(answer).__name__ if answer else "ok"))
        if answer is not None:
            raise answer
        posted = posted or f"m{len(self.calls)}"
        if self.dies is None or self.dies[0] != what:
            self._do(what, page, posted)
            return posted
        if self.dies[1]:
            self._do(what, page, posted)
        self.dies = None
        self.died.set()
        await asyncio.Event().wait()
        raise AssertionError

    def _do(self, what: str, page: Page, posted: str) -> None:
        if what == "delete":
            if self.stands.pop(posted, None) is None:
                raise Refused("message_not_found")
        else:
            self.stands[posted] = page

    def count(self, what: str = "") -> int:
        return sum(not what or one == what for _, one, _ in self.calls)

    def texts(self) -> list[str]:
        return [
            getattr(piece, "text", "")
            for page in self.stands.values()
            if isinstance(page, Message)
            for piece in page.pieces
        ]

    def said(self) -> str:
        return "\n".join(
            f"{getattr(piece, 'head', '')}\n{getattr(piece, 'text', '')}".strip("\n")
            for page in self.stands.values()
            if isinstance(page, Message)
            for piece in page.pieces
        )

    def buttons(self) -> list[Buttons]:
        pages = [page for page in self.stands.values() if isinstance(page, Message)]
        return [piece for page in pages for piece in page.pieces if isinstance(piece, Buttons)]

    def files(self) -> list[File]:
        return [page for page in self.stands.values() if isinstance(page, File)]
