"""The output of a command as it is shown: its middle left out where it is long, each line as a terminal leaves it."""

from __future__ import annotations

from dataclasses import dataclass

HEAD, TAIL = 8, 16
"""Lines that are shown of a longer output."""
LINE_LIMIT = 1000
"""Characters of a line."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Lines before and after what is left out, not yet visible-escaped; no `tail` where nothing is."""

    head: list[str]
    left_out: int
    tail: list[str]


def shortened(text: str, head: int = HEAD, tail: int = TAIL, *, whole: bool = False) -> Shown:
    """The lines of a text, its middle left out where it is long. `whole`: nothing is."""
    text = text.rstrip("\n")
    kept = text.split("\n") if text else []
    if whole or len(kept) <= head + tail + 1:
        return Shown(kept, 0, [])
    return Shown(kept[:head], len(kept) - head - tail, kept[len(kept) - tail :])


def line(text: str, *, whole: bool = False) -> tuple[str, str]:
    """What stands of a line in the end, and what is said of the rest of a very long one."""
    # A progress bar rewrites its line; its last state is what a terminal would show.
    text = text.rstrip("\r").rsplit("\r", 1)[-1].expandtabs(8)
    if whole or len(text) <= LINE_LIMIT:
        return text, ""
    return text[:LINE_LIMIT], f" [{len(text) - LINE_LIMIT} more characters]"
