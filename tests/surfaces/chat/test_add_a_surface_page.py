"""The page "Add a surface" builds a surface and a chat platform that work, exactly as they are printed there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from gateway.parlour import until
from redline.surfaces.chat.parts import Text
from redline.surfaces.chat.platform import Platform
from surfaces.chat.office import call, house, scripted, step

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PAGE = Path(__file__).parents[3] / "docs" / "add-a-surface.md"


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    module = ModuleType("page_of_a_surface")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), module.__dict__)
    return module.__dict__


_WRITE = [step("", call("write", path="a<b>.py", content="x = '<pre>'\n")), step("Done.")]


async def test_the_diary_keeps_what_happened_and_gets_the_strict_rule(tmp_path: Path, page: dict[str, Any]) -> None:
    async with house(tmp_path, scripted(tmp_path, _WRITE)) as at:
        diary = await page["keep_a_diary"](at.gateway, at.workspace, "make it")
        assert list(diary.entries.values()) == ["Write a<b>.py: a<b>.py"]
        (started,) = await at.events("turn/started")
        assert started.data["rule"] == "text_only"


async def test_the_folder_chat_shows_cards_and_asks(tmp_path: Path, page: dict[str, Any]) -> None:
    async with house(tmp_path, scripted(tmp_path, _WRITE), approval="ask") as at:
        messages = tmp_path / "messages"
        messages.mkdir()
        desk = await page["open_a_desk"](at.gateway, tmp_path / "data", messages, at.workspace)
        at.desks.append(desk)

        def said() -> str:
            return "\n".join(path.read_text() for path in sorted(messages.iterdir()))

        await page["somebody_writes"](desk, "make it")
        await until(lambda: "<button" in said())
        (value,) = re.findall(r"<button value='([^']*)'>Allow once<", said())
        assert "+x = '&lt;pre>'" in said()
        assert await page["somebody_presses"](desk, value) == ""
        await until(lambda: "Turn 1 done" in said() and "Allowed once by Ada." in said())
        assert "<b>Created a&lt;b>.py  \u22120 +1 · applied</b>\n<pre>@@ -0,0 +1 @@\n+x = '&lt;pre>'</pre>" in said()
        assert "<button" not in said()
        (started,) = await at.events("turn/started")
        assert (started.data["source"], started.data["rule"]) == ("folder", "cards_and_observation")


def test_the_folder_chat_brings_all_that_a_platform_is_asked_for(page: dict[str, Any]) -> None:
    asked = {*Platform.__annotations__, *(name for name in vars(Platform) if not name.startswith("_"))}
    assert asked >= {"mark", "measure", "delete"}
    assert {name for name in asked if not hasattr(page["FolderChat"], name)} == set()


async def test_it_runs_as_the_page_says_over_a_restart_and_with_a_message_that_somebody_deleted(
    tmp_path: Path, page: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = scripted(tmp_path, [step("", call("bash", command="sleep 0.5")), step("Done.")], [step("Again.")])
    for name, value in {"DATA": str(tmp_path / "data"), "MODEL": model, "APPROVAL": "all"}.items():
        monkeypatch.setenv(f"REDLINE_{name}", value)
    monkeypatch.setenv("REDLINE_CONFIG", str(tmp_path / "none.toml"))
    messages, workspace = tmp_path / "messages", tmp_path / "workspace"
    messages.mkdir()
    workspace.mkdir()

    def said() -> str:
        return "\n".join(path.read_text() for path in sorted(messages.iterdir()))

    async def first() -> AsyncIterator[str]:
        yield "/help"
        await until(lambda: "/stop: Stop what is running." in said())
        yield "go"
        await until(lambda: "sleep 0.5 …" in said())
        for path in messages.iterdir():
            if "sleep 0.5" in path.read_text():
                path.unlink()
        await until(lambda: "Turn 1 done" in said() and "takes the place of an earlier message" in said())
        yield "press 0123 allow_once"

    async def second() -> AsyncIterator[str]:
        yield "go on"
        await until(lambda: "Turn 2 done" in said())

    await page["run"](first(), messages, workspace)
    before = {path.name: path.read_text() for path in messages.iterdir()}
    await page["run"](second(), messages, workspace)
    assert {name: (messages / name).read_text() for name in before} == before
    assert len(list(messages.iterdir())) == len(before) + 1


async def test_a_message_that_is_gone_is_posted_anew(tmp_path: Path, page: dict[str, Any]) -> None:
    chat = page["FolderChat"](tmp_path)
    message = page["Message"]((Text("one"),))
    place = page["Place"]("lobby")
    name = await chat.post(place, message)
    (tmp_path / name).unlink()
    with pytest.raises(page["Refused"]):
        await chat.edit(place, name, message)
