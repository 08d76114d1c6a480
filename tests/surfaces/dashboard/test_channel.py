"""Whatever comes in whatever order, and however often a tab breaks off: in the end it has what the log says."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from redline.gateway.archive import Archive
from redline.gateway.room import Room
from redline.sessions.events import Event
from redline.sessions.stream import TextDelta
from redline.surfaces.dashboard import contract
from redline.surfaces.dashboard.channel import Channel
from redline.surfaces.dashboard.place import Place
from redline.surfaces.dashboard.rows import shown_row
from redline.surfaces.dashboard.stream import QUEUE_LIMIT, Stream, subscriptions
from surfaces.dashboard.stage import Picture

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MESSAGES = st.sampled_from(["a", "b", "c"])
TABS = st.integers(0, 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), MESSAGES, st.text("xyz é", min_size=1, max_size=8)),
        st.tuples(st.just("commit"), MESSAGES),
        st.tuples(st.just("call"), MESSAGES),
        st.tuples(st.just("result"), MESSAGES, st.sampled_from(["completed", "failed"])),
        st.tuples(st.just("pause")),
        st.tuples(st.just("flush")),
        st.tuples(st.just("read"), TABS),
        st.tuples(st.just("break"), TABS, st.booleans()),
        st.tuples(st.just("crowd"), TABS),
    ),
    max_size=60,
)


class Nobody:
    """A roster of which nothing is asked here."""

    approval = "ask"


class Reader:
    """A tab that reads when it is told to, and goes on by what it has after it broke off."""

    def __init__(self, channel: Channel, session: str) -> None:
        self.picture = Picture()
        self._channel = channel
        self._session = session
        self._open([contract.Subscription(session=session, after=0)])

    def read(self) -> None:
        """Everything that waits."""
        while self._stream._queue or self._stream._lagging:
            self.picture.feed(self._next())

    def break_off(self, *, in_the_middle: bool) -> None:
        """What was sent last may arrive in part."""
        if in_the_middle and (self._stream._queue or self._stream._lagging):
            chunk = self._next()
            self.picture.feed(chunk[: len(chunk) // 2])
        self.picture._waiting = b""
        self._channel.streams.discard(self._stream)
        known = subscriptions(self.picture.last) or [contract.Subscription(session=self._session, after=0)]
        self._open(known)

    def crowd(self) -> None:
        """More comes than its queue holds."""
        for _ in range(QUEUE_LIMIT + 1):
            self._stream.push(self._session, 0, b": more\n\n")

    def _open(self, wanted: list[contract.Subscription]) -> None:
        self._stream = Stream("s", listing=False, catch_up=self._catch_up)
        self._chunks: AsyncIterator[bytes] = self._stream.chunks()
        (one,) = wanted
        self._stream.cursors[one.session] = one.after
        self._channel.join(self._stream, one.after)

    def _next(self) -> bytes:
        step = self._chunks.__anext__()
        try:
            step.send(None)  # type: ignore[attr-defined]
        except StopIteration as done:
            chunk: bytes = done.value
            return chunk
        raise AssertionError("nothing waited")

    def _catch_up(self, stream: Stream, _: str, after: int) -> None:
        self._channel.flush()
        self._channel.catch_up(stream, after)


class Writer:
    """The log of a turn that is written by hand: text is said, then committed."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.said: dict[str, str] = {}
        self.kept: dict[str, str] = {}
        self.event("turn/started", turn=1, source="x", rule="")

    def event(self, type_: str, **data: Any) -> None:
        self.room.fanout.take(Event(self.room.session, self.room.seq + 1, 0, type_, data))

    def say(self, message: str, text: str) -> None:
        offset = len(self.said.get(message, ""))
        self.said[message] = self.said.get(message, "") + text
        self.room.fanout.take_text(TextDelta(message, 1, "assistant/message", text, offset))

    def commit(self, message: str) -> None:
        waiting = self.said.get(message, "")[len(self.kept.get(message, "")) :]
        if waiting:
            self.kept[message] = self.said[message]
            self.event("assistant/message", turn=1, message=message, text=waiting)

    def take(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("say", message, text):
                self.say(message, text)
            case ("commit", message):
                self.commit(message)
            case ("call", call):
                self.event("tool/call", turn=1, call=call, name="bash", kind="execute", arguments={"command": "true"})
            case ("result", call, status):
                self.event("tool/result", turn=1, call=call, name="bash", kind="execute", status=status, content=[])


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
@example([("say", "a", "x"), ("pause",), ("say", "a", "x"), ("commit", "a"), ("break", 0, False)])
def test_every_tab_ends_with_what_the_log_says(steps: list[tuple[Any, ...]]) -> None:
    asyncio.run(_played(steps))


async def _played(steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        archive = Archive.open(Path(folder))
        session = (await archive.start(Path(folder), "builtin")).log.session
        room = await Room.of(archive, Nobody(), session, {})  # type: ignore[arg-type]
        await room.unwatch()
        channel = Channel(room)
        writer = Writer(room)
        tabs = [Reader(channel, session) for _ in range(3)]
        for step in steps:
            match step:
                case ("pause",):
                    await asyncio.sleep(0)
                case ("flush",):
                    await _settled(channel)
                case ("read", tab):
                    tabs[tab].read()
                case ("break", tab, in_the_middle):
                    tabs[tab].break_off(in_the_middle=in_the_middle)
                case ("crowd", tab):
                    tabs[tab].crowd()
                case _:
                    writer.take(step)
        await _settled(channel)
        for tab in tabs:
            tab.read()
            shown = {row["id"]: row["text"] for row in tab.picture.ordered(session) if row["kind"] == "agent"}
            assert shown == {f"agent:1:{message}": text for message, text in writer.said.items()}
        for message in list(writer.said):
            writer.commit(message)
        writer.event("turn/ended", turn=1, reason="completed")
        await _settled(channel)
        place = Place(session, folder)
        wanted = [
            json.loads(shown_row(place, row).model_dump_json()) for row in sorted(room.rows, key=lambda row: row.seq)
        ]
        for tab in tabs:
            tab.read()
            assert tab.picture.ordered(session) == wanted
        channel.close()
        await room.close()
        await archive.close()


async def _settled(channel: Channel) -> None:
    """What waits for the channel has reached it, and is sent."""
    await channel._subscription.idle()
    channel.flush()
