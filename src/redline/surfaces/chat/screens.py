"""Which session each place shows, and what else of earlier ones still goes on there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redline.surfaces.chat.outbox import Outbox
from redline.surfaces.chat.screen import Screen
from redline.surfaces.chat.wholes import Wholes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redline.gateway.fanout import Subscription
    from redline.gateway.room import Room
    from redline.sessions.redaction import Redactor
    from redline.surfaces.chat.cards import Setting
    from redline.surfaces.chat.places import Places
    from redline.surfaces.chat.platform import Place, Platform

_KEPT = 64
"""Places that are attached to their session although nothing goes on there."""


@dataclass(slots=True)
class _Shown:
    screen: Screen
    subscription: Subscription


class Screens:
    """Of one platform, with the outbox of each channel."""

    def __init__(
        self, platform: Platform, places: Places, redactor: Redactor, tell: Callable[[str], None] = lambda _line: None
    ) -> None:
        """`tell`: as for `Outbox`."""
        self._tell = tell
        self._platform = platform
        self._places = places
        self._redactor = redactor
        self.outboxes: dict[str, Outbox] = {}
        """By channel."""
        self._shown: dict[Place, _Shown] = {}
        self._aside: list[_Shown] = []
        """Places show another session by now; what was begun there is brought to its end in its own messages."""

    def here(self, place: Place) -> Screen | None:
        """Of the session that the place shows, where it is attached."""
        if (shown := self._shown.pop(place, None)) is None:
            return None
        self._shown[place] = shown  # the one used last stands last
        return shown.screen

    def of(self, place: Place, session: str) -> Screen | None:
        """The screen of a session in a place, also where the place shows another one by now."""
        return next((one for one in self if one.place == place and one.room.session == session), None)

    def __iter__(self) -> Iterator[Screen]:
        for shown in [*self._shown.values(), *self._aside]:
            yield shown.screen

    def show(
        self,
        place: Place,
        room: Room,
        setting: Setting,
        answer_seconds: float,
        *,
        after: int | None = None,
        since: int | None = None,
    ) -> Screen:
        """Let the place show the session from now on; `after` as for `View.attach`, `since` as for `Screen`."""
        shown = self._taken_back(place, room) or self._attached(place, room, setting, answer_seconds, after, since)
        if (before := self._shown.pop(place, None)) is not None:
            self._aside.append(before)
        self._shown[place] = shown
        self._let_go()
        return shown.screen

    def beside(self, place: Place, room: Room, setting: Setting, answer_seconds: float, *, after: int) -> Screen:
        """Bring to its end what a session began in a place that shows another one."""
        shown = self._attached(place, room, setting, answer_seconds, after)
        self._aside.append(shown)
        return shown.screen

    def outbox(self, place: Place) -> Outbox:
        if place.channel not in self.outboxes:
            self.outboxes[place.channel] = Outbox(self._platform, self._places, place.channel, self._tell)
        return self.outboxes[place.channel]

    def close(self) -> list[Outbox]:
        """Show nothing more; the outboxes, which may still hold something."""
        for shown in [*self._shown.values(), *self._aside]:
            shown.subscription.close()
        return list(self.outboxes.values())

    def _attached(
        self,
        place: Place,
        room: Room,
        setting: Setting,
        answer_seconds: float,
        after: int | None,
        since: int | None = None,
    ) -> _Shown:
        screen = Screen(
            self._platform, place, room, self.outbox(place), self._places, setting,
            Wholes(room.kept, self._redactor), answer_seconds=answer_seconds, since=since,
        )  # fmt: skip
        return _Shown(screen, room.attach(screen, after=after))

    def _taken_back(self, place: Place, room: Room) -> _Shown | None:
        """The place shows again what it showed before."""
        if (now := self._shown.get(place)) is not None and now.screen.room is room:
            return self._shown.pop(place)
        for shown in self._aside:
            if shown.screen.place == place and shown.screen.room is room:
                self._aside.remove(shown)
                return shown
        return None

    def _let_go(self) -> None:
        """Of what is over aside, and of what was used longest ago: a place that is written to again is taken up
        again."""
        for shown in [one for one in self._aside if one.screen.is_over]:
            shown.subscription.close()
            self._aside.remove(shown)
        for place, shown in list(self._shown.items())[:-_KEPT]:
            if shown.screen.is_over:
                shown.subscription.close()
                del self._shown[place]
        kept = {screen.place.channel for screen in self}
        for channel, outbox in list(self.outboxes.items())[:-_KEPT]:
            if outbox.is_idle and channel not in kept:
                outbox.stop()
                del self.outboxes[channel]
