"""What empties a file or cuts most of it away is asked about, whoever is to do it and however it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.acp.puppetry import diff, done, edit, puppet, said, start, tools, touched, turn
from captures.recorded import Onlooker

if TYPE_CHECKING:
    from pathlib import Path

LINES = 100
TEXT = "".join(f"line {number}\n" for number in range(LINES))
NEW = TEXT.replace("line 20\n", "line twenty\n")
STUB = "line 0\n# … the rest of the code …\n"
FILES = {"big.py": TEXT}
BEFORE = {"big.py": TEXT.encode()}


class Person(Onlooker):
    """Answers as told; None: nobody is there."""

    def __init__(self, answer: str | None = None) -> None:
        super().__init__()
        self.answer = answer

    async def ask(self, request: Any) -> Any:
        self.asked.append(request)
        return self.answer


def write(text: str) -> dict[str, Any]:
    return {"call": "fs/write_text_file", "params": {"path": "{w}/big.py", "content": text}}


def asking(old: str | None, new: str) -> dict[str, Any]:
    return {"ask": {"toolCallId": "c", "title": "Write", "kind": "edit", "content": [diff("big.py", old, new)]}}


WAYS = {
    "handed over to be written": lambda text: [write(text)],
    "handed over for an open call": lambda text: [
        start("c", kind="edit", title="Write", locations=[{"path": "{w}/big.py"}]), write(text), done("c")],
    "asked for as a new file": lambda text: [asking(None, text), write(text)],
    "asked for with both texts": lambda text: [asking(TEXT, text), write(text)],
    "asked for and written by the agent": lambda text: [
        asking(TEXT, text), {"write": "big.py", "text": text}, done("c")],
    "handed over where something else was asked for": lambda text: [asking("line 20\n", "line twenty\n"), write(text)],
}  # fmt: skip


@pytest.mark.parametrize("text", ["", STUB], ids=["emptied", "cut"])
@pytest.mark.parametrize("way", WAYS)
async def test_with_approval_edits_nobody_there_means_no(tmp_path: Path, way: str, text: str) -> None:
    async with puppet(tmp_path, WAYS[way](text), files=FILES, onlooker=Person()) as live:
        live.conversation.permissions.approval = "edits"
        await turn(live, BEFORE)
        assert (live.workspace / "big.py").read_text() == TEXT
        [asked] = live.onlooker.asked
        assert not asked.allow_session
        assert ("empties the file" if not text else "large cut") in (asked.note or "")
        assert [row.status for row in tools(live).values()] in (["rejected"], ["rejected", "rejected"])


@pytest.mark.parametrize("way", WAYS)
async def test_with_approval_edits_a_person_may_allow_it(tmp_path: Path, way: str) -> None:
    async with puppet(tmp_path, WAYS[way](""), files=FILES, onlooker=Person("allow_once")) as live:
        live.conversation.permissions.approval = "edits"
        await turn(live, BEFORE)
        assert (live.workspace / "big.py").read_text() == ""
        assert len(live.onlooker.asked) == 1
        assert [("modify", "big.py", 0, LINES)] in [touched(row, live) for row in tools(live).values()]


@pytest.mark.parametrize("way", WAYS)
async def test_every_other_edit_is_made_without_a_question(tmp_path: Path, way: str) -> None:
    async with puppet(tmp_path, WAYS[way](NEW), files=FILES, onlooker=Person()) as live:
        live.conversation.permissions.approval = "edits"
        await turn(live, BEFORE)
        assert (live.workspace / "big.py").read_text() == NEW
        assert not live.onlooker.asked


async def test_a_yes_for_the_session_does_not_cover_it(tmp_path: Path) -> None:
    async with puppet(tmp_path, [write(NEW)], [write("")], files=FILES, onlooker=Person("allow_session")) as live:
        await turn(live, BEFORE)
        live.onlooker.answer = None
        await turn(live)
        assert (live.workspace / "big.py").read_text() == NEW
        assert "Nobody was there" in said(live)[-1]


async def test_approval_all_asks_for_nothing(tmp_path: Path) -> None:
    steps = [edit("c", "big.py", TEXT, ""), write(""), done("c")]
    async with puppet(tmp_path, steps, files=FILES, onlooker=Person()) as live:
        live.conversation.permissions.approval = "all"
        await turn(live, BEFORE)
        assert (live.workspace / "big.py").read_text() == ""
