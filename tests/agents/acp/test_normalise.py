"""What one message says: every shape in which agents report, read without trusting any of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.agents.acp.evidence import Evidence, evidence
from redline.agents.acp.normalise import CallSaid, Other, Plan, State, Text, said
from redline.agents.acp.places import absolute

if TYPE_CHECKING:
    from pathlib import Path

W = "/w"
D = {"type": "diff", "path": "/w/a.py", "oldText": "x = 1\n", "newText": "x = 2\n"}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)
fields = st.sampled_from(["title", "kind", "status", "content", "locations", "rawInput", "rawOutput", "_meta", "name"])


def read(**given_fields: Any) -> Evidence:
    return evidence(given_fields, W)


def paths(found: Evidence) -> list[str]:
    return [change.path for change in found.proposed]


@given(st.dictionaries(fields, json_values), st.sampled_from(["tool_call", "tool_call_update", "plan", "x", None]))
def test_nothing_that_is_json_makes_it_raise(update: dict[str, Any], kind: str | None) -> None:
    heard = said({**update, "sessionUpdate": kind, "toolCallId": "c"})
    if isinstance(heard, CallSaid):
        evidence(heard.fields, W)


@given(json_values)
def test_not_even_what_is_no_update(value: Any) -> None:
    said(value)


def test_text_thoughts_plans_and_states() -> None:
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}, "messageId": "m"}
    assert said(chunk) == Text("agent", "hi", "m")
    assert said({**chunk, "sessionUpdate": "agent_thought_chunk"}) == Text("thought", "hi", "m")
    assert said({"sessionUpdate": "user_message_chunk", "content": {}}) is None
    plan = {"sessionUpdate": "plan", "entries": [{"content": "a", "status": "pending", "extra": 1}]}
    assert said(plan) == Plan([{"content": "a", "status": "pending"}], plan)
    assert said({"sessionUpdate": "current_mode_update", "currentModeId": "ask"}) == State({"mode": "ask"})
    unknown = {"sessionUpdate": "future", "x": [1, {"y": None}]}
    assert said(unknown) == Other(unknown)
    picture = {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "…"}}
    assert said(picture) == Other(picture)


def test_absent_and_null_are_unchanged() -> None:
    """Public reports: B21."""
    heard = said({"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "a.py", "kind": None})
    assert heard == CallSaid("c", False, {"title": "a.py"})


def test_each_block_is_read_by_its_kind() -> None:
    """Public reports: A4."""
    content = [
        {"type": "content", "content": {"type": "text", "text": "ok"}}, D, {"type": "terminal", "terminalId": "q"},
        {"type": "future"},
    ]  # fmt: skip
    found = read(kind="edit", content=content)
    assert (found.text, paths(found), found.terminals) == ("ok", ["/w/a.py"], ("q",))


@pytest.mark.parametrize(
    "given_fields",
    [
        {"title": "git log", "rawInput": {"from": "main", "to": "dev"}},
        {"title": "git log", "kind": "execute", "rawInput": {"from": "main", "to": "dev"}},
        {"title": "compare dates", "rawInput": {"path": "/w/a.py", "before": "2024-01-01", "after": "2024-02-01"}},
        {
            "title": "x",
            "name": "copy_file",
            "kind": "edit",
            "rawInput": {"source": "/w/a.py", "destination": "/w/c.py"},
        },
        {"title": "Remove unused imports", "kind": "edit", "rawInput": {"file_path": "/w/a.py"}},
        {"title": "edit", "kind": "read", "rawInput": {"path": "/w/a.py", "old_string": "x", "new_string": "y"}},
    ],
)
def test_arguments_are_no_claim_of_a_change_where_name_and_kind_say_something_else(
    given_fields: dict[str, Any],
) -> None:
    assert read(**given_fields).proposed == ()


@pytest.mark.parametrize(
    "given_fields",
    [
        {"content": [D]},
        {"rawInput": {"path": "/w/a.py", "before": "x = 1", "after": "x = 2"}, "title": "edit · a.py"},
        {"rawInput": {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}},
        {"rawInput": {"filePath": "/w/a.py", "edits": [{"oldText": "x = 1", "newText": "x = 2"}]}},
        {"rawInput": {"changes": {"/w/a.py": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-x = 1\n+x = 2\n"}}}},
        {"rawInput": {"input": "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"}},
        {"rawOutput": {"detailedContent": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"}, "kind": "edit"},
        {"content": [{"type": "content", "content": {"type": "text", "text":
            '{"path": "/w/a.py", "old_string": "x = 1", "new_string": "x = 2"}'}}]},
    ],
)  # fmt: skip
def test_the_same_edit_in_every_shape(given_fields: dict[str, Any]) -> None:
    """Public reports: A3, C28."""
    found = read(**given_fields)
    assert paths(found) == ["/w/a.py"]
    [change] = found.proposed
    assert change.provenance == "reported"
    assert [line for hunk in change.hunks for line in hunk.lines if line[0] != " "] == ["-x = 1", "+x = 2"]
    assert found.intended == {"/w/a.py"}


def test_what_is_only_looked_at_is_mentioned_and_not_meant() -> None:
    found = read(
        kind="read",
        rawInput={"path": "a.py"},
        rawOutput={"detailedContent": "--- a/a.py\n+++ b/a.py\n@@ -0,0 +1 @@\n+x\n"},
    )
    assert (found.named, found.intended, found.proposed) == ({"/w/a.py"}, frozenset(), ())


def test_a_delete_is_one_only_where_it_is_said_and_an_emptied_file_is_none() -> None:
    """Public reports: C27."""
    gone = {"type": "diff", "path": "/w/x", "oldText": "x\n", "newText": "x\n", "_meta": {"kind": "delete"}}
    [change] = read(kind="delete", content=[gone]).proposed
    assert (change.operation, change.removed) == ("delete", 1)
    [change] = read(kind="edit", content=[{**gone, "newText": "", "_meta": None}]).proposed
    assert change.operation == "modify"


@pytest.mark.parametrize(
    ("given_input", "command"),
    [
        ({"command": "sed -i s/a/b/ f"}, "sed -i s/a/b/ f"),
        ({"command": ["bash", "-lc", "make it"]}, "make it"),
        ({"command": ["rm", "a b"]}, "rm 'a b'"),
        ({"command": "str_replace", "path": "/w/a.py", "old_str": "x"}, None),
        ({"command": ""}, None),
    ],
)
def test_a_command_is_what_runs_and_not_the_name_of_an_operation(given_input: Any, command: str | None) -> None:
    assert read(rawInput=given_input).command == command


def test_the_folder_of_the_work_is_no_path_of_a_call() -> None:
    assert read(kind="execute", locations=[{"path": "/w"}]).named == frozenset()


def test_paths_are_taken_as_they_are_meant(tmp_path: Path) -> None:
    workspace = str(tmp_path)
    (tmp_path / "src").mkdir()
    assert absolute("src/a.py", workspace) == f"{workspace}/src/a.py"
    assert absolute(f"file://{workspace}/a%20b.py", workspace) == f"{workspace}/a b.py"
    assert absolute("./src/../a.py", workspace) == f"{workspace}/a.py"
    assert absolute("/src/a.py", workspace) == f"{workspace}/src/a.py"  # an agent whose root is the workspace
    assert absolute("/etc/hostname", workspace) == "/etc/hostname"
