"""A JSON-RPC peer on two streams, as the Agent Client Protocol uses it: either side may ask the other.

What arrives is handled strictly in its order, one message after the other, and the next one is read only then: so the
order is kept, and a peer that floods is slowed down by its own pipe instead of filling our memory. A request is handed
over in its place and answered whenever its answer is ready, so one that waits for a person holds nothing up. An answer
to our own request, too, is given in its place: what came before it has been handled by then.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Protocol

from redline.protocol.framing import MESSAGE_LIMIT, Lines, Overlong, glance

_log = logging.getLogger(__name__)

_CHUNK = 256 * 1024
_TURNS_TO_RECEIVE = 4
"""Of the event loop, until what stands in the peer's pipe has been read from it and its handling has begun."""
_LARGE = 1 << 20
"""Bytes of a message above which it is read in a thread."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
CANCEL_REQUEST = "$/cancel_request"
"""The notification with which either side withdraws a request of its own."""


class RpcError(Exception):
    """An error as JSON-RPC has it: what a peer answered to us, or, raised by a handler, what we answer to it."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class ConnectionClosed(Exception):  # noqa: N818 - it says what happened
    """The peer is gone, or the connection was closed by us."""


class Peer(Protocol):
    """What a connection hands what it receives to."""

    async def notified(self, method: str, params: Any) -> None:
        """A notification. The next message is read once this returns."""
        ...

    async def asked(self, method: str, params: Any) -> Any:
        """A request; returns the result, or raises `RpcError`. Runs as a task of its own, begun in order. It is
        cancelled where the peer withdraws the request, and when the connection ends."""
        ...

    async def faulty(self, fault: str, *, answered: bool) -> None:
        """Something that cannot be read as a message; it was passed over. `answered`: whoever sent it was told so,
        since its id could be read."""
        ...


class Connection:
    """Made with two streams; `run` reads until the peer's end. All of it belongs to one event loop."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        peer: Peer,
        *,
        limit: int = MESSAGE_LIMIT,
        tap: Callable[[str, bytes], None] | None = None,
    ) -> None:
        """`limit`: bytes of one message. `tap` sees each raw frame with its direction, "in" or "out"."""
        self._reader = reader
        self._writer = writer
        self._peer = peer
        self._lines = Lines(limit)
        self._limit = limit
        self._tap = tap
        self._next = 0
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._answering: dict[asyncio.Task[None], str] = {}
        """With the JSON text of the request's id."""
        self._beside: set[asyncio.Task[None]] = set()
        self._writing = asyncio.Lock()
        self._idle = asyncio.Event()
        """All that has been received is handled."""
        self.closed = False

    # Asking.

    async def request(self, method: str, params: Any, *, seconds: float | None = None, withdrawn: bool = False) -> Any:
        """Ask, and wait for the answer. Raises `RpcError`, `ConnectionClosed`, or TimeoutError after `seconds`.

        `params`: an object or an array; None: the message has none. `withdrawn`: where the caller is cancelled, the
        peer is told that no answer is awaited any more."""
        if self.closed:
            raise ConnectionClosed(method)
        self._next += 1
        number = self._next
        key = str(number)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[key] = answer
        try:
            async with asyncio.timeout(seconds):
                await self._send({"jsonrpc": "2.0", "id": number, **_called(method, params)})
                return await answer
        except asyncio.CancelledError:
            if withdrawn and not self.closed:
                self._aside(self.notify(CANCEL_REQUEST, {"requestId": number}))
            raise
        finally:
            self._waiting.pop(key, None)

    async def notify(self, method: str, params: Any) -> None:
        """`params` as for a request."""
        await self._send({"jsonrpc": "2.0", **_called(method, params)})

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        async def carefully() -> None:
            with suppress(ConnectionClosed):
                await work

        task = asyncio.get_running_loop().create_task(carefully())
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    # Receiving.

    async def run(self) -> None:
        """Read until the peer closes its side; then everything that waits for it gets `ConnectionClosed`."""
        try:
            while chunk := await self._received():
                for line in self._lines.feed(chunk):
                    await self._take(line)
            torn = self._lines.rest()
            if torn is not None:
                await self._take(torn)
        except (ConnectionError, OSError) as error:
            _log.debug("the peer's stream broke: %s", error)
        finally:
            self.abort()

    def abort(self) -> None:
        """Give up: nothing more is sent or awaited."""
        self.closed = True
        self._idle.set()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionClosed("the peer is gone"))
                answer.exception()
        for task in list(self._answering):
            task.cancel()
        with suppress(Exception):
            self._writer.close()

    async def caught_up(self, seconds: float) -> None:
        """Wait until what the peer has sent by now is handled; under a peer that goes on and on, for `seconds`."""
        for _ in range(_TURNS_TO_RECEIVE):
            await asyncio.sleep(0)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()

    async def _received(self) -> bytes:
        self._idle.set()
        try:
            return await self._reader.read(_CHUNK)
        finally:
            self._idle.clear()

    async def _take(self, line: bytes | Overlong) -> None:
        if isinstance(line, Overlong):
            await self._pass_over(line, "too large", f"{line.size} bytes, over the limit of {self._limit}")
            return
        if self._tap is not None:
            self._tap("in", line)
        try:
            message = json.loads(line) if len(line) < _LARGE else await asyncio.to_thread(json.loads, line)
        except (ValueError, RecursionError) as error:
            if not isinstance(error, json.JSONDecodeError | UnicodeDecodeError):  # it is JSON, though not for us
                await self._pass_over(glance(line), "not readable", _unreadable(error))
                return
            start = line[:80].decode("utf-8", "backslashreplace")
            await self._told(f"A line that is not JSON was passed over ({error}): {start!r}")
            return
        for one in message if isinstance(message, list) else [message]:
            await self._dispatch(one)

    async def _dispatch(self, message: Any) -> None:
        if not isinstance(message, dict):
            await self._told("A JSON value that is no message was passed over.")
            return
        method, identity = message.get("method"), message.get("id")
        if isinstance(method, str) and "id" in message and identity is not None:
            self._answer(method, identity, message.get("params"))
            await asyncio.sleep(0)  # it begins before the next message is handled
        elif method == CANCEL_REQUEST:
            self._withdraw(message.get("params"))
        elif isinstance(method, str):
            try:
                await self._peer.notified(method, message.get("params"))
            except Exception:
                _log.exception("the notification %s could not be handled", method)
        elif "result" in message or "error" in message:
            self._resolve(json.dumps(identity), message)
        else:
            await self._told("A message that is no request, notification or answer was passed over.")

    def _resolve(self, key: str, message: Mapping[str, Any]) -> None:
        answer = self._waiting.get(key) or self._waiting.get(key.strip('"'))
        if answer is None or answer.done():
            _log.debug("an answer to nothing: id %s", key)
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result"))
        else:
            answer.set_exception(_error_of(error))

    async def _pass_over(self, line: Overlong, fault: str, why: str) -> None:
        """Say it to whoever waits: to our own caller, or to the peer that asked."""
        answered = False
        if line.method is None and line.id is not None and line.id in self._waiting:
            answer = self._waiting[line.id]
            if not answer.done():
                answer.set_exception(RpcError(INVALID_REQUEST, f"The answer was {fault}: {why}."))
        elif line.method is not None and line.id is not None:
            with suppress(ValueError, ConnectionClosed):
                error = {"code": INVALID_REQUEST, "message": f"The message is {fault}: {why}."}
                await self._send({"jsonrpc": "2.0", "id": json.loads(line.id), "error": error})
                answered = True
        told = f"A message was {fault} and was passed over ({line.method or 'an answer'}: {why})."
        await self._told(told, answered=answered)

    async def answer_to_nobody(self, error: Mapping[str, Any]) -> None:
        """Say that something could not be read, where its id is not known: an error with the id null."""
        with suppress(ConnectionClosed):
            await self._send({"jsonrpc": "2.0", "id": None, "error": error})

    async def _told(self, fault: str, *, answered: bool = False) -> None:
        try:
            await self._peer.faulty(fault, answered=answered)
        except Exception:
            _log.exception("a fault of the peer could not be told: %s", fault)

    # Answering.

    def _answer(self, method: str, identity: Any, params: Any) -> None:
        work = self._work_out(method, identity, self._peer.asked(method, params))
        task = asyncio.get_running_loop().create_task(work)
        self._answering[task] = json.dumps(identity)
        task.add_done_callback(lambda done: self._answering.pop(done, None))

    def _withdraw(self, params: Any) -> None:
        """The peer does not want an answer any more; it gets one nevertheless, as it is promised."""
        wanted = json.dumps(params.get("requestId")) if isinstance(params, Mapping) else ""
        for task, identity in self._answering.items():
            if identity == wanted:
                task.cancel()

    async def _work_out(self, method: str, identity: Any, work: Awaitable[Any]) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": identity}
        try:
            message["result"] = await work
        except RpcError as error:
            message["error"] = {"code": error.code, "message": error.message}
            if error.data is not None:
                message["error"]["data"] = error.data
        except Exception as fault:
            _log.exception("the request %s could not be answered", method)
            message["error"] = {"code": INTERNAL_ERROR, "message": f"{type(fault).__name__}: {fault}"}
        except asyncio.CancelledError:
            if self.closed:
                raise
            message["error"] = {"code": REQUEST_CANCELLED, "message": "The request was withdrawn."}
        with suppress(ConnectionClosed):
            await self._send(message)

    async def _send(self, message: Mapping[str, Any]) -> None:
        frame = json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
        if self._tap is not None:
            self._tap("out", frame)
        async with self._writing:
            if self.closed:
                raise ConnectionClosed("nothing can be sent any more")
            try:
                self._writer.write(frame)
                await self._writer.drain()
            except (ConnectionError, OSError, RuntimeError) as error:
                raise ConnectionClosed(f"the peer does not listen: {error}") from error


def _unreadable(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else "it holds a number of too many digits"


def _called(method: str, params: Any) -> dict[str, Any]:
    return {"method": method} if params is None else {"method": method, "params": params}


def _error_of(error: Any) -> RpcError:
    if not isinstance(error, Mapping):
        return RpcError(INTERNAL_ERROR, str(error)[:2000])
    code, message = error.get("code"), error.get("message")
    return RpcError(
        code if isinstance(code, int) else INTERNAL_ERROR,
        message if isinstance(message, str) else json.dumps(error, default=str)[:2000],
        error.get("data"),
    )
