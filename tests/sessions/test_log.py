from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from redline.sessions.events import DURABLE, Event
from redline.sessions.gate import LARGE_STRING, GateError
from redline.sessions.log import LARGE_EVENT, SessionLog, new_session_name
from redline.sessions.redaction import Redactor, holds_mask
from redline.sessions.sqlite import SqliteStore
from redline.sessions.store import StoreError, is_session_name
from sessions.store_contract import event

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "log.db")
    yield store
    await store.close()


@pytest.fixture
async def log(store: SqliteStore) -> SessionLog:
    return await SessionLog.create(store, Redactor())


class Bytes:
    """A store of bytes that keeps up to `bound` bytes of one string."""

    def __init__(self, bound: int = 2**30) -> None:
        self.bound = bound
        self.kept: dict[str, bytes] = {}

    async def put(self, data: bytes) -> str | None:
        await asyncio.sleep(0.01)
        if len(data) > self.bound:
            return None
        blob = hashlib.sha1(data).hexdigest()
        self.kept[blob] = data
        return blob


class SlowStore(SqliteStore):
    """Answers only when told to, and fails on demand."""

    def hold(self) -> None:
        self.held: list[Callable[[], None]] = []

    def submit(self, events: Sequence[Event], *, durable: bool, settled: Callable[[StoreError | None], None]) -> None:
        self.held.append(lambda: super(SlowStore, self).submit(events, durable=durable, settled=settled))


async def test_what_is_told_is_what_is_read_later(log: SessionLog) -> None:
    """Public reports: F69."""
    told: list[Event] = []
    log.subscribe(told.append)
    await log.append("session/started", {"workspace": "/w", "agent": "x"})
    await log.append(
        "tool/result", {"turn": 1, "text": f"odd \udce9 bytes, {TOKEN}", "n": [1.5, None, {"\ud83d": True}]}
    )
    assert [each async for each in log.events()] == told
    assert told[1].data["text"].startswith("odd \\xE9 bytes, ")
    assert holds_mask(told[1].data["text"])
    assert TOKEN not in str(told)
    assert log.seq == 2


@pytest.mark.parametrize(
    "data",
    [
        {"password": "hunter2-Tr0ub4dor"},
        {"env": {"API_KEY": "s3cr3tvalue99"}},
        {"deep": [{"dbPassword": "hunter2-Tr0ub4dor"}]},
        {"headers": {"Authorization": "Bearer " + TOKEN}},
        {TOKEN: "a key of an object"},
        {
            "lines": [
                "+-----BEGIN PRIVATE KEY-----",
                "+MIIEpAIBAAKCAQEAx7Gn5c3tq0ZQmkV9d2",
                "+-----END PRIVATE KEY-----",
            ]
        },
        {"a": "-----BEGIN PRIVATE KEY-----", "b": "MIIEpAIBAAKCAQEAx7Gn5c3tq0ZQmkV9d2"},
        {"input_tokens": 12, "cost": 0.5, "text": "a key idea"},
    ],
)
async def test_the_door_sees_each_event_as_it_sees_a_value(log: SessionLog, data: dict[str, Any]) -> None:
    assert (await log.append("agent/update", data)).data == Redactor().mask_json(data)[0]


async def test_a_listener_hears_of_an_event_only_once_it_is_committed(store: SqliteStore, log: SessionLog) -> None:
    tails: list[asyncio.Task[int]] = []
    log.subscribe(lambda event: tails.append(asyncio.ensure_future(store.tail(log.session))))
    for _ in range(5):
        await log.append("notice/raised", {})
    for seq, tail in enumerate(tails, 1):
        assert await tail >= seq


async def test_events_are_numbered_in_the_order_of_the_calls(log: SessionLog) -> None:
    large = {"text": "x" * (2 * LARGE_EVENT)}
    told: list[Event] = []
    log.subscribe(told.append)
    events = await asyncio.gather(
        *(log.append("notice/raised", {"n": n, **(large if n % 7 == 0 else {})}) for n in range(60))
    )
    assert [each.seq for each in events] == list(range(1, 61))
    assert [each.data["n"] for each in events] == list(range(60))
    assert told == events
    assert [each.at for each in events] == sorted(each.at for each in events)


async def test_what_the_gate_refuses_is_not_written_and_takes_no_number(log: SessionLog) -> None:
    await log.append("notice/raised", {})
    for data in ({"a": float("nan")}, {"a": {1: 2}}, {"a": ("b",)}):
        with pytest.raises(GateError) as refused:
            await log.append("tool/update", data)
        assert refused.value.path
    with pytest.raises(GateError) as refused:
        await log.append("tool/invented", {})
    assert refused.value.path == "type"
    with pytest.raises(GateError):
        await log.append("notice/raised", [])  # type: ignore[arg-type]
    assert (await log.append("notice/raised", {})).seq == 2


async def test_data_is_taken_as_it_was_when_the_call_began(log: SessionLog) -> None:
    data = {"lines": ["+a"]}
    first = asyncio.ensure_future(log.append("notice/raised", data))
    await asyncio.sleep(0)
    data["lines"].append("+b")
    assert (await first).data == {"lines": ["+a"]}


async def test_a_listener_that_fails_or_leaves_stops_nothing(log: SessionLog) -> None:
    heard: list[int] = []

    def fails(event: Event) -> None:
        raise RuntimeError("a surface's own fault")

    log.subscribe(fails)
    leave = log.subscribe(lambda event: heard.append(event.seq))
    log.subscribe(lambda event: leave())
    await log.append("notice/raised", {})
    await log.append("notice/raised", {})
    leave()
    assert heard == [1]


async def test_a_caller_who_is_cancelled_leaves_no_gap(tmp_path: Path) -> None:
    store = SlowStore.open(tmp_path / "log.db")
    assert isinstance(store, SlowStore)
    store.hold()
    log = await SessionLog.create(store, Redactor())
    told: list[int] = []
    log.subscribe(lambda event: told.append(event.seq))
    calls = [asyncio.ensure_future(log.append("notice/raised", {"n": n})) for n in range(3)]
    await asyncio.sleep(0)
    calls[1].cancel()
    await asyncio.sleep(0)
    for go in store.held:
        go()
    assert (await calls[0]).seq == 1
    assert (await calls[2]).seq == 3
    assert told == [1, 2, 3]
    await store.close()


async def test_after_a_full_disk_the_log_goes_on_where_it_was(store: SqliteStore, log: SessionLog) -> None:
    await log.append("notice/raised", {})
    connection = store._writer._connection
    connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0] + 2}")
    told: list[Event] = []
    log.subscribe(told.append)
    outcomes = await asyncio.gather(
        log.append("notice/raised", {"n": "x" * 50_000}),
        log.append("notice/raised", {"n": "small"}),
        log.append("notice/raised", {"n": "small too"}),
        return_exceptions=True,
    )
    # The small ones follow the large one and cannot be committed without it.
    assert [getattr(outcome, "code", None) for outcome in outcomes] == ["NO_SPACE"] * 3
    assert told == []
    assert log.seq == 1
    connection.execute("PRAGMA max_page_count = 1000000")
    assert (await log.append("notice/raised", {})).seq == 2
    assert [each.seq async for each in log.events()] == [1, 2]


async def test_a_fault_while_an_event_is_made_reaches_its_appender_and_the_log_goes_on(
    log: SessionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Event:
        raise MemoryError("no room for an event")

    with monkeypatch.context() as patch:
        patch.setattr("redline.sessions.log.Event", fail)
        outcomes = await asyncio.wait_for(
            asyncio.gather(*(log.append("notice/raised", {"n": n}) for n in range(2)), return_exceptions=True), 10
        )
    assert [type(outcome) for outcome in outcomes] == [MemoryError] * 2
    assert (await log.append("notice/raised", {})).seq == 1


async def test_a_second_writer_is_told_so_every_time(store: SqliteStore, log: SessionLog) -> None:
    await log.append("notice/raised", {})
    await store.append([event(log.session, 2, by="another")], durable=False)
    for _ in range(2):
        with pytest.raises(StoreError) as refused:
            await log.append("notice/raised", {})
        assert refused.value.code == "SECOND_WRITER"
    again = await SessionLog.open(store, Redactor(), log.session)
    assert (await again.append("notice/raised", {})).seq == 3


async def test_opening_needs_a_session_and_creating_a_name(store: SqliteStore) -> None:
    with pytest.raises(StoreError) as refused:
        await SessionLog.open(store, Redactor(), "nobody")
    assert refused.value.code == "NO_SESSION"
    for name in ("", "../up", "a/b", ".hidden", "a b", "x" * 129, "a\n", "é"):
        with pytest.raises(ValueError, match="cannot name a session"):
            await SessionLog.create(store, Redactor(), session=name)
    assert is_session_name(new_session_name())
    assert (await SessionLog.create(store, Redactor(), session="mine-1")).session == "mine-1"


async def test_which_events_are_flushed(store: SqliteStore, log: SessionLog, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []
    submit = store.submit

    def watch(events: Sequence[Event], **options: Any) -> None:
        flushed.extend(each.type for each in events if options["durable"])
        submit(events, **options)

    monkeypatch.setattr(store, "submit", watch)
    for kind in ("file/intent", "tool/call", "tool/result", "change/reverted", "assistant/message"):
        await log.append(kind, {})
    assert flushed == ["file/intent", "tool/result", "change/reverted"]
    assert set(flushed) == DURABLE
    await log.append("assistant/message", {}, durable=True)
    await log.append("file/intent", {}, durable=False)
    assert flushed[3:] == ["assistant/message"]


async def test_pages(log: SessionLog) -> None:
    for n in range(5):
        await log.append("notice/raised", {"n": n})
    assert [item.seq for item in await log.page(limit=2)] == [4, 5]
    assert [item.seq for item in await log.page(before=4, limit=2)] == [2, 3]
    assert [item.seq async for item in log.events(after=3)] == [4, 5]


class TestLargeStrings:
    async def test_an_agents_whole_texts_go_to_the_store_of_bytes(self, store: SqliteStore) -> None:
        blobs = Bytes()
        log = await SessionLog.create(store, Redactor(), blobs=blobs)
        text = f"{TOKEN} " + "é" * LARGE_STRING
        await asyncio.gather(
            log.append("tool/call", {"arguments": {"content": text, "path": "/w/a"}}),
            log.append("notice/raised", {"n": 1}),
        )
        first, second = [each async for each in log.events()]
        (blob,) = blobs.kept
        assert first.data == {
            "arguments": {"content": {"omitted": True, "bytes": len(text.encode()), "blob": blob}, "path": "/w/a"}
        }
        assert blobs.kept[blob].decode() == text
        assert second.data == {"n": 1}

    async def test_one_over_the_bound_of_that_store_is_named_with_its_size(self, store: SqliteStore) -> None:
        log = await SessionLog.create(store, Redactor(), blobs=Bytes(bound=1000))
        kept = await log.append("agent/update", {"rawOutput": "x" * 10_000_000})
        assert kept.data == {"rawOutput": {"omitted": True, "bytes": 10_000_000}}

    async def test_a_fault_of_that_store_writes_nothing(self, store: SqliteStore) -> None:
        class Broken:
            async def put(self, data: bytes) -> str | None:
                raise OSError("no such device")

        log = await SessionLog.create(store, Redactor(), blobs=Broken())
        with pytest.raises(OSError, match="no such device"):
            await log.append("agent/update", {"rawOutput": "x" * 1_000_000})
        assert (await log.append("notice/raised", {})).seq == 1
