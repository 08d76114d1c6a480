"""What foreign edit tools were asked to do, read from their arguments; and nothing where they do not say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.changes.arguments import from_arguments
from redline.changes.patch import unified
from redline.changes.record import FileChange

PATCH = """*** Begin Patch
*** Add File: new.py
+one
+two
*** Update File: old.py
*** Move to: renamed.py
@@ def f():
 keep
-out
+in
@@
-last
*** End of File
*** Delete File: gone.py
*** End Patch
"""


def told(change: FileChange) -> tuple[str, str, int, int]:
    return change.operation, change.path, change.removed, change.added


@pytest.mark.parametrize(
    "arguments",
    [
        {"file_path": "/w/a", "old_string": "x = 1", "new_string": "x = 2", "replace_all": False},
        {"filePath": "/w/a", "oldString": "x = 1", "newString": "x = 2"},
        {"path": "/w/a", "old_str": "x = 1", "new_str": "x = 2"},
        {"command": "str_replace", "path": "/w/a", "old_str": "x = 1", "new_str": "x = 2"},
        {"path": "/w/a", "old_text": "x = 1", "new_text": "x = 2"},
        {"path": "/w/a", "before": "x = 1", "after": "x = 2"},
        {"path": "/w/a", "edits": [{"oldText": "x = 1", "newText": "x = 2"}]},
        {"path": "/w/a", "content": {"type": "diff", "path": "/w/a", "oldText": "x = 1", "newText": "x = 2"}},
        {
            "changes": {
                "/w/a": {"type": "update", "unified_diff": "@@ -7,2 +7,2 @@\n y\n-x = 1\n+x = 2\n", "move_path": None}
            }
        },
        {"filepath": "/w/a", "diff": "Index: /w/a\n=====\n--- /w/a\n+++ /w/a\n@@ -1,2 +1,2 @@\n y\n-x = 1\n+x = 2\n"},
        "--- /w/a\n+++ /w/a\n@@ -1 +1 @@\n-x = 1\n+x = 2\n",
    ],
)
def test_one_replaced_line_in_many_shapes(arguments: Any) -> None:
    (change,) = from_arguments("edit", arguments)
    assert told(change) == ("modify", "/w/a", 1, 1)
    assert change.provenance == "reported"


@pytest.mark.parametrize(
    "arguments",
    [
        {"file_path": "/w/a", "content": "one\ntwo\n"},
        {"path": "/w/a", "file_text": "one\ntwo"},
        {"path": "/w/a", "new_text": "one\ntwo\n"},
    ],
)
def test_a_written_file_shows_its_lines_and_claims_not_to_be_new(arguments: Any) -> None:
    (change,) = from_arguments("write", arguments)
    assert told(change) == ("modify", "/w/a", 0, 2)
    assert not change.anchored


def test_only_a_tool_that_creates_makes_a_new_file() -> None:
    assert from_arguments("create_file", {"path": "/w/a", "content": "x"})[0].operation == "add"
    assert from_arguments(None, {"command": "create", "path": "/w/a", "file_text": "x"})[0].operation == "add"
    assert from_arguments("edit", {"path": "/w/a", "before": "", "after": "hi"})[0].operation == "modify"
    assert from_arguments("write", {"path": "/w/a", "before": "", "after": "hi"})[0].operation == "add"


def test_an_insert_needs_its_line() -> None:
    (change,) = from_arguments("insert", {"path": "/w/a", "insert_line": 4, "insert_text": "x\ny\n"})
    assert told(change) == ("modify", "/w/a", 0, 2)
    assert (change.hunks[0].old_start, change.hunks[0].new_start) == (4, 5)
    assert not change.anchored
    (change,) = from_arguments(None, {"command": "insert", "path": "/w/a", "insert_line": 0, "new_str": "x"})
    assert change.hunks[0].new_start == 1
    for line in (None, True, -1, "4"):
        assert from_arguments("insert", {"path": "/w/a", "insert_line": line, "insert_text": "x\n"}) == []


def test_several_edits_are_several_hunks_of_one_file() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c\n", "new_string": ""}]
    (change,) = from_arguments("multi_edit", {"file_path": "/w/a", "edits": edits})
    assert (len(change.hunks), change.removed, change.added) == (2, 2, 1)
    assert from_arguments("multi_edit", {"file_path": "/w/a", "edits": [*edits, {"old_string": "x"}]}) == []


def test_an_envelope_with_every_verb() -> None:
    for arguments in (
        PATCH,
        {"input": PATCH},
        {"command": ["apply_patch", PATCH]},
        {"patchText": PATCH.replace("\n", "\r\n")},
    ):
        added, moved, deleted = from_arguments("apply_patch", arguments)
        assert told(added) == ("add", "new.py", 0, 2)
        assert (*told(moved), moved.old_path) == ("move", "renamed.py", 2, 1, "old.py")
        assert [hunk.lines for hunk in moved.hunks] == [(" keep", "-out", "+in"), ("-last",)]
        assert (deleted.operation, deleted.path, deleted.exact) == ("delete", "gone.py", False)
        assert not moved.anchored


def test_a_map_of_changes() -> None:
    changes = {
        "/w/new": {"type": "add", "content": "x\n"},
        "/w/gone": {"type": "delete", "content": "a\nb\n"},
        "/w/old": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": "/w/to"},
    }
    new, gone, moved = from_arguments(None, {"call_id": "1", "changes": changes})
    assert (told(new), told(gone)) == (("add", "/w/new", 0, 1), ("delete", "/w/gone", 2, 0))
    assert (moved.operation, moved.old_path, moved.path) == ("move", "/w/old", "/w/to")


def test_deleting_and_moving() -> None:
    (change,) = from_arguments("delete_file", {"path": "/w/a"})
    assert (change.operation, change.path, change.exact) == ("delete", "/w/a", False)
    (change,) = from_arguments("move_file", {"source": "/w/a", "destination": "/w/b"})
    assert (change.operation, change.old_path, change.path) == ("move", "/w/a", "/w/b")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("edit", None),
        ("edit", []),
        ("edit", {}),
        ("edit", {"file_path": "/w/a"}),
        ("edit", {"file_path": "/w/a", "old_string": "half"}),
        ("edit", {"file_path": "/w/a", "old_string": "x", "new_string": 3}),
        ("edit", {"file_path": "", "old_string": "x", "new_string": "y"}),
        ("read", {"path": "/w/a"}),
        ("view", {"command": "view", "path": "/w/a"}),
        ("bash", {"command": "rm a", "description": "remove"}),
        ("bash", {"command": "echo '*** Begin Patch'"}),
        ("apply_patch", "*** Begin Patch\n*** Update File: a\n*** End Patch\n"),
        ("apply_patch", "*** Begin Patch\n*** Add File: a\n+x\n"),
        ("apply_patch", "*** Begin Patch\nrubbish\n*** End Patch"),
        ("edit", {"changes": {"/w/a": {"type": "update"}}}),
        ("edit", {"path": "/w/a", "content": [{"type": "diff", "path": "/w/a", "oldText": "x"}]}),
    ],
)
def test_what_does_not_say_the_whole_change_yields_none(name: str, arguments: Any) -> None:
    assert from_arguments(name, arguments) == []


KEYS = [
    "path",
    "file_path",
    "content",
    "old_string",
    "new_string",
    "edits",
    "changes",
    "insert_line",
    "command",
    "diff",
    "patch",
    "type",
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just(PATCH),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([None, "edit", "insert", "create", "delete"]), json_values)
def test_no_argument_raises(name: str | None, arguments: Any) -> None:
    for change in from_arguments(name, arguments):
        unified(change)
