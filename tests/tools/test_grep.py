"""`grep`: matching lines, found in bounded time whatever the pattern and whatever lies in the way."""

from __future__ import annotations

import asyncio
import os
import re
import time

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.tools import grep as grep_module
from redline.tools.grep import FILE_BYTES, MATCHES, Grep, matching_lines
from redline.tools.tool import ToolResult, text_block
from redline.tools.walk import Deadline


async def test_lines_stand_below_their_file_with_number_and_arrow(bench):
    bench.put("src/a.py", "def f():\n\treturn 1\n\ndef g():\n\treturn 2\n")
    bench.put("b.py", "x = 1\n")
    done = await bench.call("grep", pattern=r"return \d")
    assert done.text == "src/a.py\n2→\treturn 1\n5→\treturn 2"
    assert done.logged["meta"] == {"matches": 2, "files": 1, "truncated": False}
    assert done.view.title == r"Search return \d: 2 matches in 1 file"


async def test_context_lines_are_shown_once(bench):
    bench.put("a.txt", "".join(f"{n}\n" for n in "abcdefgh"))
    done = await bench.call("grep", pattern="[cd]", context=1)
    assert done.text.split("\n") == ["a.txt", "2-b", "3→c", "4→d", "5-e"]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"pattern": "A.C"}, []),
        ({"pattern": "A.C", "ignore_case": True}, ["1→a.c", "2→abc"]),
        ({"pattern": "a.c", "literal": True}, ["1→a.c"]),
        ({"pattern": "^$"}, ["3→"]),
        ({"pattern": "end$"}, ["4→the end"]),
        ({"pattern": r"c\s*abc"}, []),
    ],
)
async def test_patterns_match_within_one_line(bench, arguments, lines):
    bench.put("a.txt", b"a.c\r\nabc\r\n\r\nthe end")
    done = await bench.call("grep", **arguments)
    assert [line for line in done.text.split("\n")[1:] if line] == lines


async def test_files_only_and_glob_and_one_file(bench):
    bench.put("a.py", "x\nx\n")
    bench.put("a.md", "x\n")
    assert (await bench.call("grep", pattern="x", files_only=True)).text == "a.md\na.py"
    assert (await bench.call("grep", pattern="x", glob="*.py")).text == "a.py\n1→x\n2→x"
    assert (await bench.call("grep", pattern="x", path="a.md")).text == "a.md\n1→x"


async def test_a_pattern_made_to_explode_does_not(bench):
    bench.put("a.txt", "a" * 200_000 + "b\n")
    began = time.monotonic()
    done = await bench.call("grep", pattern="(a|a|b)*(a+)+c$")
    assert time.monotonic() - began < 5
    assert done.text == "[No line matches (a|a|b)*(a+)+c$.]"
    for pattern in ("(a{1000}){1000}", "(((a{100}){100}){100}){100}"):
        assert (await bench.call("grep", pattern=pattern)).code == "INVALID_PATTERN"


@pytest.mark.parametrize("pattern", ["(", "(.", r"(a)\1", "a(?=b)", "[z-a]", "*"])
async def test_an_expression_that_does_not_compile_is_named(bench, pattern):
    done = await bench.call("grep", pattern=pattern)
    assert done.code == "INVALID_PATTERN"
    assert "(?m)" not in done.text, "what the pattern does not hold"
    assert "literal" in done.text


async def test_pipes_binaries_giants_and_links_are_passed_over(bench):
    os.mkfifo(bench.workspace / "pipe")
    bench.put("a.bin", b"needle\0\n")
    with bench.put("big.txt", "needle\n").open("ab") as file:
        file.truncate(FILE_BYTES + 1)
    outside = bench.workspace.parent / "outside.txt"
    outside.write_text("needle\n")
    (bench.workspace / "link.txt").symlink_to(outside)
    bench.put("a.txt", "needle\n")
    done = await asyncio.wait_for(bench.call("grep", pattern="needle"), 10)
    assert done.text == "a.txt\n1→needle\n[1 file over 8 MiB not searched.]\n[1 binary file not searched.]"


async def test_results_are_bounded_and_say_so(bench):
    bench.put("a.txt", "x\n" * 1000)
    done = await bench.call("grep", pattern="x")
    assert done.logged["meta"]["matches"] == MATCHES
    assert done.logged["meta"]["truncated"] is True
    assert f"Stopped after {MATCHES} matches" in done.text
    bench.put("a.txt", ("x " * 2000 + "\n") * 300)
    done = await bench.call("grep", pattern="x")
    assert "more characters]" in done.text
    assert len(done.text.encode()) < 60 * 1024


async def test_time_is_bounded_and_a_cancelled_search_ends(bench, monkeypatch):
    bench.put("a.txt", "x\n")
    monkeypatch.setattr(grep_module, "SECONDS", 0.0)
    done = await bench.call("grep", pattern="x")
    assert done.logged["meta"]["truncated"] is True


async def test_odd_bytes_are_escaped_and_a_bom_is_not_part_of_the_first_line(bench):
    bench.put("latin.txt", b"caf\xe9 one\n")
    bench.put("bom.txt", b"\xef\xbb\xbfone\n")
    done = await bench.call("grep", pattern="^one|caf.*one|one")
    assert done.text == "bom.txt\n1→one\nlatin.txt\n1→caf\\xE9 one"
    assert (await bench.call("grep", pattern="^one")).text == "bom.txt\n1→one"


async def test_a_secret_found_is_masked_in_the_log(bench):
    bench.put("conf.py", "KEY = 'ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'\n")
    done = await bench.call("grep", pattern="KEY")
    assert "ghp_" in done.text
    assert "ghp_" not in str(done.logged)


@settings(max_examples=200, deadline=None)
@given(
    text=st.text(alphabet="ab \n", max_size=60),
    pattern=st.sampled_from(["a", "^a", "b$", "^$", "a*", "a b", r"\bb", "[^a]", r"\s", "ab|ba", "^", "$", ""]),
)
def test_the_lines_are_those_that_a_search_line_by_line_finds(text, pattern):
    options = re2.Options()
    options.never_nl = True
    expression = re2.compile(f"(?m){pattern}".encode(), options)
    data = text.encode()
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    expected = [number for number, line in enumerate(lines, 1) if re.search(pattern.encode(), line)]
    got = list(matching_lines(expression, data, Deadline(10)))
    assert [number for number, _, _ in got] == expected
    assert [data[start:end] for _, start, end in got] == [lines[number - 1] for number in expected]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_the_size_of_a_slice_does_not_matter(monkeypatch, size):
    monkeypatch.setattr(grep_module, "SLICE_BYTES", size)
    expression = re2.compile(b"(?m)^b|^$", re2.Options())
    got = [number for number, _, _ in matching_lines(expression, b"aaa\nb\n\nab\nbbbbbbbbb\n", Deadline(10))]
    assert got == [2, 3, 5]


def test_a_malformed_meta_never_raises():
    for meta in (None, [], {"matches": 1}, {"matches": "1", "files": 1}):
        assert Grep().present_result({}, ToolResult([text_block("x")], False, (), meta)) is None
