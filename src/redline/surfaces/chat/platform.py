"""What a chat platform does for the outbox: posts, edits, uploads, and says truthfully how that went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redline.surfaces.chat.paginate import Measure
    from redline.surfaces.chat.parts import File, Message


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session is shown: a channel or chat, and a thread in it if the platform has them."""

    channel: str
    thread: str = ""


class Wait(Exception):  # noqa: N818 - what the platform says
    """Too many calls: none before `seconds` are over."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"wait {seconds:g} s")
        self.seconds = seconds


class Refused(Exception):  # noqa: N818 - what the platform says
    """The platform will never take this: an edit of a message that is gone, a place that is closed. The text says
    why."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        """`remedy`: where it is said what to do about it, such as "docs/slack.md, step 1"."""
        super().__init__(reason)
        self.remedy = remedy


class Barred(Refused):
    """The app may not do this until somebody gives it the right: a scope, a place in the channel. A message is tried
    again, a file is not, unless the app may do nothing at all (`everywhere`: its token was taken away)."""

    def __init__(self, reason: str, remedy: str = "", *, everywhere: bool = False) -> None:
        super().__init__(reason, remedy)
        self.everywhere = everywhere


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a channel is written to."""

    gap: float = 1.1
    """Seconds between two calls, whatever they are: one a second is what Slack and Telegram name for a channel
    (docs.slack.dev/apis/web-api/rate-limits, core.telegram.org/bots/faq)."""
    burst: int = 2
    """Calls that show how a running turn goes which may follow each other at once."""
    refill: float = 8.0
    """Seconds after which one more such call may be made. A question or the end of a turn does not wait for it."""


class Platform(Protocol):
    """Each call raises `Wait`, `Refused` or `Barred`; whatever else it raises is taken as a fault that will pass, and
    tried again."""

    mark: str
    """What people type there before a command: `/` or `!`."""
    name: str
    """As the surface's name in the log."""
    measure: Measure
    """May change while the process lives, where a platform turns out to know less."""

    def pace(self, channel: str) -> Pace: ...

    async def post(self, place: Place, message: Message) -> str:
        """The message's id for `edit`."""
        ...

    async def edit(self, place: Place, posted: str, message: Message) -> None: ...

    async def delete(self, place: Place, posted: str) -> None:
        """Of a message of ours; one that is gone already may be refused."""
        ...

    async def upload(self, place: Place, file: File) -> str: ...
