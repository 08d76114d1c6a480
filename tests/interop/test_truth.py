"""The judges of live runs are judged: each kind of untruth is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from interop.hearsay import hearsay
from interop.truth import untruths
from redline.changes.compare import describe
from redline.transcript.rows import FoundRow, ToolRow
from redline.views import GenericCall

FOLDER = Path("/workspace")
OLD, NEW = b"one\ntwo\nthree\n", b"one\n2\nthree\n"
EDIT = describe("/workspace/f", OLD, NEW)


def _row(*changes: Any, status: Any = "applied", name: str = "1") -> ToolRow:
    view = GenericCall("edit", ())
    return ToolRow(
        id=f"tool:1:{name}", turn=1, seq=1, revision=1, at=0, call=name, name="edit", status=status, call_view=view,
        changes=changes,
    )  # fmt: skip


def test_a_true_card_passes() -> None:
    assert untruths([_row(EDIT)], {"f": OLD}, {"f": NEW}, FOLDER) == []


def test_cards_in_another_order_than_their_calls_pass() -> None:
    later = describe("/workspace/f", NEW, b"one\n2\n3\n")
    assert untruths([_row(later), _row(EDIT, name="2")], {"f": OLD}, {"f": b"one\n2\n3\n"}, FOLDER) == []


def test_a_change_without_a_card_is_found() -> None:
    assert untruths([], {"f": OLD}, {"f": NEW}, FOLDER) == ["f is not what the cards make of it"]
    assert untruths([], {}, {"f": NEW}, FOLDER) == ["f was created, and no card says so"]
    assert untruths([], {"f": OLD}, {}, FOLDER) == ["f was deleted, and no card says so"]


def test_a_claim_that_did_not_happen_is_found() -> None:
    assert untruths([_row(EDIT)], {"f": OLD}, {"f": OLD}, FOLDER) == ["f is not what the cards make of it"]
    assert "fits no state" in untruths([_row(EDIT), _row(EDIT)], {"f": OLD}, {"f": NEW}, FOLDER)[0]


def test_a_lost_hunk_is_found() -> None:
    [wrong] = [
        one for one in untruths([_row(replace(EDIT, hunks=()))], {"f": OLD}, {"f": NEW}, FOLDER) if "hunks" in one
    ]
    assert "do not give the bytes" in wrong


def test_a_rejected_call_drawn_as_applied_is_found() -> None:
    wrong = untruths([_row(EDIT, status="rejected")], {"f": OLD}, {"f": NEW}, FOLDER)
    assert wrong == ["tool:1:1: rejected, and drawn as applied"]


def test_a_call_left_open_or_empty_is_found() -> None:
    assert untruths([_row(status="running")], {}, {}, FOLDER) == ["tool:1:1: still running after the turn"]
    assert untruths([_row()], {}, {}, FOLDER) == ["tool:1:1: applied, and it shows nothing"]


def test_a_mere_word_is_found() -> None:
    wrong = untruths([_row(replace(EDIT, provenance="reported"))], {"f": OLD}, {"f": NEW}, FOLDER)
    assert wrong == ["tool:1:1: /workspace/f is only reported"]


def test_a_change_beside_the_calls_counts() -> None:
    found = FoundRow(id="found:1", turn=1, seq=1, revision=1, at=0, changes=[EDIT])
    assert untruths([found], {"f": OLD}, {"f": NEW}, FOLDER) == []


def _said(*content: Any, status: str = "completed", after: bytes = NEW) -> tuple[str, bool]:
    update = {"sessionUpdate": "tool_call", "toolCallId": "1", "status": status, "content": list(content)}
    told = hearsay([update], {"f": OLD}, {"f": after}, FOLDER)
    return told.said, told.true


def _block(old: str | None, new: str, path: str = "/workspace/f") -> dict[str, Any]:
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


def test_what_agents_say_by_themselves_is_named() -> None:
    assert _said(_block(OLD.decode(), NEW.decode())) == ("1 whole file", True)
    assert _said(_block("two", "2")) == ("1 snippet", True)
    assert _said(_block("one\ntwo\nthree", "one\n2\nthree")) == ("1 hunk", True)
    assert _said(_block(None, NEW.decode())) == ("1 whole text; an overwrite told as a creation", False)
    assert _said() == ("no diff", False)
    assert _said(_block("e", "E")) == ("1 snippet; fits 3 places, says not which", False)
    assert _said(_block("two", "2", "f")) == ("1 snippet; the path is not absolute", False)
    assert _said(_block("two", "2"), status="pending", after=OLD) == ("1 diff in a call that never ends", False)
    assert _said(_block("two", "2"), after=OLD) == ("1 snippet; not what is on disk", False)


def test_a_finishing_update_without_content_keeps_the_diff_and_one_with_text_wipes_it() -> None:
    start = {"sessionUpdate": "tool_call", "toolCallId": "1", "content": [_block("two", "2")]}
    kept = {"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"}
    wiped = {**kept, "content": [{"type": "content", "content": {"type": "text", "text": "done"}}]}
    assert hearsay([start, kept], {"f": OLD}, {"f": NEW}, FOLDER).true
    assert hearsay([start, wiped], {"f": OLD}, {"f": NEW}, FOLDER).said == "no diff"
