"""`glob`: files by the pattern of their path."""

from __future__ import annotations

import asyncio
import os

import pygit2
import pytest

from redline.tools import glob as glob_module
from redline.tools.glob import Glob
from redline.tools.tool import ToolResult, text_block
from redline.views import GenericCall


async def found(bench, pattern, **arguments):
    done = await bench.call("glob", pattern=pattern, **arguments)
    assert done.code is None, done.text
    return sorted(line for line in done.text.split("\n") if not line.startswith("["))


@pytest.fixture
def tree(bench):
    for name in ("a.py", "b.ts", "c.tsx", "src/d.py", "src/deep/e.py", "src/deep/f.ts", ".hidden/g.py", "docs/h.md"):
        bench.put(name, "x\n")
    return bench


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.py", [".hidden/g.py", "a.py", "src/d.py", "src/deep/e.py"]),
        ("/*.py", ["a.py"]),
        ("src/**/*.py", ["src/d.py", "src/deep/e.py"]),
        ("**/*.{ts,tsx}", ["b.ts", "c.tsx", "src/deep/f.ts"]),
        ("{a,b}.{py,ts}", ["a.py", "b.ts"]),
        ("./src/*.py", ["src/d.py"]),
        ("src", ["src/d.py", "src/deep/e.py", "src/deep/f.ts"]),
        ("[ab].*", ["a.py", "b.ts"]),
        ("!x", []),
        ("nothing*", []),
    ],
)
async def test_patterns(tree, pattern, names):
    assert await found(tree, pattern) == names


async def test_a_folder_and_an_absolute_pattern(tree):
    assert await found(tree, "*.py", path="src/deep") == ["src/deep/e.py"]
    assert await found(tree, f"{tree.workspace}/src/*.py") == ["src/d.py"]


async def test_newest_first_and_bounded(bench, monkeypatch):
    monkeypatch.setattr(glob_module, "PATHS", 3)
    for age in range(6):
        os.utime(bench.put(f"{age}.txt", "x"), (1000 - age, 1000 - age))
    done = await bench.call("glob", pattern="*.txt")
    assert done.text.split("\n")[:3] == ["0.txt", "1.txt", "2.txt"]
    assert "The newest 3 of 6" in done.text
    assert done.logged["meta"] == {"paths": 3, "truncated": True}
    assert done.view.title == "Find *.txt: 3 files"


async def test_what_git_ignores_is_left_out_unless_asked_for(bench):
    pygit2.init_repository(str(bench.workspace))
    bench.put(".gitignore", "*.log\nbuild/\n!keep.log\n")
    bench.put("sub/.gitignore", "/local.txt\n")
    for name in ("a.log", "keep.log", "build/x.txt", "sub/local.txt", "sub/other.txt"):
        bench.put(name, "x")
    assert await found(bench, "*") == [".gitignore", "keep.log", "sub/.gitignore", "sub/other.txt"]
    everything = await found(bench, "*", include_ignored=True)
    assert {"a.log", "build/x.txt", "sub/local.txt"} <= set(everything)
    assert not any(name.startswith(".git/") for name in everything)


async def test_links_are_not_followed_and_pipes_are_no_files(bench):
    outside = bench.workspace.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("x")
    (bench.workspace / "out").symlink_to(outside)
    (bench.workspace / "loop").symlink_to(".")
    (bench.workspace / "file.txt").symlink_to(outside / "secret.txt")
    os.mkfifo(bench.workspace / "pipe.txt")
    bench.put("real.txt", "x")
    assert await asyncio.wait_for(found(bench, "*.txt"), 5) == ["real.txt"]
    assert (await bench.call("glob", pattern="*", path="out")).code == "OUTSIDE_WORKSPACE"


async def test_names_with_odd_bytes_and_newlines_stay_on_one_line(bench):
    (bench.workspace / "two\nlines.txt").write_text("x")
    (bench.workspace / os.fsdecode(b"r\xe9sum.txt")).write_text("x")
    done = await bench.call("glob", pattern="*.txt")
    assert sorted(done.text.split("\n")) == ["r\\xE9sum.txt", "two\\nlines.txt"]


async def test_patterns_and_folders_that_cannot_be_used(bench):
    bench.put("a.txt", "x")
    assert (await bench.call("glob", pattern="{a,b}" * 10)).code == "INVALID_PATTERN"
    assert (await bench.call("glob", pattern="*", path="gone")).code == "NOT_FOUND"
    assert (await bench.call("glob", pattern="*", path="a.txt")).code == "NOT_REGULAR"
    assert (await bench.call("glob", pattern="*", path="..")).code == "OUTSIDE_WORKSPACE"


async def test_time_is_bounded_and_what_was_found_is_kept(bench, monkeypatch):
    bench.put("a.txt", "x")
    monkeypatch.setattr(glob_module, "SECONDS", 0.0)
    done = await bench.call("glob", pattern="*.txt")
    assert "Stopped after 0 s" in done.text


def test_a_malformed_meta_never_raises():
    for meta in (None, [], {"paths": "3"}, {"paths": True}):
        assert Glob().present_result({}, ToolResult([text_block("x")], False, (), meta)) is None
    assert Glob().present_call({"pattern": 3}, ()) == GenericCall("Find", "search", locations=[])


@pytest.mark.parametrize("pattern", ["[", "a[b", "[]", "[!]", "a\\", "   ", "/", "[z-a]"])
async def test_a_pattern_that_nothing_can_match_is_refused(bench, pattern):
    bench.put("a[b", "x")
    done = await bench.call("glob", pattern=pattern)
    assert done.code == "INVALID_PATTERN", done.text
    assert repr(pattern) in done.text


async def test_brackets_that_are_closed_or_escaped(bench):
    for name in ("a", "b", "]", "["):
        bench.put(name, "x")
    for pattern, names in (("[ab]", "ab"), ("[]]", "]"), ("[!]]", "ab["), ("\\[", "["), ("[[]", "[")):
        done = await bench.call("glob", pattern=pattern)
        assert sorted(done.text.split("\n")) == sorted(names), pattern
