"""Discord as a surface: what is typed and pressed there goes to the desk, over its gateway (no public address)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import discord
from discord import app_commands
from discord.gateway import DiscordWebSocket

from redline.gateway.roster import GatewayError
from redline.surfaces.chat.commands import COMMANDS
from redline.surfaces.chat.desk import CLOSED, Desk, Person, Rules
from redline.surfaces.chat.platform import Pace, Place
from redline.surfaces.discord.calls import LONGEST_WAIT, DiscordCalls
from redline.surfaces.discord.layout import ID
from redline.surfaces.visible import visible

if TYPE_CHECKING:
    from redline.gateway.gateway import Gateway
    from redline.surfaces.chat.places import Places

_log = logging.getLogger(__name__)

BASE_URL = "https://discord.com/api/v10"
_READY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class DiscordAccess:
    bot_token: str
    base_url: str = BASE_URL


class DiscordClient(discord.Client):
    """discord.py's client with a desk behind it."""

    def __init__(self, gateway: Gateway, places: Places, rules: Rules, pace: Pace | None = None) -> None:
        intents = discord.Intents(guilds=True, messages=True, message_content=True)
        super().__init__(
            intents=intents, allowed_mentions=discord.AllowedMentions.none(), max_ratelimit_timeout=LONGEST_WAIT
        )
        self.desk = Desk(DiscordCalls(self, pace), gateway, places, rules)
        self._places = places
        self._unthreaded: set[int] = set()
        """Channels of which it was told that no thread can be opened there."""
        self.tree = app_commands.CommandTree(self)
        for name, what in COMMANDS.items():
            self.tree.add_command(_command(self.desk, name, what))

    async def setup_hook(self) -> None:
        await self.tree.sync()

    async def on_message(self, message: discord.Message) -> None:
        """In a server: a mention, or anything in a thread that is a session. A mention in a channel opens a thread."""
        if message.author.bot or self.user is None:
            return
        text = re.sub(rf"<@!?{self.user.id}>", "", message.content).strip()
        person = Person(str(message.author.id), message.author.display_name)
        place = Place(str(message.channel.id))
        if message.guild is not None:
            mentioned = self.user in message.mentions
            is_session = self._places.session("discord", place) is not None
            if not mentioned and not (is_session and isinstance(message.channel, discord.Thread)):
                return
            if mentioned and isinstance(message.channel, discord.TextChannel) and self.desk.admits(person):
                place = await self._thread(message, text) or place
        self.desk.take(place, text, person)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        custom_id = str(dict(interaction.data or {}).get("custom_id", ""))
        if interaction.type is not discord.InteractionType.component or not custom_id.startswith(f"{ID}:"):
            return
        await interaction.response.defer()
        _, token, choice = custom_id.split(":", 2)
        user = interaction.user
        said = await self.desk.pressed(token, choice, Person(str(user.id), user.display_name))
        if said:
            await interaction.followup.send(
                said[:1900], ephemeral=True, allowed_mentions=discord.AllowedMentions.none()
            )
            if said == CLOSED and interaction.message is not None:
                await _take_buttons(interaction.message)

    async def _thread(self, message: discord.Message, text: str) -> Place | None:
        """None: threads are not allowed here, so the channel itself is the place."""
        name = " ".join(text.split())[:90] or "Redline"
        try:
            return Place(str((await message.create_thread(name=name)).id))
        except discord.HTTPException as error:
            _log.warning("No thread could be opened: %s", error)
            channel = message.channel.id
            if channel not in self._unthreaded:
                self._unthreaded.add(channel)
                said = f"Discord refuses to open a thread in {channel}: {visible(str(error))}"
                self.desk.rules.tell(f"{said}; see docs/discord.md, step 2")
            return None


class DiscordSurface:
    """`async with` connects and, at its end, leaves."""

    def __init__(
        self, gateway: Gateway, places: Places, rules: Rules, access: DiscordAccess, pace: Pace | None = None
    ) -> None:
        self._elsewhere = access.base_url != BASE_URL
        if self._elsewhere:
            discord.http.Route.BASE = access.base_url.rstrip("/")
        self._client = DiscordClient(gateway, places, rules, pace)
        self._token = access.bot_token
        self._connection: asyncio.Task[None] | None = None

    async def __aenter__(self) -> DiscordSurface:
        """Raises `GatewayError` DISCORD where the token is not taken, or the bot may not read messages."""
        try:
            await self._connect()
        except BaseException:
            await self._leave()
            raise
        await self._client.desk.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.desk.close()
        await self._leave()

    async def stay(self) -> None:
        """Ends, or raises, once nothing is heard any more: the token was revoked, an intent taken away."""
        assert self._connection is not None
        await asyncio.wait({self._connection})
        if not self._connection.cancelled():
            _say_why(self._connection.exception())

    async def _connect(self) -> None:
        try:
            await self._client.login(self._token)
        except discord.LoginFailure as error:
            raise GatewayError(
                "DISCORD", f"Discord does not take the bot token: {error}", "docs/discord.md says where it comes from."
            ) from error
        if self._elsewhere:
            # The library has the address of Discord's gateway built in; whoever stands before the API names another.
            _, address, _ = await self._client.http.get_bot_gateway()
            built_in = DiscordWebSocket.DEFAULT_GATEWAY
            DiscordWebSocket.DEFAULT_GATEWAY = type(built_in)(address)
        self._connection = asyncio.get_running_loop().create_task(self._client.connect())
        ready = asyncio.get_running_loop().create_task(self._client.wait_until_ready())
        try:
            await asyncio.wait({self._connection, ready}, timeout=_READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if self._connection.done():
            _say_why(self._connection.exception())

    async def _leave(self) -> None:
        await self._client.close()
        if self._connection is not None:
            self._connection.cancel()
            await asyncio.wait({self._connection})


def _say_why(error: BaseException | None) -> None:
    if isinstance(error, discord.PrivilegedIntentsRequired):
        raise GatewayError(
            "DISCORD",
            "The bot may not read what is written.",
            "Switch on “Message Content Intent” on the Bot page of the developer portal; docs/discord.md shows where.",
        ) from error
    if error is not None:
        raise error


def _command(desk: Desk, name: str, what: str) -> app_commands.Command[Any, Any, Any]:
    """A slash command that hands what follows it to the desk, which answers in the channel."""

    async def run(interaction: discord.Interaction, words: str = "") -> None:
        await interaction.response.send_message(f"/{name} {words}".strip(), ephemeral=True)
        person = Person(str(interaction.user.id), interaction.user.display_name)
        desk.take(Place(str(interaction.channel_id)), f"/{name} {words}", person)

    return app_commands.Command(name=name, description=what[:100], callback=run)


async def _take_buttons(message: discord.Message) -> None:
    """Off a message of an earlier process."""
    standing = discord.ui.LayoutView.from_message(message)
    if isinstance(standing, discord.ui.LayoutView):
        for item in list(standing.children):
            if isinstance(item, discord.ui.ActionRow):
                standing.remove_item(item)
        with contextlib.suppress(discord.HTTPException):
            await message.edit(view=standing)
