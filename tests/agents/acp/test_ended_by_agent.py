"""An agent that says "cancelled": by itself, after a no, or because the user withdrew its question or stopped it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from agents.acp.puppetry import diff, ends, puppet, until
from captures.recorded import Onlooker

if TYPE_CHECKING:
    from pathlib import Path

ASKING = {"ask": {"toolCallId": "c", "title": "Edit", "kind": "edit", "content": [diff("a.txt", "one\n", "ONE\n")]}}


class Answering(Onlooker):
    def __init__(self, answer: str | None) -> None:
        super().__init__()
        self.answer = answer

    async def ask(self, request: Any) -> Any:
        self.asked.append(request)
        return self.answer


@pytest.mark.parametrize(
    ("answer", "code"),
    [("reject", "AGENT_ENDED"), (None, "AGENT_ENDED"), ("allow_once", "AGENT_ENDED"), ("cancelled", "CANCELLED")],
)
async def test_only_what_the_user_withdrew_counts_as_stopped_by_the_user(
    tmp_path: Path, answer: str | None, code: str
) -> None:
    last = {"end": "cancelled"}
    steps = [ASKING, last] if answer == "allow_once" else [ASKING]
    async with puppet(
        tmp_path, steps, files={"a.txt": "one\n"}, onlooker=Answering(answer), refused="cancelled"
    ) as live:
        stop = await live.conversation.prompt("Go.", source="terminal")
        assert (stop.reason, stop.code) == ("cancelled", code)
        error = ends(live)[-1].error
        assert (error and error.code) == (None if code == "CANCELLED" else code)


async def test_a_turn_that_the_user_stopped_is_no_end_by_the_agent(tmp_path: Path) -> None:
    async with puppet(tmp_path, [{"sleep": 0.1}, {"wait_cancel": True}], files={"a.txt": "one\n"}) as live:
        running = asyncio.create_task(live.conversation.prompt("Go.", source="terminal"))
        await until(lambda: live.conversation.is_running)
        await asyncio.sleep(0.3)
        await live.conversation.cancel()
        assert (await running).code == "CANCELLED"
        assert ends(live)[-1].error is None
