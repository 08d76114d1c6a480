"""Pages of a session: the same rows as a fold of the whole log, whatever their size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gateway.parlour import Parlour, call, parlour, step
from redline.gateway.pages import Pages
from redline.gateway.room import Room
from redline.gateway.roster import GatewayError
from redline.tools.builtin import builtin_toolset
from redline.transcript.fold import rows as fold

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from redline.transcript.rows import AnyRow

TURNS = 12


@pytest.fixture
async def lived(tmp_path: Path) -> AsyncIterator[tuple[Parlour, str]]:
    """Twelve turns with a change each; then the third is undone."""
    async with parlour(tmp_path) as made:
        turns = [
            [step(f"Say {n}.", call("write", path=f"{{workspace}}/{n}.txt", content=f"{n}\n"), thinking="Hm.")]
            for n in range(TURNS)
        ]
        conversation = await made.begin(made.script(*turns), approval="all")
        for turn in range(TURNS):
            await conversation.prompt(f"Turn {turn}.", source="terminal")
        await conversation.undo(turn=3)
        session = conversation.session.log.session
        await conversation.close()
        yield made, session


class Nobody:
    """A roster of which nothing is asked here."""

    approval = "ask"


async def whole(made: Parlour, session: str) -> list[AnyRow]:
    events = await made.archive.store.read(session, limit=100_000)
    return sorted(fold(events, builtin_toolset().by_name), key=lambda row: row.seq)


def bare(rows: list[AnyRow]) -> list[tuple[str, int, Any, Any]]:
    return [(row.id, row.seq, getattr(row, "reverted", None), getattr(row, "changes", None)) for row in rows]


@pytest.mark.parametrize("tail", [1, 7, 40, 1000])
@pytest.mark.parametrize("limit", [1, 3, 10, 1000])
async def test_pages_joined_are_the_whole(lived: tuple[Parlour, str], tail: int, limit: int) -> None:
    made, session = lived
    pages = Pages(made.archive.store, session, builtin_toolset().by_name)
    transcript, start = await pages.tail(tail)
    room = Room(made.archive, Nobody(), session, made.workspace, pages, transcript, start)  # type: ignore[arg-type]
    try:
        found: list[AnyRow] = []
        before: int | None = None
        while True:
            page = await room.page(before=before, limit=limit)
            assert len(page.rows) >= min(limit, 1)
            found = [*page.rows, *found]
            before = page.before
            if before is None:
                break
        assert bare(found) == bare(await whole(made, session))
        for row in found:
            again = await room.row(row.id)
            assert again is not None
            assert bare([again]) == bare([row])
    finally:
        await room.close()


async def test_the_tail_knows_the_session_and_begins_with_a_turn(lived: tuple[Parlour, str]) -> None:
    made, session = lived
    transcript, start = await Pages(made.archive.store, session, builtin_toolset().by_name).tail(5)
    assert start > 1
    assert transcript.rows[0].kind in ("user", "revert")
    assert transcript.state.workspace == str(made.workspace)
    assert transcript.state.title == "Turn 0."
    assert transcript.state.turn == TURNS + 1
    assert all(not row.partial for row in transcript.rows if row.kind == "turn_end")


async def test_what_landed_is_told_of_a_turn_and_of_all(lived: tuple[Parlour, str]) -> None:
    made, session = lived
    pages = Pages(made.archive.store, session, builtin_toolset().by_name)
    assert [change.operation for change in await pages.landed(3)] == ["add"]
    assert [change.operation for change in await pages.landed(None)] == ["add"] * TURNS + ["delete"]
    with pytest.raises(GatewayError, match="NO_TURN"):
        await pages.landed(99)


@pytest.mark.parametrize(
    "name", ["tool:1:none", "tool:99:x", "user:3", "nonsense", "", "tool:²:x", "tool:-1:x", "user:0"]
)
async def test_a_row_that_is_not_there_is_none(lived: tuple[Parlour, str], name: str) -> None:
    made, session = lived
    assert await Pages(made.archive.store, session, {}).row(name, 0) is None
