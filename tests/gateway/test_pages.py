"""Pages of a session: the same rows as a fold of the whole log, whatever their size."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.parlour import Parlour, call, parlour, step
from redline.gateway import pages as of_pages
from redline.gateway.archive import Archive
from redline.gateway.pages import Pages
from redline.gateway.room import Room
from redline.gateway.roster import GatewayError
from redline.sessions.events import Event
from redline.sessions.sqlite import SqliteStore
from redline.sessions.store import Damaged
from redline.tools.builtin import builtin_toolset
from redline.transcript.fold import Transcript
from redline.transcript.fold import rows as fold
from redline.transcript.rows import OtherRow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

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


def bare(rows: Sequence[AnyRow]) -> list[tuple[str, int, Any, Any]]:
    """What of rows must not depend on where a page begins."""
    return [(row.id, row.seq, getattr(row, "net", None), replace(row, revision=0)) for row in rows]


@pytest.mark.parametrize("tail", [1, 7, 40, 1000])
@pytest.mark.parametrize("limit", [1, 3, 10, 1000])
@pytest.mark.parametrize("long", [2, 6, 5_000])
async def test_pages_joined_are_the_whole(
    lived: tuple[Parlour, str], tail: int, limit: int, long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, session = lived
    monkeypatch.setattr("redline.gateway.pages.LONG_TURN", long)
    monkeypatch.setattr("redline.gateway.pages.PART_EVENTS", 3)
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


NAMES = st.sampled_from(["a", "b", "c"])
SIDE = {"size": 2, "lines": 1}


def _change(name: str, number: int) -> dict[str, Any]:
    hunk = {"old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 1, "lines": ["-x", f"+{number}"]}
    sides = {"before": {"blob": f"{number:040d}", **SIDE}, "after": {"blob": f"{number + 1:040d}", **SIDE}}
    return {"path": f"/w/{name}", "operation": "modify", "hunks": [hunk], "added": 1, "removed": 1, **sides}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("tool/call"), NAMES),
        st.tuples(st.sampled_from(["tool/update", "tool/result", "permission/asked", "permission/answered"]), NAMES),
        st.tuples(st.sampled_from(["assistant/message", "assistant/thought"]), NAMES),
        st.tuples(st.sampled_from(["usage/updated", "notice/raised", "workspace/changed", "agent/update"]), NAMES),
    ),
    min_size=1,
    max_size=40,
)


def _events(steps: list[tuple[str, str]]) -> list[Event]:
    """One turn. A call that has ended, and a message that another followed, say no more: only then is a part of the
    turn told from its outline."""
    said: list[tuple[str, dict[str, Any]]] = [
        ("session/started", {"workspace": "/w", "agent": "builtin"}), ("turn/started", {"turn": 1}),
    ]  # fmt: skip
    ended: dict[str, int] = {}
    for number, (kind, name) in enumerate(steps):
        data: dict[str, Any] = {"turn": 1}
        if kind.startswith(("tool", "permission")):
            call = f"{name}{ended.get(name, 0)}"
            data |= {"call": call, "name": "edit", "title": name, "status": "completed", "content": []}
            data |= {"request": f"q{call}", "outcome": "allow_once", "options": [], "text": f"{number}"}
            data["changes"] = [_change(name, number)] if kind == "tool/result" and number % 2 else []
            if kind == "tool/update":
                data["status"] = "in_progress"
            if kind == "tool/result":
                ended[name] = ended.get(name, 0) + 1
        elif kind.startswith("assistant"):
            data |= {"message": f"{name}{number // 9}", "text": f"{number} "}
        elif kind == "usage/updated":
            data |= {"model": name, "input_tokens": number, "output_tokens": 1, "cost": 0.5}
        elif kind == "workspace/changed":
            data["changes"] = [_change(name, number)]
        else:
            data |= {"code": "X", "message": name, "level": "info", "sessionUpdate": "odd"}
        said.append((kind, data))
    said.append(("turn/ended", {"turn": 1, "reason": "completed"}))
    return [Event("s", seq, seq, kind, data) for seq, (kind, data) in enumerate(said, 1)]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS, st.integers(1, 8), st.integers(1, 42))
def test_a_part_of_a_long_turn_has_the_rows_of_the_whole(
    steps: list[tuple[str, str]], size: int, opened_after: int
) -> None:
    """Opened at any moment of the turn, followed from there to its end, and then read back to its beginning."""
    events = _events(steps)
    expected = sorted(fold(events, {}), key=lambda row: row.seq)
    opened = min(opened_after + 2, len(events))

    async def play() -> tuple[Transcript, int, list[AnyRow], list[AnyRow | None]]:
        with tempfile.TemporaryDirectory() as folder:
            archive = Archive.open(Path(folder))
            await archive.store.append(events[:opened], durable=False)
            pages = Pages(archive.store, "s", {})
            transcript, start = await pages.tail(size)
            if opened < len(events):
                await archive.store.append(events[opened:], durable=False)
            for event in events[opened:]:
                transcript.apply(event)
            before: list[AnyRow] = []
            end = start
            while end > 1:
                found = await pages.before(end, 1, 0)
                if not found:
                    break
                before = found + before
                end = found[0].seq
            single = [await pages.row(row.id, 0) for row in expected]
            await archive.close()
            return transcript, start, before, single

    long, part = of_pages.LONG_TURN, of_pages.PART_EVENTS
    of_pages.LONG_TURN, of_pages.PART_EVENTS = 2, size
    try:
        transcript, start, before, single = asyncio.run(play())
    finally:
        of_pages.LONG_TURN, of_pages.PART_EVENTS = long, part
    shown = sorted((row for row in transcript.rows if row.seq >= start), key=lambda row: row.seq)
    assert bare(shown) == bare([row for row in expected if row.seq >= start])
    assert bare(before) == bare([row for row in expected if row.seq < start])
    assert bare([row for row in single if row is not None]) == bare(expected)


async def test_a_damaged_page_of_the_file_costs_the_rows_on_it_and_the_session_opens(
    lived: tuple[Parlour, str], tmp_path: Path
) -> None:
    made, session = lived
    file = made.archive.data / "sessions.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    content, copy = file.read_bytes(), tmp_path / "copy" / "sessions.db"
    copy.parent.mkdir()
    events = await made.archive.store.tail(session)
    noticed = 0
    for page in range(1, len(content) // 4096):
        copy.write_bytes(content[: page * 4096] + b"\xff" * 4096 + content[(page + 1) * 4096 :])
        store = SqliteStore.open(copy)
        pages = Pages(store, session, builtin_toolset().by_name)
        transcript, start = await pages.tail()
        before = await pages.before(events + 1, 10_000, events)
        landed = await pages.landed(None)
        assert start == 1, page
        damaged = [one.seq for one in await store.read(session) if isinstance(one, Damaged)]
        if damaged:
            noticed += 1
            for rows in (transcript.rows, before):
                assert {row.seq for row in rows if isinstance(row, OtherRow) and row.why == "damaged"} == set(
                    damaged
                ), page
        else:
            assert before == await whole(made, session), page
            assert len(landed) == len(await Pages(made.archive.store, session, {}).landed(None)), page
        await store.close()
    assert noticed > 3
