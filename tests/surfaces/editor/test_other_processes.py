"""A session that an editor runs, as the other Redline processes of the machine see it while it runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from redline.gateway.archive import Archive
from surfaces.editor.editor_client import Place, call, make_place

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


async def test_what_happens_in_it_appears_elsewhere_while_the_turn_runs(place: Place) -> None:
    steps: list[dict[str, Any]] = [
        {"text": "First.", "call": [call("bash", command="until test -e seen; do sleep 0.05; done")]},
        {"text": "Last."},
    ]
    async with (
        place.editor("--model", place.script(steps), "--approval", "all") as editor,
        Archive.open(place.folder / "data") as archive,
    ):
        session = await editor.new(place.workspace)
        assert [one.session for one in await archive.list()] == [session]
        turn = await editor.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go."}])
        seen: list[str] = []
        async with asyncio.timeout(30):
            async for event in archive.store.watch(session, after=0):
                seen.append(event.type)
                if event.type == "tool/call":
                    assert archive.is_running(session)
                    (place.workspace / "seen").touch()  # the command waits for us to have seen it
                if event.type == "turn/ended":
                    break
        assert (await turn)["stopReason"] == "end_turn"
        assert seen.index("tool/call") < seen.index("tool/result") < seen.index("turn/ended")
