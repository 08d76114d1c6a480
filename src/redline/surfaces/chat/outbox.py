"""The outbox of one channel: brings what stands there to what should stand there, in as few calls as it can.

A flow is a run of pages that belong together: a turn, a question. The outbox knows which pages it should have and which
message shows each, and works on the difference, one call at a time. So edits merge by themselves, what was refused is
still to be done, and after a restart only what differs is sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redline.surfaces.chat.bars import Bars
from redline.surfaces.chat.cards import merged
from redline.surfaces.chat.flow import GONE, LEFT, UNSHOWN, Flow, digest, wanted_pages
from redline.surfaces.chat.parts import File, Message, Page
from redline.surfaces.chat.places import Begun, Places, Post
from redline.surfaces.chat.platform import Barred, Refused, Wait

if TYPE_CHECKING:
    from redline.surfaces.chat.platform import Place, Platform

_log = logging.getLogger(__name__)

CALL_SECONDS = 60.0
"""After which a call to a platform is given up and tried again."""
_LONGEST_BACK_OFF = 60.0
_DOING = {"message": "post", "file": "take a file", "note": "post", "old": "delete a message"}
_AT_ONCE = 0.001
"""Seconds that are not worth a sleep."""


@dataclass(frozen=True, slots=True)
class _Call:
    kind: str
    """"message", "file", "note": what is said instead of a file, or "old": a message that is of no use any more."""
    number: int
    page: Page
    merged: tuple[int, ...] = ()
    """Of a file: the numbers of all that go up in it."""


class Outbox:
    def __init__(
        self, platform: Platform, places: Places, channel: str = "", tell: Callable[[str], None] = lambda _line: None
    ) -> None:
        """`tell`: takes a line for whoever runs Redline, of what the platform refuses; each is told once."""
        self._platform = platform
        self._bars = Bars(platform.name, channel, tell)
        self._pace = platform.pace(channel)
        self._places = places
        self._flows: dict[str, Flow] = {}
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._not_before = 0.0
        self._tokens = float(self._pace.burst)
        self._counted = 0.0
        self._faults = 0
        self._served = 0
        self._task = asyncio.get_running_loop().create_task(self._work())

    def show(
        self,
        begun: Begun,
        pages: Callable[[], Sequence[Page]],
        *,
        urgent: bool = False,
        final: bool = False,
        lost: Callable[[], None] | None = None,
    ) -> None:
        """What a flow should show. Returns at once; a later call for the same flow replaces an earlier one. `lost` is
        called where the platform takes nothing of it, such as in a thread that is gone."""
        flow = self._flows.get(begun.flow)
        if flow is None:
            flow = self._flows[begun.flow] = Flow(begun, pages)
            with self._written():
                self._places.begin(self._platform.name, begun)
                flow.posts = self._places.posts(begun.flow)
                flow.unsure = frozenset(key for key, post in flow.posts.items() if post.posted is None)
        if final and not flow.final:  # the end is worth one more try than what was refused on the way
            flow.refused = {key: reason for key, reason in flow.refused.items() if key[0] == "file"}
            flow.unplain.clear()
        flow.pages, flow.dirty = pages, True
        flow.urgent, flow.final, flow.lost = urgent, final, lost
        self._idle.clear()
        self._wake.set()

    @property
    def is_idle(self) -> bool:
        """Everything stands where it should, and no flow is going on."""
        return not self._flows

    async def settled(self) -> None:
        """Wait until everything stands where it should."""
        await self._idle.wait()

    def stop(self) -> None:
        """At once; what is not delivered is after the next start."""
        self._task.cancel()

    async def close(self, seconds: float = 5.0) -> None:
        """Deliver what there is, for `seconds` at most; the rest is delivered after the next start."""
        try:
            await asyncio.wait_for(self.settled(), seconds)
        except TimeoutError:
            _log.warning("%s: not all was delivered before the end", self._platform.name)
        self._task.cancel()
        await asyncio.wait({self._task})

    # Working.

    async def _work(self) -> None:
        while True:
            self._wake.clear()
            waiting = [flow for flow in self._flows.values() if flow.dirty]
            if not waiting:
                self._idle.set()
                await self._wake.wait()
                continue
            # The files of a turn that ended stand above the next turn.
            waiting = [flow for flow in waiting if not any(_is_before(other, flow) for other in waiting)]
            flow = min(waiting, key=lambda one: (not one.urgent, one.served))
            delay = self._delay(urgent=flow.urgent)
            if delay > _AT_ONCE:
                await self._sleep(delay)
                continue
            call = self._next_or_none(flow)
            if call is None:
                self._stands(flow)
                continue
            self._served += 1
            flow.served = self._served
            self._spend()
            await self._make(flow, call)

    async def _sleep(self, seconds: float) -> None:
        """Or until something more is to be shown, which may be urgent."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)

    def _stands(self, flow: Flow) -> None:
        flow.dirty = False
        if flow.final:
            with self._written():
                self._places.done(flow.begun.flow)
            del self._flows[flow.begun.flow]

    def _next_or_none(self, flow: Flow) -> _Call | None:
        try:
            return self._next(flow)
        except Exception:
            _log.exception("%s: the pages of %s could not be made", self._platform.name, flow.begun.flow)
            return None

    def _next(self, flow: Flow) -> _Call | None:
        """The first page, in order, that does not stand there as it should; then what stands there and should not.
        Files that wait go up as one."""
        pages = wanted_pages(flow)
        waiting = {key[1]: page for key, page in pages if isinstance(page, File) and key not in flow.posts}
        for (kind, number), page in pages:
            if isinstance(page, File):
                if (kind, number) not in flow.posts:
                    return _Call(kind, number, merged([*waiting.values()]), merged=tuple(waiting))
                continue
            post = flow.posts.get((kind, number))
            if post is None or post.digest != digest(page):
                return _Call(kind, number, page)
        keys = {key for key, _ in pages}
        for (kind, number), post in flow.posts.items():
            if kind == "message" and (kind, number) not in keys:
                self._retire(flow, number)
                return self._next(flow)
            if kind == "old" and post.digest != LEFT:
                return _Call(kind, number, GONE)
        return None

    def _retire(self, flow: Flow, number: int) -> None:
        """The message of a page is of no use any more: there is no such page, or it cannot be edited."""
        post = flow.posts[("message", number)]
        self._forget(flow, ("message", number))
        if post.posted is not None:
            self._keep(flow, ("old", number), Post("", post.posted))

    def _delay(self, *, urgent: bool) -> float:
        now = asyncio.get_running_loop().time()
        pace = self._pace
        self._tokens = min(float(pace.burst), self._tokens + (now - self._counted) / pace.refill)
        self._counted = now
        wait = self._not_before - now
        if not urgent and self._tokens < 1:
            wait = max(wait, (1 - self._tokens) * pace.refill)
        return wait

    def _spend(self) -> None:
        self._tokens = max(0.0, self._tokens - 1)
        self._not_before = asyncio.get_running_loop().time() + self._pace.gap

    async def _make(self, flow: Flow, call: _Call) -> None:
        try:
            await asyncio.wait_for(self._send(flow, call), CALL_SECONDS)
            self._faults = 0
            if self._bars.lifted():
                for one in self._flows.values():
                    one.dirty = True
        except Wait as told:
            self._lift_doubt(flow, call)
            self._hold(told.seconds)
        except Barred as reason:
            self._lift_doubt(flow, call)
            self._say_refused(flow, call, reason)
            if call.kind == "file" and not reason.everywhere:
                self._refused(flow, call, reason)
            else:
                _log.warning("%s: not allowed, to be tried again: %s", self._platform.name, reason)
                self._bar(flow)
        except Refused as reason:
            self._lift_doubt(flow, call)
            self._refused(flow, call, reason)
        except Exception as fault:
            self._lift_doubt(flow, call)
            self._faults += 1
            seconds = min(_LONGEST_BACK_OFF, 2.0 ** min(self._faults, 10))
            _log.warning("%s could not be reached, trying again in %g s: %r", self._platform.name, seconds, fault)
            self._hold(seconds)

    async def _send(self, flow: Flow, call: _Call) -> None:
        """An edit where there is a message to edit. What is new is kept as being sent before it is sent: a process
        that ends in between leaves a doubt, and a page in doubt is not sent again as it was."""
        place = flow.begun.place
        key = (call.kind, call.number)
        known = flow.posts.get(key)
        if call.kind == "old":
            assert known is not None
            await self._remove(place, known)
            if ("message", call.number) in flow.posts:
                self._keep(flow, key, replace(known, digest=LEFT))
            else:
                self._forget(flow, key)
            return
        mark = digest(call.page)
        if known is not None and known.posted is not None and isinstance(call.page, Message):
            await self._platform.edit(place, known.posted, call.page)
            self._keep(flow, key, Post(mark, known.posted))
            return
        for each in _keys(call):
            self._keep(flow, each, Post(mark, None))
        if isinstance(call.page, Message):
            posted = await self._platform.post(place, call.page)
        else:
            posted = await self._platform.upload(place, call.page)
        for each in _keys(call):
            self._keep(flow, each, Post(mark, posted))

    async def _remove(self, place: Place, post: Post) -> None:
        assert post.posted is not None
        try:
            await self._platform.delete(place, post.posted)
        except Barred:
            raise
        except Refused:
            await self._platform.edit(place, post.posted, GONE)

    def _keep(self, flow: Flow, key: tuple[str, int], post: Post) -> None:
        flow.posts[key] = post
        with self._written():
            self._places.keep(flow.begun.flow, *key, post)

    def _lift_doubt(self, flow: Flow, call: _Call) -> None:
        """The process is alive and knows that the call did not succeed."""
        for key in _keys(call):
            post = flow.posts.get(key)
            if post is not None and post.posted is None:
                self._forget(flow, key)

    def _forget(self, flow: Flow, key: tuple[str, int]) -> None:
        del flow.posts[key]
        with self._written():
            self._places.forget(flow.begun.flow, *key)

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        """What cannot be kept is known as long as the process lives: a full disk must not post anything twice."""
        try:
            yield
        except sqlite3.Error as error:
            _log.error("%s: it could not be kept what was posted: %s", self._platform.name, error)

    def _bar(self, flow: Flow) -> None:
        """What is given up for now is not over: it is sent once anything can be sent in the channel again, or after the
        next start."""
        seconds, is_enough = self._bars.barred(asyncio.get_running_loop().time())
        self._hold(seconds)
        if is_enough:
            flow.dirty = False
            if flow.lost is not None:
                flow.lost()

    def _say_refused(self, flow: Flow, call: _Call, reason: Refused) -> None:
        edits = call.kind == "message" and (call.kind, call.number) in flow.posts
        self._bars.say("edit a message" if edits else _DOING[call.kind], reason)

    def _refused(self, flow: Flow, call: _Call, reason: Refused) -> None:
        """What cannot be edited is posted anew; what cannot be posted is said in other words, once, and then the flow
        is given up."""
        _log.warning("%s refused %s %d of %s: %s", self._platform.name, call.kind, call.number, flow.begun.flow, reason)
        key = (call.kind, call.number)
        if call.kind == "old":
            self._keep(flow, key, replace(flow.posts[key], digest=LEFT))
        elif call.kind == "message" and key in flow.posts:
            self._retire(flow, call.number)
        elif key in flow.posts:
            self._forget(flow, key)
        elif call.kind == "message" and key in flow.refused and key not in flow.unplain:
            flow.unplain.add(key)
        elif call.kind != "note" and call.page is not UNSHOWN:
            flow.refused.update(dict.fromkeys(_keys(call), str(reason)))
            if call.kind == "file":
                self._say_refused(flow, call, reason)
        else:
            self._say_refused(flow, call, reason)
            flow.final = True
            self._stands(flow)
            if flow.lost is not None:
                flow.lost()

    def _hold(self, seconds: float) -> None:
        self._not_before = max(self._not_before, asyncio.get_running_loop().time() + seconds)


def _is_before(one: Flow, other: Flow) -> bool:
    """It is of an earlier turn of the same session in the same place, and over."""
    same = (one.begun.session, one.begun.place) == (other.begun.session, other.begun.place)
    return same and one.final and 0 < one.begun.turn < other.begun.turn


def _keys(call: _Call) -> list[tuple[str, int]]:
    """The page of a call; of merged files, each."""
    return [(call.kind, number) for number in call.merged or (call.number,)]
