"""Two peers on a socket: order, answers, faults, and ends."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from redline.protocol.connection import METHOD_NOT_FOUND, Connection, ConnectionClosed, RpcError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Ear:
    """Keeps what it is told; slow where asked to be."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []
        self.faults: list[str] = []
        self.gate = asyncio.Event()
        self.pause = 0.0

    async def notified(self, method: str, params: Any) -> None:
        if self.pause:
            await asyncio.sleep(self.pause)
        if method == "boom":
            raise ValueError("a handler's own fault")
        self.heard.append((method, params))

    async def asked(self, method: str, params: Any) -> Any:
        self.heard.append((method, params))
        if method == "wait":
            await self.gate.wait()
        if method == "refuse":
            raise RpcError(METHOD_NOT_FOUND, "no", {"why": 1})
        if method == "break":
            raise KeyError("x")
        return {"echo": params}

    async def faulty(self, fault: str, *, answered: bool) -> None:
        self.faults.append(fault)


@asynccontextmanager
async def connected(limit: int = 1 << 20) -> AsyncIterator[tuple[Connection, Ear, Connection, Ear]]:
    ends = socket.socketpair()
    connections, ears, reading = [], [Ear(), Ear()], []
    for end, ear in zip(ends, ears, strict=True):
        reader, writer = await asyncio.open_connection(sock=end)
        connections.append(Connection(reader, writer, ear, limit=limit))
        reading.append(asyncio.create_task(connections[-1].run()))
    try:
        yield connections[0], ears[0], connections[1], ears[1]
    finally:
        for connection in connections:
            connection.abort()
        await asyncio.gather(*reading, return_exceptions=True)


async def test_notifications_come_in_order_even_to_a_slow_ear_and_before_the_answer_after_them() -> None:
    """Public reports: B19."""
    async with connected() as (here, ear, there, _):
        ear.pause = 0.002

        async def talk() -> None:
            for number in range(50):
                await there.notify("n", {"number": number})

        await asyncio.gather(talk(), asyncio.sleep(0))
        assert await here.request("echo", {"a": 1}) == {"echo": {"a": 1}}
        assert [params["number"] for _, params in ear.heard] == list(range(50))


async def test_either_side_asks_and_a_request_that_waits_holds_nothing_up() -> None:
    async with connected() as (here, _, there, ear):
        waiting = asyncio.create_task(here.request("wait", {}))
        assert await here.request("echo", {"a": 1}) == {"echo": {"a": 1}}
        assert await there.request("echo", {"b": 2}) == {"echo": {"b": 2}}
        assert not waiting.done()
        ear.gate.set()
        assert await waiting == {"echo": {}}


async def test_errors_are_told_as_errors() -> None:
    async with connected() as (here, _, there, _):
        with pytest.raises(RpcError) as refused:
            await here.request("refuse", {})
        assert (refused.value.code, refused.value.data) == (METHOD_NOT_FOUND, {"why": 1})
        with pytest.raises(RpcError):
            await here.request("break", {})
        await there.notify("boom", {})
        assert await there.request("echo", {}) == {"echo": {}}  # a faulty handler costs its message only


async def test_no_answer_in_time() -> None:
    async with connected() as (here, _, _, _):
        with pytest.raises(TimeoutError):
            await here.request("wait", {}, seconds=0.05)
        assert await here.request("echo", {}) == {"echo": {}}


async def test_a_peer_that_goes_away_ends_every_wait() -> None:
    async with connected() as (here, _, there, _):
        waiting = asyncio.create_task(here.request("wait", {}))
        await asyncio.sleep(0.05)
        there.abort()
        with pytest.raises(ConnectionClosed):
            await waiting
        with pytest.raises(ConnectionClosed):
            await here.request("echo", {})


async def test_a_message_of_megabytes_arrives_and_one_over_the_limit_costs_itself_only() -> None:
    """Public reports: P163."""
    async with connected(limit=8 << 20) as (here, _, _, ear):
        big = "ä" * (1 << 20)
        assert await here.request("echo", {"text": big}) == {"echo": {"text": big}}
        with pytest.raises(RpcError, match="too large"):
            await here.request("echo", {"text": "x" * (9 << 20)})
        assert "too large" in ear.faults[0]
        assert await here.request("echo", {"a": 1}) == {"echo": {"a": 1}}


async def test_lines_that_are_no_messages_are_told_and_passed_over() -> None:
    async with connected() as (here, ear, there, _):
        for line in (b"hello", b"[1]", b'{"jsonrpc":"2.0"}', b'{"a":', b"\xff\xfe", b"3"):
            there._writer.write(line + b"\n")
        assert await there.request("echo", {"x": "\ud83d"}) == {"echo": {"x": "\ud83d"}}
        assert len(ear.faults) == 6
        assert await here.request("echo", {}) == {"echo": {}}


async def test_an_answer_to_nothing_and_a_batch_do_no_harm() -> None:
    async with connected() as (here, ear, there, _):
        there._writer.write(b'{"jsonrpc":"2.0","id":99,"result":{}}\n')
        batch = [{"jsonrpc": "2.0", "method": "n", "params": {"number": number}} for number in range(3)]
        there._writer.write(json.dumps(batch).encode() + b"\n")
        await there.request("echo", {})
        assert [params.get("number") for _, params in ear.heard] == [0, 1, 2, None]
        assert not ear.faults
        assert not here.closed


async def test_json_that_cannot_be_taken_is_answered_under_its_own_id() -> None:
    async with connected() as (here, ear, there, _):
        lines = [f'{{"jsonrpc":"2.0","id":1,"method":"digits","params":{{"n":{"9" * 5000}}}}}',
                 f'{{"jsonrpc":"2.0","id":2,"method":"depth","params":{"[" * 100_000}{"]" * 100_000}}}']  # fmt: skip
        answers = [asyncio.get_running_loop().create_future() for _ in lines]
        there._waiting |= {str(number + 1): answer for number, answer in enumerate(answers)}
        for line in lines:
            there._writer.write(line.encode() + b"\n")
        for answer, why in zip(answers, ("digits", "deeply"), strict=True):
            with pytest.raises(RpcError, match=why):
                await asyncio.wait_for(answer, 20)
        assert [("digits" in fault, "deeply" in fault) for fault in ear.faults] == [(True, False), (False, True)]
        assert await here.request("echo", {}) == {"echo": {}}


async def test_who_catches_up_has_heard_what_was_sent_before_but_waits_only_so_long() -> None:
    async with connected() as (here, ear, there, _):
        await here.caught_up(5)  # nothing came
        ear.pause = 0.01
        for number in range(20):
            await there.notify("n", {"number": number})
        await here.caught_up(5)
        assert [params["number"] for _, params in ear.heard] == [*range(20)]
        ear.pause = 0.5
        await there.notify("n", {"number": 20})
        await here.caught_up(0.05)
        assert len(ear.heard) == 20
        here.abort()
        await here.caught_up(5)
