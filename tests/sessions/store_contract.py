"""What every store of session logs must do: subclass `StoreContract` and give it a `stores` fixture."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from redline.sessions.events import Event
from redline.sessions.store import Damaged, Store, StoreError

OpenStore = Callable[[], Awaitable[Store]]
"""Opens the same store once more, as another process would; the fixture closes all."""


def event(session: str, seq: int, kind: str = "notice/raised", at: int = 0, **data: Any) -> Event:
    return Event(session, seq, at or 1_700_000_000_000 + seq, kind, data)


def run_of(session: str, first: int, last: int) -> list[Event]:
    return [event(session, seq, n=seq) for seq in range(first, last + 1)]


async def filled(store: Store, session: str, events: list[Event]) -> None:
    await store.append(events, durable=False)


class StoreContract:
    @pytest.fixture
    def open_store(self) -> OpenStore:
        raise NotImplementedError

    @pytest.fixture
    async def store(self, open_store: OpenStore) -> Store:
        return await open_store()

    async def test_gives_back_what_was_appended(self, store: Store) -> None:
        data = {
            "text": "é\u2028\x00\x07 \U0001f600",
            "n": [1, -2.5, 1e300, 2**53, None, True],
            "deep": {"": {"a b": []}},
        }
        written = Event("s", 1, 1_700_000_000_123, "agent/update", data)
        await store.append([written], durable=True)
        assert await store.read("s") == [written]

    async def test_keeps_every_float_exactly(self, store: Store) -> None:
        floats = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 123456789.12345678, 2.0, 1e16, 1e22, -1e-7]
        await store.append([event("s", 1, floats=floats)], durable=False)
        (read,) = await store.read("s")
        assert isinstance(read, Event)
        assert read.data["floats"] == floats
        assert [type(number) for number in read.data["floats"]] == [float] * len(floats)

    async def test_survives_reopening(self, open_store: OpenStore) -> None:
        first = await open_store()
        await first.append(run_of("s", 1, 3), durable=False)
        await first.close()
        assert await (await open_store()).read("s") == run_of("s", 1, 3)

    async def test_commits_in_the_order_of_the_calls(self, store: Store) -> None:
        await asyncio.gather(*(store.append([event("s", seq)], durable=seq % 7 == 0) for seq in range(1, 200)))
        assert [item.seq for item in await store.read("s")] == list(range(1, 200))

    async def test_tells_outcomes_in_the_order_of_the_calls(self, store: Store) -> None:
        told: list[int] = []
        done = asyncio.Event()
        for seq in range(1, 51):
            store.submit(
                [event("s", seq)],
                durable=False,
                settled=lambda error, seq=seq: (told.append(seq), done.set() if seq == 50 else None),  # type: ignore[misc]
            )
        await asyncio.wait_for(done.wait(), 10)
        assert told == list(range(1, 51))

    async def test_refuses_a_gap_a_repeat_and_an_unknown_session(self, store: Store) -> None:
        await store.append(run_of("s", 1, 2), durable=False)
        for first in (1, 2, 4):
            with pytest.raises(StoreError) as refused:
                await store.append(run_of("s", first, first + 1), durable=False)
            assert refused.value.code == "SECOND_WRITER"
        with pytest.raises(StoreError) as refused:
            await store.append([event("other", 2)], durable=False)
        assert refused.value.code == "NO_SESSION"
        assert await store.read("s") == run_of("s", 1, 2)
        assert await store.tail("other") == 0

    async def test_one_bad_append_costs_no_other_in_the_same_moment(self, store: Store) -> None:
        await store.append(run_of("a", 1, 1), durable=False)
        outcomes = await asyncio.gather(
            store.append([event("a", 2)], durable=False),
            store.append([event("b", 7)], durable=False),
            store.append([event("a", 9)], durable=False),
            store.append([event("c", 1)], durable=True),
            store.append([event("a", 3)], durable=False),
            return_exceptions=True,
        )
        assert [getattr(outcome, "code", None) for outcome in outcomes] == [
            None, "NO_SESSION", "SECOND_WRITER", None, None,
        ]  # fmt: skip
        assert (await store.tail("a"), await store.tail("b"), await store.tail("c")) == (3, 0, 1)

    async def test_refuses_the_second_of_two_writers(self, open_store: OpenStore) -> None:
        one, other = await open_store(), await open_store()
        await one.append(run_of("s", 1, 5), durable=False)
        assert await other.tail("s") == 5
        await one.append([event("s", 6, by="one")], durable=False)
        with pytest.raises(StoreError) as refused:
            await other.append([event("s", 6, by="other")], durable=True)
        assert refused.value.code == "SECOND_WRITER"
        (last,) = await other.page("s", limit=1)
        assert isinstance(last, Event)
        assert last.data == {"by": "one"}

    async def test_only_one_of_two_can_begin_a_session(self, open_store: OpenStore) -> None:
        one, other = await open_store(), await open_store()
        outcomes = await asyncio.gather(
            one.append([event("s", 1)], durable=False),
            other.append([event("s", 1)], durable=False),
            return_exceptions=True,
        )
        assert sorted(getattr(outcome, "code", "") for outcome in outcomes) == ["", "SECOND_WRITER"]

    async def test_pages_from_the_end_and_reads_from_the_start(self, store: Store) -> None:
        await store.append(run_of("s", 1, 10), durable=False)
        assert [item.seq for item in await store.page("s", limit=4)] == [7, 8, 9, 10]
        assert [item.seq for item in await store.page("s", before=7, limit=4)] == [3, 4, 5, 6]
        assert [item.seq for item in await store.page("s", before=3, limit=4)] == [1, 2]
        assert await store.page("s", before=1) == []
        assert [item.seq for item in await store.page("s", before=99, limit=1)] == [10]
        assert [item.seq for item in await store.read("s", after=3, limit=2)] == [4, 5]
        assert await store.read("s", after=10) == []
        assert await store.page("nobody") == []
        assert await store.read("nobody") == []

    async def test_lists_sessions_newest_first_without_missing_one_between_pages(self, store: Store) -> None:
        times = {"a": 500, "b": 300, "c": 300, "d": 300, "e": 100}
        for name, at in times.items():
            await store.append(
                [event(name, 1, "session/started", at=at, workspace="/w", agent="builtin")], durable=False
            )
        assert [each.session for each in await store.sessions()] == ["a", "b", "c", "d", "e"]
        listed: list[str] = []
        before = None
        while page := await store.sessions(limit=2, before=before):
            listed += [each.session for each in page]
            before = page[-1].updated_at
        assert listed == ["a", "b", "c", "d", "e"]

    async def test_keeps_a_summary_up_to_date(self, store: Store) -> None:
        change = {"path": "/w/a", "operation": "modify", "hunks": []}
        events = [
            event("s", 1, "session/started", at=1000, workspace="/w", agent="builtin"),
            event("s", 2, "session/state", title="First"),
            event("s", 3, "turn/started", turn=1),
            event("s", 4, "tool/result", turn=1, call="a", status="completed", changes=[
                {**change, "added": 3, "removed": 1}, {**change, "added": 2, "removed": 2}]),
            event("s", 5, "tool/result", turn=1, call="b", status="completed", changes=[
                {**change, "added": 50, "removed": 50, "provenance": "proposed"}]),
            event("s", 6, "tool/result", turn=1, call="c", status="unknown", changes=[
                {**change, "added": 50, "removed": 50}]),
            event("s", 7, "change/reverted", turn=2, call="u", of=[], changes=[{**change, "added": 1, "removed": 3}]),
            event("s", 8, "session/state", title="Second"),
            event("s", 9, "session/state", modes=[]),
            event("s", 10, "turn/started", at=7000, turn=2),
            event("s", 11, "session/closed", at=9000, reason="done"),
        ]  # fmt: skip
        for each in events:
            await store.append([each], durable=False)
        await store.append([event("t", 1)], durable=False)
        summary = await store.summary("s")
        assert summary is not None
        assert (summary.workspace, summary.agent, summary.title) == ("/w", "builtin", "Second")
        assert (summary.started_at, summary.updated_at, summary.last_seq) == (1000, 7000, 11), "to be closed is no use"
        assert (summary.turns, summary.added, summary.removed, summary.closed) == (2, 6, 6, True)
        await store.append([event("s", 12, "turn/started", turn=3)], durable=False)
        again = await store.summary("s")
        assert again is not None
        assert (again.turns, again.closed) == (3, False)
        assert await store.summary("nobody") is None

    async def test_a_summary_is_the_same_whether_events_come_one_by_one_or_at_once(self, store: Store) -> None:
        kinds: list[tuple[str, dict[str, Any]]] = [
            ("session/started", {"workspace": "/w", "agent": "x"}), ("turn/started", {"turn": 1}),
            ("session/state", {"title": "T"}), ("session/closed", {}), ("turn/started", {"turn": 2}),
            ("tool/result", {"turn": 1, "call": "c", "status": "completed", "changes": [{"added": 1, "removed": 2}]}),
            ("session/started", {}),
        ]  # fmt: skip
        for name in ("one", "all"):
            events = [Event(name, seq, seq, kind, data) for seq, (kind, data) in enumerate(kinds, 1)]
            for run in [events] if name == "all" else [[each] for each in events]:
                await store.append(run, durable=False)
        one, everything = await store.summary("one"), await store.summary("all")
        assert one is not None
        assert everything is not None
        facts = ("workspace", "agent", "title", "turns", "added", "removed", "closed", "last_seq", "updated_at")
        assert [getattr(one, fact) for fact in facts] == [getattr(everything, fact) for fact in facts]
        assert (one.workspace, one.title, one.turns, one.closed) == ("/w", "T", 2, False)

    @pytest.mark.parametrize(
        ("changes", "exact", "at_least"),
        [
            ([{"added": 1}], True, False),
            ([{"added": 1, "exact": False}], False, False),
            ([{"added": 1}, {"file_type": "unknown"}], True, True),
            ([{"added": 1, "file_type": "binary"}, {"exact": False}], False, True),
            ([{"exact": False, "file_type": "unknown", "provenance": "proposed"}], True, False),
            ([{"kept": 0, "added": 1, "exact": False, "provenance": "observed"}], False, False),
        ],
    )
    async def test_a_summary_says_where_its_counts_are_bounds(
        self, store: Store, changes: list[dict[str, Any]], exact: bool, at_least: bool
    ) -> None:
        data = {"turn": 1, "call": "c", "status": "completed", "changes": changes}
        plain = {**data, "changes": [{"added": 1}]}
        await store.append([event("first", 1, "tool/result", **data)], durable=False)
        await store.append([event("later", 1), event("later", 2)], durable=False)
        await store.append([event("later", 3, "tool/result", **data)], durable=False)
        await store.append([event("later", 4, "tool/result", **plain)], durable=False)
        for name in ("first", "later"):
            summary = await store.summary(name)
            assert summary is not None
            assert (summary.exact, summary.at_least) == (exact, at_least), "and nothing that follows takes it back"

    async def test_odd_shapes_in_data_count_as_absent(self, store: Store) -> None:
        await store.append(
            [
                event("s", 1, "session/started", workspace=7, agent=None),
                event("s", 2, "session/state", title=["x"]),
                event("s", 3, "turn/started", turn="one"),
                event("s", 4, "tool/result", call=3, status="completed", changes={"added": 1}),
                event("s", 5, "tool/result", changes=[1, {"added": -4, "removed": True}, {"added": 2.5}]),
                event("s", 6, "file/intent"),
            ],
            durable=True,
        )
        summary = await store.summary("s")
        assert summary is not None
        assert (summary.title, summary.turns, summary.added, summary.removed) == ("", 0, 0, 0)

    async def test_outlines_events_and_reads_those_that_are_wanted(self, store: Store) -> None:
        await store.append(
            [
                event("s", 1, "tool/call", turn=2, call='é"', request="r"),
                event("s", 2, "tool/result", turn=2, call="b", changes=[{"added": 1}]),
                event("s", 3, "tool/result", turn=2, call="b", changes=[], content='"changes":[{'),
                event("s", 4, "assistant/message", turn="x", message=7, call={"call": "no"}),
            ],
            durable=False,
        )
        assert [tuple(one) for one in await store.outline("s", after=0, before=5)] == [
            (1, "tool/call", 2, 'é"', "", "r", False),
            (2, "tool/result", 2, "b", "", "", True),
            (3, "tool/result", 2, "b", "", "", False),
            (4, "assistant/message", 0, "", "", "", False),
        ]
        assert [one.seq for one in await store.outline("s", after=1, before=4)] == [2, 3]
        missing = (await store.outline("s", after=4, before=6))[0]
        assert tuple(missing) == (5, "", 0, "", "", "", False)
        found = await store.at("s", [1, 3, 9])
        assert [(one.seq, isinstance(one, Event)) for one in found] == [(1, True), (3, True), (9, False)]

    async def test_finds_a_turn_without_a_scan(self, store: Store) -> None:
        await store.append(
            [*run_of("s", 1, 3), event("s", 4, "turn/started", turn=1), event("s", 5, "turn/started", turn=2)],
            durable=False,
        )
        assert (await store.turn_start("s", 1), await store.turn_start("s", 2)) == (4, 5)
        assert await store.turn_start("s", 3) is None
        assert await store.turn_start("nobody", 1) is None

    async def test_knows_where_the_turns_around_an_event_begin(self, store: Store) -> None:
        turns = {3: 1, 6: 2}
        for seq in range(1, 9):
            kind = "turn/started" if seq in turns else "notice/raised"
            await store.append([event("s", seq, kind, turn=turns.get(seq, 0))], durable=False)
        found = [await store.turn_bounds("s", seq) for seq in (1, 2, 3, 5, 6, 8, 99)]
        assert found == [(1, 3), (1, 3), (3, 6), (3, 6), (6, None), (6, None), (6, None)]
        assert await store.turn_bounds("nobody", 5) == (1, None)

    async def test_reads_events_by_their_type(self, store: Store) -> None:
        kinds = ["session/started", "turn/started", "user/message", "turn/ended", "turn/started", "turn/ended"]
        written = [event("s", seq, kind, turn=1) for seq, kind in enumerate(kinds, 1)]
        await store.append(written, durable=False)
        assert await store.of_types("s", ["turn/started", "turn/ended"]) == [*written[1:2], *written[3:]]
        assert await store.of_types("s", ["turn/started"], after=2) == [written[4]]
        assert await store.of_types("s", ["turn/started", "turn/ended"], after=1, before=5) == [written[1], written[3]]
        assert await store.of_types("s", ["plan/updated"]) == []
        assert await store.of_types("nobody", ["turn/started"]) == []

    async def test_an_intent_is_open_until_its_call_is_answered(self, store: Store) -> None:
        def intent(seq: int, turn: int, call: str) -> Event:
            return event("s", seq, "file/intent", turn=turn, call=call, path=f"/w/{seq}")

        intents = [intent(1, 1, "a"), intent(2, 1, "a"), intent(3, 1, "b"), intent(4, 2, "a"), intent(5, 2, "u")]
        await store.append(intents, durable=True)
        assert await store.open_intents("s") == intents
        await store.append([event("s", 6, "tool/result", turn=1, call="a", status="completed")], durable=True)
        assert await store.open_intents("s") == intents[2:]
        await store.append([event("s", 7, "change/reverted", turn=2, call="u", changes=[])], durable=True)
        assert await store.open_intents("s") == [intents[2], intents[3]]
        assert await store.open_intents("nobody") == []

    async def test_an_intent_answered_in_the_same_commit_is_not_open(self, store: Store) -> None:
        await store.append(
            [
                event("s", 1, "file/intent", turn=1, call="a"),
                event("s", 2, "tool/result", turn=1, call="a", status="completed"),
                event("s", 3, "file/intent", turn=1, call="a"),
            ],
            durable=True,
        )
        assert [each.seq for each in await store.open_intents("s")] == [3]

    async def test_deletes_one_session_with_all_that_belongs_to_it(self, open_store: OpenStore) -> None:
        store, other = await open_store(), await open_store()
        for name in ("s", "t"):
            await store.append(
                [event(name, 1, "turn/started", turn=1), event(name, 2, "file/intent", turn=1, call="a")], durable=True
            )
        assert await store.delete("s")
        assert not await store.delete("s")
        for each in (store, other):
            assert await each.tail("s") == 0
            assert await each.page("s") == []
            assert await each.turn_start("s", 1) is None
            assert await each.open_intents("s") == []
            assert [summary.session for summary in await each.sessions()] == ["t"]
            assert len(await each.page("t")) == 2
        with pytest.raises(StoreError) as refused:
            await other.append([event("s", 3)], durable=False)
        assert refused.value.code == "NO_SESSION"
        await store.append([event("s", 1)], durable=False)
        assert await store.open_intents("s") == []

    async def test_another_store_sees_new_events_within_a_second(self, open_store: OpenStore) -> None:
        writer, reader = await open_store(), await open_store()
        await writer.append(run_of("s", 1, 2), durable=False)
        seen: asyncio.Queue[Event | Damaged] = asyncio.Queue()

        async def follow() -> None:
            async for item in reader.watch("s", after=1):
                seen.put_nowait(item)

        following = asyncio.ensure_future(follow())
        try:
            first = await asyncio.wait_for(seen.get(), 1)
            await writer.append(run_of("s", 3, 4), durable=False)
            async with asyncio.timeout(1):
                assert [first, await seen.get(), await seen.get()] == run_of("s", 2, 4)
            await writer.delete("s")
            await asyncio.wait_for(following, 1)
        finally:
            following.cancel()

    async def test_watching_begins_before_the_session_does(self, store: Store) -> None:
        watching = store.watch("s")
        first = asyncio.ensure_future(anext(watching))
        await asyncio.sleep(0.05)
        await store.append([event("s", 1)], durable=False)
        assert await asyncio.wait_for(first, 1) == event("s", 1)
        await watching.aclose()

    async def test_a_closed_store_says_so(self, store: Store) -> None:
        await store.append([event("s", 1)], durable=False)
        await store.close()
        await store.close()
        with pytest.raises(StoreError):
            await store.append([event("s", 2)], durable=False)
        with pytest.raises(StoreError):
            await store.tail("s")

    async def test_closing_settles_what_is_under_way(self, open_store: OpenStore) -> None:
        store = await open_store()
        appends = [asyncio.ensure_future(store.append([event("s", seq)], durable=False)) for seq in range(1, 101)]
        await asyncio.sleep(0)
        await store.close()
        await asyncio.gather(*appends)
        assert await (await open_store()).tail("s") == 100
