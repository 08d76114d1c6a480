"""A scripted model service on loopback: what real agents talk to instead of a provider.

It serves Anthropic Messages, OpenAI Chat Completions and Responses, and Gemini, plays scripts by the marker in a
prompt, and answers every side call with plain text. Nothing is asked of a network.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from interop.operations import NoSuchTool, Say, Step, calls_for
from interop.wires import AnthropicMessages, Asked, GeminiGenerate, OpenAIChat, OpenAIResponses, Reply, Wire


@dataclass
class Script:
    steps: Sequence[Step]
    workspace: Path


@dataclass
class Endpoint:
    """Use as a context manager; `port` is known inside. `requests` and `problems` are for a look when a run fails."""

    scripts: dict[str, Script] = field(default_factory=dict)
    requests: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    port: int = 0

    def __enter__(self) -> Endpoint:
        endpoint = self

        class Handler(_Handler):
            served = endpoint

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def play(self, name: str, steps: Sequence[Step], workspace: Path) -> str:
        """Register a script; the marker to put into the prompt that it answers."""
        self.scripts[name] = Script(steps, workspace)
        return f"[scripted turn {name}]"

    def reply(self, asked: Asked) -> Reply:
        script = self.scripts.get(asked.script or "")
        if script is None or not asked.tools:
            return Reply("A scripted turn")
        # A step for which the agent has no tool (reading, where there is none) is left out, the same in each request.
        replies = []
        for number, step in enumerate(script.steps):
            try:
                calls = calls_for(step, asked.tools, script.workspace)
            except NoSuchTool as missing:
                problem = f"{asked.script}: {missing}"
                if problem not in self.problems:
                    self.problems.append(problem)
                continue
            said = " ".join(one.text for one in step if isinstance(one, Say)) or f"Step {number + 1}."
            if calls:
                replies.append(Reply(said, calls, f"{asked.script}{number}".replace("_", "-")))
        return replies[asked.done] if asked.done < len(replies) else Reply("Done.")


class _Handler(BaseHTTPRequestHandler):
    served: Endpoint
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._json({})

    def do_GET(self) -> None:
        self._json({"object": "list", "data": [], "models": [], "has_more": False})

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        try:
            body = json.loads(data or b"{}")
        except ValueError:
            body = {}
        path = urlsplit(self.path).path
        self.served.requests.append((self.path, body))
        if path.endswith("/count_tokens"):
            self._json({"input_tokens": 100})
        elif path.endswith(":countTokens"):
            self._json({"totalTokens": 100})
        elif path.endswith("/messages"):
            self._answer(AnthropicMessages(), body)
        elif path.endswith("/chat/completions"):
            self._answer(OpenAIChat(), body)
        elif path.endswith("/responses"):
            self._answer(OpenAIResponses(), body)
        elif path.endswith(":streamGenerateContent"):
            self._answer(GeminiGenerate(), body, streamed=True, model=path)
        elif path.endswith(":generateContent"):
            self._answer(GeminiGenerate(), body, model=path)
        else:
            self._json({})

    def _answer(self, wire: Wire, body: Mapping[str, Any], *, streamed: bool = False, model: str = "") -> None:
        asked = wire.read(body, streamed)
        model = str(body.get("model") or model.rpartition("/")[2].partition(":")[0])
        reply = self.served.reply(asked)
        if not asked.streamed:
            self._json(wire.whole(model, reply))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # a cancelled turn hangs up
            for piece in wire.stream(model, reply):
                self.wfile.write(piece)
                self.wfile.flush()

    def _json(self, value: Mapping[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
