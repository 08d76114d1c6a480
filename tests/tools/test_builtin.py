"""What a model is told of the tools."""

from __future__ import annotations

import pytest

from redline.tools.builtin import builtin_toolset
from redline.views import GenericCall

NAMES = ["read", "write", "edit", "multi_edit", "insert", "delete", "move", "apply_patch", "bash", "glob", "grep"]


def test_the_tools_and_which_of_them_always_ask() -> None:
    toolset = builtin_toolset()
    assert [tool.name for tool in toolset.tools] == NAMES
    assert [tool.name for tool in toolset.tools if tool.asks] == ["bash"]


@pytest.mark.parametrize("tool", builtin_toolset().tools, ids=lambda tool: tool.name)
def test_every_parameter_is_described_and_none_is_guessed(tool) -> None:
    schema = tool.parameters.model_json_schema()
    assert schema["additionalProperties"] is False
    for part in (schema, *schema.get("$defs", {}).values()):
        for name, field in part["properties"].items():
            assert field.get("description"), name
    assert 40 < len(tool.description) < 700


@pytest.mark.parametrize("tool", builtin_toolset().tools, ids=lambda tool: tool.name)
def test_a_call_without_arguments_still_has_a_title(tool) -> None:
    view = tool.present_call({}, ())
    assert view.title
    if isinstance(view, GenericCall):
        assert view.kind == tool.kind
