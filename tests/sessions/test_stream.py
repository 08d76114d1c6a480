from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.sessions import stream
from redline.sessions.events import Event
from redline.sessions.log import SessionLog
from redline.sessions.redaction import Redactor
from redline.sessions.sqlite import SqliteStore
from redline.sessions.store import StoreError
from redline.sessions.stream import TextDelta

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[SessionLog]:
    store = SqliteStore.open(tmp_path / "log.db")
    yield await SessionLog.create(store, Redactor())
    await store.close()


async def test_text_is_shown_at_once_and_committed_when_it_ends(log: SessionLog) -> None:
    shown: list[TextDelta] = []
    told: list[Event] = []
    log.subscribe_text(shown.append)
    log.subscribe(told.append)
    text = log.text("assistant/message", 3, "m1")
    for piece in ("Now ", "I chan", "ge it.\nDone", ", all of it"):
        await text.write(piece)
    assert [delta.text for delta in shown] == ["Now ", "I ", "change it.\n", "Done, all of "]
    assert [delta.offset for delta in shown] == [0, 4, 6, 17]
    assert told == []
    await text.close()
    await text.close()
    assert shown[-1] == TextDelta("m1", 3, "assistant/message", "it", 30)
    (committed,) = told
    assert committed.type == "assistant/message"
    assert committed.data == {"turn": 3, "message": "m1", "text": "Now I change it.\nDone, all of it"}
    with pytest.raises(ValueError, match="closed"):
        await text.write("more")


async def test_what_was_shown_is_committed_within_a_second(log: SessionLog, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stream.COMMIT_SECONDS <= 1
    monkeypatch.setattr(stream, "COMMIT_SECONDS", 0.02)
    told = asyncio.Event()
    log.subscribe(lambda event: told.set())
    text = log.text("assistant/thought", 1, "m1")
    await text.write("shown and hel")
    await asyncio.wait_for(told.wait(), 5)
    (first,) = await log.page()
    assert isinstance(first, Event)
    assert first.data["text"] == "shown and "
    await text.write("d back")
    await text.close()
    assert "".join([event.data["text"] async for event in log.events()]) == "shown and held back"


async def test_a_large_text_is_committed_without_waiting(log: SessionLog) -> None:
    text = log.text("assistant/message", 1, "m1")
    for _ in range(40):
        await text.write("a line of some length, with words\n" * 100)
    assert log.seq >= 1
    await text.close()
    assert len("".join([event.data["text"] async for event in log.events()])) == 40 * 100 * 34


async def test_a_secret_is_in_no_piece(log: SessionLog) -> None:
    shown: list[str] = []
    log.subscribe_text(lambda delta: shown.append(delta.text))
    text = log.text("assistant/message", 1, "m1")
    for character in f"I found {TOKEN} in it\npassword = hunter2-Tr0ub4dor\nok":
        await text.write(character)
    await text.close()
    (event,) = [event async for event in log.events()]
    assert event.data["text"] == "".join(shown)
    assert TOKEN[:12] not in event.data["text"]
    assert "hunter2" not in event.data["text"]
    assert event.data["text"].count("⟦redacted") == 2


async def test_an_empty_message_leaves_no_event(log: SessionLog) -> None:
    text = log.text("assistant/message", 1, "m1")
    await text.write("")
    await text.close()
    assert log.seq == 0


async def test_a_failed_commit_is_told_to_the_writer(log: SessionLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "COMMIT_SECONDS", 0.01)
    store = log.store
    assert isinstance(store, SqliteStore)
    await store.append([Event(log.session, 1, 1, "notice/raised", {})], durable=False)
    text = log.text("assistant/message", 1, "m1")
    await text.write("shown now ")
    await asyncio.sleep(0.1)
    with pytest.raises(StoreError) as refused:
        await text.write("and more")
    assert refused.value.code == "SECOND_WRITER"


async def test_two_messages_at_once_keep_apart(log: SessionLog) -> None:
    one, two = log.text("assistant/message", 1, "one"), log.text("assistant/thought", 1, "two")
    for _ in range(50):
        await one.write("a b\n")
        await two.write("c d\n")
    await asyncio.gather(one.close(), two.close())
    events = [event async for event in log.events()]
    assert "".join(event.data["text"] for event in events if event.data["message"] == "one") == "a b\n" * 50
    assert "".join(event.data["text"] for event in events if event.data["message"] == "two") == "c d\n" * 50


@given(
    st.lists(
        st.sampled_from(["word ", "\n", TOKEN, "key = ", "\udce9", "\ud83d", "é", "密", "password: Tr0ub4dor-x "])
    ),
    st.lists(st.integers(0, 200), max_size=12),
)
@settings(max_examples=25, deadline=None)
def test_the_parts_join_to_the_mask_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], cuts: list[int]
) -> None:
    whole = "".join(words)
    places = sorted({min(cut, len(whole)) for cut in cuts})
    pieces = [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]

    async def write() -> tuple[str, str]:
        store = SqliteStore.open(tmp_path_factory.mktemp("log") / "log.db")
        log = await SessionLog.create(store, Redactor())
        shown: list[str] = []
        log.subscribe_text(lambda delta: shown.append(delta.text))
        text = log.text("assistant/message", 1, "m")
        for piece in pieces:
            await text.write(piece)
        await text.close()
        kept = "".join([event.data["text"] async for event in log.events()])
        await store.close()
        return "".join(shown), kept

    shown, kept = asyncio.run(write())
    expected = whole.replace("\udce9", "\\xE9").replace("\ud83d", "\\uD83D")
    assert shown == kept == Redactor().mask(expected)
