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
    for line in (None, True, -1, "4", 10**15, 10**400):
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


@pytest.mark.parametrize(
    ("name", "kind", "arguments"),
    [
        # Two names that are no two places of a file.
        ("git_log", None, {"from": "main", "to": "dev"}),
        ("git_log", "read", {"from": "main", "to": "dev"}),
        ("translate", "other", {"from": "en", "to": "fr", "text": "x"}),
        ("email", None, {"file": "x.txt", "content": "hello", "from": "me", "to": "bob"}),
        ("edit", "edit", {"path": "/w/a", "from": "foo", "to": "bar"}),
        ("replace_in_file", None, {"path": "/w/a", "source": "a", "destination": "b"}),
        ("rename_symbol", "edit", {"path": "/w/a", "old": "f", "new": "g"}),
        ("rename_branch", None, {"from": "x", "to": "y"}),
        ("move_lines", None, {"path": "/w/a", "from": "1", "to": "5"}),
        ("", None, {"source": "/w/a", "destination": "/w/b"}),
        # A copy leaves the old file where it is.
        ("copy_file", None, {"source": "/w/a", "destination": "/w/b"}),
        ("Copy a to b", "move", {"source": "/w/a", "destination": "/w/b"}),
        ("cp", "edit", {"src": "/w/a", "dst": "/w/b"}),
        # What is removed is not the file.
        ("remove_unused_imports", None, {"file_path": "/w/a.py"}),
        ("removeUnusedImports", "edit", {"file_path": "/w/a.py"}),
        ("remove_unused_imports", "delete", {"file_path": "/w/a.py"}),
        ("Remove trailing whitespace", None, {"path": "/w/a"}),
        ("Remove trailing whitespace from a.py", "edit", {"path": "/w/a.py"}),
        ("delete_branch", None, {"path": "x"}),
        ("git_remove_from_index", None, {"path": "/w/a"}),
        ("delete_file", "execute", {"path": "/w/a"}),
        # Pairs and contents of tools that look.
        ("compare dates", None, {"path": "/w/a", "before": "2024-01-01", "after": "2024-02-01"}),
        ("search_files", None, {"path": "/w", "before": "2", "after": "3"}),
        ("log", None, {"path": "/w", "old": "v1", "new": "v2"}),
        ("get_edit_history", None, {"path": "/w/a", "before": "2", "after": "3"}),
        ("edit", "search", {"path": "/w/a", "old_string": "x", "new_string": "y"}),
        ("run", "execute", {"path": "/w/a", "old": "x", "new": "y"}),
        ("read_file", None, {"path": "/w/a", "content": "x"}),
        ("view_file", "read", {"path": "/w/a", "content": "x"}),
        ("grep", None, {"path": "/w", "content": "needle"}),
        ("lint", None, {"file": "/w/a.py", "content": "print(1)\n"}),
        ("add_comment", None, {"path": "/w/a.py", "line": 3, "content": "nice"}),
        ("create_comment", "edit", {"path": "/w/a.py", "line": 3, "content": "nice"}),
        ("git_show", None, {"patch": PATCH}),
        ("review", None, PATCH),
        # Text that is not in the file, or not all that changes there.
        ("replace", "edit", {"path": "/w/a", "search": "a.*", "replace": "b", "regex": True}),
        ("edit", "edit", {"path": "/w/a", "old_string": "a.*", "new_string": "b", "is_regex": True}),
        ("edit", "edit", {"path": "/w/a", "old_string": "a.*", "new_string": "b", "mode": "regex"}),
        ("replace_regex", None, {"path": "/w/a", "search": "a.*", "replace": "b"}),
        ("edit", "edit", {"path": "/w/a", "edits": [{"old": "a", "new": "b"}], "useRegex": True}),
        ("edit", "edit", {"path": "/w/a", "edits": [{"old": "a", "new": "b", "regex": True}]}),
        ("replace_lines", "edit", {"path": "/w/a", "start_line": 1, "end_line": 3, "content": "x\n"}),
        ("insert", "edit", {"path": "/w/a", "line": 1, "end_line": 3, "content": "x\n"}),
        ("edit_file", "edit", {"path": "/w/a", "content": "# … as before\nx", "instructions": "add x"}),
    ],
)
def test_a_shape_is_no_change_where_the_tool_is_not_said_to_make_one(
    name: str, kind: str | None, arguments: Any
) -> None:
    assert from_arguments(name, arguments, kind) == []


@pytest.mark.parametrize(
    ("name", "kind", "arguments", "said"),
    [
        (None, "move", {"source": "/w/a", "destination": "/w/b"}, ("move", "/w/b", 0, 0)),
        ("mcp__fs__move_file", None, {"source": "/w/a", "destination": "/w/b"}, ("move", "/w/b", 0, 0)),
        ("Move copy.py to b.py", None, {"source": "/w/copy.py", "destination": "/w/b.py"}, ("move", "/w/b.py", 0, 0)),
        ("rename", "edit", {"from": "/w/a", "to": "/w/b"}, ("move", "/w/b", 0, 0)),
        ("Delete `/w/comment`", None, {"path": "/w/comment"}, ("delete", "/w/comment", 0, 0)),
        (None, "delete", {"path": "/w/a"}, ("delete", "/w/a", 0, 0)),
        ("Deleting /w/x/a.py", "delete", {"path": "/w/x/a.py"}, ("delete", "/w/x/a.py", 0, 0)),
        ("/w/view.py", "edit", {"path": "/w/view.py", "old": "x", "new": "y"}, ("modify", "/w/view.py", 1, 1)),
        ("MultiEdit", None, {"path": "/w/a", "edits": [{"old": "x", "new": "y"}]}, ("modify", "/w/a", 1, 1)),
        ("find_and_replace", None, {"path": "/w/a", "search": "x", "replace": "y"}, ("modify", "/w/a", 1, 1)),
        ("StrReplaceFile", None, {"path": "/w/a", "old": "x", "new": "y"}, ("modify", "/w/a", 1, 1)),
        (None, None, {"path": "/w/a", "old_string": "x", "new_string": "y"}, ("modify", "/w/a", 1, 1)),
        ("x", "edit", {"path": "/w/a", "search": "x", "replace": "y", "regex": False}, ("modify", "/w/a", 1, 1)),
        ("Writing to get.py", None, {"path": "/w/get.py", "content": "x\n"}, ("modify", "/w/get.py", 0, 1)),
        ("append_file", None, {"path": "/w/a", "content": "x\n"}, ("modify", "/w/a", 0, 1)),
        ("Creating a", "edit", {"path": "/w/a", "file_text": "x\n"}, ("add", "/w/a", 0, 1)),
    ],
)
def test_the_name_or_the_kind_is_enough(
    name: str | None, kind: str | None, arguments: Any, said: tuple[str, str, int, int]
) -> None:
    (change,) = from_arguments(name, arguments, kind)
    assert told(change) == said


def test_a_patch_that_quotes_an_envelope_is_a_patch() -> None:
    patch = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n a\n+*** Begin Patch\n"
    assert [told(change) for change in from_arguments("apply_patch", {"patch": patch})] == [("modify", "x", 0, 1)]


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
@given(
    st.sampled_from([None, "edit", "insert", "create", "delete", "move", "é"]) | st.text(max_size=12),
    json_values,
    st.sampled_from([None, "edit", "move", "delete", "read", "execute", "other"]),
)
def test_no_argument_raises(name: str | None, arguments: Any, kind: str | None) -> None:
    for change in from_arguments(name, arguments, kind):
        unified(change)
