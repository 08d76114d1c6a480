"""What Slack's streaming calls can and cannot do, by Slack's own client: why a turn is a message that is edited."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from redline.surfaces.chat.parts import Message, Text
from redline.surfaces.chat.platform import Place
from redline.surfaces.slack.calls import SlackCalls
from surfaces.slack.fake_slack import FakeSlack, fake_slack
from surfaces.slack.streams import TEXT_LIMIT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

IN_CHANNEL = {"channel": "C1", "thread_ts": "1.1", "recipient_team_id": "T1", "recipient_user_id": "U1"}
LINES = {
    "type": "rich_text",
    "elements": [{"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "+x"}]}],
}


@asynccontextmanager
async def _client() -> AsyncIterator[tuple[FakeSlack, AsyncWebClient]]:
    async with fake_slack() as slack:
        yield slack, AsyncWebClient("xoxb-1", base_url=slack.base_url)


@asynccontextmanager
async def _refused(code: str) -> AsyncIterator[None]:
    with pytest.raises(SlackApiError) as refused:
        yield
    assert refused.value.response["error"] == code


async def test_in_a_channel_a_stream_has_one_recipient() -> None:
    async with _client() as (_, client):
        async with _refused("missing_recipient_team_id"):
            await client.chat_startStream(channel="C1", thread_ts="1.1")
        async with _refused("missing_recipient_user_id"):
            await client.chat_startStream(channel="C1", thread_ts="1.1", recipient_team_id="T1")
        await client.chat_startStream(**IN_CHANNEL)
        await client.chat_startStream(channel="D1", thread_ts="1.1")


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ({"markdown_text": "x" * TEXT_LIMIT}, ""),
        ({"markdown_text": "x" * (TEXT_LIMIT + 1)}, "msg_too_long"),
        ({"chunks": [{"type": "markdown_text", "text": "x" * (TEXT_LIMIT + 1)}]}, "msg_too_long"),
        ({"chunks": [{"type": "blocks", "blocks": [LINES] * 50}]}, ""),
        ({"chunks": [{"type": "blocks", "blocks": [LINES] * 51}]}, "invalid_blocks"),
        ({"chunks": [{"type": "image"}]}, "invalid_chunks"),
        ({}, "no_text"),
    ],
)
async def test_what_a_call_holds(sent: dict[str, Any], code: str) -> None:
    async with _client() as (_, client):
        ts = (await client.chat_startStream(**IN_CHANNEL))["ts"]
        if not code:
            await client.chat_appendStream(channel="C1", ts=ts, **sent)
            return
        async with _refused(code):
            await client.chat_appendStream(channel="C1", ts=ts, **sent)


async def test_what_was_streamed_cannot_be_edited_before_its_end() -> None:
    async with _client() as (_, client):
        stream = await client.chat_stream(buffer_size=1, **IN_CHANNEL)
        await stream.append(markdown_text="Working …")
        ts = str(stream.ts)
        async with _refused("streaming_state_conflict"):
            await client.chat_update(channel="C1", ts=ts, text="Done.", blocks=[LINES])
        with pytest.raises(SlackApiError):  # something that passes, and is tried again
            await SlackCalls(client).edit(Place("C1"), ts, Message((Text("Done."),)))
        await stream.stop()
        await client.chat_update(channel="C1", ts=ts, text="Done.", blocks=[LINES])


async def test_slack_ends_a_stream_by_itself_and_an_edit_is_all_that_is_left() -> None:
    async with _client() as (slack, client):
        slack.streams.seconds = 0.0
        stream = await client.chat_stream(buffer_size=1, **IN_CHANNEL)
        await stream.append(markdown_text="Working …")
        async with _refused("message_not_in_streaming_state"):
            await stream.append(markdown_text=" and working")
        async with _refused("message_not_in_streaming_state"):
            await stream.stop()
        await client.chat_update(channel="C1", ts=str(stream.ts), text="Done.", blocks=[LINES])


async def test_streams_are_begun_twenty_times_a_minute_at_most() -> None:
    async with _client() as (_, client):
        for _ in range(20):
            await client.chat_startStream(**IN_CHANNEL)
        with pytest.raises(SlackApiError) as refused:
            await client.chat_startStream(**IN_CHANNEL)
        assert refused.value.response.status_code == 429
        assert 0 < int(refused.value.response.headers["Retry-After"]) <= 60


async def test_fifty_cards_of_a_turn_cost_a_call_each() -> None:
    async with _client() as (slack, client):
        stream = await client.chat_stream(**IN_CHANNEL)
        card = "**Edited a.py**\n```diff\n" + "+x = 1\n" * 40 + "```\n"
        for _ in range(50):
            await stream.append(markdown_text=card)
        await stream.stop()
        assert slack.streams.text("C1", str(stream.ts)) == card * 50
        assert slack.count("chat.startStream", "chat.appendStream", "chat.stopStream") > 50
