"""Calls to a chat platform for a turn of 50 edits within 60 seconds, a file counted as one.

Beside it what a bot does that edits its message after each change and posts the next message when one is full. The
clock is simulated and the platform answers at once, so the figures are exact.

    python benchmarks/chat_calls.py [--json]
"""

from __future__ import annotations

import asyncio
import functools
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from eventmaker import change
from redline.surfaces.chat import cards
from redline.surfaces.chat.outbox import Outbox
from redline.surfaces.chat.paginate import paginate
from redline.surfaces.chat.parts import File, Message, Page, Part, Text
from redline.surfaces.chat.places import Begun, Places
from redline.surfaces.chat.platform import Place
from surfaces.chat.channel import Channel
from surfaces.chat.readback import PLATFORMS
from surfaces.chat.virtual_time import VirtualLoop

if TYPE_CHECKING:
    from redline.surfaces.chat.paginate import Measure

EDITS = 50
SECONDS = 60
SIZES = {"1 line each": 1, "20 lines each": 20, "400 lines each": 400}


def main() -> None:
    found: dict[str, dict[str, int]] = {}
    for platform in PLATFORMS:
        for name, lines in SIZES.items():
            with asyncio.Runner(loop_factory=VirtualLoop) as runner:
                ours = runner.run(_turn(platform.measure, lines))
            found[f"{platform.name}, {name}"] = {"redline": ours, "edit_each": _edit_each(platform.measure, lines)}
    if "--json" in sys.argv[1:]:
        print(json.dumps(found))
        return
    for name, row in found.items():
        print(f"{name:32} Redline {row['redline']:3}   an edit for each {row['edit_each']:3}")


def _steps(lines: int) -> list[list[Part]]:
    """What each edit adds to the turn."""
    setting = cards.Setting(workspace="/w")
    room = setting.turn_limit
    steps: list[list[Part]] = []
    for number in range(EDITS):
        made = change(f"file_{number}.py", b"x = 1\n" * lines, b"y = 2 # changed\n" * lines)
        shown, used = cards.bounded(made, setting, cards.head(made, setting, "Edited", "applied"), room)
        room -= used
        steps.append(shown)
    return [*steps, [Text("Turn 1 done", "strong")]]


async def _turn(measure: Measure, lines: int) -> int:
    channel = Channel(measure=measure)
    begun = Begun("s1/1", Place("C1"), "s1", 1)
    with tempfile.TemporaryDirectory() as folder:
        places = Places.open(Path(folder))
        outbox = Outbox(channel, places)
        parts: list[Part] = []
        steps = _steps(lines)
        for step in steps:
            parts += step
            last = step is steps[-1]
            outbox.show(begun, functools.partial(paginate, parts, measure), urgent=last, final=last)
            if not last:
                await asyncio.sleep(SECONDS / EDITS)
        await outbox.settled()
        await outbox.close()
        places.close()
    return channel.count()


def _edit_each(measure: Measure, lines: int) -> int:
    calls = 0
    parts: list[Part] = []
    before: list[Page] = []
    for step in _steps(lines):
        parts += step
        now = paginate(parts, measure)
        messages, old = ([page for page in pages if isinstance(page, Message)] for pages in (now, before))
        files = [sum(isinstance(page, File) for page in pages) for pages in (now, before)]
        calls += sum(at >= len(old) or page != old[at] for at, page in enumerate(messages)) + files[0] - files[1]
        before = now
    return calls


if __name__ == "__main__":
    main()
