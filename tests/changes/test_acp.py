"""Diff blocks of the Agent Client Protocol, written and read."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from redline.changes.acp import from_blocks, to_blocks, to_locations
from redline.changes.compare import describe, without_basis
from redline.changes.record import FileChange
from redline.changes.snippet import from_snippets


def block(path: str, old: Any, new: Any, **more: Any) -> dict[str, Any]:
    return {"type": "diff", "path": path, "oldText": old, "newText": new, **more}


def only(*blocks: Any) -> FileChange:
    (change,) = from_blocks(blocks).changes
    return change


def test_one_block_and_one_location_per_hunk() -> None:
    rows = [f"row {number}" for number in range(1, 41)]
    changed = ["x" if row in ("row 5", "row 30") else row for row in rows]
    change = describe("/w/a", ("\n".join(rows) + "\n").encode(), ("\n".join(changed) + "\n").encode())
    blocks = to_blocks(change)
    assert [(each["type"], each["path"]) for each in blocks] == [("diff", "/w/a")] * 2
    assert blocks[0]["oldText"] == "row 2\nrow 3\nrow 4\nrow 5\nrow 6\nrow 7\nrow 8\n"
    assert blocks[0]["newText"] == blocks[0]["oldText"].replace("row 5", "x")
    assert to_locations(change) == [{"path": "/w/a", "line": 5}, {"path": "/w/a", "line": 30}]


def test_a_line_of_a_large_file_is_a_small_message() -> None:
    before = b"".join(b"value_%d = compute(%d)\n" % (at, at) for at in range(5000))
    change = describe("/w/a", before, before.replace(b"value_2500 ", b"changed "))
    assert len(json.dumps(to_blocks(change))) < 2048


def test_old_text_is_null_only_where_there_was_none() -> None:
    (created,) = to_blocks(describe("/w/a", None, b"x\n"))
    assert (created["oldText"], created["newText"]) == (None, "x\n")
    (filled,) = to_blocks(describe("/w/a", b"", b"x\n"))
    assert filled["oldText"] == ""  # it was there, and empty
    (inserted,) = to_blocks(from_snippets("/w/a", [("", "new\n")]))
    assert (inserted["oldText"], inserted["newText"]) == ("", "new\n")
    (emptied,) = to_blocks(describe("/w/a", b"x\n", b""))
    assert (emptied["oldText"], emptied["newText"], emptied["_meta"]["kind"]) == ("x\n", "", "modify")
    (deleted,) = to_blocks(describe("/w/a", b"x\n", None))
    assert (deleted["newText"], deleted["_meta"]["kind"]) == ("", "delete")
    (empty,) = to_blocks(describe("/w/a", None, b""))
    assert (empty["oldText"], empty["newText"]) == (None, "")


def test_a_final_newline_that_alone_changed_is_seen() -> None:
    (told,) = to_blocks(describe("/w/a", b"a\nb", b"a\nb\n"))
    assert (told["oldText"], told["newText"]) == ("a\nb", "a\nb\n")


def test_what_has_no_text_has_no_block() -> None:
    assert to_blocks(describe("/w/a", b"\0", b"\0\0")) == []
    change = without_basis("/w/b", "move", None, None, old_path="/w/a")
    assert to_blocks(change) == []
    assert to_locations(change) == [{"path": "/w/b"}]


def test_odd_bytes_go_over_the_wire_as_text() -> None:
    (told,) = to_blocks(describe("/w/a", b"caf\xe9\n", b"caf\xe8\n"))
    json.dumps(told, ensure_ascii=False).encode()
    assert told["newText"] == "caf\ufffd\n"


@pytest.mark.parametrize(
    ("before", "after", "old_path"),
    [(b"a\nb\n", b"a\nB\n", None), (None, b"x\n", None), (b"x\ny\n", None, None), (b"a\n", b"b\n", "/w/old")],
)
def test_what_was_written_reads_back(before: bytes | None, after: bytes | None, old_path: str | None) -> None:
    change = describe("/w/a", before, after, old_path=old_path)
    read = only(*to_blocks(change))
    assert (read.operation, read.path, read.old_path) == (change.operation, change.path, change.old_path)
    assert (read.added, read.removed, read.provenance, read.anchored) == (
        change.added,
        change.removed,
        "reported",
        False,
    )


def test_blocks_of_one_path_belong_together() -> None:
    rows = [f"l{number}" for number in range(600)]
    texts = []
    for at in (None, 10, 300, 590):
        rows = rows if at is None else [*rows[:at], "changed", *rows[at + 1 :]]
        texts.append("\n".join(rows) + "\n")
    change = only(*(block("/w/a", old, new) for old, new in itertools.pairwise(texts)))
    assert (change.operation, change.added, change.removed, len(change.hunks)) == ("modify", 3, 3, 3)
    reading = from_blocks([block("/w/a", "x", "y"), block("/w/b", "x", "y"), block("/w/a", "p", "q")])
    assert [(each.path, each.added) for each in reading.changes] == [("/w/a", 2), ("/w/b", 1)]


def test_a_fragment_is_not_a_whole_file() -> None:
    change = only(block("/w/a", "l7\nl8\n", "l8\n"))
    assert (change.removed, change.added, change.anchored) == (1, 0, False)


@pytest.mark.parametrize("old", [None, ""])
def test_an_old_text_that_is_empty_says_nothing_about_the_file(old: str | None) -> None:
    assert only(block("/w/a", old, "x\n")).operation == "modify"
    assert only({"type": "diff", "path": "/w/a", "newText": "x\n"}).operation == "modify"
    assert only(block("/w/a", old, "x\n", _meta={"kind": "add"})).operation == "add"


def test_deleting_can_only_be_said_beside_the_block() -> None:
    deleted = only(block("/w/a", "x\n", "x\n", _meta={"kind": "delete"}))
    assert (deleted.operation, deleted.removed, deleted.added) == ("delete", 1, 0)
    emptied = only(block("/w/a", "x\n", ""))
    assert (emptied.operation, emptied.removed) == ("modify", 1)


def test_a_missing_new_text_is_malformed_and_not_empty() -> None:
    reading = from_blocks([{"type": "diff", "path": "/w/a", "oldText": "1\n2\n"}, block("/w/b", "x", "y")])
    assert reading.malformed == ("block 0 (/w/a): newText is missing",)
    assert [change.path for change in reading.changes] == ["/w/b"]
    assert from_blocks([block("", "x", "y"), block("/w/a", 3, "y"), block(3, "x", "y")]).malformed == (
        "block 0: path is missing",
        "block 1 (/w/a): oldText is not text",
        "block 2: path is missing",
    )


def test_other_blocks_are_not_diffs() -> None:
    others: list[Any] = [
        {"type": "content", "content": {"type": "text", "text": "ok"}},
        {"type": "terminal"},
        None,
        "x",
        {},
    ]
    assert from_blocks(others).changes == from_blocks(others).malformed == ()


def test_a_surrogate_in_a_text_crashes_nothing() -> None:
    assert only(block("/w/a", "\ud83d\n", "\udce9\n")).added == 1
