"""Agents that report in ways of their own, or not at all: whatever they say, the cards are what happened on the disk.

Each is a script for an agent in a process of its own, in a real workspace. After its turns, applying the hunks of the
cards to the files as they were must give the files as they are: so nothing changed without a card, and no card claims
what did not happen. What is expected beyond that stands with each.
"""

from __future__ import annotations

import asyncio
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from agents.acp.puppetry import done, edit, found, puppet, say, shell, start, tools, touched, turn, update
from captures.recorded import on_disk, replayed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from captures.recorded import Stage

TEXT = "".join(f"line {number}\n" for number in range(1, 41))
NEW = TEXT.replace("line 20\n", "line twenty\n")
BOTH = NEW.replace("line 30\n", "line thirty\n")
SECOND = TEXT.replace("line 30\n", "line thirty\n")
CRLF = TEXT.replace("\n", "\r\n")
WRITE = {"write": "a.txt", "text": NEW}
PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -19,3 +19,3 @@\n line 19\n-line 20\n+line twenty\n line 21\n"
ONE_LINE = ("modify", "a.txt", 1, 1)


def snippet(path: str, old: str = "line 20", new: str = "line twenty") -> dict[str, Any]:
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


@dataclass
class Agent:
    steps: list[dict[str, Any]]
    files: Mapping[str, str] = field(default_factory=lambda: {"a.txt": TEXT})
    prepare: str = ""
    """A command that is run in the workspace before it is first looked at."""
    calls: Mapping[str, list[tuple[str, str, int, int]]] = field(default_factory=dict)
    """Of calls: the changes that stand on their cards."""
    beside: list[tuple[str, str, int, int]] = field(default_factory=list)
    """The changes that are nobody's."""
    more: list[dict[str, Any]] = field(default_factory=list)
    """The steps of a second turn."""
    rows: Mapping[str, str] = field(default_factory=dict)
    """How every call ended, where that is what matters."""


AGENTS = {
    "a patch in a resource": Agent(
        [start("c", title="Edit", content=[{"type": "content", "content": {"type": "resource", "resource": {
            "uri": "file:///changes.diff", "mimeType": "text/x-diff", "text": PATCH}}}]), WRITE, done("c")],
        calls={"c": [ONE_LINE]},
    ),
    "a patch as words": Agent(
        [start("c", title="Edit"), WRITE,
         done("c", content=[{"type": "content", "content": {"type": "text", "text": f"Done:\n```diff\n{PATCH}```"}}])],
        calls={"c": [ONE_LINE]},
    ),
    "places only": Agent(
        [start("c", title="x", kind="other", locations=[{"path": "{w}/a.txt", "line": 20}]), WRITE, done("c")],
        calls={"c": [ONE_LINE]},
    ),
    "a relative path": Agent(
        [start("c", kind="edit", content=[snippet("./a.txt")]), WRITE, done("c")], calls={"c": [ONE_LINE]},
    ),
    "a path as an address": Agent(
        [start("c", kind="edit", content=[snippet("file://{w}/a.txt")]), WRITE, done("c")], calls={"c": [ONE_LINE]},
    ),
    "a path by a link to the workspace": Agent(
        [start("c", kind="edit", content=[snippet("{w}/../link/a.txt")]), WRITE, done("c")],
        prepare="ln -s workspace ../link", calls={"c": [ONE_LINE]},
    ),
    "the line ends of another system": Agent(
        [start("c", kind="edit", content=[snippet("{w}/a.txt", "line 20\r\n", "line twenty\r\n")]), WRITE, done("c")],
        calls={"c": [ONE_LINE]},
    ),
    "the line ends of this system for a file of another": Agent(
        [start("c", kind="edit", content=[snippet("{w}/a.txt", "line 20\nline 21\n", "line twenty\nline 21\n")]),
         {"write": "a.txt", "text": CRLF.replace("line 20", "line twenty")}, done("c")],
        files={"a.txt": CRLF}, calls={"c": [ONE_LINE]},
    ),
    "texts that are not what is written": Agent(
        [edit("c", "a.txt", "line 3", "line three"), WRITE, done("c", content=[snippet("{w}/a.txt", "a", "b")])],
        calls={"c": [ONE_LINE]},
    ),
    "a move by two calls": Agent(
        [edit("make", "b.txt", None, TEXT), {"write": "b.txt", "text": TEXT}, done("make"), {"sleep": 0.3},
         start("remove", kind="delete", title="Delete a.txt", rawInput={"path": "{w}/a.txt"}), {"delete": "a.txt"},
         done("remove")],
        calls={"make": [("add", "b.txt", 40, 0)], "remove": [("delete", "a.txt", 0, 40)]},
    ),
    "a move of which only the new place is told": Agent(
        [start("c", kind="edit", content=[snippet("{w}/sub/b.txt")]), {"run": "mkdir sub; mv a.txt sub/b.txt"},
         {"write": "sub/b.txt", "text": NEW}, done("c")],
        calls={"c": [("move", "sub/b.txt", 1, 1)]},
    ),
    "contents that are null": Agent(
        [start("c", kind="edit", title=None, content=None, locations=None, rawInput=None),
         update("c", content=None, status=None, kind=None), WRITE, done("c", content=None)],
        calls={"c": [ONE_LINE]},
    ),
    "a write in a thought": Agent(
        [{"send": {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}}, WRITE,
         say("done")],
        beside=[ONE_LINE],
    ),
    "a write after the end of the turn": Agent(
        [say("done"), {"end": "end_turn"}, {"sleep": 0.3}, edit("c", "a.txt", "line 20", "line twenty"), WRITE,
         done("c")],
        more=[say("on")], calls={"c": [ONE_LINE]},
    ),
    "a process that goes on writing after its command": Agent(
        [shell("c", "make &"), {"run": "(sleep 0.5; echo late > late.txt) &"}, {"write": "now.txt", "text": "now\n"},
         done("c"), {"sleep": 1.2}, say("done")],
        calls={"c": [("add", "now.txt", 1, 0)]}, beside=[("add", "late.txt", 1, 0)],
    ),
    "thousands of files by one command": Agent(
        [shell("c", "sed"), {"run": "for f in many/*; do echo new >> $f; done"}, done("c")],
        files={f"many/f{number:04}.txt": f"{number}\n" for number in range(3000)},
        calls={"c": [("modify", f"many/f{number:04}.txt", 1, 0) for number in range(3000)]},
    ),
    "another branch": Agent(
        [shell("c", "git checkout other"), {"run": "git checkout -q other"}, done("c")],
        files={"a.txt": TEXT, "gone.txt": "gone\n", "same.txt": "same\n"},
        prepare="git init -q -b main && git add -A && git -c user.name=a -c user.email=a@b commit -qm 1 && "
        "git checkout -qb other && git rm -q gone.txt && sed -i 's/line 20$/line twenty/' a.txt && echo b > b.txt && "
        "git add -A && git -c user.name=a -c user.email=a@b commit -qm 2 && git checkout -q main",
        calls={"c": [ONE_LINE, ("add", "b.txt", 1, 0), ("delete", "gone.txt", 0, 1)]},
    ),
    "a folder where a file was": Agent(
        [shell("c", "rm a.txt; mkdir a.txt"), {"run": "rm a.txt; mkdir a.txt; echo x > a.txt/x"}, done("c")],
        calls={"c": [("delete", "a.txt", 0, 40), ("add", "a.txt/x", 1, 0)]},
    ),
    "a file where a folder was": Agent(
        [shell("c", "rm -r d; echo x > d"), {"run": "rm -r d; echo x > d"}, done("c")],
        files={"d/one.txt": "1\n", "d/two.txt": "2\n"},
        calls={"c": [("add", "d", 1, 0), ("delete", "d/one.txt", 0, 1), ("delete", "d/two.txt", 0, 1)]},
    ),
    "three changes of one file while a command runs": Agent(
        [shell("c", "make"), {"write": "a.txt", "text": "1\n"}, edit("one", "x1", None, "x\n"), done("one"),
         {"sleep": 0.3}, {"write": "a.txt", "text": "2\n"}, edit("two", "x2", None, "x\n"), done("two"), {"sleep": 0.3},
         {"write": "a.txt", "text": "3\n"}, edit("three", "x3", None, "x\n"), done("three"), {"sleep": 0.3},
         {"write": "a.txt", "text": "4\n"}, done("c")],
        files={"a.txt": "0\n"}, calls={"c": [ONE_LINE]},
    ),
    "a file that is written in place, piece by piece": Agent(
        [edit("c", "a.txt", TEXT, NEW), {"write": "a.txt", "text": ""},
         *({"append": "a.txt", "text": f"line {number}\n"} for number in range(1, 20)),
         {"append": "a.txt", "text": "line twenty\n"},
         *({"append": "a.txt", "text": f"line {number}\n"} for number in range(21, 41)), done("c")],
        calls={"c": [ONE_LINE]},
    ),
    "a file that git ignores": Agent(
        [start("c", kind="edit", content=[snippet("{w}/out/a.txt")]), {"sleep": 0.2},
         {"write": "out/a.txt", "text": NEW}, done("c")],
        files={"out/a.txt": TEXT, ".gitignore": "out/\n"}, prepare="git init -q",
        calls={"c": [("modify", "out/a.txt", 1, 1)]},
    ),
    "a claim about a file that was not touched": Agent(
        [edit("c", "b.txt", "x", "y"), WRITE, done("c")], files={"a.txt": TEXT, "b.txt": "x\n"},
        beside=[ONE_LINE],
    ),
    "names that are odd": Agent(
        [shell("c", "touch"), {"run": "echo 1 > 'a b/x'; echo 2 > 'a\nb'; echo 3 > '--- a'; echo 4 > '😀'"}, done("c")],
        files={"a b/x": "0\n"},
        calls={"c": [("modify", "a b/x", 1, 1), ("add", "a\nb", 1, 0), ("add", "--- a", 1, 0), ("add", "😀", 1, 0)]},
    ),
    "bytes that are no text": Agent(
        [shell("c", "make"), {"run": "printf 'caf\\351\\n' > latin.txt; printf '\\0\\1\\2' > b.bin"}, done("c")],
        calls={"c": [("add", "latin.txt", 1, 0), ("add", "b.bin", 0, 0)]},
    ),
    "a repository inside the workspace": Agent(
        [shell("c", "make"), {"run": "echo 2 > inner/f; echo new > inner/g"}, done("c")],
        files={"inner/f": "1\n"}, prepare="git init -q inner",
        calls={"c": [("modify", "inner/f", 1, 1), ("add", "inner/g", 1, 0)]},
    ),
    "there and back by two calls": Agent(
        [edit("one", "a.txt", "line 20", "line twenty"), WRITE, done("one"), {"sleep": 0.3},
         shell("two", "git restore"), {"write": "a.txt", "text": TEXT}, done("two")],
        calls={"one": [ONE_LINE], "two": [ONE_LINE]},
    ),
    "a failure that left something": Agent(
        [start("c", kind="edit", content=[snippet("{w}/a.txt"), snippet("{w}/b.txt")]), WRITE,
         update("c", status="failed", rawOutput={"error": "disk full"})],
        files={"a.txt": TEXT, "b.txt": TEXT}, calls={"c": [ONE_LINE]},
    ),
    "a question under an id of its own, of an edit that names its file and no more": Agent(
        [start("look", title="read: a.txt", kind="read", locations=[{"path": "{w}/a.txt"}]),
         start("c", title="patch (replace): a.txt", kind="edit", locations=[{"path": "{w}/a.txt"}]),
         {"ask": {"toolCallId": "edit-approval-1", "title": "Approve edit: a.txt", "kind": "edit",
                  "content": [snippet("{w}/a.txt", TEXT, NEW)]}}, WRITE, say("done")],
        calls={"c": [ONE_LINE]}, rows={"look": "unknown", "c": "applied"},
    ),
    "a question before its call is announced, under another id": Agent(
        [{"ask": {"toolCallId": "question", "title": "Edit", "content": [snippet("{w}/a.txt")]}},
         edit("c", "a.txt", "line 20", "line twenty"), WRITE, done("c")],
        calls={"question": [ONE_LINE]}, rows={"question": "applied"},
    ),
    "the same, the call being told bit by bit": Agent(
        [{"ask": {"toolCallId": "question", "title": "Edit", "content": [snippet("{w}/a.txt")]}},
         start("c", title="Edit", rawInput={}), update("c", rawInput={"path": "{w}/a.txt", "old_string": "line 20",
                                                                      "new_string": "line twenty"}), WRITE, done("c")],
        calls={"c": [ONE_LINE]}, rows={"question": "completed", "c": "applied"},
    ),
    "a file that is only named, and no word of the end": Agent(
        [start("c", title="write: made.txt", kind="edit", locations=[{"path": "{w}/made.txt"}]),
         {"write": "made.txt", "text": "new\n"}, say("done")],
        calls={"c": [("add", "made.txt", 1, 0)]}, rows={"c": "applied"},
    ),
    "a file that is only named, and nothing was done": Agent(
        [start("c", title="write: made.txt", kind="edit", locations=[{"path": "{w}/made.txt"}]), say("done")],
        rows={"c": "unknown"},
    ),
    "ids that are numbers": Agent(
        [{"send": {"sessionUpdate": "tool_call", "toolCallId": 7, "title": "Edit", "kind": "edit",
                   "content": [snippet("{w}/a.txt")]}}, {"ask": {"toolCallId": 7}}, WRITE,
         {"send": {"sessionUpdate": "tool_call_update", "toolCallId": 7, "status": "completed"}}],
        calls={"7": [ONE_LINE]}, rows={"7": "applied"},
    ),
    "a write through the client whose path lacks its first slash": Agent(
        [start("c", title="apply_patch", kind="edit", rawInput={"patchText": "…"}),
         {"call": "fs/write_text_file", "params": {"path": "{w-}/a.txt", "content": NEW}}, done("c")],
        calls={"c": [ONE_LINE]}, rows={"c": "applied"},
    ),
    "several calls of which nothing but a title is told": Agent(
        [*(start(name, title=f"Write ({name}.txt)", status="in_progress") for name in "xyz"),
         {"call": "fs/write_text_file", "params": {"path": "{w}/z.txt", "content": "z\n"}},
         {"write": "y.txt", "text": "y\n"}, *(done(name) for name in "zyx")],
        calls={"z": [("add", "z.txt", 1, 0)], "y": [("add", "y.txt", 1, 0)]},
    ),
    "an edit and a command on the same file, both over before anybody can look": Agent(
        [edit("c", "a.txt", "line 20", "line twenty"), shell("s", "sed -i 's/line 3$/line three/' a.txt"), WRITE,
         {"run": "sed -i 's/line 3$/line three/' a.txt"}, done("c"), done("s")],
        calls={"c": [ONE_LINE], "s": [ONE_LINE]},
    ),
    "the same the other way round, none of them ever ended": Agent(
        [shell("s", "sed -i 's/line 3$/line three/' a.txt"), edit("c", "a.txt", "line 20", "line twenty"), WRITE,
         {"run": "sed -i 's/line 3$/line three/' a.txt"}, say("done")],
        calls={"c": [ONE_LINE], "s": [ONE_LINE]}, rows={"c": "applied", "s": "unknown"},
    ),
    "a command on another file beside an edit": Agent(
        [edit("c", "a.txt", "line 2", "2"), shell("s", "cat b.txt"), WRITE, done("c"), done("s")],
        calls={"c": [ONE_LINE]},
    ),
    "calls that are all left open to the end of the turn, with a preview and no path": Agent(
        [start("s", title="Executing shell", kind="execute", rawInput={"tool": "shell", "preview": ""}),
         {"ask": {"toolCallId": "s"}}, {"run": "echo made by a script > made.txt"},
         start("c", title="Executing save", kind="edit", rawInput={"tool": "save", "preview": NEW}),
         {"ask": {"toolCallId": "c"}}, WRITE,
         start("d", title="Executing append", kind="edit", rawInput={"tool": "append", "preview": ""}),
         {"ask": {"toolCallId": "d"}}, {"append": "made.txt", "text": "and so on\n"}, done("s"), done("c"), done("d")],
        calls={"s": [("add", "made.txt", 1, 0)], "c": [ONE_LINE]}, beside=[("modify", "made.txt", 1, 0)],
    ),
    "calls that are told once the code that made them is over": Agent(
        [start("cell", title="execute", kind="execute", status="in_progress", rawInput={"code": "..."}), WRITE,
         {"write": "b.txt", "text": "b\n"},
         *(start(f"sub{name}", title="write", kind="edit", status="pending", locations=[{"path": f"{{w}}/{name}.txt"}])
           for name in "ab"),
         update("suba", status="in_progress", content=[snippet("{w}/a.txt")]), done("suba"),
         update("subb", status="in_progress", content=[{"type": "diff", "path": "{w}/b.txt", "newText": "b\n"}]),
         done("subb"), done("cell")],
        calls={"suba": [ONE_LINE], "subb": [("add", "b.txt", 1, 0)]},
    ),
    "two edits of one file at once, both written by the client": Agent(
        [edit("one", "a.txt", "line 20", "line twenty"), edit("two", "a.txt", "line 30", "line thirty"),
         {"call": "fs/write_text_file", "params": {"path": "{w}/a.txt", "content": SECOND}},
         {"call": "fs/write_text_file", "params": {"path": "{w}/a.txt", "content": BOTH}}, done("one"), done("two")],
        calls={"one": [ONE_LINE], "two": [ONE_LINE]},
    ),
    "the same, of which only the file is told": Agent(
        [*(start(name, title="Edit", kind="edit", locations=[{"path": "{w}/a.txt"}]) for name in ("one", "two")),
         {"call": "fs/write_text_file", "params": {"path": "{w}/a.txt", "content": NEW}},
         {"call": "fs/write_text_file", "params": {"path": "{w}/a.txt", "content": BOTH}}, done("one"), done("two")],
        calls={"one": [ONE_LINE], "two": [ONE_LINE]},
    ),
    "every call ended at once": Agent(
        [*(edit(f"c{number}", f"f{number}.txt", None, f"{number}\n") for number in range(8)),
         *({"write": f"f{number}.txt", "text": f"{number}\n"} for number in range(8)),
         *(done(f"c{number}") for number in reversed(range(8)))],
        calls={f"c{number}": [("add", f"f{number}.txt", 1, 0)] for number in range(8)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("agent", AGENTS.values(), ids=list(AGENTS))
async def test_whatever_an_agent_says_the_cards_are_what_happened(tmp_path: Path, agent: Agent) -> None:
    workspace = tmp_path / "workspace"
    before = _prepared(workspace, agent)
    async with puppet(tmp_path, agent.steps, agent.more, answers=[True] * 9) as live:
        assert await turn(live) == "completed"
        if agent.more:
            await asyncio.sleep(0.6)
            assert await turn(live) == "completed"
        cards = _cards(live)
        if agent.rows:
            assert {call: row.status for call, row in tools(live).items()} == agent.rows
        assert replayed(before, live.conversation.transcript.landed(), workspace, live) == _files(workspace)
        assert cards == {call: sorted(changes) for call, changes in agent.calls.items()}
        assert sorted(change for row in found(live) for change in touched(row, live)) == sorted(agent.beside)
        session = live.session.log.session
    async with puppet(tmp_path, session=session) as later:
        assert _cards(later) == cards
        assert replayed(before, later.conversation.transcript.landed(), workspace, later) == _files(workspace)


async def test_an_id_that_was_used_in_an_earlier_session_is_another_call(tmp_path: Path) -> None:
    first = [edit("call_1", "a.txt", "line 20", "line twenty"), WRITE, done("call_1")]
    second = [edit("call_1", "a.txt", "line 3\n", "three\n"),
              {"write": "a.txt", "text": NEW.replace("line 3\n", "three\n")}, done("call_1")]  # fmt: skip
    async with puppet(tmp_path, first, files={"a.txt": TEXT}) as live:
        await turn(live, {"a.txt": TEXT.encode()})
        session = live.session.log.session
    async with puppet(tmp_path, second, session=session) as later:
        await turn(later, {"a.txt": TEXT.encode()})
        rows = [row for row in later.conversation.transcript.rows if row.kind == "tool"]
        assert [touched(row, later) for row in rows] == [[ONE_LINE], [ONE_LINE]]
    async with puppet(tmp_path, [edit("call_1", "b.txt", None, "b\n"), {"write": "b.txt", "text": "b\n"}]) as new:
        await turn(new)
        assert touched(tools(new)["call_1"], new) == [("add", "b.txt", 1, 0)]


def _prepared(workspace: Path, agent: Agent) -> dict[str, bytes]:
    for name, text in agent.files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_bytes(text.encode())
    if agent.prepare:
        subprocess.run(agent.prepare, shell=True, cwd=workspace, check=True)
    return _files(workspace)


def _files(workspace: Path) -> dict[str, bytes]:
    return {name: data for name, data in on_disk(workspace).items() if ".git" not in name.split("/")}


def _cards(live: Stage) -> dict[str, list[tuple[str, str, int, int]]]:
    return {call: sorted(touched(row, live)) for call, row in tools(live).items() if row.changes}
