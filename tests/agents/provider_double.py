"""A loopback server that answers like two model providers: OpenAI's Chat Completions and Anthropic's Messages.

It plays a list of replies, one a request, as server-sent events over real HTTP, and keeps the requests' bodies. It
enforces two of the documented limits that a history can break: a tool result must answer a call of the message before
it, and every call must be answered (both services refuse such a request with 400).
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Ending = Literal["whole", "cut", "silent"]


@dataclass(frozen=True)
class Reply:
    """What the model says to one request."""

    text: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    """Id, name and arguments (JSON text) of each call."""
    thinking: str = ""
    status: int = 200
    """Other than 200: an error instead of an answer."""
    error: str = "something is wrong"
    code: str = ""
    ending: Ending = "whole"
    """`cut`: the connection drops after the text. `silent`: nothing comes after the text, and nothing ends."""
    finish: str = ""
    """Instead of the usual reason for the end."""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class Provider:
    """The server while it runs."""

    replies: list[Reply]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """The client closed a connection on which a silent reply waited."""


@asynccontextmanager
async def provider(*replies: Reply) -> AsyncIterator[Provider]:
    double = Provider(list(replies))
    server = await asyncio.start_server(lambda r, w: _serve(double, r, w), "127.0.0.1", 0)
    double.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield double
    finally:
        server.close()


async def _serve(double: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))))
        double.requests.append(body)
        double.keys.append(headers.get("x-api-key") or headers.get("authorization", ""))
        anthropic = lines[0].split()[1].startswith("/v1/messages")
        reply = double.replies.pop(0) if double.replies else Reply(status=500, error="no reply is left")
        complaint = _unanswered_anthropic(body) if anthropic else _unanswered_openai(body)
        if complaint:
            reply = Reply(status=400, error=complaint)
        if reply.status != 200:
            await _refuse(writer, reply)
            return
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for chunk in _anthropic(reply) if anthropic else _openai(reply):
            writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            await writer.drain()
        if reply.ending == "silent":
            await reader.read()
            double.hung_up.set()
        if reply.ending == "whole":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        double.hung_up.set()
    finally:
        writer.close()


async def _refuse(writer: asyncio.StreamWriter, reply: Reply) -> None:
    body = json.dumps({"type": "error", "error": {"type": "api_error", "message": reply.error, "code": reply.code}})
    more = "".join(f"{name}: {value}\r\n" for name, value in reply.headers)
    head = f"HTTP/1.1 {reply.status} Refused\r\ncontent-type: application/json\r\nconnection: close\r\n{more}"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
    await writer.drain()


def _openai(reply: Reply) -> list[bytes]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        value = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "fake-1", "choices": [choice]}
        return b"data: " + json.dumps(value).encode() + b"\n\n"

    chunks = [chunk({"role": "assistant", "content": ""})]
    chunks += [chunk({"content": piece}) for piece in _pieces(reply.text)]
    if reply.ending != "whole":
        return chunks
    for index, (identity, name, arguments) in enumerate(reply.calls):
        function: dict[str, Any] = {"name": name, "arguments": ""}
        chunks.append(
            chunk({"tool_calls": [{"index": index, "id": identity, "type": "function", "function": function}]})
        )
        chunks += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}) for piece in _pieces(arguments)
        ]
    chunks.append(chunk({}, reply.finish or ("tool_calls" if reply.calls else "stop")))
    usage = {
        "prompt_tokens": 11,
        "completion_tokens": 7,
        "total_tokens": 18,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    last = {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "fake-1",
        "choices": [],
        "usage": usage,
    }
    return [*chunks, b"data: " + json.dumps(last).encode() + b"\n\n", b"data: [DONE]\n\n"]


def _anthropic(reply: Reply) -> list[bytes]:
    def event(kind: str, **value: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **value})}\n\n".encode()

    usage = {"input_tokens": 11, "output_tokens": 1, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0}
    message = {"id": "m1", "type": "message", "role": "assistant", "model": "fake-1", "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
    chunks = [event("message_start", message=message)]
    index = 0
    if reply.thinking:
        block = {"type": "thinking", "thinking": "", "signature": ""}
        chunks.append(event("content_block_start", index=index, content_block=block))
        delta: dict[str, Any] = {"type": "thinking_delta", "thinking": reply.thinking}
        chunks.append(event("content_block_delta", index=index, delta=delta))
        delta = {"type": "signature_delta", "signature": "c2ln"}
        chunks += [event("content_block_delta", index=index, delta=delta), event("content_block_stop", index=index)]
        index += 1
    if reply.text:
        chunks.append(event("content_block_start", index=index, content_block={"type": "text", "text": ""}))
        for piece in _pieces(reply.text):
            chunks.append(event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece}))
        if reply.ending != "whole":
            return chunks
        chunks.append(event("content_block_stop", index=index))
        index += 1
    for identity, name, arguments in reply.calls:
        block = {"type": "tool_use", "id": identity, "name": name, "input": {}}
        chunks.append(event("content_block_start", index=index, content_block=block))
        for piece in _pieces(arguments):
            delta = {"type": "input_json_delta", "partial_json": piece}
            chunks.append(event("content_block_delta", index=index, delta=delta))
        chunks.append(event("content_block_stop", index=index))
        index += 1
    stop = reply.finish or ("tool_use" if reply.calls else "end_turn")
    chunks.append(
        event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 7})
    )
    return [*chunks, event("message_stop")]


def _pieces(text: str) -> list[str]:
    return [text[start : start + 5] for start in range(0, len(text), 5)]


def _unanswered_openai(body: dict[str, Any]) -> str:
    """Chat Completions: the calls of an assistant message are answered by the `tool` messages right behind it."""
    open_calls: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return f"tool result without a call: {message['tool_call_id']}"
            open_calls.discard(message["tool_call_id"])
            continue
        if open_calls:
            return f"calls without a result: {sorted(open_calls)}"
        open_calls = {call["id"] for call in message.get("tool_calls") or []}
    return f"calls without a result: {sorted(open_calls)}" if open_calls else ""


def _unanswered_anthropic(body: dict[str, Any]) -> str:
    """Messages: each `tool_use` block is answered by a `tool_result` block in the very next message."""
    open_calls: set[str] = set()
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else []
        answers = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if answers != open_calls:
            return f"tool_use ids {sorted(open_calls)} were answered by {sorted(answers)}"
        open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
    return f"tool_use ids without a result: {sorted(open_calls)}" if open_calls else ""
