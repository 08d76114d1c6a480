"""Slack's Web API as a chat platform: posts, edits, uploads.

Slack says no in three ways: HTTP 429 with `Retry-After`, HTTP 200 with `ok: false` and `ratelimited`
(docs.slack.dev/apis/web-api/rate-limits), and HTTP 200 with `ok: false` and any other error. The first two are waited
out; of the third, what may pass is tried again and the rest is refused.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

from slack_sdk.errors import SlackApiError, SlackRequestError

from redline.surfaces.chat.platform import Barred, Pace, Refused, Wait
from redline.surfaces.slack.blocks import MEASURE, blocks, summary

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from slack_sdk.web.async_client import AsyncWebClient

    from redline.surfaces.chat.parts import File, Message
    from redline.surfaces.chat.platform import Place

_MAY_PASS = frozenset((
    "internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org",
    "update_failed", "messaging_processing_failed", "external_channel_migrating", "streaming_state_conflict",
))  # fmt: skip
_NOBODY = frozenset((
    "invalid_auth", "not_authed", "token_expired", "token_revoked", "account_inactive", "accesslimited",
))  # fmt: skip
"""The app may do nothing at all, until somebody mends its token."""
_STEPS = {
    "missing_scope": 1, "no_permission": 1,
    "not_in_channel": 5, "channel_not_found": 5, "is_archived": 5,
    "restricted_action": 5, "restricted_action_read_only_channel": 5, "restricted_action_thread_only_channel": 5,
    "restricted_action_non_threadable_channel": 5, "restricted_action_thread_locked": 5,
}  # fmt: skip
"""What the app may not do here until somebody lets it, and the step of docs/slack.md that says how. A private channel
that the app is not in is answered with `channel_not_found`."""
_STATUS = re.compile(r"^Failed to upload a file \(status: (?P<status>4\d\d),")
_LATER = ("408", "425", "429")
_WAIT_SECONDS = 30.0
"""Where Slack does not say how long."""


class SlackCalls:
    name = "slack"
    mark = "!"  # Slack keeps `/` for itself, and its own commands do not work in threads
    measure = MEASURE

    def __init__(self, client: AsyncWebClient, pace: Pace | None = None) -> None:
        self._pace = pace or Pace()
        self._client = client
        self._languages = True

    def pace(self, channel: str) -> Pace:  # noqa: ARG002 - the same for all
        return self._pace

    async def post(self, place: Place, message: Message) -> str:
        answer = await self._with_blocks(
            message,
            self._client.chat_postMessage,
            channel=place.channel,
            thread_ts=place.thread or None,
            unfurl_links=False,
            unfurl_media=False,
        )
        return str(answer["ts"])

    async def edit(self, place: Place, posted: str, message: Message) -> None:
        await self._with_blocks(message, self._client.chat_update, channel=place.channel, ts=posted)

    async def delete(self, place: Place, posted: str) -> None:
        with _answers():
            await self._client.chat_delete(channel=place.channel, ts=posted)

    async def _with_blocks(self, message: Message, call: Callable[..., Awaitable[Any]], **more: Any) -> Any:
        """Languages of lines are documented by examples only; should Slack refuse ours, cards do without colours."""
        with _answers():
            try:
                return await call(text=summary(message), blocks=blocks(message, languages=self._languages), **more)
            except SlackApiError as error:
                if not self._languages or not _code(error).startswith("invalid_blocks"):
                    raise
                answer = await call(text=summary(message), blocks=blocks(message, languages=False), **more)
                self._languages = False
                return answer

    async def upload(self, place: Place, file: File) -> str:
        """By the external flow, as a snippet of type diff; one over Slack's size of a snippet goes up as a plain
        file. What the address for the bytes will never take is refused; of its answer the client gives the text only.
        """
        with _answers():
            try:
                answer = await self._upload(place, file, snippet_type="diff")
            except SlackApiError as error:
                if _code(error) not in ("snippet_too_large", "unknown_snippet_type"):
                    raise
                answer = await self._upload(place, file)
            except SlackRequestError as error:
                said = _STATUS.search(str(error))
                if said is None or said["status"] in _LATER:
                    raise
                raise Refused(f"the upload was answered with {said['status']}") from error
        return str(answer["files"][0]["id"])

    async def _upload(self, place: Place, file: File, **more: Any) -> Any:
        return await self._client.files_upload_v2(
            channel=place.channel,
            thread_ts=place.thread or None,
            filename=file.name,
            content=file.content,
            title=file.title or file.name,
            request_file_info=False,
            **more,
        )


@contextlib.contextmanager
def _answers() -> Iterator[None]:
    try:
        yield
    except SlackApiError as error:
        code = _code(error)
        status = getattr(error.response, "status_code", 200)
        if status == 429 or code in ("ratelimited", "rate_limited"):
            headers = {
                str(name).lower(): value for name, value in (getattr(error.response, "headers", None) or {}).items()
            }
            raise Wait(_seconds(headers.get("retry-after"))) from error
        if code in _NOBODY:
            raise Barred(reason(error), "docs/slack.md, step 2", everywhere=True) from error
        if code in _STEPS:
            raise Barred(reason(error), f"docs/slack.md, step {_STEPS[code]}") from error
        if status >= 500 or code in _MAY_PASS or not code:
            raise
        raise Refused(code) from error


def reason(error: SlackApiError) -> str:
    """Slack's word for what is wrong, with the scope that it names
    (docs.slack.dev/reference/methods/chat.postMessage#errors)."""
    needed = error.response.get("needed") if hasattr(error.response, "get") else None
    return f"{_code(error) or error}{f' (it needs {needed})' if needed else ''}"


def _code(error: SlackApiError) -> str:
    response = error.response
    return str(response.get("error", "")) if hasattr(response, "get") else ""


def _seconds(value: object) -> float:
    try:
        return max(1.0, float(str(value)))
    except ValueError:
        return _WAIT_SECONDS
