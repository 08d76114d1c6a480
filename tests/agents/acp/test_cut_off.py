"""Redline is killed in a turn of a foreign agent: the next start says of its calls what the disk says, and once."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from agents.acp.puppetry import PUPPET, diff, done, edit, found, puppet, shell, start, tools, touched, until
from captures.recorded import on_disk, replayed

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "one\ntwo\n"
NEW = "ONE\ntwo\n"
A, B = ("modify", "a.txt", 1, 1), ("modify", "b.txt", 1, 1)

RUNNER = """
import asyncio, sys
from pathlib import Path
base, agent, tests = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
sys.path.insert(0, tests)
from captures.recorded import Onlooker, stage
class Silent(Onlooker):
    async def ask(self, request):
        await asyncio.Event().wait()
async def main():
    async with stage(base, [sys.executable, agent, str(base / "script.json")], onlooker=Silent()) as live:
        print(live.session.log.session, flush=True)
        for between in sys.argv[4:]:
            await live.conversation.prompt("Go.", source="terminal")
            exec(between, {"workspace": live.workspace})
        await live.conversation.prompt("Go.", source="terminal")
asyncio.run(main())
"""


def write(path: str) -> dict[str, Any]:
    return {"write": path, "text": NEW}


def announced(call: str, *paths: str) -> dict[str, Any]:
    content = [diff(path, "one\n", "ONE\n") for path in paths]
    return start(call, title="Edit", kind="edit", status="in_progress", content=content)


ASKING = {"ask": {"toolCallId": "c", "title": "Edit", "kind": "edit", "content": [diff("a.txt", "one\n", "ONE\n")]}}
FROM_ELSEWHERE = "the user's"
"""In place of a step: a file is written by somebody else, once the process is gone."""

# What the agent does; how its calls stand at the next start, with their changes; what is found beside them.
CUTS: dict[str, tuple[list[Any], dict[str, tuple[str, list[Any]]], list[Any]]] = {
    "all of it was done": ([announced("c", "a.txt"), write("a.txt")], {"c": ("applied", [A])}, []),
    "a part of it was done": (
        [announced("c", "a.txt", "b.txt"), write("a.txt")], {"c": ("interrupted", [A])}, []),
    "nothing was done": ([announced("c", "a.txt")], {"c": ("interrupted", [])}, []),
    "more was done": (
        [announced("c", "a.txt"), write("a.txt"), write("b.txt")], {"c": ("applied", [A])}, [B]),
    "two meant the same file": (
        [announced("c", "a.txt"), announced("d", "a.txt"), write("a.txt")],
        {"c": ("unknown", []), "d": ("unknown", [])}, [A]),
    "two meant two files": (
        [announced("c", "a.txt"), announced("d", "b.txt"), write("b.txt"), write("a.txt")],
        {"c": ("applied", [A]), "d": ("applied", [B])}, []),
    "it was done where git ignores it": (
        [announced("c", "no.log"), write("no.log")], {"c": ("unknown", [])}, []),
    "it was not done where git ignores it": ([announced("c", "no.log")], {"c": ("interrupted", [])}, []),
    "it was deleted": (
        [edit("c", "a.txt", TEXT, ""), {"delete": "a.txt"}], {"c": ("applied", [("delete", "a.txt", 0, 2)])}, []),
    "a file was made": (
        [edit("c", "new.txt", None, NEW), write("new.txt")], {"c": ("applied", [("add", "new.txt", 2, 0)])}, []),
    "a command ran": ([shell("c", "make"), write("a.txt")], {"c": ("interrupted", [])}, [A]),
    "nobody had answered, and somebody wrote it": ([ASKING, FROM_ELSEWHERE], {"c": ("unknown", [])}, [A]),
    "nobody had answered": ([ASKING], {"c": ("interrupted", [])}, []),
}  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
@pytest.mark.parametrize("cut", CUTS)
async def test_a_call_that_was_cut_off_is_closed_by_the_disk_and_nothing_is_told_twice(
    tmp_path: Path, cut: str
) -> None:
    steps, calls, beside = CUTS[cut]
    workspace = tmp_path / "workspace"
    files = {"a.txt": TEXT, "b.txt": TEXT, "no.log": TEXT, ".gitignore": "*.log\n"}
    workspace.mkdir()
    for name, text in files.items():
        (workspace / name).write_text(text)
    ending = [{"write": "x.log", "text": ""}, {"hang": True}]
    acts = [step for step in steps if step is not FROM_ELSEWHERE]
    told, last = len(acts) - (acts[-1] is ASKING), acts[-1] is ASKING
    script = [*acts[:told], {"write": "x.log", "text": ""}, *acts[told:]] if last else [*acts, *ending]
    (tmp_path / "script.json").write_text(json.dumps({"prompts": [script]}))
    session = await _killed(tmp_path, lambda: (workspace / "x.log").exists())
    if FROM_ELSEWHERE in steps:
        (workspace / "a.txt").write_text(NEW)

    (tmp_path / "script.json").write_text("{}")
    async with puppet(tmp_path, session=session) as later:
        rows = tools(later)
        assert {call: (row.status, touched(row, later)) for call, row in rows.items()} == calls
        never = [call for call, row in rows.items() if row.error is not None and row.error.code == "NOT_ALLOWED"]
        assert never == (["c"] if cut == "nobody had answered" else [])
        assert [one for row in found(later) for one in touched(row, later)] == beside
        before = {name: text.encode() for name, text in files.items() if name != "no.log"}
        after = {name: data for name, data in on_disk(workspace).items() if not name.endswith(".log")}
        assert replayed(before, later.conversation.transcript.landed(), workspace, later) == after


USERS = "for name in ('a.txt', 'b.txt'): (workspace / name).open('a').write('the user\\n')"


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
@pytest.mark.parametrize("asks", [True, False])
async def test_what_the_user_did_before_the_turn_is_none_of_it(tmp_path: Path, asks: bool) -> None:
    """Of a file that the session had changed in an earlier turn, and of one that it had not."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (workspace / name).write_text(TEXT)
    first = [announced("c", "a.txt"), write("a.txt"), done("c")]
    second = [{"sleep": 0.2}, announced("d", "c.txt"), write("c.txt"), {"write": "x.log", "text": ""}]
    asking = [{"ask": {**ASKING["ask"], "toolCallId": "e"}}] if asks else [{"hang": True}]
    (tmp_path / "script.json").write_text(json.dumps({"prompts": [first, [*second, *asking]]}))
    session = await _killed(tmp_path, lambda: (workspace / "x.log").exists(), USERS)
    assert (workspace / "a.txt").read_text() == NEW + "the user\n"

    (tmp_path / "script.json").write_text("{}")
    async with puppet(tmp_path, session=session) as later:
        told = {call: touched(row, later) for call, row in tools(later).items()}
        assert told == {"c": [A], "d": [("modify", "c.txt", 1, 1)], **({"e": []} if asks else {})}
        assert [one for row in found(later) for one in touched(row, later)] == [("add", "x.log", 0, 0)]


async def _killed(base: Path, when: Any, *between: str) -> str:
    """The session of a process that was killed in its first turn, or in the one after those that end with `between`."""
    command = [sys.executable, "-c", RUNNER, str(base), str(PUPPET), str(PUPPET.parents[2]), *between]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    session = (await process.stdout.readline()).decode().strip()
    await until(when)
    await asyncio.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    return session
