"""A page of the file that is overwritten costs the rows that stood on it, and closes nothing."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from redline.sessions import queries
from redline.sessions.connections import ROW_LIMIT
from redline.sessions.events import Event
from redline.sessions.sqlite import SqliteStore
from redline.sessions.store import Damaged, Summary
from sessions.store_contract import event

PAGE = 4096
SESSIONS = ("ada", "ben", "cleo")
TURNS = 30
INTERIOR = (2, 5)
"""First bytes of pages that lead to others."""
ON_A_PAGE = 30
"""Rows of the log made here, at most."""


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    """Three sessions that took turns; each turn has a change, and every third call is cut off."""
    store = SqliteStore.open(tmp_path / "log.db")
    seqs = dict.fromkeys(SESSIONS, 0)

    async def tell(session: str, kind: str, **data: object) -> None:
        seqs[session] += 1
        await store.append([event(session, seqs[session], kind, **data)], durable=False)

    for session in SESSIONS:
        await tell(session, "session/started", workspace=f"/home/{session}", agent="redline")
        await tell(session, "session/state", title=f"What {session} wants")
    for turn in range(1, TURNS + 1):
        for session in SESSIONS:
            await tell(session, "turn/started", turn=turn)
            await tell(session, "file/intent", turn=turn, call=f"call-{turn}-{'i' * 200}")
            if turn % 3:
                await tell(session, "tool/result", turn=turn, call=f"call-{turn}-{'i' * 200}", text="r" * 300)
            await tell(session, "notice/raised", text="n" * 200)
    await store.close()
    return tmp_path / "log.db"


async def everything(store: SqliteStore, session: str) -> dict[str, object]:
    """What the surfaces ask of a session, other than its events."""
    last = await store.tail(session)
    return {
        "tail": last,
        "starts": [await store.turn_start(session, turn) for turn in range(1, TURNS + 2)],
        "bounds": [await store.turn_bounds(session, seq) for seq in range(1, last + 1)],
        "intents": await store.open_intents(session),
    }


async def events(store: SqliteStore, session: str) -> list[list[Event | Damaged]]:
    """The same events, by each way to them."""
    last = await store.tail(session)
    return [
        await store.read(session),
        await store.page(session),
        await store.at(session, range(1, last + 1)),
        [one for one in await store.of_types(session, KINDS) if not isinstance(one, Damaged)],
    ]


KINDS = ("session/started", "session/state", "turn/started", "file/intent", "tool/result", "notice/raised")


def overwritten(file: Path, page: int, whole: bytes) -> None:
    content = bytearray(whole)
    content[page * PAGE : (page + 1) * PAGE] = random.Random(page).randbytes(PAGE)
    content[page * PAGE] = 0x77  # what no page begins with
    file.write_bytes(bytes(content))


async def test_whichever_page_is_overwritten_the_rows_on_it_are_named_and_all_else_is_read(file: Path) -> None:
    whole = content(file)
    store = SqliteStore.open(file)
    true = {session: await store.read(session) for session in SESSIONS}
    asked = {session: await everything(store, session) for session in SESSIONS}
    listed = {one.session: one for one in await store.sessions()}
    await store.close()
    costly = 0
    for page in range(1, len(whole) // PAGE):
        leads_on = whole[page * PAGE] in INTERIOR
        overwritten(file, page, whole)
        store = SqliteStore.open(file)
        lost = 0
        found: dict[str, Summary] = {one.session: one for one in await store.sessions()}
        assert found.keys() == set(SESSIONS), page
        for session in SESSIONS:
            read, paged, picked, typed = await events(store, session)
            assert read == paged == picked, page
            lost += sum(isinstance(one, Damaged) for one in read)
            assert [one for one in read if isinstance(one, Event)] == typed, page
            assert all(one == was for one, was in zip(read, true[session], strict=True) if isinstance(one, Event)), page
            told = [one.seq for one in await store.outline(session, after=0, before=len(read) + 1) if one.type]
            assert told == [one.seq for one in typed], page
            if not any(isinstance(one, Damaged) for one in read):
                assert await everything(store, session) == asked[session], page
                damaged = "damaged" in found[session].title
                assert damaged or found[session] == listed[session], page
                assert found[session].workspace == f"/home/{session}", page
                assert found[session].turns == TURNS, page
        assert leads_on or lost <= ON_A_PAGE, page
        costly += lost > 0
        await store.close()
    assert costly > 10


async def test_a_row_too_large_to_be_read_stands_in_its_place_among_those_of_its_type(file: Path) -> None:
    _change(
        file, f"UPDATE events SET data = '\"' || hex(zeroblob({ROW_LIMIT})) || '\"' WHERE session = 'ada' AND seq = 5"
    )
    store = SqliteStore.open(file)
    found = await store.of_types("ada", ("tool/result",))
    assert [one.seq for one in found if isinstance(one, Damaged)] == [5]
    assert len(found) == TURNS - TURNS // 3
    (outline,) = await store.outline("ada", after=4, before=6)
    assert outline.type == ""
    await store.close()


@pytest.mark.parametrize("table", ["turns", "open_intents"])
async def test_a_session_goes_on_where_what_is_kept_for_speed_is_damaged(file: Path, table: str) -> None:
    whole = content(file)
    with closing(sqlite3.connect(file)) as connection:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        (root,) = connection.execute(query, (table,)).fetchone()
    overwritten(file, root - 1, whole)
    store = SqliteStore.open(file)
    last = await store.tail("ada")
    await store.append([event("ada", last + 1, "turn/started", turn=TURNS + 1)], durable=False)
    await store.append([event("ada", last + 2, "file/intent", turn=TURNS + 1, call="late")], durable=True)
    assert await store.turn_start("ada", TURNS + 1) == last + 1
    assert await store.turn_bounds("ada", last + 2) == (last + 1, None)
    assert [one.seq for one in await store.open_intents("ada")][-1] == last + 2
    await store.append([event("ada", last + 3, "tool/result", turn=TURNS + 1, call="late")], durable=True)
    assert [one.data["call"] for one in await store.open_intents("ada")][-1] != "late"
    await store.close()


def test_a_query_that_is_interrupted_is_not_taken_for_damage(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.text_factory = bytes
        connection.set_progress_handler(lambda: 1, 1)
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            queries.of_types(connection, "ada", KINDS, 0, None)
        connection.set_progress_handler(None, 1)
        assert queries.of_types(connection, "ada", KINDS, 0, None)


def content(file: Path) -> bytes:
    return file.read_bytes()


def _change(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(statement)
