"""The scripted model: its file, where it stands, and what it says when it is over."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolReturnPart, UserPromptPart

from redline.agents.builtin.script import Position, ScriptError, load_script, position, scripted_model, with_workspace

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage

TOML = """
piece = 4

[[turn]]
[[turn.step]]
thinking = "Hm."
text = "I will write it."
call = [
    { tool = "write", arguments = { path = "{workspace}/a.py", content = "d = {}\\n" } },
    { tool = "read", arguments = { path = "b.py" } },
]
[[turn.step]]
text = "Done."

[[turn]]
[[turn.step]]
call = [{ tool = "bash", arguments = { command = "true" } }]
"""


def written(folder: Path, text: str, name: str = "script.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


async def answer(path: Path, messages: list[ModelMessage]) -> ModelResponse:
    model = scripted_model(path, path.parent)
    async with model_request_stream(model, messages) as stream:
        async for _ in stream:
            pass
        return stream.get()


def prompt(text: str) -> ModelRequest:
    return ModelRequest([UserPromptPart(text)])


async def test_a_prompt_plays_the_next_turn_and_the_results_of_its_calls_play_its_next_step(tmp_path: Path) -> None:
    path = written(tmp_path, TOML)
    messages: list[ModelMessage] = [prompt("one")]
    first = await answer(path, messages)
    assert first.text == "I will write it."
    assert first.thinking == "Hm."
    assert [(call.tool_name, call.args_as_dict()) for call in first.tool_calls] == [
        ("write", {"path": f"{tmp_path}/a.py", "content": "d = {}\n"}),
        ("read", {"path": "b.py"}),
    ]
    assert len({call.tool_call_id for call in first.tool_calls}) == 2
    messages += [first, ModelRequest([ToolReturnPart(c.tool_name, "ok", c.tool_call_id) for c in first.tool_calls])]
    second = await answer(path, messages)
    assert (second.text, second.tool_calls) == ("Done.", [])
    messages += [second, prompt("two")]
    third = await answer(path, messages)
    assert [call.tool_name for call in third.tool_calls] == ["bash"]


async def test_a_turn_whose_last_step_made_calls_ends_in_silence(tmp_path: Path) -> None:
    path = written(tmp_path, TOML)
    history = [prompt("one"), ModelResponse([TextPart("x")]), prompt("two"), ModelResponse([TextPart("y")])]
    last = await answer(path, history)
    assert not last.tool_calls
    assert not last.text


async def test_text_streams_in_pieces(tmp_path: Path) -> None:
    model = scripted_model(written(tmp_path, TOML), tmp_path)
    pieces: list[str] = []
    async with model_request_stream(model, [prompt("one")]) as stream:
        async for event in stream:
            if event.event_kind == "part_start" and event.part.part_kind == "text":
                pieces.append(event.part.content)
            elif event.event_kind == "part_delta" and event.delta.part_delta_kind == "text":
                pieces.append(event.delta.content_delta)
    assert [piece for piece in pieces if piece] == ["I wi", "ll w", "rite", " it."]


async def test_a_script_that_is_over_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, TOML)
    with pytest.raises(ScriptError, match=r"script\.toml is over: it has 2 turns, and this is prompt 3") as caught:
        await answer(path, [prompt("1"), prompt("2"), prompt("3")])
    assert caught.value.code == "SCRIPT_OVER"


async def test_a_script_may_say_what_follows_every_further_prompt(tmp_path: Path) -> None:
    path = written(tmp_path, TOML + '\n[[otherwise.step]]\ntext = "That was all."\n')
    messages: list[ModelMessage] = [prompt(str(number)) for number in range(4)]
    assert (await answer(path, messages)).parts == [TextPart("That was all.")]
    assert (await answer(path, [*messages, prompt("5")])).parts == [TextPart("That was all.")]


async def test_a_step_can_ask_for_a_model_fault(tmp_path: Path) -> None:
    script = {"turn": [{"step": [{"text": "Half a", "error": "the line went dead"}]}]}
    path = written(tmp_path, json.dumps(script), "script.json")
    with pytest.raises(ScriptError, match="the line went dead"):
        await answer(path, [prompt("1")])


def test_the_same_script_may_be_json(tmp_path: Path) -> None:
    import tomllib

    path = written(tmp_path, json.dumps(tomllib.loads(TOML)), "script.json")
    assert load_script(path) == load_script(written(tmp_path, TOML))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "has no turn[.]"),
        ("turn = []\n", "has no turn[.]"),
        ("[[turn]]\n", "has no step in turn 1[.]"),
        ('[[turn]]\nstep = [{ text = "x" }]\n[[turn]]\nstep = []\n', "has no step in turn 2[.]"),
        ('[[turn]]\n[[turn.step]]\ntext = "x"\n[otherwise]\n', "has no step in otherwise[.]"),
        ('[[turn]]\n[[turn.step]]\ntxt = "x"\n', "has 'txt' in step 1 of turn 1, which means nothing there[.]"),
        ("[[turn]]\n[[turn.step]]\ncall = [{ arguments = {} }]\n", "has no tool in call 1 of step 1 of turn 1[.]"),
        ("[[turn]]\n[[turn.step]]\ntext = 5\n", "is wrong at text of step 1 of turn 1: "),
        ("[[turn]\n", "cannot be parsed"),
    ],
)
def test_a_wrong_script_is_refused_with_the_place(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(ScriptError, match=place) as caught:
        load_script(written(tmp_path, text))
    assert caught.value.code == "SCRIPT"


def test_a_missing_script_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="No such file"):
        load_script(tmp_path / "none.toml")


def test_the_place_in_the_script_follows_from_the_messages_alone() -> None:
    one: list[Any] = [
        prompt("a"),
        ModelResponse([]),
        ModelRequest([ToolReturnPart("read", "x", "1")]),
        ModelResponse([]),
    ]
    assert position([]) == Position(0, 0)
    assert position(one[:1]) == Position(0, 0)
    assert position(one) == Position(0, 2)
    assert position([*one, prompt("b")]) == Position(1, 0)


def test_the_workspace_is_filled_in_at_any_depth_and_other_braces_stay(tmp_path: Path) -> None:
    value = {"a": ["{workspace}/x", {"b": "{not} {workspace}"}], "n": 3}
    assert with_workspace(value, tmp_path) == {"a": [f"{tmp_path}/x", {"b": f"{{not}} {tmp_path}"}], "n": 3}
