"""Slack's streaming calls and rate tiers, with the limits that its documents name.

Enforced, each with its source (docs.slack.dev/reference/methods/…):
- `markdown_text` holds 12,000 characters a call (chat.startStream, chat.appendStream, chat.stopStream); the documents
  name no error for more, so `msg_too_long`, which chat.update gives;
- outside of direct messages a stream has one recipient: without one `missing_recipient_team_id` and
  `missing_recipient_user_id` (chat.startStream);
- chunks are `markdown_text`, `task_update`, `plan_update` and `blocks`, else `invalid_chunks` (chat.appendStream); all
  `blocks` of the chunks are 50 at most, and those of chat.stopStream another 50 (chat.stopStream);
- nothing to add is `no_text`, another message `message_not_found`, and one that is no stream any more
  `message_not_in_streaming_state` (chat.appendStream, chat.stopStream);
- a message cannot be edited while it streams: `streaming_state_conflict` (chat.update);
- Slack ends a stream by itself about five minutes after its start: undocumented (slackapi/python-slack-sdk#1859);
- of the methods below, tier 2 takes 20 calls a minute, tier 3 takes 50, tier 4 takes 100, then HTTP 429 with
  `Retry-After` (docs.slack.dev/apis/web-api/rate-limits, and each method's page for its tier).
"""

from __future__ import annotations

import math
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

TEXT_LIMIT = 12_000
BLOCKS = 50
_A_MINUTE = {
    "chat.startStream": 20, "chat.stopStream": 20, "chat.appendStream": 100, "chat.update": 50, "chat.delete": 50,
    "files.getUploadURLExternal": 100, "files.completeUploadExternal": 100,
}  # fmt: skip
_CHUNKS = {"markdown_text": "text", "task_update": "id", "plan_update": "title", "blocks": "blocks"}


class Tiers:
    """How often each method is called."""

    def __init__(self) -> None:
        self._calls: dict[str, deque[float]] = defaultdict(deque)

    def wait(self, method: str) -> int:
        """Seconds of a 429; 0: the call is within its tier, and counted."""
        calls, now = self._calls[method], time.monotonic()
        while calls and calls[0] <= now - 60:
            calls.popleft()
        if len(calls) >= _A_MINUTE.get(method, 10**9):
            return max(1, math.ceil(calls[0] + 60 - now))
        calls.append(now)
        return 0


@dataclass
class _Stream:
    begun: float
    text: str = ""
    blocks: list[dict[str, Any]] = field(default_factory=list)
    over: bool = False


class Streams:
    """Messages that are being streamed, by channel and ts."""

    def __init__(self) -> None:
        self.seconds = 300.0
        """After which Slack ends one by itself."""
        self._streams: dict[tuple[str, str], _Stream] = {}

    def refused_start(self, sent: dict[str, Any]) -> str:
        if not sent["channel"].startswith("D"):
            missing = [name for name in ("team_id", "user_id") if not sent.get(f"recipient_{name}")]
            if missing:
                return f"missing_recipient_{missing[0]}"
        return _fault(_Stream(0.0), sent)

    def start(self, key: tuple[str, str], sent: dict[str, Any]) -> None:
        self._streams[key] = _Stream(time.monotonic())
        self._take(self._streams[key], sent)

    def refused_more(self, sent: dict[str, Any], *, ends: bool) -> str:
        """Why chat.appendStream or chat.stopStream (`ends`) is not taken; empty: it is."""
        key = (sent["channel"], sent["ts"])
        if key not in self._streams:
            return "message_not_found"
        if not self.is_streaming(*key):
            return "message_not_in_streaming_state"
        if ends:
            if len(sent.get("blocks") or ()) > BLOCKS:
                return "invalid_blocks"
        elif not sent.get("markdown_text") and not sent.get("chunks"):
            return "no_text"
        return _fault(self._streams[key], sent)

    def more(self, sent: dict[str, Any], *, ends: bool) -> None:
        stream = self._streams[sent["channel"], sent["ts"]]
        self._take(stream, sent)
        stream.over = ends
        stream.blocks += sent.get("blocks") or () if ends else ()

    def is_streaming(self, channel: str, ts: str) -> bool:
        stream = self._streams.get((channel, ts))
        return stream is not None and not stream.over and time.monotonic() < stream.begun + self.seconds

    def text(self, channel: str, ts: str) -> str:
        return self._streams[channel, ts].text

    def _take(self, stream: _Stream, sent: dict[str, Any]) -> None:
        stream.text += sent.get("markdown_text") or ""
        for chunk in sent.get("chunks") or ():
            stream.text += chunk["text"] if chunk["type"] == "markdown_text" else ""
            stream.blocks += chunk["blocks"] if chunk["type"] == "blocks" else []


def _fault(stream: _Stream, sent: dict[str, Any]) -> str:
    chunks = sent.get("chunks") or []
    if any(chunk.get("type") not in _CHUNKS or _CHUNKS[chunk["type"]] not in chunk for chunk in chunks):
        return "invalid_chunks"
    texts = [sent.get("markdown_text") or "", *(one["text"] for one in chunks if one["type"] == "markdown_text")]
    if max(map(len, texts)) > TEXT_LIMIT:
        return "msg_too_long"
    added = sum(len(chunk["blocks"]) for chunk in chunks if chunk["type"] == "blocks")
    return "invalid_blocks" if len(stream.blocks) + added > BLOCKS else ""
