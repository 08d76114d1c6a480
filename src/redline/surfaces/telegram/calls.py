"""Telegram's Bot API as a chat platform.

Rich messages first (Bot API 10.1); a server that knows none gets HTML from then on, and a server that cannot parse the
entities of an HTML message gets its text alone. So nothing is ever silently missing.
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from aiogram.exceptions import (
    TelegramAPIError,
    TelegramBadRequest,
    TelegramEntityTooLarge,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramNotFound,
    TelegramRetryAfter,
)
from aiogram.types import BufferedInputFile, LinkPreviewOptions

from redline.surfaces.chat.platform import Barred, Pace, Refused, Wait
from redline.surfaces.telegram.rich import HTML, RICH, html_text, keyboard, plain_text, rich_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aiogram import Bot

    from redline.surfaces.chat.paginate import Measure
    from redline.surfaces.chat.parts import File, Message
    from redline.surfaces.chat.platform import Place

_log = logging.getLogger(__name__)

_GROUP_PACE = Pace(gap=3.1, burst=2, refill=9.0)
"""20 messages a minute in a group (core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this)."""
_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)


class TelegramCalls:
    name = "telegram"
    mark = "/"

    def __init__(self, bot: Bot, pace: Pace | None = None) -> None:
        self.measure: Measure = RICH
        self._bot = bot
        self._pace = pace

    def pace(self, channel: str) -> Pace:
        """A group's id is negative (core.telegram.org/bots/api#chat, and its dialogs)."""
        return self._pace or (_GROUP_PACE if channel.startswith("-") else Pace())

    async def post(self, place: Place, message: Message) -> str:
        chat, topic = _chat(place)
        with _answers():
            if self.measure is RICH:
                with self._unless_unknown():
                    sent = await self._bot.send_rich_message(
                        chat, rich_message(message), message_thread_id=topic, reply_markup=keyboard(message)
                    )
                    return str(sent.message_id)
            try:
                sent = await self._bot.send_message(
                    chat, html_text(message), parse_mode="HTML", message_thread_id=topic,
                    reply_markup=keyboard(message), link_preview_options=_NO_PREVIEW,
                )  # fmt: skip
            except TelegramBadRequest as error:
                if not _unparsed(error):
                    raise
                sent = await self._bot.send_message(
                    chat, plain_text(message), parse_mode=None, message_thread_id=topic,
                    reply_markup=keyboard(message), link_preview_options=_NO_PREVIEW,
                )  # fmt: skip
            return str(sent.message_id)

    async def edit(self, place: Place, posted: str, message: Message) -> None:
        with _answers(), _same_is_well():
            await self._edit(_chat(place)[0], int(posted), message)

    async def delete(self, place: Place, posted: str) -> None:
        """Within 48 hours (core.telegram.org/bots/api#deletemessage)."""
        with _answers():
            await self._bot.delete_message(_chat(place)[0], int(posted))

    async def upload(self, place: Place, file: File) -> str:
        chat, topic = _chat(place)
        with _answers():
            sent = await self._bot.send_document(
                chat, BufferedInputFile(file.content, file.name), message_thread_id=topic, caption=file.title or None,
                parse_mode=None, disable_content_type_detection=True,
            )  # fmt: skip
        return str(sent.message_id)

    async def _edit(self, chat: int, posted: int, message: Message) -> None:
        if self.measure is RICH:
            with self._unless_unknown():
                await self._bot.edit_message_text(
                    chat_id=chat, message_id=posted, rich_message=rich_message(message), reply_markup=keyboard(message)
                )
                return
        try:
            await self._bot.edit_message_text(
                html_text(message), chat_id=chat, message_id=posted, parse_mode="HTML",
                reply_markup=keyboard(message), link_preview_options=_NO_PREVIEW,
            )  # fmt: skip
        except TelegramBadRequest as error:
            if not _unparsed(error):
                raise
            await self._bot.edit_message_text(
                plain_text(message), chat_id=chat, message_id=posted, parse_mode=None,
                reply_markup=keyboard(message), link_preview_options=_NO_PREVIEW,
            )  # fmt: skip

    @contextlib.contextmanager
    def _unless_unknown(self) -> Iterator[None]:
        """A server that knows no rich messages, or takes none of ours: measure and send HTML from now on."""
        try:
            yield
        except (TelegramBadRequest, TelegramNotFound) as error:
            said = error.message.lower()
            if isinstance(error, TelegramBadRequest) and "rich" not in said and "text is empty" not in said:
                raise
            _log.warning("No rich messages from now on: %s", error.message)
            self.measure = HTML
            raise Wait(0) from error


def _chat(place: Place) -> tuple[int, int | None]:
    return int(place.channel), int(place.thread) if place.thread else None


@contextlib.contextmanager
def _answers() -> Iterator[None]:
    try:
        yield
    except TelegramRetryAfter as error:
        raise Wait(float(error.retry_after)) from error
    except (
        TelegramBadRequest, TelegramNotFound, TelegramForbiddenError, TelegramMigrateToChat, TelegramEntityTooLarge,
    ) as error:  # fmt: skip
        if isinstance(error, TelegramForbiddenError) or _lacks_rights(error):
            raise Barred(error.message, "docs/telegram.md") from error
        raise Refused(error.message) from error


@contextlib.contextmanager
def _same_is_well() -> Iterator[None]:
    """Telegram refuses an edit that changes nothing."""
    try:
        yield
    except TelegramBadRequest as error:
        if "not modified" not in error.message:
            raise


def _lacks_rights(error: TelegramAPIError) -> bool:
    """Such as "not enough rights to send text messages to the chat"; an administrator may give them."""
    return "rights to send" in error.message or "CHAT_WRITE_FORBIDDEN" in error.message


def _unparsed(error: TelegramBadRequest) -> bool:
    return "parse entities" in error.message
