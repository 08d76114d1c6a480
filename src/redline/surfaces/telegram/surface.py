"""Telegram as a surface: what is typed and pressed there goes to the desk, by long polling (no public address)."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiogram import Bot, Dispatcher
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import TelegramAPIError, TelegramNotFound, TelegramUnauthorizedError
from aiogram.types import BotCommand
from aiogram.utils.token import TokenValidationError

from redline.gateway.roster import GatewayError
from redline.surfaces.chat.commands import COMMANDS
from redline.surfaces.chat.desk import CLOSED, Desk, Person, Rules
from redline.surfaces.chat.platform import Pace, Place
from redline.surfaces.telegram.calls import TelegramCalls

if TYPE_CHECKING:
    from aiogram.types import CallbackQuery, Message

    from redline.gateway.gateway import Gateway
    from redline.surfaces.chat.places import Places

BASE_URL = "https://api.telegram.org"
POLL_SECONDS = 30


@dataclass(frozen=True, slots=True)
class TelegramAccess:
    bot_token: str
    """From @BotFather."""
    base_url: str = BASE_URL


class TelegramSurface:
    """`async with` connects and, at its end, leaves."""

    def __init__(
        self, gateway: Gateway, places: Places, rules: Rules, access: TelegramAccess, pace: Pace | None = None
    ) -> None:
        """Raises `GatewayError` TELEGRAM for what is no token."""
        session = AiohttpSession(api=TelegramAPIServer.from_base(access.base_url))
        try:
            self._bot = Bot(access.bot_token, session=session)
        except TokenValidationError as error:
            raise _refused(str(error)) from error
        self.desk = Desk(TelegramCalls(self._bot, pace), gateway, places, rules)
        self._dispatcher = Dispatcher()
        self._dispatcher.message.register(self._message)
        self._dispatcher.callback_query.register(self._button)
        self._name = ""
        self._id = 0
        self._polling: asyncio.Task[None] | None = None

    async def __aenter__(self) -> TelegramSurface:
        """Raises `GatewayError` TELEGRAM where the token is not taken."""
        try:
            me = await self._bot.get_me()
            self._name, self._id = me.username or "", me.id
        except (TelegramUnauthorizedError, TelegramNotFound) as error:
            await self._bot.session.close()
            raise _refused(error.message) from error
        except BaseException:
            await self._bot.session.close()
            raise
        with contextlib.suppress(TelegramAPIError):
            await self._bot.set_my_commands(
                [BotCommand(command=name, description=what[:250]) for name, what in COMMANDS.items()]
            )
        await self.desk.start()
        polling = self._dispatcher.start_polling(
            self._bot, polling_timeout=POLL_SECONDS, handle_signals=False, close_bot_session=False
        )
        self._polling = asyncio.get_running_loop().create_task(polling)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.wait({self._polling})
        await self.desk.close()
        await self._bot.session.close()

    async def stay(self) -> None:
        """Ends, or raises, once nothing is heard any more."""
        assert self._polling is not None
        await asyncio.shield(self._polling)

    # What Telegram sends.

    async def _message(self, message: Message) -> None:
        text = message.text or message.caption or ""
        if message.from_user is None or message.from_user.is_bot or not text:
            return
        mention = f"@{self._name}"
        if message.chat.type != "private" and not self._is_meant(message, text, mention):
            return
        text = text.replace(mention, "").strip()
        topic = str(message.message_thread_id) if message.is_topic_message and message.message_thread_id else ""
        person = Person(str(message.from_user.id), message.from_user.full_name)
        self.desk.take(Place(str(message.chat.id), topic), "/help" if text == "/start" else text, person)

    def _is_meant(self, message: Message, text: str, mention: str) -> bool:
        """In a group: by a command, a mention, or as an answer to a message of ours."""
        replied = message.reply_to_message
        return (
            text.startswith("/")
            or mention in text
            or (replied is not None and replied.from_user is not None and replied.from_user.id == self._id)
        )

    async def _button(self, query: CallbackQuery) -> None:
        token, _, choice = (query.data or "").partition(" ")
        said = await self.desk.pressed(token, choice, Person(str(query.from_user.id), query.from_user.full_name))
        await query.answer(said[:200] or None, show_alert=bool(said))
        if said == CLOSED and query.message is not None:
            with contextlib.suppress(TelegramAPIError):
                await self._bot.edit_message_reply_markup(
                    chat_id=query.message.chat.id, message_id=query.message.message_id, reply_markup=None
                )


def _refused(said: str) -> GatewayError:
    return GatewayError(
        "TELEGRAM", f"Telegram does not take the bot token: {said}", "docs/telegram.md says where it comes from."
    )
