"""The event stream: nothing is missed, nothing doubled, whoever is slow, breaks off or comes later."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from gateway.parlour import parlour
from redline.surfaces.dashboard import stream as streams
from redline.surfaces.dashboard.contract import Subscription
from redline.surfaces.dashboard.stream import Stream, cursor, subscriptions
from surfaces.dashboard.stage import House, Tab, call, step, until

if TYPE_CHECKING:
    from pathlib import Path


def writes(folder: str = ".") -> list[list[dict[str, Any]]]:
    """Three turns, each with a new file."""
    path = f"{{workspace}}/{folder}"
    return [[step(f"Number {n}.", call("write", path=f"{path}/{n}.txt", content=f"{n}\n"))] for n in range(1, 4)]


async def grown(house: House, session: str, turn: int) -> None:
    """One more turn, with a change that is allowed."""
    await house.post(f"sessions/{session}/prompt", {"text": f"Write {turn}."}, status=202)
    await house.answer(session, "allow_once", turn)
    await house.done(session, turn)


async def same(house: House, tab: Tab, session: str) -> None:
    """The tab gets to what the log says."""
    rows = await house.rows(session)
    await until(lambda: tab.ordered(session) == rows)


async def test_a_resumed_stream_brings_what_was_missed_and_nothing_twice(house: House) -> None:
    session = await house.begin(*writes())
    first = house.tab(f"{session}:0")
    await grown(house, session, 1)
    await same(house, first, session)
    await first.leave()
    await grown(house, session, 2)
    resumed = house.tab(last=first.last)
    await until(resumed.has(session, "turn_end:2"))
    old = {row["id"] for row in first.ordered(session)}
    assert not old & set(resumed.rows[session])
    await grown(house, session, 3)
    first.rows[session].update(resumed.rows[session])
    rows = await house.rows(session)
    await until(lambda: {**first.rows[session], **resumed.rows[session]} == {row["id"]: row for row in rows})


async def test_rows_and_stream_join_without_a_gap(house: House) -> None:
    session = await house.begin(*writes())
    await grown(house, session, 1)
    page = await house.get(f"sessions/{session}/rows")
    tab = house.tab(f"{session}:{page['seq']}")
    await grown(house, session, 2)
    await until(tab.has(session, "turn_end:2"))
    joined = {row["id"]: row for row in page["rows"]} | tab.rows[session]
    assert sorted(joined.values(), key=lambda row: row["seq"]) == await house.rows(session)


async def test_six_tabs_see_the_same_and_share_the_bytes(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await house.begin(*writes())
    tabs = [house.tab(f"{session}:0") for _ in range(6)]
    await until(lambda: all(session in tab.states for tab in tabs))
    channel = await house_channel(house, session)
    encoded = count_encodings(monkeypatch)
    await grown(house, session, 1)
    for tab in tabs:
        await same(house, tab, session)
    assert len(encoded) == len(set(encoded)), "a row was encoded twice in one version"
    assert len(channel.streams) == 6
    for tab in tabs:
        await tab.leave()
    await until(lambda: not channel.streams)


async def test_a_tab_hears_that_its_session_was_deleted(house: House) -> None:
    session = await house.begin([step("ok")], prompt="Hello.")
    await house.done(session)
    tab = house.tab(f"{session}:0")
    await until(lambda: session in tab.states)
    assert (await house.client.delete(f"/api/sessions/{session}")).status_code == 200
    await until(lambda: tab.resets and tab.resets[-1]["problem"]["code"] == "NO_SESSION")


async def test_text_streams_and_ends_as_the_committed_row(house: House) -> None:
    words = " ".join(f"word{number}" for number in range(400))
    session = await house.begin([step(words)], delay=0.001, piece=20)
    early = house.tab(f"{session}:0")
    await house.post(f"sessions/{session}/prompt", {"text": "Talk."}, status=202)
    await until(lambda: any(len(text) > 200 for text in early.texts(session)))
    late = house.tab(f"{session}:0")
    for tab in (early, late):
        await until(tab.has(session, "turn_end:1"))
        assert tab.texts(session) == [words]
    assert "text" in early.events


async def test_a_slow_tab_holds_nobody_up_and_gets_the_last_state(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits are small here, so that the socket's own buffers do not hide the slowness."""
    monkeypatch.setattr(streams, "QUEUE_LIMIT", 4)
    monkeypatch.setattr(streams, "QUEUE_BYTES", 4096)
    big = "x" * 200_000
    session = await house.begin(*([step("ok")] for _ in range(50)))
    slow, quick = house.tab(f"{session}:0"), house.tab(f"{session}:0")
    await until(lambda: session in slow.states and session in quick.states)
    slow.gate.clear()
    room = await house.gateway.open(session)
    for turn in range(1, 51):
        await room.prompt(f"{turn} {big}", source="dashboard")
    await same(house, quick, session)
    assert len(slow.rows.get(session, {})) < len(quick.rows[session])
    slow.gate.set()
    await same(house, slow, session)


def test_a_full_queue_is_given_up_for_a_look_at_how_things_are() -> None:
    asked: list[tuple[str, int]] = []

    def catch_up(stream: Stream, session: str, after: int) -> None:
        asked.append((session, after))
        stream.push(session, 999, b"now")

    async def follow() -> list[bytes]:
        stream = Stream("s", listing=False, catch_up=catch_up)
        stream.cursors = {"a": 7}
        for seq in range(streams.QUEUE_LIMIT + 50):
            stream.push("a", seq, b"then")
        chunks = stream.chunks()
        return [await anext(chunks)]

    (chunk,) = asyncio.run(follow())
    assert asked == [("a", 7)]
    assert chunk == b"nowid: a:999\n\n"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("a:1,b-2.x:30", [("a", 1), ("b-2.x", 30)]),
        ("a:1,a:5", [("a", 5)]),
        ("", []),
        ("a", []),
        ("../x:1,a:-1,a:1e3,:4,b:99999999999999999999", []),
        ("a:²,b:1", [("b", 1)]),
    ],
)
def test_a_cursor_is_read_without_being_trusted(said: str, meant: list[tuple[str, int]]) -> None:
    assert subscriptions(said) == [Subscription(session=session, after=after) for session, after in meant]
    assert subscriptions(cursor(dict(meant))) == subscriptions(said)


async def test_one_stream_follows_several_sessions_and_can_change_its_mind(house: House) -> None:
    one, two = await house.begin(*writes("one")), await house.begin(*writes("two"))
    tab = house.tab(f"{one}:0")
    await until(lambda: one in tab.states)
    await house.post(
        f"stream/{tab.stream}", {"subscribe": [{"session": two, "after": 0}, {"session": "nobody", "after": 0}]}
    )
    await grown(house, two, 1)
    await same(house, tab, two)
    assert {part.rpartition(":")[0] for part in tab.last.split(",")} == {one, two}
    assert [reset["problem"]["code"] for reset in tab.resets if reset["session"] == "nobody"] == ["NO_SESSION"]
    await house.post(f"stream/{tab.stream}", {"unsubscribe": [two]})
    seen = len(tab.rows[two])
    await grown(house, two, 2)
    await grown(house, one, 1)
    await same(house, tab, one)
    assert len(tab.rows[two]) == seen
    gone = await house.client.post("/api/stream/no-such-stream", json={})
    assert (gone.status_code, gone.json()["code"]) == (404, "NO_STREAM")


async def test_what_another_process_does_appears_and_cannot_be_prompted(house: House, tmp_path: Path) -> None:
    """Another archive over the same folder is what another process is: the lease and the log are all they share."""
    other = tmp_path / "other"
    other.mkdir()
    async with parlour(other) as elsewhere:
        await elsewhere.archive.close()
        elsewhere.archive = type(house.archive).open(house.folder / "data")
        conversation = await elsewhere.begin(elsewhere.script([step("From elsewhere.")], [step("Again.")]))
        session = conversation.session.log.session
        tab = house.tab(f"{session}:0", listing=True)
        await until(lambda: session in tab.states)
        assert tab.states[session]["runs"] == "elsewhere"
        await conversation.prompt("Hello.", source="terminal")
        await until(tab.has(session, "turn_end:1"))
        refused = await house.post(f"sessions/{session}/prompt", {"text": "Me too."}, status=409)
        assert (refused["code"], bool(refused["remedy"])) == ("BUSY", True)
        assert (await house.post(f"sessions/{session}/undo/preview", {}, status=409))["code"] == "BUSY"
        assert (await house.post(f"sessions/{session}/cancel", {}, status=409))["code"] == "BUSY"
        await conversation.close()
        conversation.session.close()
        await until(lambda: tab.states[session]["runs"] == "nobody")
        await house.post(f"sessions/{session}/prompt", {"text": "Now me."}, status=202)
        await until(tab.has(session, "turn_end:2"))
        await same(house, tab, session)


async def test_an_idle_session_is_let_go_and_taken_up_again(tmp_path: Path) -> None:
    from surfaces.dashboard.stage import dashboard

    async with dashboard(tmp_path, idle_seconds=0.2) as house:
        session = await house.begin([step("one")], [step("two")], prompt="First.")
        tab = house.tab(f"{session}:0")
        await until(lambda: tab.states.get(session, {}).get("runs") == "nobody")
        assert not house.archive.is_running(session)
        await house.post(f"sessions/{session}/prompt", {"text": "Second."}, status=202)
        await until(tab.has(session, "turn_end:2"))
        await same(house, tab, session)
        assert tab.texts(session) == ["one", "two"]


async def test_a_row_that_cannot_be_shown_is_one_error_row(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from redline.surfaces.dashboard import rows

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(rows, "shown_call", broken)
    session = await house.begin(*writes())
    tab = house.tab(f"{session}:0")
    await grown(house, session, 1)
    await same(house, tab, session)
    kinds = [row["kind"] for row in tab.ordered(session)]
    assert kinds.count("other") == 1
    assert kinds[-1] == "turn_end"


async def house_channel(house: House, session: str) -> Any:
    """The channel that the server's hub keeps, for a look at how often it encodes."""
    import gc

    from redline.surfaces.dashboard.channel import Channel

    return next(one for one in gc.get_objects() if isinstance(one, Channel) and one.room.session == session)


def count_encodings(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    from redline.surfaces.dashboard import channel

    seen: list[tuple[str, int, int]] = []
    real = channel.shown_row

    def counted(place: Any, row: Any, **more: Any) -> Any:
        seen.append((row.id, row.revision, len(getattr(row, "text", ""))))
        return real(place, row, **more)

    monkeypatch.setattr(channel, "shown_row", counted)
    return seen
