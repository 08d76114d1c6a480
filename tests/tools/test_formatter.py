"""A formatter that the user has configured runs on what a call has changed, and its lines are in the card."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from power_cut import Power, PowerCut
from redline.changes.codec import from_json
from redline.files.local import LocalFiles
from redline.sessions.redaction import Redactor
from redline.tools.formatter import Formatters
from redline.tools.recovery import recover
from redline.tools.runner import Call
from redline.tools.undo import undo
from redline.views import DiffResult
from redline.workspace.store import ByteStore
from runner_bench import RunnerBench
from tool_bench import Bench

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SEMICOLONS = """
import sys
for line in sys.stdin:
    sys.stdout.write(line.rstrip("\\n").rstrip(";") + ";\\n")
"""
TEXT = "one;\n" + "same;\n" * 9 + "end\n"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """With a formatter that ends each line of a `.js` file with a semicolon."""
    bench = await Bench.open(tmp_path)
    use(bench, {"*.js": [sys.executable, "-c", SEMICOLONS]})
    yield bench
    await bench.store.close()


def use(bench: Bench | RunnerBench, commands: Mapping[str, Sequence[str]]) -> None:
    bench.runner._formatters = Formatters(commands, bench.workspace)


async def test_the_lines_of_a_formatter_are_in_the_change_and_the_next_edit_fits(bench: Bench) -> None:
    """Public reports: H84."""
    bench.put("a.js", TEXT)
    done = await bench.read_first("a.js", "edit", old_string="one;", new_string="two")
    assert bench.bytes_of("a.js") == TEXT.replace("one", "two").replace("end", "end;").encode()
    assert [line for hunk in done.change.hunks for line in hunk.lines if line[0] != " "] == [
        "-one;", "+two;", "-end", "+end;",
    ]  # fmt: skip
    assert isinstance(done.view, DiffResult)
    assert len(done.view.changes) == 1
    name = Path(sys.executable).name
    said = f"{bench.workspace / 'a.js'} was formatted by {name}, the formatter that you have configured."
    assert done.logged["warnings"] == [said]
    assert f"formatted by {name}" in done.text
    again = await bench.call("edit", path="a.js", old_string="two;", new_string="three;")
    assert (again.code, again.logged.get("warnings")) == (None, None)


async def test_other_files_and_calls_that_changed_nothing_are_left_alone(bench: Bench) -> None:
    bench.put("a.js", "one\n")
    created = await bench.call("write", path="b.py", content="one\n")
    assert (bench.bytes_of("b.py"), created.logged.get("warnings")) == (b"one\n", None)
    same = await bench.read_first("a.js", "write", content="one\n")
    assert (bench.bytes_of("a.js"), list(same.result.changes)) == (b"one\n", [])


async def test_a_formatted_call_is_taken_back_whole(bench: Bench, tmp_path: Path) -> None:
    bench.put("a.js", TEXT)
    await bench.read_first("a.js", "edit", old_string="one;", new_string="two")
    await undo(bench.log, ByteStore(tmp_path / "bytes"), LocalFiles([bench.workspace]), Redactor())
    assert bench.bytes_of("a.js") == TEXT.encode()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ([sys.executable, "-c", "import sys; sys.exit('line 1: no such word')"], "exit code 1: line 1: no such word"),
        ([sys.executable, "-c", ""], "it wrote nothing to its output"),
        (["/no/such/formatter"], "not found"),
        ([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"], "SIGKILL"),
    ],
)
async def test_a_formatter_that_fails_costs_a_warning_only(bench: Bench, command: list[str], why: str) -> None:
    use(bench, {"*.js": command})
    done = await bench.call("write", path="a.js", content="one\n")
    assert done.result.status == "completed"
    assert bench.bytes_of("a.js") == b"one\n"
    [warning] = done.logged["warnings"]
    assert f"a.js was not formatted by {Path(command[0]).name} (" in warning
    assert why in warning
    assert [(change.operation, change.added) for change in done.result.changes] == [("add", 1)]


async def test_a_formatter_that_hangs_is_ended_with_all_that_it_began(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("redline.tools.formatter.SECONDS", 1.0)
    monkeypatch.setattr("redline.tools.process.GRACE_SECONDS", 0.1)
    use(bench, {"*.js": ["/bin/sh", "-c", f"sleep 1000 & echo $! >{tmp_path}/child; wait"]})
    done = await bench.call("write", path="a.js", content="one\n")
    [warning] = done.logged["warnings"]
    assert "it was ended after 1 seconds" in warning
    child = int((tmp_path / "child").read_text())
    for _ in range(200):
        if not _runs(child):
            break
        await asyncio.sleep(0.05)
    assert not _runs(child)


def _runs(number: int) -> bool:
    try:
        os.kill(number, 0)
        return "Z" not in Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False


async def test_what_somebody_writes_while_the_formatter_runs_stays(bench: Bench) -> None:
    path = bench.workspace / "a.js"
    meddle = f"import sys; open({str(path)!r}, 'w').write('theirs'); print(sys.stdin.read() + ';')"
    use(bench, {"*.js": [sys.executable, "-c", meddle]})
    done = await bench.call("write", path="a.js", content="one\n")
    assert path.read_text() == "theirs"
    [warning] = done.logged["warnings"]
    assert "was not formatted" in warning


async def test_a_cancellation_while_the_formatter_runs_leaves_a_completed_call(bench: Bench, tmp_path: Path) -> None:
    use(bench, {"*.js": ["/bin/sh", "-c", f"touch {tmp_path}/begun; sleep 1000"]})
    call = Call("w", "write", {"path": "a.js", "content": "one\n"})
    running = asyncio.ensure_future(bench.runner.run(1, [call]))
    for _ in range(2_000):
        if (tmp_path / "begun").exists():
            break
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    result = [event.data async for event in bench.log.events() if event.type == "tool/result"][-1]
    assert (result["status"], len(result["changes"])) == ("completed", 1)
    assert bench.bytes_of("a.js") == b"one\n"


@pytest.mark.parametrize("step", ["before the bytes", "before the intent", "after the intent", "after the rename"])
async def test_a_crash_while_a_file_is_formatted_is_told_as_it_is_on_the_disk(tmp_path: Path, step: str) -> None:
    bench = await RunnerBench.open(tmp_path)
    use(bench, {"*.js": [sys.executable, "-c", SEMICOLONS]})
    await bench.start_turn(1)
    await bench.seen("a.js", TEXT)
    Power(bench, step, skip=1)
    with pytest.raises(PowerCut):
        await bench.run(bench.call_of("edit", path="a.js", old="one;", new="two;"))
    del bench.store.submit, bench.bytes.put, bench.files.apply  # type: ignore[method-assign]
    again = await bench.reopen()
    edited = TEXT.replace("one", "two")
    formatted = edited.replace("end", "end;")
    assert again.text("a.js") == (formatted if step == "after the rename" else edited)
    await recover(again.log, again.bytes, again.files)
    result: dict[str, Any] = await again.last("tool/result")
    lines = [line for each in result["changes"] for hunk in from_json(each).hunks for line in hunk.lines]
    changed = ["-one;", "+two;"] + (["-end", "+end;"] if step == "after the rename" else [])
    assert [line for line in lines if line[0] != " "] == changed
    await again.store.close()


def test_the_first_pattern_that_fits_wins(tmp_path: Path) -> None:
    formatters = Formatters({"src/*.{js,ts}": ["first"], "*.js": ["second"], "/only.py": ["third"]}, tmp_path)
    names = {}
    for path in ("src/a.ts", "src/a.js", "lib/a.js", "only.py", "sub/only.py", "a.txt"):
        found = formatters.of(tmp_path / path)
        names[path] = None if found is None else found.name
    assert names == {
        "src/a.ts": "first", "src/a.js": "first", "lib/a.js": "second", "only.py": "third", "sub/only.py": None,
        "a.txt": None,
    }  # fmt: skip
