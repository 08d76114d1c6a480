"""The page "Write your own tool" builds a tool that works, exactly as it is printed there."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from redline.tools.tool import ToolResult, text_block
from redline.views import DiffCall, DiffResult
from tool_bench import Bench

PAGE = Path(__file__).parents[2] / "docs" / "write-a-tool.md"


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    module = ModuleType("page_of_a_tool")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where its annotations are looked up
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), module.__dict__)
    return module.__dict__


@pytest.fixture
async def bench(tmp_path: Path, page: dict[str, Any]) -> AsyncIterator[Bench]:
    made = await Bench.open(tmp_path, toolset=page["toolset"])
    yield made
    await made.store.close()


async def test_it_sorts_asks_with_its_proposal_and_completes_with_hunks(bench: Bench) -> None:
    bench.put("names.txt", "c\na\nb\n")
    done = await bench.read_first("names.txt", "sort_lines")
    assert bench.bytes_of("names.txt") == b"a\nb\nc\n"
    [request] = bench.requests
    assert request.title == "Sort names.txt"
    assert request.changes[0].hunks == done.change.hunks
    assert isinstance(done.call_view, DiffCall)
    assert done.view == DiffResult(changes=[done.change])


async def test_its_edges(bench: Bench) -> None:
    bench.put("names.txt", "a\nb\n")
    bench.put("odd.txt", b"\xe9\n")
    bench.put("unread.txt", "b\na\n")
    assert (await bench.call("sort_lines", path="unread.txt")).code == "NOT_OBSERVED"
    unchanged = await bench.read_first("names.txt", "sort_lines")
    assert unchanged.view == DiffResult(note="unchanged", changes=[])
    descending = await bench.call("sort_lines", path="names.txt", descending=True)
    assert bench.bytes_of("names.txt") == b"b\na\n"
    assert descending.code is None
    assert (await bench.read_first("odd.txt", "sort_lines")).code == "NOT_TEXT"
    assert (await bench.call("sort_lines", path="names.txt", reverse=True)).result.is_error


async def test_it_keeps_line_ends_and_what_is_no_end_of_a_line(bench: Bench) -> None:
    bench.put("names.txt", "c\u2028d\r\na\x0cb\r\n".encode())
    await bench.read_first("names.txt", "sort_lines")
    assert bench.bytes_of("names.txt") == "a\x0cb\r\nc\u2028d\r\n".encode()


def test_its_presenters_take_nonsense(page: dict[str, Any]) -> None:
    tool = page["SortLines"]()
    assert tool.present_call({}, ()) == DiffCall("Sort a file", ())
    for meta in (None, 3, [], {"unchanged": "yes"}):
        assert tool.present_result({}, ToolResult([text_block("x")], False, (), meta)) == DiffResult(changes=())
