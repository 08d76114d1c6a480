"""What a session of the built-in agent offers beside prompts: slash commands, a model to choose, what it has used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from redline.surfaces.editor.commands import asked
from surfaces.editor.editor_client import Held, Place, Refused, call, diffs, make_place, until

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = make_place(tmp_path)
    (made.workspace / "a.txt").write_text("one\ntwo\n")
    return made


CHANGE = [{"call": [call("bash", command="echo three >> a.txt; echo new > b.txt")]}, {"text": "Done."}]


async def test_commands_are_offered_and_answered_without_the_model(place: Place) -> None:
    async with place.editor("--model", place.script(CHANGE), "--approval", "all") as editor:
        session = await editor.new(place.workspace)
        held = editor.held.setdefault(session, Held())
        await until(lambda: held.commands == ["diff", "undo"])
        assert (await editor.prompt(session, "/diff"))["stopReason"] == "end_turn"
        assert editor.held[session].text["agent"] == "Nothing has changed."
        await editor.prompt(session, "Go on.")
        editor.held[session].text["agent"] = ""
        await editor.prompt(session, "/diff a.txt")
        shown = editor.held[session].text["agent"]
        assert shown.startswith("```diff\n")
        assert " one\n two\n+three\n" in shown
        assert "b.txt" not in shown
        await editor.prompt(session, "/undo b.txt")
        assert not (place.workspace / "b.txt").exists()
        taken = list(editor.held[session].calls.values())[-1]
        assert taken["title"] == "Taken back: b.txt"
        assert diffs(taken["content"]) == [("new\n", "")]
        await editor.prompt(session, "/undo a.txt")
        assert (place.workspace / "a.txt").read_text() == "one\ntwo\n"
        editor.held[session].text["agent"] = ""
        await editor.prompt(session, "/undo")
        live = editor.held.pop(session)
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        assert editor.held[session].calls == live.calls
        await until(lambda: editor.held[session].commands == ["diff", "undo"])


async def test_an_undo_that_is_refused_says_which_lines_stand_in_its_way(place: Place) -> None:
    async with place.editor("--model", place.script(CHANGE), "--approval", "all") as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session, "Go on.")
        (place.workspace / "a.txt").write_text("one\ntwo\nand three\n")
        editor.held[session].text["agent"] = ""
        await editor.prompt(session, "/undo a.txt")
        assert editor.held[session].text["agent"].startswith("CHANGED: ")
        assert "and three" in editor.held[session].text["agent"]
        assert (place.workspace / "a.txt").read_text() == "one\ntwo\nand three\n"


@pytest.mark.parametrize("text", ["/plan it", "see /diff", "//diff", "/different"])
def test_whatever_is_no_command_goes_to_the_model(text: str) -> None:
    assert asked([{"type": "text", "text": text}]) is None
    assert asked([{"type": "text", "text": "/diff"}, {"type": "image", "data": ""}]) is None


async def test_the_model_is_chosen_in_the_session(place: Place) -> None:
    first, second = place.script([{"text": "First."}]), place.script([{"text": "-"}], [{"text": "Second."}])
    async with place.editor("--model", first) as editor:
        answer = await editor.ask("session/new", cwd=str(place.workspace), mcpServers=[])
        session = answer["sessionId"]
        model = next(one for one in answer["configOptions"] if one["id"] == "model")
        assert (model["category"], model["currentValue"]) == ("model", first)
        await editor.prompt(session)
        changed = await editor.ask("session/set_config_option", sessionId=session, configId="model", value=second)
        model = next(one for one in changed["configOptions"] if one["id"] == "model")
        assert (model["currentValue"], [one["value"] for one in model["options"]]) == (second, [first, second])
        await editor.prompt(session)
        assert editor.held[session].text["agent"] == "First.Second."
        with pytest.raises(Refused, match="no/such"):
            await editor.ask("session/set_config_option", sessionId=session, configId="model", value="script:no/such")


async def test_odd_bytes_are_the_same_escapes_in_a_diff_as_on_a_card(place: Place) -> None:
    (place.workspace / "a.txt").write_bytes(b"caf\xe9\n")
    steps = [{"call": [call("bash", command="printf 'th\\351\\n' > a.txt")]}, {"text": "Done."}]
    async with place.editor("--model", place.script(steps), "--approval", "all") as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        [card] = editor.held[session].calls.values()
        assert diffs(card["content"]) == [("caf\\xE9\n", "th\\xE9\n")]
        before = len(editor.held[session].text["agent"])
        await editor.prompt(session, "/diff")
        told = editor.held[session].text["agent"][before:]
        assert "-caf\\xE9\n" in told
        assert "+th\\xE9\n" in told
