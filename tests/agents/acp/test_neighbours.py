"""Another session at work in the same workspace: only a call that means to change a file is taken to have done so."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from agents.acp.puppetry import done, edit, found, puppet, shell, tools, touched, turn
from redline.gateway.archive import Archive

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@asynccontextmanager
async def at_work(base: Path) -> AsyncIterator[str]:
    """A session that is in a turn."""
    async with Archive.open(base / "data") as archive:
        with await archive.start(base / "workspace", "other") as session:
            await session.log.append("turn/started", {"turn": 1, "source": "test", "rule": "all"})
            yield session.log.session


async def test_what_a_command_may_have_done_is_told_beside_it(tmp_path: Path) -> None:
    steps = [shell("c", "make"), {"write": "made.txt", "text": "x\n"}, done("c")]
    async with puppet(tmp_path, steps, files={}) as live, at_work(tmp_path) as other:
        await turn(live)
        assert tools(live)["c"].changes == ()
        [row] = found(live)
        assert touched(row, live) == [("add", "made.txt", 1, 0)]
        assert (list(row.during), list(row.beside)) == (["c"], [other])


async def test_an_edit_is_the_call_that_names_its_file(tmp_path: Path) -> None:
    steps = [edit("c", "a.txt", "one\n", "two\n"), {"write": "a.txt", "text": "two\n"}, done("c")]
    async with puppet(tmp_path, steps, files={"a.txt": "one\n"}) as live, at_work(tmp_path):
        await turn(live)
        assert touched(tools(live)["c"], live) == [("modify", "a.txt", 1, 1)]
        assert found(live) == []
