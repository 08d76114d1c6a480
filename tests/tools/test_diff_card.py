"""The shared cards of the tools that change files: pure, and never claiming more than the changes do."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.changes.compare import describe, without_basis
from redline.changes.record import FileChange, Side
from redline.tools.builtin import builtin_toolset
from redline.tools.diff_card import diff_call, diff_result, large_cut, locations_of, note_of
from redline.tools.tool import ToolResult, Toolset, text_block
from redline.tools.write import Write
from redline.views import DiffCall, DiffResult, GenericCall, Location
from tool_bench import Bench

A = describe("/w/a", b"a\nb\n", b"a\nB\n")


def test_a_failed_call_shows_a_diff_only_of_what_landed() -> None:
    failed = ToolResult([text_block("NO_MATCH: …")], True, (), {"unchanged": True})
    assert diff_result("Edit a", failed) is None
    landed = replace(failed, changes=[A])
    assert diff_result("Edit a", landed) == DiffResult("Edit a", [A], "failed, but this much is on disk")


def test_a_call_without_a_proposal_shows_its_arguments() -> None:
    arguments = {"path": "a", "old_string": "x"}
    assert diff_call("Edit a", arguments, ()) == GenericCall("Edit a", "edit", arguments, locations=[Location("a")])


def test_locations_have_one_line_a_hunk() -> None:
    old = b"".join(b"%d\n" % n for n in range(40))
    change = describe("/w/a", old, old.replace(b"5\n", b"x\n", 1).replace(b"\n30\n", b"\ny\n"))
    assert locations_of([change]) == [Location("/w/a", 3), Location("/w/a", 28)]
    assert locations_of([replace(change, anchored=False)]) == [Location("/w/a")]
    gone = describe("/w/a", b"a\n", None)
    assert locations_of([gone]) == [Location("/w/a", 1)]


@pytest.mark.parametrize(
    ("before", "after", "flag"),
    [
        (b"x\n" * 100, b"", "empties the file −100 +0"),
        (b"x\n" * 100, b"y\n" * 10, "large cut −100 +10, 200 B become 20 B"),
        (b"x\n" * 100, b"x\n" * 60, None),
        (b"x\n" * 19, b"y", None),
        (b"x" * 4000 + b"\n", b"y\n", None),
        (b"", b"x\n", None),
        (None, b"x\n" * 100, None),
        (b"x\n" * 100, None, None),
    ],
)
def test_what_counts_as_a_large_cut(before: bytes | None, after: bytes | None, flag: str | None) -> None:
    change = describe("/w/a", before, after)
    assert large_cut(change) == flag
    assert note_of([change]) == flag


def test_notes_of_several_files_name_them() -> None:
    emptied = describe("/w/b", b"x\n", b"")
    binary = describe("/w/c", b"\0", b"\0\1")
    large = without_basis("/w/d", "modify", Side("1" * 40, 5), Side("2" * 40, 3 * 2**20))
    assert note_of([A, emptied, binary, large]) == (
        "/w/b: empties the file −1 +0; "
        "/w/c: no text basis (binary): 1 B became 2 B; "
        "/w/d: no text basis (too large to compare, or its bytes are not at hand): 5 B became 3.0 MiB"
    )
    assert note_of([A]) is None


def test_a_file_of_which_only_the_present_is_known_is_not_said_to_be_too_large() -> None:
    change = without_basis("/w/d", "modify", None, Side("2" * 40, 2), provenance="observed")
    assert note_of([change]) == "no text basis (what it held before is not known): 2 B"


async def test_a_presenter_that_raises_costs_its_card_only(tmp_path) -> None:
    class Broken(Write):
        name: ClassVar[str] = "write"

        def present_call(self, arguments: Any, proposed: Any) -> Any:
            raise RuntimeError("no card")

        def present_result(self, arguments: Any, result: Any) -> Any:
            raise RuntimeError("no card")

    bench = await Bench.open(tmp_path, toolset=Toolset((Broken(),)))
    from redline.tools.runner import Call

    [result] = await bench.runner.run(1, [Call("1", "write", {"path": "a.txt", "content": "x\n"})])
    assert result.status == "completed"
    assert bench.bytes_of("a.txt") == b"x\n"
    assert any("card" in warning for warning in result.warnings)
    await bench.store.close()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["path", "to", "patch", "pattern", "command", "offset", "limit", "unchanged", "links"])
            | st.sampled_from(["lines", "total", "exit_code", "signal", "matches", "files", "paths"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(
    st.dictionaries(st.sampled_from(["path", "to", "pattern", "command", "offset", "limit"]), json_values), json_values
)
def test_no_presenter_raises_for_any_arguments_and_meta_and_each_is_pure(arguments: Any, meta: Any) -> None:
    for tool in builtin_toolset().tools:
        for is_error in (False, True):
            for changes in ((), (A,)):
                call = tool.present_call(arguments, changes)
                result = ToolResult([text_block("x")], is_error, changes, meta)
                view = tool.present_result(arguments, result)
                again = json.loads(json.dumps([arguments, meta]))
                assert tool.present_call(again[0], changes) == call
                assert tool.present_result(again[0], replace(result, meta=again[1])) == view
                if is_error and not changes:
                    assert not isinstance(view, DiffResult)
                if isinstance(call, DiffCall):
                    assert call.changes == changes


def test_the_card_of_a_change_keeps_the_change_as_it_is() -> None:
    change = FileChange("/w/a", "modify", truncated=True, added=5000, exact=False)
    view = diff_result("Write a", ToolResult([], False, [change], None))
    assert isinstance(view, DiffResult)
    assert view.changes == [change]


def test_what_is_known_to_be_too_large_is_told_once() -> None:
    before, after = Side("a" * 40, 1 << 30), Side("b" * 40, 10)
    change = without_basis("/w/a", "modify", before, after)
    assert note_of([change]) == "large cut, 1.0 GiB become 10 B; no text basis (too large to compare)"
    grown = without_basis("/w/a", "modify", after, before)
    assert note_of([grown]) == "no text basis (too large to compare): 10 B became 1.0 GiB"
