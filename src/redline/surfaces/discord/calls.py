"""Discord's API as a chat platform: messages of components, files as attachments, nobody ever pinged."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING

import discord

from redline.surfaces.chat.platform import Barred, Pace, Refused, Wait
from redline.surfaces.discord.layout import MEASURE, view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redline.surfaces.chat.parts import File, Message
    from redline.surfaces.chat.platform import Place

LONGEST_WAIT = 30.0
"""Seconds of a rate limit that the library waits out by itself; it takes no less. Above it, `Wait`."""
_BARRED = (50001, 50013)
"""Missing Access, Missing Permissions: somebody may give them
(discord.com/developers/docs/topics/opcodes-and-status-codes#json)."""
_NOBODY = discord.AllowedMentions.none()


class DiscordCalls:
    name = "discord"
    mark = "/"
    measure = MEASURE

    def __init__(self, client: discord.Client, pace: Pace | None = None) -> None:
        self._client = client
        self._pace = pace or Pace()

    def pace(self, channel: str) -> Pace:  # noqa: ARG002 - the same for all
        return self._pace

    async def post(self, place: Place, message: Message) -> str:
        with _answers():
            sent = await self._channel(place).send(view=view(message), allowed_mentions=_NOBODY)
        return str(sent.id)

    async def edit(self, place: Place, posted: str, message: Message) -> None:
        with _answers():
            standing = self._channel(place).get_partial_message(int(posted))
            await standing.edit(view=view(message), allowed_mentions=_NOBODY)

    async def delete(self, place: Place, posted: str) -> None:
        with _answers():
            await self._channel(place).get_partial_message(int(posted)).delete()

    async def upload(self, place: Place, file: File) -> str:
        with _answers():
            attached = discord.File(io.BytesIO(file.content), filename=file.name)
            sent = await self._channel(place).send(file=attached, allowed_mentions=_NOBODY)
        return str(sent.id)

    def _channel(self, place: Place) -> discord.PartialMessageable:
        return self._client.get_partial_messageable(int(place.channel))


@contextlib.contextmanager
def _answers() -> Iterator[None]:
    try:
        yield
    except discord.RateLimited as error:
        raise Wait(error.retry_after) from error
    except discord.HTTPException as error:
        if error.status == 429:
            raise Wait(LONGEST_WAIT) from error
        if error.code in _BARRED:
            raise Barred(f"{error.code} {error.text}", "docs/discord.md, step 2") from error
        if error.status in (400, 403, 404, 413):
            raise Refused(f"{error.code} {error.text}") from error
        raise
