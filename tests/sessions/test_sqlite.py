from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from redline.sessions.connections import ROW_LIMIT
from redline.sessions.events import Event
from redline.sessions.schema import MIGRATIONS, migrate, require_known
from redline.sessions.sqlite import SqliteStore
from redline.sessions.store import Damaged, Store, StoreError
from sessions.store_contract import OpenStore, StoreContract, event, run_of


@pytest.fixture
async def open_store(tmp_path: Path) -> AsyncIterator[OpenStore]:
    opened: list[Store] = []

    async def open_once_more() -> Store:
        opened.append(SqliteStore.open(tmp_path / "data" / "log.db"))
        return opened[-1]

    yield open_once_more
    for store in opened:
        await store.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "log.db"


class TestSqliteStore(StoreContract):
    @pytest.fixture
    async def open_store(self, open_store: OpenStore) -> OpenStore:
        return open_store


async def test_the_folder_and_the_files_are_private(open_store: OpenStore, file: Path) -> None:
    store = await open_store()
    await store.append([event("s", 1)], durable=True)
    assert _mode(file.parent) == 0o700
    files = list(file.parent.iterdir())
    assert len(files) == 3
    assert {_mode(each) for each in files} == {0o600}


async def test_a_folder_of_the_user_keeps_its_mode(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o755)  # noqa: PTH101
    await SqliteStore.open(tmp_path / "log.db").close()
    assert _mode(tmp_path) == 0o755


async def test_rows_are_plain_and_can_be_queried(open_store: OpenStore, file: Path) -> None:
    store = await open_store()
    await store.append([event("s", 1, "assistant/message", text="Grüße")], durable=True)
    with closing(sqlite3.connect(file)) as connection:
        row = connection.execute(
            "SELECT session, seq, v, type, data, json_extract(data, '$.text') FROM events"
        ).fetchone()
    assert row == ("s", 1, 1, "assistant/message", '{"text":"Grüße"}', "Grüße")


class TestDamage:
    @pytest.fixture
    async def store(self, open_store: OpenStore) -> Store:
        store = await open_store()
        await store.append(run_of("s", 1, 100), durable=True)
        return store

    @pytest.mark.parametrize(
        "damage",
        [
            "UPDATE events SET data = '{\"half\": ' WHERE seq = 10",
            "UPDATE events SET data = '' WHERE seq = 10",
            "UPDATE events SET data = '[1]' WHERE seq = 10",
            "UPDATE events SET data = 12 WHERE seq = 10",
            "UPDATE events SET data = '{\"a\": NaN}' WHERE seq = 10",
            "UPDATE events SET data = CAST(x'7b22ff227d' AS TEXT) WHERE seq = 10",
            "UPDATE events SET type = CAST(x'ff' AS TEXT) WHERE seq = 10",
            "UPDATE events SET at = 'noon' WHERE seq = 10",
            "DELETE FROM events WHERE seq = 10",
        ],
    )
    async def test_a_damaged_row_costs_itself_only(self, store: Store, file: Path, damage: str) -> None:
        """Public reports: P165."""
        _change(file, damage)
        for items in (await store.read("s"), await store.page("s")):
            assert [item.seq for item in items] == list(range(1, 101))
            assert [item.seq for item in items if isinstance(item, Damaged)] == [10]
        await store.append([event("s", 101)], durable=False)

    async def test_the_damaged_row_of_a_session_hides_no_other(self, store: Store, file: Path) -> None:
        await store.append([event("t", 1)], durable=True)
        _change(file, "UPDATE sessions SET title = x'00', turns = 'many', last_seq = 'x' WHERE session = 's'")
        told, other = await store.sessions()
        assert (told.session, other.session) == ("s", "t")
        assert "damaged" in told.title
        assert await store.summary("s") == told
        assert [(item.seq, type(item)) for item in await store.read("s")] == [(seq, Event) for seq in range(1, 101)]
        with pytest.raises(StoreError) as refused:
            await store.append([event("s", 101)], durable=False)
        assert refused.value.code == "CORRUPT"
        assert "redline show s" in refused.value.remedy

    async def test_an_enormous_row_is_passed_over(self, store: Store, file: Path) -> None:
        """Public reports: P169."""
        _change(file, f"UPDATE events SET data = '\"' || hex(zeroblob({ROW_LIMIT})) || '\"' WHERE seq = 10")
        items = await store.page("s")
        (damaged,) = [item for item in items if isinstance(item, Damaged)]
        assert (len(items), damaged.seq) == (100, 10)
        assert "too big" in damaged.reason

    async def test_a_damaged_page_of_the_file_costs_its_rows_only(self, open_store: OpenStore, file: Path) -> None:
        store = await open_store()
        text = "x" * 20_000
        await store.append([event("t", seq, text=text) for seq in range(1, 21)], durable=True)
        await store.close()
        _break_one_page(file)
        items = await (await open_store()).read("t")
        assert [item.seq for item in items] == list(range(1, 21))
        assert sum(isinstance(item, Damaged) for item in items) == 1


class TestOpening:
    async def test_a_newer_schema_is_refused_and_left_alone(self, open_store: OpenStore, file: Path) -> None:
        store = await open_store()
        await store.append(run_of("s", 1, 3), durable=True)
        await store.close()
        _change(file, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        before = _content(file)
        with pytest.raises(StoreError) as refused:
            SqliteStore.open(file)
        assert refused.value.code == "NEWER_SCHEMA"
        assert "Update Redline" in refused.value.remedy
        assert _content(file) == before

    async def test_a_writer_stops_when_a_newer_program_has_changed_the_tables(
        self, open_store: OpenStore, file: Path
    ) -> None:
        store = await open_store()
        await store.append([event("s", 1)], durable=False)
        _change(file, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        with pytest.raises(StoreError) as refused:
            await store.append([event("s", 2)], durable=False)
        assert refused.value.code == "NEWER_SCHEMA"
        assert await store.tail("s") == 1

    def test_a_file_that_is_no_database_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "log.db").write_text("my shopping list, of which I have no copy\n" * 100)
        before = (tmp_path / "log.db").read_bytes()
        with pytest.raises(StoreError) as refused:
            SqliteStore.open(tmp_path / "log.db")
        assert refused.value.code == "CORRUPT"
        assert (tmp_path / "log.db").read_bytes() == before

    def test_the_database_of_another_program_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        _change(tmp_path / "log.db", "CREATE TABLE recipes (name TEXT)")
        before = (tmp_path / "log.db").read_bytes()
        with pytest.raises(StoreError) as refused:
            SqliteStore.open(tmp_path / "log.db")
        assert refused.value.code == "CORRUPT"
        assert "not a log of Redline" in refused.value.message
        assert (tmp_path / "log.db").read_bytes() == before

    async def test_an_empty_file_becomes_a_log(self, tmp_path: Path) -> None:
        (tmp_path / "log.db").touch()
        store = SqliteStore.open(tmp_path / "log.db")
        await store.append([event("s", 1)], durable=True)
        await store.close()

    def test_a_folder_in_the_place_of_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "log.db").mkdir()
        with pytest.raises(StoreError):
            SqliteStore.open(tmp_path / "log.db")

    def test_a_file_in_the_place_of_the_folder(self, tmp_path: Path) -> None:
        (tmp_path / "data").write_text("")
        with pytest.raises(StoreError):
            SqliteStore.open(tmp_path / "data" / "log.db")

    def test_a_folder_that_cannot_be_written(self) -> None:
        with tempfile.TemporaryDirectory() as name, _as_ordinary_user(Path(name)):
            Path(name).chmod(0o500)
            with pytest.raises(StoreError) as refused:
                SqliteStore.open(Path(name) / "log.db")
            assert refused.value.code == "PERMISSION"
            Path(name).chmod(0o700)

    async def test_an_older_file_is_brought_up_to_date_with_its_events(self, tmp_path: Path) -> None:
        """The first version as it was released; it must open for ever."""
        with closing(sqlite3.connect(tmp_path / "log.db")) as connection:
            connection.executescript((Path(__file__).parent / "schema_1.sql").read_text())
        store = SqliteStore.open(tmp_path / "log.db")
        items = await store.read("20260101-120000-abcdef")
        assert [(item.seq, item.type) for item in items if isinstance(item, Event)] == [
            (1, "session/started"), (2, "turn/started"), (3, "file/intent"),
        ]  # fmt: skip
        summary = await store.summary("20260101-120000-abcdef")
        assert summary is not None
        assert (summary.workspace, summary.turns) == ("/home/ada/engine", 1)
        assert [each.seq for each in await store.open_intents("20260101-120000-abcdef")] == [3]
        assert (summary.exact, summary.at_least) == (True, False)
        await store.append([event("20260101-120000-abcdef", 4)], durable=True)
        await store.close()

    async def test_of_an_older_file_it_is_looked_up_which_counts_are_bounds(self, tmp_path: Path) -> None:
        said = {
            "exact": {"path": "/w/a", "hunks": [{"lines": ['+"exact":false, "file_type":"binary"']}]},
            "about": {"path": "/w/a", "exact": False},
            "least": {"path": "/w/a", "file_type": "unknown"},
        }
        with closing(sqlite3.connect(tmp_path / "log.db")) as connection, connection:
            connection.executescript((Path(__file__).parent / "schema_1.sql").read_text())
            for name, change in said.items():
                data = json.dumps({"changes": [change]}, separators=(",", ":"))
                connection.execute(
                    "INSERT INTO sessions (session, workspace, agent, title, started_at, updated_at, last_seq, turns,"
                    " added, removed, closed) VALUES (?, '', '', '', 1, 1, 1, 0, 1, 1, 0)", (name,)
                )  # fmt: skip
                connection.execute("INSERT INTO events VALUES (?, 1, 1, 1, 'tool/result', ?)", (name, data))
        store = SqliteStore.open(tmp_path / "log.db")
        found = {one.session: (one.exact, one.at_least) for one in await store.sessions()}
        assert {name: found[name] for name in said} == {
            "exact": (True, False), "about": (False, False), "least": (True, True),
        }  # fmt: skip
        await store.close()


class TestMigrations:
    @pytest.fixture
    def connection(self, tmp_path: Path) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            yield connection

    def test_each_runs_once_in_order(self, connection: sqlite3.Connection) -> None:
        migrate(connection)
        connection.execute("INSERT INTO turns VALUES ('s', 1, 1)")
        ran: list[str] = []

        def second(connection: sqlite3.Connection) -> None:
            ran.append("second")
            connection.execute("UPDATE turns SET seq = seq + 10")

        later = (*MIGRATIONS, second, "ALTER TABLE turns ADD COLUMN note TEXT;\nUPDATE turns SET note = 'a;b';\n")
        migrate(connection, later)
        migrate(connection, later)
        assert ran == ["second"]
        assert connection.execute("SELECT * FROM turns").fetchall() == [("s", 1, 11, "a;b")]
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 2,)
        with pytest.raises(StoreError) as refused:
            migrate(connection)
        assert refused.value.code == "NEWER_SCHEMA"

    def test_one_that_fails_leaves_the_version_before_it_whole(self, connection: sqlite3.Connection) -> None:
        migrate(connection)

        def breaks(connection: sqlite3.Connection) -> None:
            connection.execute("DROP TABLE turns")
            raise RuntimeError("out of luck")

        with pytest.raises(RuntimeError):
            migrate(connection, (*MIGRATIONS, breaks))
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert connection.execute("SELECT count(*) FROM turns").fetchone() == (0,)
        migrate(connection, (*MIGRATIONS, "DROP TABLE turns;"))

    @pytest.mark.parametrize("name", ["application_id", "schema_version"])
    def test_a_file_that_another_makes_meanwhile_is_never_half_seen(self, tmp_path: Path, name: str) -> None:
        looking, making = (sqlite3.connect(tmp_path / "new.db", isolation_level=None, timeout=0) for _ in range(2))
        made: list[bool] = []

        def make(statement: str) -> None:
            if statement == f"PRAGMA {name}" and not made:
                try:
                    migrate(making)
                except sqlite3.OperationalError:  # it has to wait until the look is over
                    made.append(False)
                else:
                    made.append(True)

        looking.set_trace_callback(make)
        assert require_known(looking) in (0, len(MIGRATIONS))
        assert len(made) == 1, "the other was there in the middle of the look"
        migrate(making)
        assert require_known(looking) == len(MIGRATIONS)
        looking.close()
        making.close()

    async def test_many_that_open_a_new_file_together_all_succeed(self, tmp_path: Path) -> None:
        stores = await asyncio.gather(
            *(asyncio.to_thread(SqliteStore.open, tmp_path / "new" / "log.db") for _ in range(8))
        )
        await asyncio.gather(*(store.append([event(f"s{n}", 1)], durable=False) for n, store in enumerate(stores)))
        assert len(await stores[0].sessions()) == 8
        for store in stores:
            await store.close()


class TestFullDisk:
    async def test_nothing_is_half_written_and_the_log_goes_on_once_there_is_space(
        self, open_store: OpenStore, file: Path
    ) -> None:
        store = await open_store()
        assert isinstance(store, SqliteStore)
        await store.append([event("s", 1)], durable=True)
        limit = store._writer._connection.execute("PRAGMA page_count").fetchone()[0] + 4
        store._writer._connection.execute(f"PRAGMA max_page_count = {limit}")
        outcomes = await asyncio.gather(
            store.append([event("t", 1, text="small")], durable=False),
            store.append([event("s", 2, text="x" * 100_000)], durable=True),
            store.append([event("u", 1, text="small")], durable=False),
            return_exceptions=True,
        )
        assert [getattr(outcome, "code", None) for outcome in outcomes] == [None, "NO_SPACE", None]
        assert await store.tail("s") == 1
        store._writer._connection.execute("PRAGMA max_page_count = 1000000")
        await store.append([event("s", 2, text="x" * 100_000)], durable=True)
        assert [item.seq for item in await store.read("s")] == [1, 2]
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_a_deleted_secret_is_gone_from_the_files(open_store: OpenStore, file: Path) -> None:
    store = await open_store()
    await store.append([event("s", 1, text="the-words-that-must-go"), event("s", 2)], durable=True)
    await store.append([event("t", 1)], durable=True)
    assert await store.delete("s")
    for each in file.parent.iterdir():
        assert b"the-words-that-must-go" not in each.read_bytes()


def _change(file: Path, statement: str) -> None:
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute(statement)
    connection.close()


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _content(file: Path) -> bytes:
    return file.read_bytes()


def _break_one_page(file: Path) -> None:
    """In the middle of a long row's chain of pages, the pointer to the next page is made to lead nowhere."""
    content = bytearray(file.read_bytes())
    places = [at for at in range(0, len(content), 4096) if content[at + 4 : at + 4096] == b"x" * 4092]
    at = places[len(places) // 2]
    content[at : at + 4] = b"\xff\xff\xff\xff"
    file.write_bytes(bytes(content))


@contextmanager
def _as_ordinary_user(folder: Path) -> Iterator[None]:
    """The superuser may write anywhere; so for this, be nobody."""
    if os.geteuid():
        yield
        return
    os.chown(folder, 65534, 65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
