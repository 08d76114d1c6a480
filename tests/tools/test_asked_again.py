"""A file that changes while the question is open: whatever the tool, the answer holds for what was shown, and for no
other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redline.tools.builtin import builtin_toolset
from redline.tools.permission import PermissionRequest
from tool_bench import Bench

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
SAVED = "the user's line\n"
NEW = TEXT.replace("two", "TWO")
UNIFIED = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
ENVELOPE = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+TWO\n three\n{more}*** End Patch\n"
MOVED = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n one\n-two\n+TWO\n three\n*** End Patch\n"
TWO_FILES = ENVELOPE.format(more="*** Add File: new.txt\n+new\n")

# Tool, arguments, and what a.txt and b.txt hold at the end where the user's line came in between.
FITTING: dict[str, tuple[str, dict[str, Any], dict[str, str | None]]] = {
    "write": ("write", {"path": "a.txt", "content": NEW}, {"a.txt": NEW}),
    "edit": ("edit", {"path": "a.txt", "old_string": "two", "new_string": "TWO"}, {"a.txt": NEW + SAVED}),
    "multi_edit": (
        "multi_edit",
        {"path": "a.txt", "edits": [{"old_string": "two", "new_string": "TWO"}]},
        {"a.txt": NEW + SAVED},
    ),
    "insert": ("insert", {"path": "a.txt", "line": 1, "text": "1.5\n"}, {"a.txt": f"one\n1.5\n{TEXT[4:]}{SAVED}"}),
    "delete": ("delete", {"path": "a.txt"}, {"a.txt": None}),
    "move": ("move", {"path": "a.txt", "to": "b.txt"}, {"a.txt": None, "b.txt": TEXT + SAVED}),
    "apply_patch, a diff": ("apply_patch", {"patch": UNIFIED}, {"a.txt": NEW + SAVED}),
    "apply_patch, an envelope": ("apply_patch", {"patch": ENVELOPE.format(more="")}, {"a.txt": NEW + SAVED}),
    "apply_patch, a move": ("apply_patch", {"patch": MOVED}, {"a.txt": None, "b.txt": NEW + SAVED}),
    "apply_patch, two files": ("apply_patch", {"patch": TWO_FILES}, {"a.txt": NEW + SAVED, "new.txt": "new\n"}),
}  # fmt: skip
CHANGING = {"write", "edit", "multi_edit", "insert", "delete", "move", "apply_patch"}


def test_no_tool_that_changes_files_is_left_out() -> None:
    kinds = {tool.name for tool in builtin_toolset().tools if tool.kind in ("edit", "delete", "move")}
    assert kinds == CHANGING == {name for name, _, _ in FITTING.values()}


def saving(bench: Bench, path: Path, times: int) -> Callable[[PermissionRequest], Any]:
    """Says yes; while it is asked, the user appends a line: so many times."""

    def answer(_: PermissionRequest) -> Any:
        if len(bench.requests) <= times:
            path.write_text(path.read_text() + SAVED)
        return "allow_once"

    return answer


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("case", FITTING)
async def test_a_file_that_changes_while_the_question_is_open_is_asked_about_again(
    bench: Bench, case: str, times: int
) -> None:
    tool, arguments, after = FITTING[case]
    path = bench.put("a.txt", TEXT)
    await bench.call("read", path="a.txt")
    bench.answer = saving(bench, path, times)
    done = await bench.call(tool, **arguments)
    assert done.code is None, done.text
    texts = {name: text and text.replace(SAVED, SAVED * times) for name, text in after.items()}
    held = {name: (bench.workspace / name).read_text() if (bench.workspace / name).exists() else None for name in texts}
    assert held == texts
    assert len(bench.requests) == times + 1
    first, *others = bench.requests
    assert first.note is None
    for number, again in enumerate(others, 1):
        assert again.note is not None
        assert "changed since the last answer" in again.note
        assert not again.allow_session
        assert [change.path for change in again.changes] == [change.path for change in first.changes]
        before = again.changes[0].before
        assert before is not None
        assert before.size == len(TEXT) + number * len(SAVED)
    landed = done.result.changes[0]
    assert landed.before == bench.requests[-1].changes[0].before  # what was done is what was approved last
    assert landed.after == bench.requests[-1].changes[0].after


@pytest.mark.parametrize("case", FITTING)
async def test_a_no_to_the_second_question_leaves_the_users_file(bench: Bench, case: str) -> None:
    tool, arguments, _ = FITTING[case]
    path = bench.put("a.txt", TEXT)
    await bench.call("read", path="a.txt")
    save = saving(bench, path, 1)
    bench.answer = lambda request: save(request) if len(bench.requests) == 1 else "reject"
    done = await bench.call(tool, **arguments)
    assert done.result.status == "rejected"
    assert done.result.changes == []
    assert {one.name: one.read_text() for one in bench.workspace.iterdir()} == {"a.txt": TEXT + SAVED}


@pytest.mark.parametrize(
    "case", [case for case, (tool, _, _) in FITTING.items() if tool in ("edit", "multi_edit", "apply_patch")]
)
async def test_a_change_that_no_longer_fits_is_said_to_be_stale(bench: Bench, case: str) -> None:
    tool, arguments, _ = FITTING[case]
    path = bench.put("a.txt", TEXT)
    await bench.call("read", path="a.txt")

    def answer(_: PermissionRequest) -> Any:
        path.write_text("something else\n")
        return "allow_once"

    bench.answer = answer
    done = await bench.call(tool, **arguments)
    assert done.code == "STALE"
    assert "changed while the approval was open" in done.text
    assert {one.name: one.read_text() for one in bench.workspace.iterdir()} == {"a.txt": "something else\n"}


@pytest.mark.parametrize("case", FITTING)
async def test_a_file_that_never_rests_is_given_up_after_five_questions(bench: Bench, case: str) -> None:
    tool, arguments, _ = FITTING[case]
    path = bench.put("a.txt", TEXT)
    await bench.call("read", path="a.txt")
    bench.answer = saving(bench, path, 99)
    done = await bench.call(tool, **arguments)
    assert done.code == "STALE"
    assert "keeps changing" in done.text
    assert len(bench.requests) == 5
    assert {one.name: one.read_text() for one in bench.workspace.iterdir()} == {"a.txt": TEXT + SAVED * 5}
