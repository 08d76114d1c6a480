"""Slack on loopback, with the limits that its documents name and nothing more.

Enforced, each with its source:
- a message has at most 50 blocks (docs.slack.dev/reference/block-kit/blocks);
- all blocks together hold about 13,200 characters, else `msg_blocks_too_long` (slackapi/bolt-js#2509 gives 13,297 for
  one `markdown` block; #2867 a text sum of 11,341 that was refused, so the JSON is counted here);
- `text` holds 40,000 characters (docs.slack.dev/reference/methods/chat.postMessage), a section's 3,000
  (docs.slack.dev/reference/block-kit/blocks/section-block), a button's 75 and its `value` 2,000, its `action_id` 255
  (docs.slack.dev/reference/block-kit/block-elements/button-element), 25 elements in `actions`
  (docs.slack.dev/reference/block-kit/blocks/actions-block);
- the `text` of an edit holds 4,000 characters, and rich text is not replaced by blocks without any, else
  `block_mismatch` (docs.slack.dev/reference/methods/chat.update);
- a rate limit is HTTP 429 with `Retry-After`, or HTTP 200 with `ok: false` and `ratelimited`
  (docs.slack.dev/apis/web-api/rate-limits): both at a test's word, and the first over a method's tier;
- streaming calls, and the tiers: `streams.py`;
- an upload is `files.getUploadURLExternal`, a POST, `files.completeUploadExternal`; its length must be the one that was
  announced, a snippet is at most 1 MB (docs.slack.dev/reference/methods/files.getUploadURLExternal). No size is
  documented there for other files; what a workspace restricts is an error (`file_upload_size_restricted`, …), at a
  test's word;
- Socket Mode: a web socket from `apps.connections.open` with an app token; every envelope is acknowledged within three
  seconds, or sent again (docs.slack.dev/apis/events-api/using-socket-mode).
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web

from surfaces.slack.streams import Streams, Tiers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

BOT = "UBOT"
ACK_SECONDS = 3.0
_LONGEST = 64 * 2**20
"""Bytes of a request that this server takes: more than any test sends."""


@dataclass
class FakeSlack:
    base_url: str = ""
    messages: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """By channel and ts, as they stand."""
    files: list[dict[str, Any]] = field(default_factory=list)
    """Shared ones: name, content, channel, thread, snippet_type."""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    """Ephemeral messages."""
    answers: dict[str, list[tuple[int, dict[str, Any], dict[str, str]]]] = field(default_factory=dict)
    """By method: what it answers instead, first come first; status, body, headers."""
    languages: frozenset[str] | None = None
    """Those that lines may have; None: any."""
    acks: list[float] = field(default_factory=list)
    """Seconds that each envelope took."""
    streams: Streams = field(default_factory=Streams)
    tiers: Tiers = field(default_factory=Tiers)
    _pending: dict[str, dict[str, Any]] = field(default_factory=dict)
    _socket: web.WebSocketResponse | None = None
    _connected: asyncio.Event = field(default_factory=asyncio.Event)
    _waiting: dict[str, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    _count: int = 0

    def app(self) -> web.Application:
        app = web.Application(client_max_size=_LONGEST)
        app.router.add_route("*", "/api/{method}", self._method)
        app.router.add_post("/upload/{file}", self._upload)
        app.router.add_get("/link", self._link)
        return app

    # What a test does.

    async def type(self, text: str, *, user: str = "U1", channel: str = "C1", thread: str = "", **more: Any) -> str:
        """Somebody mentions the app in a channel; the message's ts."""
        ts = self._ts()
        event = {"type": "app_mention", "user": user, "channel": channel, "text": f"<@{BOT}> {text}", "ts": ts, **more}
        if thread:
            event["thread_ts"] = thread
        await self.send_event(event)
        return thread or ts

    async def send_event(self, event: dict[str, Any]) -> None:
        await self._envelope("events_api", {"type": "event_callback", "event_id": f"Ev{event['ts']}", "event": event})

    async def command(self, text: str, *, user: str = "U1", channel: str = "D1") -> None:
        payload = {"command": "/redline", "text": text, "user_id": user, "user_name": "ada", "channel_id": channel,
                   "team_id": "T1", "response_url": "http://127.0.0.1:9/none", "trigger_id": "1.2"}  # fmt: skip
        await self._envelope("slash_commands", payload)

    async def press(self, name: str, *, user: str = "U1", stale: dict[str, Any] | None = None) -> None:
        """The button of that name, wherever it stands. `stale`: on this message instead, as it once was."""
        for (channel, ts), message in [(("C1", "0"), stale)] if stale else list(self.messages.items()):
            for block in message["blocks"]:
                for element in block["elements"] if block["type"] == "actions" else ():
                    if element["text"]["text"] == name:
                        await self._envelope("interactive", {
                            "type": "block_actions", "user": {"id": user, "name": "Ada"}, "team": {"id": "T1"},
                            "channel": {"id": channel}, "message": {**message, "ts": ts}, "trigger_id": "1.2",
                            "container": {"type": "message"}, "response_url": "http://127.0.0.1:9/none",
                            "actions": [{**element, "block_id": "b", "action_ts": "1"}],
                        })  # fmt: skip
                        return
        raise AssertionError(f"no button {name!r}")

    async def drop(self) -> None:
        """The web socket breaks off."""
        assert self._socket is not None
        self._connected.clear()
        await self._socket.close(code=1011)

    def said(self) -> str:
        return "\n".join(text_of(message) for message in self.messages.values())

    def has_buttons(self) -> bool:
        return any(block["type"] == "actions" for message in self.messages.values() for block in message["blocks"])

    def count(self, *methods: str) -> int:
        return sum(name in methods for name, _ in self.calls)

    # What Slack does.

    async def _method(self, request: web.Request) -> web.Response:
        name = request.match_info["method"]
        sent = await _arguments(request)
        self.calls.append((name, sent))
        if self.answers.get(name):
            status, body, headers = self.answers[name].pop(0)
            return web.json_response(body, status=status, headers=headers)
        if wait := self.tiers.wait(name):
            body = {"ok": False, "error": "ratelimited"}
            return web.json_response(body, status=429, headers={"Retry-After": str(wait)})
        token = request.headers.get("Authorization", "")
        wanted = "Bearer xapp-" if name == "apps.connections.open" else "Bearer xoxb-"
        if not token.startswith(wanted):
            return web.json_response({"ok": False, "error": "invalid_auth"})
        handler = getattr(self, "_" + name.replace(".", "_"), None)
        if handler is None:
            return web.json_response({"ok": False, "error": "unknown_method"})
        return web.json_response(handler(sent))

    def _auth_test(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True, "user_id": BOT, "bot_id": "B1", "team_id": "T1", "url": self.base_url}

    def _apps_connections_open(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True, "url": self.base_url.replace("http", "ws").replace("/api/", "/link")}

    def _chat_postMessage(self, sent: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Slack's
        error = _refusal(sent, self.languages)
        if error:
            return {"ok": False, "error": error}
        ts = self._ts()
        self.messages[sent["channel"], ts] = {
            "text": sent["text"], "blocks": _json(sent["blocks"]), "thread_ts": sent.get("thread_ts"),
        }  # fmt: skip
        return {"ok": True, "channel": sent["channel"], "ts": ts}

    def _chat_update(self, sent: dict[str, Any]) -> dict[str, Any]:
        key = (sent["channel"], sent["ts"])
        error = self._edit_refusal(key, sent)
        if error:
            return {"ok": False, "error": error}
        self.messages[key] |= {"text": sent["text"], "blocks": _json(sent["blocks"])}
        return {"ok": True, "channel": sent["channel"], "ts": sent["ts"]}

    def _edit_refusal(self, key: tuple[str, str], sent: dict[str, Any]) -> str:
        if key not in self.messages:
            return "message_not_found"
        if self.streams.is_streaming(*key):
            return "streaming_state_conflict"
        if len(sent.get("text", "")) > 4_000:
            return "msg_too_long"
        rich, after = (
            any(b["type"] == "rich_text" for b in bs) for bs in (self.messages[key]["blocks"], _json(sent["blocks"]))
        )
        return "block_mismatch" if rich and not after else _refusal(sent, self.languages)

    def _chat_startStream(self, sent: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Slack's
        if error := self.streams.refused_start(sent):
            return {"ok": False, "error": error}
        ts = self._ts()
        self.streams.start((sent["channel"], ts), sent)
        self.messages[sent["channel"], ts] = {"text": "", "blocks": [], "thread_ts": sent.get("thread_ts")}
        return {"ok": True, "channel": sent["channel"], "ts": ts}

    def _chat_appendStream(self, sent: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Slack's
        return self._more(sent, ends=False)

    def _chat_stopStream(self, sent: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Slack's
        return self._more(sent, ends=True)

    def _more(self, sent: dict[str, Any], *, ends: bool) -> dict[str, Any]:
        if error := self.streams.refused_more(sent, ends=ends):
            return {"ok": False, "error": error}
        self.streams.more(sent, ends=ends)
        return {"ok": True, "channel": sent["channel"], "ts": sent["ts"]}

    def _chat_delete(self, sent: dict[str, Any]) -> dict[str, Any]:
        if self.messages.pop((sent["channel"], sent["ts"]), None) is None:
            return {"ok": False, "error": "message_not_found"}
        return {"ok": True, "channel": sent["channel"], "ts": sent["ts"]}

    def _chat_postEphemeral(self, sent: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Slack's
        self.told.append(sent)
        return {"ok": True, "message_ts": self._ts()}

    def _files_getUploadURLExternal(self, sent: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Slack's
        length = int(sent["length"])
        if not length:
            return {"ok": False, "error": "missing_argument"}
        if sent.get("snippet_type") and length > 1_000_000:
            return {"ok": False, "error": "snippet_too_large"}
        file = f"F{len(self._pending) + len(self.files) + 1}"
        self._pending[file] = {"name": sent["filename"], "length": length, "snippet_type": sent.get("snippet_type")}
        return {"ok": True, "file_id": file, "upload_url": self.base_url.replace("/api/", f"/upload/{file}")}

    async def _upload(self, request: web.Request) -> web.Response:
        if self.answers.get("upload"):
            return web.Response(status=self.answers["upload"].pop(0)[0], text="no")
        pending = self._pending[request.match_info["file"]]
        data = await request.read()
        if request.content_type.startswith("multipart/"):
            raise AssertionError("raw bytes are expected")
        if len(data) != pending["length"]:
            return web.Response(status=400, text="length")
        pending["content"] = data
        return web.Response(text=f"OK - {len(data)}")

    def _files_completeUploadExternal(self, sent: dict[str, Any]) -> dict[str, Any]:  # noqa: N802 - Slack's
        shared = _json(sent["files"])
        for one in shared:
            pending = self._pending.pop(one["id"])
            self.files.append({**pending, "channel": sent.get("channel_id"), "thread": sent.get("thread_ts")})
        return {"ok": True, "files": [{"id": one["id"]} for one in shared]}

    async def _link(self, request: web.Request) -> web.WebSocketResponse:
        socket = self._socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"}})
        self._connected.set()
        async for message in socket:
            if message.type == WSMsgType.TEXT and message.data.startswith("{"):
                answer = json.loads(message.data)
                waiting = self._waiting.pop(answer.get("envelope_id", ""), None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
        return socket

    async def _envelope(self, kind: str, payload: dict[str, Any]) -> None:
        await asyncio.wait_for(self._connected.wait(), 10)
        assert self._socket is not None
        for attempt in range(3):
            self._count += 1
            envelope = f"e{self._count}"
            waiting = self._waiting[envelope] = asyncio.get_running_loop().create_future()
            begin = time.monotonic()
            await self._socket.send_json({
                "envelope_id": envelope, "type": kind, "payload": {"team_id": "T1", "api_app_id": "A1", **payload},
                "accepts_response_payload": False, "retry_attempt": attempt,
            })  # fmt: skip
            try:
                await asyncio.wait_for(waiting, ACK_SECONDS)
            except TimeoutError:
                continue
            self.acks.append(time.monotonic() - begin)
            return
        raise AssertionError("the envelope was never acknowledged")

    def _ts(self) -> str:
        self._count += 1
        return f"1700000000.{self._count:06}"


def _refusal(sent: dict[str, Any], languages: frozenset[str] | None) -> str:
    blocks = _json(sent["blocks"])
    if len(sent.get("text", "")) > 40_000:
        return "msg_too_long"
    if len(blocks) > 50:
        return "invalid_blocks"
    if len(json.dumps(blocks, ensure_ascii=False)) > 13_200:
        return "msg_blocks_too_long"
    for block in blocks:
        if block["type"] == "section" and len(block["text"]["text"]) > 3000:
            return "invalid_blocks"
        if block["type"] == "actions" and not _fit(block["elements"]):
            return "invalid_blocks"
        used = {one.get("language") for one in block["elements"] if one.get("language")}
        if languages is not None and not used <= languages:
            return "invalid_blocks"
        if block["type"] == "rich_text" and not all(
            one["elements"] and all(text["type"] == "text" and text["text"] for text in one["elements"])
            for one in block["elements"]
        ):
            return "invalid_blocks"
    return ""


def _is_rich(blocks: list[dict[str, Any]]) -> bool:
    return any(block["type"] == "rich_text" for block in blocks)


def _fit(buttons: list[dict[str, Any]]) -> bool:
    names = [button["action_id"] for button in buttons]
    return (
        len(buttons) <= 25
        and len(set(names)) == len(names)
        and all(len(one["text"]["text"]) <= 75 and len(one["value"]) <= 2000 for one in buttons)
        and all(len(name) <= 255 for name in names)
    )


def text_of(message: dict[str, Any]) -> str:
    lines = []
    for block in message["blocks"]:
        if block["type"] == "rich_text":
            lines += ["".join(one["text"] for one in element["elements"]) for element in block["elements"]]
    return "\n".join(lines)


async def _arguments(request: web.Request) -> dict[str, Any]:
    found: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        found |= await request.json()
    elif request.method == "POST":
        found |= dict(await request.post())
    return found


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


@asynccontextmanager
async def fake_slack() -> AsyncIterator[FakeSlack]:
    fake = FakeSlack()
    runner = web.AppRunner(fake.app(), shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    fake.base_url = f"http://127.0.0.1:{port}/api/"
    try:
        yield fake
    finally:
        await runner.cleanup()
