"""What a model says is committed in the order in which it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta, ThinkingPart, ToolCallPart

from agents.workshop import workshop
from redline.agents.builtin.speech import Speech

if TYPE_CHECKING:
    from pathlib import Path


async def test_parts_that_interleave_lose_nothing_and_keep_their_order(tmp_path: Path) -> None:
    async with workshop(tmp_path) as shop:
        speech = Speech(shop.log, 1)
        for event in (
            PartStartEvent(index=0, part=ThinkingPart("Hm. ")),
            PartStartEvent(index=1, part=TextPart("One")),
            PartStartEvent(index=2, part=ToolCallPart("read", "{}")),
            PartDeltaEvent(index=1, delta=TextPartDelta(" and two.")),
            PartStartEvent(index=3, part=TextPart("")),
            PartDeltaEvent(index=3, delta=TextPartDelta("Three.")),
            PartDeltaEvent(index=1, delta=TextPartDelta("Late.")),
        ):
            await speech.hear(event)
        await speech.aclose()
        said = [
            (event.type, event.data["text"]) for event in await shop.events("assistant/message", "assistant/thought")
        ]
        assert said == [
            ("assistant/thought", "Hm. "),
            ("assistant/message", "One and two."),
            ("assistant/message", "Three."),
            ("assistant/message", "Late."),
        ]
        names = [event.data["message"] for event in await shop.events("assistant/message", "assistant/thought")]
        assert len(set(names)) == 4
