"""What a chat platform that takes ten seconds for each answer costs everybody else.

A turn of 50 edits is shown by the fan-out of a session to two surfaces: one writes down when each row reached it, the
other is a chat. Its outbox is compared with the chat that one would write first, which sends in `show`; each beside a
chat that answers at once. The clock is simulated, so the figures are exact.

    python benchmarks/chat_slow.py [--json]
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from eventmaker import Log, change
from redline.gateway.fanout import Fanout
from redline.surfaces.chat.outbox import Outbox
from redline.surfaces.chat.paginate import paginate
from redline.surfaces.chat.parts import Message, Text
from redline.surfaces.chat.places import Begun, Places
from redline.surfaces.chat.platform import Place
from redline.tools.builtin import builtin_toolset
from redline.transcript.fold import Transcript
from surfaces.chat.channel import Channel
from surfaces.chat.virtual_time import VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

EDITS = 50
PLACE = Place("C1")


class Watcher:
    """Notes when it is shown what."""

    name = "dashboard"
    shows_changes = True

    def __init__(self) -> None:
        self.latest = 0.0
        self.committed: dict[str, float] = {}

    async def show(self, rows: Sequence[Any], state: Any) -> None:  # noqa: ARG002 - the contract's
        now = asyncio.get_running_loop().time()
        for row in rows:
            self.latest = max(self.latest, now - self.committed.setdefault(row.id, now))

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None: ...

    async def ask(self, request: Any) -> None: ...


class Chat(Watcher):
    """`direct`: it sends in `show`."""

    def __init__(self, channel: Channel, outbox: Outbox, *, direct: bool) -> None:
        super().__init__()
        self._channel, self._outbox, self._direct = channel, outbox, direct
        self._text = ""

    async def show(self, rows: Sequence[Any], state: Any) -> None:  # noqa: ARG002 - the contract's
        self._text += f"{len(rows)} rows\n"
        if self._direct:
            await self._channel.post(PLACE, Message((Text(self._text),)))
        else:
            begun = Begun("s1/1", PLACE, "s1", 1)
            self._outbox.show(begun, lambda: paginate([Text(self._text)], self._channel.measure), urgent=True)


async def _turn(seconds: float, *, direct: bool) -> dict[str, float]:
    loop = asyncio.get_running_loop()
    log, transcript = Log(), Transcript("s1", builtin_toolset().by_name)
    fanout = Fanout(transcript)
    with tempfile.TemporaryDirectory() as folder:
        places = Places.open(Path(folder))
        channel = Channel(seconds=seconds)
        outbox = Outbox(channel, places)
        watcher = Watcher()
        for surface in (watcher, Chat(channel, outbox, direct=direct)):
            fanout.subscribe(surface)
        begin = loop.time()
        for number in range(EDITS):
            call = f"c{number}"
            log.call(call)
            log.result(call, changes=[change(f"{number}.py", b"1\n", b"2\n")])
            for event in log.events[-2:]:
                watcher.committed[f"tool:1:{call}"] = loop.time()
                fanout.take(event)
            await asyncio.sleep(0.1)
        turn = loop.time() - begin
        await fanout.drain(600)
        drained = loop.time() - begin - turn
        await outbox.settled()
        await fanout.close()
        await outbox.close()
        places.close()
    return {"row_late_s": watcher.latest, "wait_at_the_end_s": drained, "calls": channel.count()}


def main() -> None:
    found = {}
    for name, direct in (("outbox", False), ("sends in show", True)):
        for seconds in (0.0, 10.0):
            with asyncio.Runner(loop_factory=VirtualLoop) as runner:
                found[f"{name}, answers in {seconds:g} s"] = runner.run(_turn(seconds, direct=direct))
    if "--json" in sys.argv[1:]:
        print(json.dumps(found))
        return
    for name, row in found.items():
        print(
            f"{name:32} another surface sees a row {row['row_late_s']:.1f} s late; "
            f"the turn's end waits {row['wait_at_the_end_s']:.1f} s; {row['calls']} calls"
        )


if __name__ == "__main__":
    main()
