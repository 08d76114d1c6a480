"""What a platform lets the app not do in a channel: told once to whoever runs Redline, and how long it is tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.surfaces.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from redline.surfaces.chat.platform import Refused

BARRED_SECONDS = 900.0
"""For which a channel that the app may not write to is tried again and again; then only when there is news for it."""
_LONGEST_WAIT = 60.0


class Bars:
    """Of one channel."""

    def __init__(self, platform: str, channel: str, tell: Callable[[str], None]) -> None:
        """`tell`: takes a line for whoever runs Redline."""
        self._platform = platform
        self._channel = channel
        self._tell = tell
        self._told: set[str] = set()
        self._count = 0
        """Calls that were barred, one after the other."""
        self._since = 0.0

    def say(self, doing: str, reason: Refused) -> None:
        """Each once, until something could be sent in the channel again after it was barred."""
        remedy = f"; see {reason.remedy}" if reason.remedy else ""
        where = f" in {self._channel}" if self._channel else ""
        line = visible(f"{self._platform.capitalize()} refuses to {doing}{where}: {reason}{remedy}")
        if line not in self._told:
            self._told.add(line)
            self._tell(line)

    def barred(self, now: float) -> tuple[float, bool]:
        """Seconds to wait before the next call, at a slackening pace; and whether it has been tried for long enough."""
        self._since = self._since if self._count else now
        self._count += 1
        return min(_LONGEST_WAIT, 2.0 ** min(self._count, 10)), now - self._since >= BARRED_SECONDS

    def lifted(self) -> bool:
        """Something was sent. True: it could not be before."""
        was_barred = self._count > 0
        if was_barred:
            self._told.clear()
        self._count = 0
        return was_barred
