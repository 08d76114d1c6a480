"""Public reports about edit tools, as whole calls of the built-in tools: the file, the card and the log."""

from __future__ import annotations

import ast
import errno
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import redline
from tool_bench import Bench

if TYPE_CHECKING:
    from collections.abc import Iterator

PATH_OF_A_CALL = ("files", "tools", "changes")


async def test_two_places_that_overlap_are_two_and_nothing_is_written(bench: Bench) -> None:
    """Public reports: G72."""
    bench.put("a.txt", "foo\nfoo\nfoo\n")
    done = await bench.read_first("a.txt", "edit", old_string="foo\nfoo\n", new_string="z\n")
    assert (done.code, done.result.status) == ("AMBIGUOUS", "failed")
    assert "2 places" in done.text
    assert bench.bytes_of("a.txt") == b"foo\nfoo\nfoo\n"
    assert (done.logged["changes"], bench.requests) == ([], [])


async def test_an_empty_old_text_replaces_no_file_of_ten_lines(bench: Bench) -> None:
    """Public reports: G75."""
    text = "".join(f"{number}\n" for number in range(10))
    bench.put("a.txt", text)
    done = await bench.read_first("a.txt", "edit", old_string="", new_string="x\n")
    assert done.result.is_error
    assert bench.bytes_of("a.txt") == text.encode()


@pytest.mark.parametrize("tool", ["edit", "write"])
async def test_line_ends_of_other_lines_stay_and_nobody_made_lf_of_crlf(bench: Bench, tool: str) -> None:
    """Public reports: F60."""
    bench.put("a.txt", b"a\r\nb\nc\r\n")
    how: dict[str, Any] = {"old_string": "b", "new_string": "B"} if tool == "edit" else {"content": "a\r\nB\nc\r\n"}
    done = await bench.read_first("a.txt", tool, **how)
    assert bench.bytes_of("a.txt") == b"a\r\nB\nc\r\n"
    assert (done.change.removed, done.change.added) == (1, 1)


def text_mode(tree: ast.AST) -> list[int]:
    """The lines of a module that open, read, write or hear something as text, for which Python changes line ends."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        of_os = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "os"
        words = [one.value for one in [*node.args, *(word.value for word in node.keywords)]
                 if isinstance(one, ast.Constant) and isinstance(one.value, str)]  # fmt: skip
        opens = name == "fdopen" or (name == "open" and not of_os and (isinstance(node.func, ast.Name) or words))
        texts = {"text", "encoding", "universal_newlines"} & {word.arg for word in node.keywords}
        if (
            name in ("read_text", "write_text", "TextIOWrapper")
            or (opens and not any("b" in word for word in words))
            or (texts and name in ("run", "Popen", "check_output", "create_subprocess_exec"))
        ):
            found.append(node.lineno)
    return found


def test_nothing_on_the_way_of_a_call_opens_a_file_as_text() -> None:
    """Public reports: F60."""
    root = Path(redline.__file__).parent
    modules = [path for folder in PATH_OF_A_CALL for path in (root / folder).rglob("*.py")]
    assert len(modules) > 50
    assert {str(path): found for path in modules if (found := text_mode(ast.parse(path.read_bytes())))} == {}


@pytest.mark.parametrize(
    ("code", "is_text"),
    [
        ("open(p)", True),
        ("open(p, 'w')", True),
        ("p.open('r+', encoding='utf-8')", True),
        ("p.read_text()", True),
        ("os.fdopen(fd)", True),
        ("subprocess.run(c, text=True)", True),
        ("open(p, 'rb')", False),
        ("p.open('rb')", False),
        ("os.open(p, os.O_RDONLY)", False),
        ("os.fdopen(fd, 'rb', buffering=0)", False),
        ("Store.open(path)", False),
    ],
)
def test_what_counts_as_text_mode(code: str, is_text: bool) -> None:
    assert bool(text_mode(ast.parse(code))) == is_text


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace of 64 KiB: a disk of its own where the system lets us mount one, else its writes are counted."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    size = 65536
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and shutil.which("mount") is not None
    if mounted and subprocess.run(command, capture_output=True, check=False).returncode == 0:
        yield folder
        subprocess.run(["umount", str(folder)], check=True)
        return
    os_write = os.write

    def write(fd: int, data: Any) -> int:
        there = [path.stat() for path in folder.iterdir()]
        if os.fstat(fd).st_ino not in {one.st_ino for one in there}:
            return os_write(fd, data)
        room = size - sum(one.st_size for one in there)
        if room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os_write(fd, bytes(data)[:room])

    monkeypatch.setattr("redline.files.disk.os.write", write)
    yield folder


async def test_a_full_disk_leaves_the_old_bytes_and_no_card(small_disk: Path, bench: Bench) -> None:
    """Public reports: H90."""
    old = "old line\n" * 4500  # 40 KiB
    bench.put("a.txt", old)
    done = await bench.read_first("a.txt", "write", content="new line\n" * 6800)  # 60 KiB
    assert (done.code, done.result.status, done.logged["status"]) == ("NO_SPACE", "failed", "failed")
    assert (done.logged["changes"], done.view) == ([], None)
    assert bench.bytes_of("a.txt") == old.encode()
    assert os.listdir(small_disk) == ["a.txt"]  # noqa: PTH208 - of a moment, in a test
    short = await bench.call("write", path="a.txt", content="short\n")
    assert (short.code, bench.bytes_of("a.txt")) == (None, b"short\n")
