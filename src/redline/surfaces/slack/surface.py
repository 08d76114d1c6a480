"""Slack as a surface: what is typed and pressed there goes to the desk, over Socket Mode (no public address)."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from redline.gateway.roster import GatewayError
from redline.surfaces.chat.desk import CLOSED, Desk, Person, Rules
from redline.surfaces.chat.platform import Pace, Place
from redline.surfaces.slack.blocks import escaped
from redline.surfaces.slack.calls import SlackCalls, reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redline.gateway.gateway import Gateway
    from redline.surfaces.chat.places import Places

BASE_URL = "https://slack.com/api/"
_REMEMBERED = 1000
_HEARD = frozenset((None, "file_share", "thread_broadcast"))
"""Subtypes of a message that somebody typed (docs.slack.dev/reference/events/message)."""


@dataclass(frozen=True, slots=True)
class SlackAccess:
    bot_token: str
    """`xoxb-…`: what the app may do in the workspace."""
    app_token: str
    """`xapp-…`, with `connections:write`: Socket Mode."""
    base_url: str = BASE_URL


class SlackSurface:
    """`async with` connects and, at its end, leaves."""

    def __init__(
        self, gateway: Gateway, places: Places, rules: Rules, access: SlackAccess, pace: Pace | None = None
    ) -> None:
        self._client = AsyncWebClient(token=access.bot_token, base_url=access.base_url)
        self.desk = Desk(SlackCalls(self._client, pace), gateway, places, rules)
        self._places = places
        self._app = AsyncApp(client=self._client)
        self._handler = AsyncSocketModeHandler(self._app, access.app_token)
        self._bot = ""
        self._seen: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._app.event("app_mention")(self._mentioned)
        self._app.event("message")(self._message)
        self._app.command("/redline")(self._slash)
        self._app.action(re.compile(r"redline\.answer\."))(self._button)

    async def __aenter__(self) -> SlackSurface:
        """Raises `GatewayError` SLACK, saying which token was not taken."""
        try:
            await self._connect()
        except BaseException:
            await self._handler.close_async()  # type: ignore[no-untyped-call]
            raise
        await self.desk.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._handler.close_async()  # type: ignore[no-untyped-call]
        await self.desk.close()

    async def stay(self) -> None:
        """Does not end: the library connects again by itself."""
        await asyncio.Event().wait()

    async def _connect(self) -> None:
        try:
            self._bot = str((await self._client.auth_test())["user_id"])
        except SlackApiError as error:
            raise _refused("bot token", error) from error
        try:
            # Asked for here and not by the handler, which tries a token that is refused again for ever.
            opened = await self._client.apps_connections_open(app_token=self._handler.app_token)
        except SlackApiError as error:
            raise _refused("app token", error) from error
        self._handler.client.wss_uri = str(opened["url"])
        await self._handler.connect_async()  # type: ignore[no-untyped-call]

    # What Slack sends. Bolt acknowledges events at once; what they begin runs on beside.

    async def _mentioned(self, event: Mapping[str, Any]) -> None:
        self._heard(event, Place(str(event["channel"]), str(event.get("thread_ts") or event["ts"])))

    async def _message(self, event: Mapping[str, Any]) -> None:
        if event.get("subtype") not in _HEARD or event.get("bot_id"):
            return
        if event.get("channel_type") == "im":
            self._heard(event, Place(str(event["channel"]), str(event.get("thread_ts") or "")))
            return
        # In a channel, only a thread that is a session; what mentions the app comes as a mention, too.
        place = Place(str(event["channel"]), str(event.get("thread_ts") or ""))
        mentions = f"<@{self._bot}>" in str(event.get("text", ""))
        if place.thread and not mentions and self._places.session("slack", place) is not None:
            self._heard(event, place)

    async def _slash(self, ack: Any, command: Mapping[str, Any]) -> None:
        await ack()
        person = Person(str(command["user_id"]), str(command.get("user_name", "")))
        text = "/" + (str(command.get("text", "")).strip() or "help")
        self.desk.take(Place(str(command["channel_id"])), text, person)

    async def _button(self, ack: Any, body: Mapping[str, Any], action: Mapping[str, Any]) -> None:
        await ack()
        user = body["user"]
        person = Person(str(user["id"]), str(user.get("name") or user.get("username") or ""))
        token, _, choice = str(action.get("value", "")).partition(" ")
        said = await self.desk.pressed(token, choice, person)
        if said:
            channel, message = str(body["channel"]["id"]), body.get("message") or {}
            await self._client.chat_postEphemeral(
                channel=channel, user=person.id, thread_ts=message.get("thread_ts"), text=escaped(said)
            )
            if said == CLOSED:
                await self._take_buttons(channel, message)

    async def _take_buttons(self, channel: str, message: Mapping[str, Any]) -> None:
        """Off a message of an earlier process."""
        kept = [block for block in message.get("blocks", ()) if block.get("type") != "actions"]
        with contextlib.suppress(SlackApiError):
            await self._client.chat_update(
                channel=channel, ts=str(message.get("ts", "")), text=str(message.get("text", "")), blocks=kept
            )

    def _heard(self, event: Mapping[str, Any], place: Place) -> None:
        """Slack sends an event again that it thinks was not taken."""
        mark = (str(event["channel"]), str(event["ts"]))
        if mark in self._seen:
            return
        self._seen[mark] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        text = plain(str(event.get("text", "")), self._bot)
        self.desk.take(place, text, Person(str(event.get("user", "")), ""))


_LINK = re.compile(r"<(?P<what>[^<>|]+)(?:\|(?P<label>[^<>]*))?>")


def plain(text: str, bot: str) -> str:
    """What was typed: the mention of the app gone, links and the three escapes undone
    (docs.slack.dev/messaging/formatting-message-text#retrieving). Slack makes a link of a file's name that could be a
    domain's, such as `README.md`."""

    def undone(match: re.Match[str]) -> str:
        what, label = match["what"], match["label"]
        if what == f"@{bot}":
            return ""
        if what[0] in "@#!":
            return f"{what[0]}{label}" if label else what
        if label and what == f"http://{label}":
            return str(label)
        return what.removeprefix("mailto:")

    text = _LINK.sub(undone, text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()


def _refused(what: str, error: SlackApiError) -> GatewayError:
    return GatewayError(
        "SLACK", f"Slack does not take the {what}: {reason(error)}.", "docs/slack.md says where each token comes from."
    )
