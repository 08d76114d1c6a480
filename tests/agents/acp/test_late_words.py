"""What an agent goes on to say after its turn is closed: one message, and no secret in pieces of it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from agents.acp.puppetry import ends, puppet, said, say, start, turn
from redline.agents.acp.bulk import Bulk
from redline.agents.acp.normalise import Text
from redline.agents.acp.speech import SILENCE_SECONDS, Speech
from redline.sessions.events import Event
from redline.sessions.log import SessionLog
from redline.sessions.redaction import Redactor
from redline.sessions.sqlite import SqliteStore
from redline.transcript.rows import AgentRow
from redline.workspace.store import ByteStore
from surfaces.chat.virtual_time import in_virtual_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from captures.recorded import Stage

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HALVES = (TOKEN[:17], TOKEN[17:])
LONGER = SILENCE_SECONDS + 0.1


async def more(live: Stage) -> None:
    """The agent says `during["more"]`, and all of it is heard when this returns."""
    await (await live.agent.connect(1)).ask("more", {})


async def kept(live: Stage) -> list[str]:
    """The data of every event in the log, as text."""
    return [str(event.data) async for event in live.session.log.events()]


async def test_a_secret_in_two_pieces_after_the_turn_stands_nowhere(tmp_path: Path) -> None:
    shown: list[str] = []
    pieces = [say("The key is "), *map(say, HALVES), say(" and that is all.")]
    async with puppet(tmp_path, [say("Done.")], during={"more": pieces}) as live:
        live.session.log.subscribe_text(lambda delta: shown.append(delta.text))
        await turn(live)
        await more(live)
        await live.conversation.close()
        _, late = said(live)
        assert late.startswith("The key is ⟦redacted")
        assert late.endswith("⟧ and that is all.")
        assert "".join(shown) == f"Done.{late}"
        for half in HALVES:
            assert not [text for text in [*await kept(live), *shown, *said(live)] if half in text]


async def test_what_is_said_late_is_shown_word_by_word_before_the_message_ends(tmp_path: Path) -> None:
    shown: list[str] = []
    async with puppet(tmp_path, [], during={"more": [say("One "), say("two "), say("three ")]}) as live:
        await turn(live)
        live.session.log.subscribe_text(lambda delta: shown.append(delta.text))
        await more(live)
        assert shown == ["One ", "two ", "three "]
        assert said(live) == []
        await live.conversation.close()
        assert said(live) == ["One two three "]


async def test_the_next_turn_ends_what_was_said_after_the_last(tmp_path: Path) -> None:
    async with puppet(tmp_path, [], [say("Next.")], during={"more": [say("And "), say("done.")]}) as live:
        await turn(live)
        await more(live)
        await turn(live)
        assert said(live) == ["And done.", "Next."]
        rows = [row for row in live.conversation.transcript.rows if isinstance(row, AgentRow)]
        assert [row.turn for row in rows] == [1, 2]
        assert [end.turn for end in ends(live)] == [1, 2]


async def test_a_call_after_the_turn_comes_after_what_was_said_before_it(tmp_path: Path) -> None:
    steps = [say("I loo"), say("k."), start("c", title="Look", kind="read", status="completed"), say("Seen.")]
    async with puppet(tmp_path, [], during={"more": steps}) as live:
        await turn(live)
        await more(live)
        await live.conversation.close()
        assert said(live) == ["I look.", "Seen."]
        types = [event.type async for event in live.session.log.events()]
        first, second = (at for at, type_ in enumerate(types) if type_ == "assistant/message")
        assert "tool/call" in types[first:second]


# Silence, by the clock of the loop.


@asynccontextmanager
async def speaking(folder: Path) -> AsyncIterator[tuple[Speech, SessionLog, SimpleNamespace]]:
    """The speech of an agent whose turn 1 is closed, with its log and what it knows of turns."""
    store = SqliteStore.open(folder / "log.db")
    log = await SessionLog.create(store, Redactor())
    calls = SimpleNamespace(turn=1, running=False)
    bulk = Bulk(ByteStore(folder / "bytes"), log.session, Redactor())
    yield Speech(log, bulk, cast("Any", calls)), log, calls
    await store.close()


async def messages(log: SessionLog) -> list[tuple[int, str]]:
    """Turn and text of each message in the log."""
    texts: dict[tuple[int, str], str] = {}
    for event in await log.page():
        assert isinstance(event, Event)
        key = (event.data["turn"], event.data["message"])
        texts[key] = texts.get(key, "") + event.data["text"]
    return [(of_turn, text) for (of_turn, _), text in texts.items()]


def piece(text: str) -> Text:
    return Text("agent", text, None)


def test_a_message_goes_on_over_pauses_and_ends_after_silence(tmp_path: Path) -> None:
    async def run() -> None:
        async with speaking(tmp_path) as (speech, log, _):
            for word in ("It ", "is ", *HALVES):
                await speech.say(piece(word))
                await asyncio.sleep(SILENCE_SECONDS - 0.1)
            await asyncio.sleep(0.2)
            await speech.say(piece("Later."))
            await speech.end()
            assert await messages(log) == [(1, "It is ⟦redacted github-token⟧"), (1, "Later.")]

    in_virtual_time(run())


def test_in_a_turn_silence_ends_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        async with speaking(tmp_path) as (speech, log, calls):
            await speech.say(piece("Late"))
            calls.turn, calls.running = 2, True
            await speech.say(piece("I thi"))
            await asyncio.sleep(10 * LONGER)
            await speech.say(piece("nk."))
            await speech.end()
            assert await messages(log) == [(1, "Late"), (2, "I think.")]

    in_virtual_time(run())


def test_what_cannot_be_kept_after_a_turn_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with speaking(tmp_path) as (speech, log, _):
            await log.store.append([Event(log.session, 1, 1, "notice/raised", {})], durable=False)
            await speech.say(piece("lost"))
            await asyncio.sleep(LONGER)
            await speech.end()

    with caplog.at_level(logging.ERROR):
        in_virtual_time(run())
    assert caplog.text.count("what an agent said after its turn could not be kept") == 1
