"""Each surface at its own pace, and nobody waits for one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from gateway.parlour import Screen
from redline.gateway.fanout import TEXT_LIMIT, WAITING_LIMIT, Fanout
from redline.sessions.events import Event
from redline.sessions.stream import TextDelta
from redline.transcript.fold import Transcript

if TYPE_CHECKING:
    from redline.transcript.rows import AgentRow


class Gate(Screen):
    """A surface that shows nothing until it is opened."""

    def __init__(self) -> None:
        super().__init__("slow")
        self.open = asyncio.Event()

    async def show(self, rows: Any, state: Any) -> None:
        await self.open.wait()
        await super().show(rows, state)


class Feed:
    """A log that is written by hand."""

    def __init__(self) -> None:
        self.fanout = Fanout(Transcript("s", {}))
        self.seq = 0

    def event(self, type_: str, **data: Any) -> None:
        self.seq += 1
        self.fanout.take(Event("s", self.seq, 0, type_, data))

    def part(self, message: str, text: str) -> None:
        self.event("assistant/message", turn=1, message=message, text=text)

    def delta(self, message: str, text: str) -> None:
        self.fanout.take_text(TextDelta(message, 1, "assistant/message", text))


async def test_rows_and_text_arrive_in_the_order_in_which_they_came() -> None:
    feed = Feed()
    order: list[str] = []

    class Ordered(Screen):
        async def show(self, rows: Any, state: Any) -> None:
            order.extend(row.text for row in rows)

        async def stream(self, row: str, turn: int, kind: str, text: str) -> None:
            order.append(f"{row} {kind} +{text}")

    feed.fanout.subscribe(Ordered())
    feed.delta("m", "ab")
    feed.part("m", "ab")
    feed.delta("m", "c")
    assert await feed.fanout.drain(1)
    assert order == ["agent:1:m agent +ab", "ab", "agent:1:m agent +c"]


async def test_a_slow_surface_gets_each_row_once_as_it_is_by_then() -> None:
    feed = Feed()
    slow = Gate()
    subscription = feed.fanout.subscribe(slow)
    for number in range(2000):
        feed.part(f"m{number % 3}", f"{number} ")
        await asyncio.sleep(0)
    assert subscription.waiting <= WAITING_LIMIT
    slow.open.set()
    assert await feed.fanout.drain(2)
    assert slow.shown <= 3
    texts: list[AgentRow] = list(slow.rows.values())  # type: ignore[arg-type]
    assert [len(row.text.split()) for row in texts] == [667, 667, 666]


async def test_streamed_text_that_had_to_be_dropped_comes_with_the_row() -> None:
    feed = Feed()
    slow = Gate()
    feed.fanout.subscribe(slow)
    feed.part("first", "x")
    await asyncio.sleep(0)
    big = "y" * TEXT_LIMIT
    feed.delta("m", big)
    feed.delta("m", "more")
    feed.delta("other", "kept")
    feed.part("m", big + "more")
    slow.open.set()
    assert await feed.fanout.drain(2)
    # No piece of it is streamed after one was dropped: what is streamed has no holes.
    assert slow.streamed == ["kept"]
    assert slow.rows["agent:1:m"].text == big + "more"  # type: ignore[union-attr]


async def test_a_surface_that_comes_in_the_middle_of_a_message_gets_its_text_with_the_row() -> None:
    feed = Feed()
    late = Screen()
    feed.delta("m", "not ")
    feed.fanout.subscribe(late)
    feed.fanout.take_text(TextDelta("m", 1, "assistant/message", "seen", offset=4))
    feed.fanout.take_text(TextDelta("next", 1, "assistant/message", "whole"))
    assert await feed.fanout.drain(1)
    assert late.streamed == ["whole"]


async def test_an_event_that_was_taken_before_is_passed_over() -> None:
    feed = Feed()
    screen = Screen()
    feed.fanout.subscribe(screen)
    feed.part("m", "once")
    feed.fanout.take(Event("s", 1, 0, "assistant/message", {"turn": 1, "message": "m", "text": "once"}))
    assert await feed.fanout.drain(1)
    assert [row.text for row in screen.rows.values() if row.kind == "agent"] == ["once"]


async def test_a_surface_starts_from_its_cursor() -> None:
    """Public reports: E53."""
    feed = Feed()
    for number in range(4):
        feed.part(f"m{number}", "x")
    all_of_it, rest, new = Screen("all"), Screen("rest"), Screen("new")
    feed.fanout.subscribe(all_of_it)
    feed.fanout.subscribe(rest, after=2)
    feed.fanout.subscribe(new, after=4)
    assert await feed.fanout.drain(1)
    feed.part("m0", "y")
    assert await feed.fanout.drain(1)
    assert [len(screen.rows) for screen in (all_of_it, rest, new)] == [4, 3, 1]
    assert rest.rows["agent:1:m0"].text == "xy"  # type: ignore[union-attr]


async def test_a_surface_that_raises_goes_on_getting_rows() -> None:
    faults: list[str] = []
    feed = Feed()
    feed.fanout = Fanout(Transcript("s", {}), lambda name, _: faults.append(name))

    class Shaky(Screen):
        async def show(self, rows: Any, state: Any) -> None:
            await super().show(rows, state)
            if self.shown == 1:
                raise OSError("once")

    shaky = Shaky("shaky")
    feed.fanout.subscribe(shaky)
    assert await feed.fanout.drain(1)
    feed.part("m", "x")
    assert await feed.fanout.drain(1)
    assert faults == ["shaky"]
    assert len(shaky.rows) == 1


async def test_one_that_hangs_is_waited_for_no_longer_than_said_and_can_be_detached() -> None:
    feed = Feed()
    stuck = Gate()
    subscription = feed.fanout.subscribe(stuck)
    assert not await feed.fanout.drain(0.05)
    subscription.close()
    assert feed.fanout.surfaces == []
    assert await feed.fanout.drain(0.05)
