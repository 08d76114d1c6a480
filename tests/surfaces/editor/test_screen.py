"""The editor's surface by itself, with a wire that takes its time."""

from __future__ import annotations

import asyncio
from typing import Any

from redline.sessions.events import Event
from redline.surfaces.editor.greeting import Abilities
from redline.surfaces.editor.screen import EditorSurface
from redline.transcript.fold import Transcript


class SlowWire:
    closed = False

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    async def notify(self, method: str, params: Any) -> None:
        await asyncio.sleep(0)
        self.told.append(params["update"])

    async def request(self, method: str, params: Any, *, seconds: float | None = None, withdrawn: bool = False) -> Any:
        raise AssertionError(method)


def event(seq: int, type_: str, **data: Any) -> Event:
    return Event("s", seq, 0, type_, {"turn": 1, **data})


async def test_what_happens_while_the_past_is_told_is_told_after_it(tmp_path: Any) -> None:
    transcript = Transcript("s", {})
    for seq in range(1, 20):
        transcript.apply(event(seq, "tool/call", call=str(seq), name="", kind="read", title="Read", arguments={}))
    wire = SlowWire()
    surface = EditorSurface(wire, "s", str(tmp_path), Abilities(), lambda _: None)
    telling = asyncio.create_task(surface.replay(list(transcript.rows), transcript.state))
    await asyncio.sleep(0)
    ended = event(20, "tool/result", call="19", name="", kind="read", status="completed", content=[], changes=[])
    await surface.show(transcript.apply(ended), transcript.state)
    await telling
    calls = [one["toolCallId"] for one in wire.told]
    assert calls == [*(f"1:{seq}" for seq in range(1, 20)), "1:19"]
    assert wire.told[-1]["status"] == "completed"


async def test_an_update_that_passes_by_itself_is_not_told_again_while_the_past_is_told(tmp_path: Any) -> None:
    transcript = Transcript("s", {})
    for seq in range(1, 20):
        transcript.apply(event(seq, "agent/update", sessionUpdate="mood_update", number=seq))
    wire = SlowWire()
    surface = EditorSurface(wire, "s", str(tmp_path), Abilities(), lambda _: None)
    surface.passes_on({}, None)  # type: ignore[arg-type]
    telling = asyncio.create_task(surface.replay(list(transcript.rows), transcript.state))
    await asyncio.sleep(0)
    await surface.show(
        transcript.apply(event(20, "agent/update", sessionUpdate="mood_update", number=20)), transcript.state
    )
    await telling
    assert [one["number"] for one in wire.told] == list(range(1, 20))
