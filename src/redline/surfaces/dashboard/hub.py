"""The hub: the channels and streams of one dashboard."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

from redline.gateway.roster import GatewayError
from redline.sessions.store import StoreError
from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.channel import Channel, event
from redline.surfaces.dashboard.problems import problem_of
from redline.surfaces.dashboard.states import summary
from redline.surfaces.dashboard.stream import SUBSCRIPTION_LIMIT, Stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from redline.gateway.gateway import Gateway, Listed

STREAM_LIMIT = 1000
"""Open streams: far more than tabs, far fewer than the system's files."""
_LOOK_SECONDS = 5.0
_GONE = wire.Problem(code="NO_SESSION", message="This session was deleted.", remedy="Choose another one.")


class Hub:
    """`end` before the server stops, so that no open stream keeps it."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self._channels: dict[str, Channel] = {}
        self._streams: dict[str, Stream] = {}
        self._leave = gateway.listen(self._listed)
        self._looking = asyncio.get_running_loop().create_task(self._look())
        self._ended = False

    async def channel(self, session: str) -> Channel:
        """Of a session; it stays while a tab looks or a turn runs. Raises as `Gateway.open`."""
        room = await self.gateway.open(session)
        channel = self._channels.get(session)
        if channel is None or channel.room is not room:
            if channel is not None:
                channel.close()
            channel = self._channels[session] = Channel(room)
        return channel

    async def open(self, wanted: Sequence[wire.Subscription], *, listing: bool) -> Stream:
        """A stream with its first subscriptions. Raises `GatewayError` BUSY or STOPPING."""
        if self._ended:
            raise GatewayError("STOPPING", "Redline is stopping.", "Start it again; this page then goes on by itself.")
        if len(self._streams) >= STREAM_LIMIT:
            raise GatewayError("BUSY", "Too many streams are open.", "Close other tabs.")
        stream = Stream(secrets.token_urlsafe(12), listing=listing, catch_up=self._catch_up)
        self._streams[stream.identity] = stream
        stream.push("", 0, event("hello", wire.StreamHello(stream=stream.identity)))
        await self.change(stream.identity, wire.Subscriptions(subscribe=tuple(wanted)))
        return stream

    async def change(self, identity: str, wanted: wire.Subscriptions) -> None:
        """Subscribe and unsubscribe. A session that cannot be opened is told on the stream; the others go on. Raises
        `GatewayError` NO_STREAM."""
        stream = self._streams.get(identity)
        if stream is None:
            raise GatewayError("NO_STREAM", "This stream is not open.", "Open a new one: GET /api/stream.")
        for session in wanted.unsubscribe:
            self._part(stream, session)
        for one in wanted.subscribe:
            self._part(stream, one.session)
            try:
                if len(stream.cursors) >= SUBSCRIPTION_LIMIT:
                    raise GatewayError("BUSY", "This stream has as many sessions as it can.", "Unsubscribe from some.")
                channel = await self.channel(one.session)
            except (StoreError, GatewayError) as error:
                stream.push("", 0, event("reset", wire.StreamReset(session=one.session, problem=problem_of(error))))
                continue
            stream.cursors[one.session] = one.after
            channel.join(stream, one.after)

    async def chunks(self, stream: Stream) -> AsyncIterator[bytes]:
        """What the response sends; the stream is gone once it ends, in whatever way."""
        try:
            async for chunk in stream.chunks():
                yield chunk
        finally:
            self._streams.pop(stream.identity, None)
            for session in list(stream.cursors):
                self._part(stream, session)

    def end(self) -> None:
        """End every stream; a second call does nothing."""
        self._ended = True
        self._leave()
        self._looking.cancel()
        for stream in list(self._streams.values()):
            stream.end()
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()

    def _part(self, stream: Stream, session: str) -> None:
        stream.forget(session)
        if (channel := self._channels.get(session)) is not None:
            channel.streams.discard(stream)

    def _catch_up(self, stream: Stream, session: str, after: int) -> None:
        if (channel := self._channels.get(session)) is not None:
            channel.flush()
            channel.catch_up(stream, after)

    def _listed(self, changed: Sequence[Listed], gone: Sequence[str]) -> None:
        data = event("sessions", wire.StreamSessions(sessions=[summary(one) for one in changed], removed=list(gone)))
        for stream in self._streams.values():
            if stream.listing:
                stream.push("", 0, data)
        for session in gone:
            if (channel := self._channels.pop(session, None)) is not None:
                channel.fail(_GONE)
                channel.close()

    async def _look(self) -> None:
        """Leave the rooms that nobody looks at any more, so that they can be let go."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            for session, channel in list(self._channels.items()):
                if not channel.streams and channel.room.is_idle:
                    del self._channels[session]
                    channel.close()
