"""Discord on loopback: simcord's model of it behind a web server, for discord.py as it is.

simcord answers discord.py in its own process, where nothing goes over a wire. Here its model (messages, threads,
permissions, components and their limits, interactions) is served: REST and uploads over HTTP, events over a web
socket (docs.discord.com/developers/events/gateway: hello, identify, heartbeats, dispatch, resume). Beside what simcord
enforces:
- a file has at most 10 MiB, else 413 with code 40005 (docs.discord.com/developers/reference#uploading-files);
- a rate limit is 429 with `Retry-After` and `retry_after` (docs.discord.com/developers/topics/rate-limits): at a test's
  word;
- an interaction is answered within three seconds, else its token is of no use
  (docs.discord.com/developers/interactions/receiving-and-responding): `answered` holds how long each took.
"""

from __future__ import annotations

import asyncio
import io
import json
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import discord
import simcord.http.client  # registers the routes
from aiohttp import WSMsgType, web
from simcord import interactions
from simcord.backend import Backend, serializers
from simcord.backend.errors import BackendError
from simcord.http import router

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

assert simcord.http.client is not None
FILE_LIMIT = 10 * 2**20
_HELLO, _IDENTIFY, _HEARTBEAT, _ACK, _RESUME = 10, 2, 1, 11, 6


@dataclass
class Loopback:
    """One server with a text channel, and Ada in it."""

    backend: Backend
    base_url: str = ""
    token: str = "right"
    refusals: dict[str, list[tuple[int, dict[str, Any]]]] = field(default_factory=dict)
    """By method of HTTP: what it answers instead for messages, first come first."""
    answered: list[float] = field(default_factory=list)
    connections: int = 0
    _sockets: list[web.WebSocketResponse] = field(default_factory=list)
    _events: asyncio.Queue[tuple[str, dict[str, Any]]] = field(default_factory=asyncio.Queue)
    _asked: dict[str, float] = field(default_factory=dict)
    _sequence: int = 0

    def __post_init__(self) -> None:
        backend = self.backend
        owner = backend.make_user("owner")
        self.guild = backend.create_guild("Test", owner_id=owner.id)
        backend.add_member(self.guild.id, backend.bot_user.id)
        self.channel = backend.create_channel(self.guild.id, "dev", announce=False)
        self.ada = self.member("ada")
        backend.subscribers.append(lambda event, payload: self._events.put_nowait((event, json.loads(_json(payload)))))

    def member(self, name: str) -> Any:
        user = self.backend.make_user(name)
        self.backend.add_member(self.guild.id, user.id)
        return user

    # What a test does.

    def type(self, text: str, channel: int | None = None) -> None:
        self.backend.create_message(channel or self.channel.id, self.ada.id, text)

    def mention(self, text: str) -> None:
        self.type(f"<@{self.backend.bot_user.id}> {text}")

    def press(self, label: str, user: Any = None) -> None:
        """The button of that name, wherever it stands."""
        user = user or self.ada
        for messages in list(self.backend.messages.values()):
            for message in list(messages.values()):
                for button in _buttons(message.components):
                    if button.get("label") == label:
                        data = {"custom_id": button["custom_id"], "component_type": 2}
                        record, payload = interactions.base_payload(
                            self.backend, type=3, channel_id=message.channel_id, guild_id=self.guild.id,
                            user_id=user.id, data=data,
                        )  # fmt: skip
                        record.message_id = message.id
                        payload["message"] = serializers.message_payload(self.backend, message)
                        self._asked[record.token] = time.monotonic()
                        self.backend.emit("INTERACTION_CREATE", payload)
                        return
        raise AssertionError(f"no button {label!r}")

    async def drop(self, code: int = 1011) -> None:
        """The connection for events ends, with a code of docs.discord.com/developers/topics/opcodes-and-status-codes:
        4004 is a token that is not valid (any more)."""
        for socket in self._sockets:
            await socket.close(code=code)

    @property
    def posted(self) -> list[Any]:
        """The bot's messages, as they stand."""
        bot = self.backend.bot_user.id
        return [
            one
            for messages in self.backend.messages.values()
            for one in messages.values()
            if one.author_id == bot and not one.is_ephemeral and (one.components or one.attachments)
        ]

    def said(self) -> str:
        return "\n".join(text for message in self.posted for text in texts(message.components))

    def told(self) -> str:
        """To one person alone."""
        every = [one for messages in self.backend.messages.values() for one in messages.values()]
        return "\n".join(one.content for one in every if one.is_ephemeral)

    def has_buttons(self) -> bool:
        return any(any(_buttons(message.components)) for message in self.posted)

    def files(self) -> list[tuple[str, bytes]]:
        every = [one for message in self.posted for one in message.attachments]
        return [(one["filename"], self.backend.cdn.get(one["url"]) or b"") for one in every]

    # What Discord does.

    def app(self) -> web.Application:
        app = web.Application(client_max_size=4 * FILE_LIMIT)
        app.router.add_get("/api/v10/gateway/bot", self._gateway)
        app.router.add_route("*", "/api/v10/{path:.*}", self._rest)
        app.router.add_get("/socket/", self._socket)
        return app

    async def _gateway(self, _: web.Request) -> web.Response:
        limit = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
        return _answer(200, {"url": self._socket_url(), "shards": 1, "session_start_limit": limit})

    def _socket_url(self) -> str:
        return self.base_url.replace("http", "ws").replace("/api/v10", "/socket/")

    async def _rest(self, request: web.Request) -> web.Response:
        path = "/" + request.match_info["path"]
        by_token = path.startswith(("/interactions/", "/webhooks/"))
        if not by_token and request.headers.get("Authorization") != f"Bot {self.token}":
            return _answer(401, {"message": "401: Unauthorized", "code": 0})
        if path.endswith("/callback"):
            self.answered.append(time.monotonic() - self._asked.pop(path.split("/")[3], time.monotonic()))
        if "/messages" in path and self.refusals.get(request.method):
            return _answer(*self.refusals[request.method].pop(0))
        body, files = await _parts(request)
        if any(len(file.fp.getbuffer()) > FILE_LIMIT for file in files):  # type: ignore[attr-defined]
            return _answer(413, {"message": "Request entity too large", "code": 40005})
        try:
            said = router.dispatch(
                self.backend, request.method, path, json=body, params=dict(request.query), files=files, reason=None
            )
        except BackendError as error:
            return _answer(error.status, error.to_json())
        return _answer(200, said) if said is not None else web.Response(status=204)

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self._sockets.append(socket)
        self.connections += 1
        await socket.send_json({"op": _HELLO, "d": {"heartbeat_interval": 41_250}})
        pump = None
        async for message in socket:
            sent = json.loads(message.data) if message.type == WSMsgType.TEXT else {}
            if sent.get("op") == _HEARTBEAT:
                await socket.send_json({"op": _ACK})
            elif sent.get("op") == _IDENTIFY:
                pump = asyncio.create_task(self._pump(socket, self._first()))
            elif sent.get("op") == _RESUME:
                pump = asyncio.create_task(self._pump(socket, [("RESUMED", {})]))
        if pump is not None:
            pump.cancel()
        return socket

    def _first(self) -> list[tuple[str, Any]]:
        ready = {
            "v": 10, "user": dict(serializers.user_payload(self.backend.bot_user)), "guilds": [], "session_id": "s",
            "resume_gateway_url": self._socket_url(), "shard": [0, 1],
            "application": {"id": str(self.backend.application_id), "flags": 0},
        }  # fmt: skip
        return [("READY", ready), ("GUILD_CREATE", serializers.guild_create_payload(self.backend, self.guild))]

    async def _pump(self, socket: web.WebSocketResponse, first: list[tuple[str, Any]]) -> None:
        while True:
            event, payload = first.pop(0) if first else await self._events.get()
            self._sequence += 1
            await socket.send_str(_json({"op": 0, "s": self._sequence, "t": event, "d": payload}))


async def _parts(request: web.Request) -> tuple[Any, list[discord.File]]:
    """The JSON of a request, and its files."""
    if not request.content_type.startswith("multipart/"):
        raw = await request.read()
        return (json.loads(raw) if raw else None), []
    body, files = None, []
    async for part in await request.multipart():
        data = await part.read()  # type: ignore[union-attr]
        if part.name == "payload_json":  # type: ignore[union-attr]
            body = json.loads(data)
        else:
            files.append(discord.File(io.BytesIO(data), filename=part.filename))  # type: ignore[union-attr]
    return body, files


def _answer(status: int, body: Any) -> web.Response:
    headers = {"Content-Type": "application/json"}  # with a charset, discord.py takes it for text
    if status == 429:
        headers |= {"Retry-After": str(body["retry_after"]), "Via": "1.1 google"}  # without `Via`, it is a ban
    return web.Response(status=status, body=_json(body).encode(), headers=headers)


def _json(value: Any) -> str:
    return json.dumps(value, default=str)


def _flat(components: Any) -> list[Mapping[str, Any]]:
    return [one for component in components for one in [component, *_flat(component.get("components") or [])]]


def _buttons(components: Any) -> list[Mapping[str, Any]]:
    return [one for one in _flat(components) if one.get("type") == 2]


def texts(components: Any) -> list[str]:
    return [str(one["content"]) for one in _flat(components) if "content" in one]


@asynccontextmanager
async def loopback() -> AsyncIterator[Loopback]:
    """Discord's addresses are the library's own for the whole process, so they are put back at the end."""
    made = Loopback(Backend())
    runner = web.AppRunner(made.app(), shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/api/v10"
    kept = discord.http.Route.BASE, discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY
    try:
        yield made
    finally:
        discord.http.Route.BASE, discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY = kept
        await runner.cleanup()
