"""The example on the page about the scripted model is a script that plays."""

from __future__ import annotations

import re
from pathlib import Path

from redline.agents.builtin.script import load_script
from redline.tools.builtin import builtin_toolset

PAGE = Path(__file__).parents[2] / "docs" / "scripted-model.md"


def test_the_example_of_the_page_can_be_played(tmp_path: Path) -> None:
    [example] = re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    path = tmp_path / "greet.toml"
    path.write_text(example, "utf-8")
    script = load_script(path)
    assert [len(turn.step) for turn in script.turn] == [2, 1]
    assert script.turn[0].step[0].call[0].tool == "write"


def test_the_table_names_every_tool_with_every_argument() -> None:
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|(.*)\|$", PAGE.read_text("utf-8"), re.MULTILINE)
    told = {name: (_names(needs), _names(takes)) for name, needs, takes in rows}
    for tool in builtin_toolset().tools:
        fields = tool.parameters.model_fields
        required = {name for name, field in fields.items() if field.is_required()}
        needs, takes = told.pop(tool.name)
        assert needs | takes == set(fields) | ({"edit", "path"} if tool.name == "multi_edit" else set()), tool.name
        assert required <= needs, tool.name
    assert told == {}


def test_an_edit_of_several_is_one_without_its_path() -> None:
    by_name = builtin_toolset().by_name
    [one] = by_name["multi_edit"].parameters.model_json_schema()["$defs"].values()
    assert set(one["properties"]) == set(by_name["edit"].parameters.model_fields) - {"path"}


def _names(cell: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", cell))
