"""A request that is withdrawn: the other side is told, stops, and answers nevertheless."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

import pytest

from redline.protocol.connection import CANCEL_REQUEST, REQUEST_CANCELLED, Connection, ConnectionClosed


class Waiter:
    """Answers `wait` never, anything else at once."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.stopped = asyncio.Event()
        self.told: list[tuple[str, Any]] = []

    async def notified(self, method: str, params: Any) -> None:
        self.told.append((method, params))

    async def asked(self, method: str, params: Any) -> Any:
        if method != "wait":
            return {"method": method}
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()

    async def faulty(self, fault: str, *, answered: bool) -> None:
        raise AssertionError(fault)


async def pair() -> tuple[Connection, Connection, Waiter, list[bytes]]:
    ours, theirs = socket.socketpair()
    waiter, frames = Waiter(), list[bytes]()
    near = Connection(*await asyncio.open_connection(sock=ours), Waiter(), tap=lambda _, frame: frames.append(frame))
    far = Connection(*await asyncio.open_connection(sock=theirs), waiter)
    return near, far, waiter, frames


async def test_a_withdrawn_request_is_stopped_and_answered_and_the_rest_goes_on() -> None:
    near, far, waiter, frames = await pair()
    running = [asyncio.create_task(near.run()), asyncio.create_task(far.run())]
    asking = asyncio.create_task(near.request("wait", {}, withdrawn=True))
    await waiter.began.wait()
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking
    await asyncio.wait_for(waiter.stopped.wait(), 5)
    assert await near.request("other", {}) == {"method": "other"}
    assert any(CANCEL_REQUEST.encode() in frame for frame in frames)
    assert any(str(REQUEST_CANCELLED).encode() in frame for frame in frames)
    assert waiter.told == []
    near.abort()
    await asyncio.wait(running)
    with pytest.raises(ConnectionClosed):
        await near.request("other", {})
    far.abort()
