"""What each surface says that it shows, and the rule that a turn from it gets."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from gateway.parlour import Parlour, Screen, call, events, parlour, step, until
from redline.surfaces.chat.cards import Setting
from redline.surfaces.chat.platform import Place
from redline.surfaces.terminal import PipeSurface
from surfaces.chat.channel import Channel
from surfaces.chat.office import ADA, house, scripted
from surfaces.chat.office import call as scripted_call
from surfaces.chat.office import step as scripted_step

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path) as made:
        yield made


WRITE = [step("", call("write", path="{workspace}/a.py", content="x = 1\n")), step("Done.")]


async def test_a_pipe_prints_the_diffs_from_the_log_so_the_model_need_not(place: Parlour) -> None:
    conversation = await place.begin(place.script(WRITE), approval="all")
    out = io.StringIO()
    conversation.attach(PipeSurface(out, workspace=place.workspace))
    await conversation.prompt("go", source="pipe")
    await conversation.close()
    assert "+++ b/a.py\n@@ -0,0 +1 @@\n+x = 1\n" in out.getvalue()
    (started,) = await events(conversation, "turn/started")
    assert started.data["rule"] == "cards_and_observation"


@pytest.mark.parametrize("source", ["sms", "cron", ""])
async def test_a_text_only_client_and_an_unknown_one_get_the_strict_rule(place: Parlour, source: str) -> None:
    conversation = await place.begin(place.script(WRITE), approval="all")
    conversation.attach(Screen("sms", shows_changes=False))
    conversation.attach(Screen("dashboard"))
    await conversation.prompt("go", source=source)
    await conversation.close()
    (started,) = await events(conversation, "turn/started")
    assert started.data["rule"] == "text_only"


@pytest.mark.parametrize(("shown", "rule"), [("full", "cards"), ("summary", "cards"), ("none", "text_only")])
async def test_a_chat_declares_what_it_is_set_to_show(tmp_path: Path, shown: str, rule: str) -> None:
    model = scripted(tmp_path, [scripted_step("", scripted_call("write", path="a.py", content="1\n"))])
    async with house(tmp_path, model) as at:
        desk = await at.desk(Channel(), setting=Setting(shown))  # type: ignore[arg-type]
        await desk.heard(Place("C1"), "go", ADA)
        await until(lambda: at.events("turn/started"))
        (started,) = await at.events("turn/started")
        assert started.data["rule"].startswith(rule)
