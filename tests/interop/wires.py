"""Four ways in which model services are asked and answer, as the real ones stream them.

`Asked` is what a request comes down to; `Wire.read` makes it of a body, `Wire.stream` and `Wire.whole` answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import uuid4

from interop.operations import Call, Tool

MARKER = re.compile(r"\[scripted turn ([\w.-]+)\]")
"""Stands in the prompt of a main conversation; names the script. A side call (a title, a summary) has none, or no
tools."""

_PIECE = 48


@dataclass(frozen=True)
class Asked:
    script: str | None
    """The script that the last marked prompt names."""
    done: int
    """Replies with calls that stand in the history after that prompt."""
    tools: Mapping[str, Tool]
    streamed: bool


@dataclass(frozen=True)
class Reply:
    text: str
    calls: Sequence[Call] = ()
    key: str = field(default_factory=lambda: uuid4().hex[:12])
    """Which reply this is: the ids of its calls begin with it, so a history tells what has been played."""

    def id(self, index: int, prefix: str = "call") -> str:
        return f"{prefix}_{self.key}_{index}"


class Wire(Protocol):
    def read(self, body: Mapping[str, Any], streamed: bool) -> Asked: ...
    def stream(self, model: str, reply: Reply) -> Iterator[bytes]: ...
    def whole(self, model: str, reply: Reply) -> Mapping[str, Any]: ...


def _event(data: Mapping[str, Any], name: str | None = None) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _pieces(text: str) -> list[str]:
    size = max(_PIECE, len(text) // 64)
    return [text[start : start + size] for start in range(0, len(text), size)]


def _schema(name: str, schema: object) -> Tool:
    known: Mapping[str, Any] = schema if isinstance(schema, Mapping) else {}
    return Tool(name, known.get("properties") or {}, known.get("required") or ())


def _texts(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return ""


def _position(entries: Iterable[tuple[str, str]]) -> tuple[str | None, int]:
    """`entries`: in order, a text of the user's or the id of a call. Calls of one reply may come back one by one."""
    script: str | None = None
    done: set[str] = set()
    for text, call in entries:
        found = MARKER.findall(text)
        if found:
            script, done = found[-1], set()
        elif call:
            done.add(call.rpartition("_")[0] or call)
    return script, len(done)


class AnthropicMessages:
    def read(self, body: Mapping[str, Any], streamed: bool) -> Asked:
        entries = []
        for message in body.get("messages", []):
            content = message.get("content")
            if message.get("role") == "user":
                entries.append((_texts(content), ""))
            elif isinstance(content, list):
                entries += [("", block["id"]) for block in content if block.get("type") == "tool_use"]
        tools = {t["name"]: _schema(t["name"], t.get("input_schema")) for t in body.get("tools") or () if "name" in t}
        return Asked(*_position(entries), tools, bool(body.get("stream")))

    def _message(self, model: str, content: list[Any], stop: str | None) -> dict[str, Any]:
        usage = {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 0}
        return {
            "id": f"msg_{uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {**usage, "cache_creation_input_tokens": 0},
        }

    def whole(self, model: str, reply: Reply) -> Mapping[str, Any]:
        content: list[Any] = [{"type": "text", "text": reply.text}]
        for index, call in enumerate(reply.calls):
            content.append(
                {"type": "tool_use", "id": reply.id(index, "toolu"), "name": call.name, "input": call.arguments}
            )
        return self._message(model, content, "tool_use" if reply.calls else "end_turn")

    def stream(self, model: str, reply: Reply) -> Iterator[bytes]:
        yield _event({"type": "message_start", "message": self._message(model, [], None)}, "message_start")
        yield from self._block(0, {"type": "text", "text": ""}, "text_delta", "text", _pieces(reply.text))
        for index, call in enumerate(reply.calls, start=1):
            block = {"type": "tool_use", "id": reply.id(index - 1, "toolu"), "name": call.name, "input": {}}
            pieces = _pieces(json.dumps(call.arguments))
            yield from self._block(index, block, "input_json_delta", "partial_json", pieces)
        delta = {"stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None}
        yield _event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 10}}, "message_delta")
        yield _event({"type": "message_stop"}, "message_stop")

    def _block(
        self, index: int, block: Mapping[str, Any], kind: str, key: str, pieces: Sequence[str]
    ) -> Iterator[bytes]:
        start = {"type": "content_block_start", "index": index, "content_block": block}
        yield _event(start, "content_block_start")
        for piece in pieces:
            delta = {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}}
            yield _event(delta, "content_block_delta")
        yield _event({"type": "content_block_stop", "index": index}, "content_block_stop")


class OpenAIChat:
    def read(self, body: Mapping[str, Any], streamed: bool) -> Asked:
        entries = []
        for message in body.get("messages", []):
            if message.get("role") == "user":
                entries.append((_texts(message.get("content")), ""))
            else:
                entries += [("", call["id"]) for call in message.get("tool_calls") or ()]
        declared = [tool["function"] for tool in body.get("tools") or () if tool.get("type") == "function"]
        tools = {t["name"]: _schema(t["name"], t.get("parameters")) for t in declared}
        return Asked(*_position(entries), tools, bool(body.get("stream")))

    _USAGE: Mapping[str, int] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}

    def _calls(self, reply: Reply) -> list[dict[str, Any]]:
        return [
            {
                "id": reply.id(index),
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for index, call in enumerate(reply.calls)
        ]

    def whole(self, model: str, reply: Reply) -> Mapping[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.calls:
            message["tool_calls"] = self._calls(reply)
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if reply.calls else "stop"}
        return {
            "id": f"chatcmpl-{uuid4().hex}",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [choice],
            "usage": self._USAGE,
        }

    def stream(self, model: str, reply: Reply) -> Iterator[bytes]:
        def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return _event({**head, "choices": [choice]})

        head = {"id": f"chatcmpl-{uuid4().hex}", "object": "chat.completion.chunk", "created": 1, "model": model}
        yield chunk({"role": "assistant", "content": ""})
        for piece in _pieces(reply.text):
            yield chunk({"content": piece})
        for index, call in enumerate(self._calls(reply)):
            function = {"name": call["function"]["name"], "arguments": ""}
            yield chunk({"tool_calls": [{**call, "index": index, "function": function}]})
            for piece in _pieces(call["function"]["arguments"]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, "tool_calls" if reply.calls else "stop")
        yield _event({**head, "choices": [], "usage": self._USAGE})
        yield b"data: [DONE]\n\n"


class OpenAIResponses:
    _CALLS = ("function_call", "custom_tool_call", "local_shell_call")

    def read(self, body: Mapping[str, Any], streamed: bool) -> Asked:
        entries = []
        items = body.get("input", [])
        for item in items if isinstance(items, list) else [{"role": "user", "content": items}]:
            if item.get("role") == "user":
                entries.append((_texts(item.get("content")), ""))
            elif item.get("type") in self._CALLS:
                entries.append(("", str(item.get("call_id"))))
        tools = {}
        for tool in body.get("tools") or ():
            if tool.get("type") == "function":
                tools[tool["name"]] = _schema(tool["name"], tool.get("parameters"))
            elif tool.get("type") == "custom":
                tools[tool["name"]] = Tool(tool["name"], freeform=True)
        return Asked(*_position(entries), tools, bool(body.get("stream")))

    def _items(self, reply: Reply) -> Iterator[tuple[dict[str, Any], str, str]]:
        """Each output item, the field that is streamed, and its whole text."""
        part = {"type": "output_text", "text": reply.text, "annotations": []}
        yield (
            {
                "type": "message",
                "id": f"msg_{reply.key}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            },
            "content",
            reply.text,
        )
        for index, call in enumerate(reply.calls):
            head = {"id": reply.id(index, "item"), "call_id": reply.id(index), "name": call.name, "status": "completed"}
            if isinstance(call.arguments, str):
                yield {"type": "custom_tool_call", **head, "input": call.arguments}, "input", call.arguments
            else:
                text = json.dumps(call.arguments)
                yield {"type": "function_call", **head, "arguments": text}, "arguments", text

    def _response(self, model: str, status: str, output: list[Any]) -> dict[str, Any]:
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110, **details}
        return {
            "id": f"resp_{uuid4().hex}",
            "object": "response",
            "created_at": 1,
            "status": status,
            "model": model,
            "output": output,
            "usage": usage if status == "completed" else None,
        }

    def whole(self, model: str, reply: Reply) -> Mapping[str, Any]:
        return self._response(model, "completed", [item for item, _, _ in self._items(reply)])

    def stream(self, model: str, reply: Reply) -> Iterator[bytes]:
        number = 0

        def event(kind: str, **data: Any) -> bytes:
            nonlocal number
            number += 1
            return _event({"type": kind, "sequence_number": number, **data}, kind)

        yield event("response.created", response=self._response(model, "in_progress", []))
        output = []
        for place, (item, key, text) in enumerate(self._items(reply)):
            at = {"item_id": item["id"], "output_index": place}
            empty = {**item, "status": "in_progress", key: [] if key == "content" else ""}
            yield event("response.output_item.added", output_index=place, item=empty)
            if key == "content":
                part = {"type": "output_text", "text": "", "annotations": []}
                yield event("response.content_part.added", **at, content_index=0, part=part)
                for piece in _pieces(text):
                    yield event("response.output_text.delta", **at, content_index=0, delta=piece)
                yield event("response.output_text.done", **at, content_index=0, text=text)
                yield event("response.content_part.done", **at, content_index=0, part=item["content"][0])
            else:
                kind = "custom_tool_call_input" if key == "input" else "function_call_arguments"
                for piece in _pieces(text):
                    yield event(f"response.{kind}.delta", **at, delta=piece)
                yield event(f"response.{kind}.done", **at, **{key: text})
            yield event("response.output_item.done", output_index=place, item=item)
            output.append(item)
        yield event("response.completed", response=self._response(model, "completed", output))


class GeminiGenerate:
    def read(self, body: Mapping[str, Any], streamed: bool) -> Asked:
        entries = []
        for number, content in enumerate(body.get("contents", [])):
            parts = content.get("parts") or []
            if content.get("role") != "model":
                entries.append((_texts(parts), ""))
            elif any("functionCall" in part for part in parts):
                entries.append(("", str(number)))  # calls have no ids here
        declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
        tools = {t["name"]: _schema(t["name"], t.get("parametersJsonSchema") or t.get("parameters")) for t in declared}
        return Asked(*_position(entries), tools, streamed)

    def _answer(self, model: str, parts: list[Any], finish: bool) -> dict[str, Any]:
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
        if finish:
            candidate["finishReason"] = "STOP"
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
        return {
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": model,
            "responseId": uuid4().hex,
        }

    def _calls(self, reply: Reply) -> list[Any]:
        return [{"functionCall": {"name": call.name, "args": call.arguments}} for call in reply.calls]

    def whole(self, model: str, reply: Reply) -> Mapping[str, Any]:
        return self._answer(model, [{"text": reply.text}, *self._calls(reply)], finish=True)

    def stream(self, model: str, reply: Reply) -> Iterator[bytes]:
        for piece in _pieces(reply.text):
            yield _event(self._answer(model, [{"text": piece}], finish=False))
        for call in self._calls(reply):
            yield _event(self._answer(model, [call], finish=False))
        yield _event(self._answer(model, [{"text": ""}], finish=True))
