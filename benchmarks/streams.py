"""The server's work for 200 streams of 1,000 events each, beside sending the same bytes with nothing in between.

    python benchmarks/streams.py [--streams 200] [--events 1000] [--rounds 5] [--json]

The events come in bursts of twenty, one burst every 40 ms, each event a row of its own. Ours folds them, encodes each
row once, puts it into every stream's queue and sends what waits, by routes, guard and sse-starlette. The rival is a
bare Starlette `StreamingResponse` on the same uvicorn that yields the very same bytes, prebuilt, at the same times.
Measured is the CPU time of the server's process from the first burst until every client has everything; the clients
are in a process of their own. Medians over interleaved rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

from redline.cli.config import Config
from redline.cli.roster import ConfiguredRoster
from redline.gateway.archive import Archive
from redline.gateway.gateway import Gateway
from redline.sessions.events import Event
from redline.surfaces.dashboard.app import Dashboard
from redline.surfaces.dashboard.guard import Access
from redline.surfaces.dashboard.server import listen
from redline.tools.builtin import builtin_toolset

BURST = 20
PAUSE = 0.04
TEXT = "The walk keeps its own stack, so that depth never meets the limit of the language. "
LAST = b"That was the last event."
Burst = Callable[[int], None]


async def serve_ours(folder: Path, events: int) -> None:
    """The dashboard, with a session whose events are handed to its room."""
    archive = Archive.open(folder / "data")
    gateway = Gateway(archive, ConfiguredRoster(Config(data=folder / "data")), builtin_toolset().by_name)
    opened = await archive.start(folder, "builtin")
    session = opened.log.session
    room = await gateway.open(session)
    bound = listen("127.0.0.1", 0)
    access = Access(bound.getsockname()[1], token=None)
    first = room.seq

    def burst(number: int) -> None:
        for at in range(number * BURST, min(events, (number + 1) * BURST)):
            text = LAST.decode() if at == events - 1 else f"{at} {TEXT}"
            data = {"turn": 1, "message": str(at), "text": text}
            room.fanout.take(Event(session, first + 1 + at, 1_796_000_000_000, "assistant/message", data))

    dashboard = Dashboard(gateway, access, here=folder)
    await _serve(dashboard.app, bound, f"/api/stream?sessions={session}:{first}", burst, -(-events // BURST))


async def serve_raw(chunks: list[bytes]) -> None:
    """The same bytes at the same times."""
    due = [asyncio.Event() for _ in chunks]

    async def body() -> AsyncIterator[bytes]:
        yield b": begun\n\n"
        for event, chunk in zip(due, chunks, strict=True):
            await event.wait()
            yield chunk
        await asyncio.Event().wait()

    async def stream(_: Any) -> StreamingResponse:
        return StreamingResponse(body(), media_type="text/event-stream")

    app = Starlette(routes=[Route("/stream", stream)])
    await _serve(app, listen("127.0.0.1", 0), "/stream", lambda number: due[number].set(), len(chunks))


async def _serve(app: Any, bound: Any, path: str, burst: Burst, bursts: int) -> None:
    """Say where; at `go` run the bursts; at `done` say what it cost, and end."""
    config = uvicorn.Config(app, access_log=False, log_level="error", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    print(json.dumps([bound.getsockname()[1], path]), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    began = time.process_time()
    for number in range(bursts):
        burst(number)
        await asyncio.sleep(PAUSE)
    await asyncio.to_thread(sys.stdin.readline)
    print(time.process_time() - began, flush=True)
    server.should_exit = server.force_exit = True
    serving.cancel()


async def measured(arguments: list[str], streams: int) -> tuple[float, list[bytes]]:
    """CPU seconds of a server, and the pieces that its first client got, one a burst."""
    process = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs yet
        [sys.executable, __file__, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port, path = json.loads(await asyncio.to_thread(process.stdout.readline))
        begun = [asyncio.Event() for _ in range(streams)]
        clients = [asyncio.create_task(_client(port, path, event)) for event in begun]
        await asyncio.gather(*(event.wait() for event in begun))
        process.stdin.write("go\n")
        process.stdin.flush()
        pieces = await asyncio.gather(*clients)
        process.stdin.write("done\n")
        process.stdin.flush()
        return float(await asyncio.to_thread(process.stdout.readline)), pieces[0]
    finally:
        process.kill()
        process.wait()


async def _client(port: int, path: str, begun: asyncio.Event) -> list[bytes]:
    """Read until the last event; the chunks of the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    found = b""
    while True:
        got = await reader.read(2**18)
        if not got:
            raise RuntimeError(f"the stream ended early: {found[-200:]!r}")
        found += got
        if b"\n\n" in found.partition(b"\r\n\r\n")[2]:
            begun.set()
        if LAST in found[-8192:] and _END.search(found[-256:]):
            break
    writer.close()
    return _chunks(found)


_END = re.compile(rb"id: \S+\n\n\r\n\Z")
"""Of the event that closes each piece, and of its chunk of the transfer encoding."""


def _chunks(found: bytes) -> list[bytes]:
    """The body, taken out of its chunked transfer encoding."""
    rest = found.partition(b"\r\n\r\n")[2]
    chunks = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        chunks.append(rest[:length])
        rest = rest[length + 2 :]
    return chunks


async def compare(streams: int, events: int, rounds: int) -> dict[str, Any]:
    ours: list[float] = []
    raw: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _, first = await measured(["--serve-ours", str(place / "0"), "--events", str(events)], 1)
        chunks = [chunk for chunk in first if b'"kind":"agent"' in chunk]
        (place / "chunks.json").write_text(json.dumps([chunk.decode() for chunk in chunks]))
        for number in range(1, rounds + 1):
            cpu, _ = await measured(["--serve-ours", str(place / str(number)), "--events", str(events)], streams)
            ours.append(cpu)
            raw.append((await measured(["--serve-raw", str(place / "chunks.json")], streams))[0])
    return {
        "streams": streams,
        "events": events,
        "chunks": len(chunks),
        "bytes": sum(map(len, chunks)),
        "ours_seconds": round(statistics.median(ours), 3),
        "raw_seconds": round(statistics.median(raw), 3),
        "ratio": round(statistics.median(a / b for a, b in zip(ours, raw, strict=True)), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve-ours", metavar="FOLDER", type=Path)
    parser.add_argument("--serve-raw", metavar="FILE", type=Path)
    asked = parser.parse_args()
    if asked.serve_ours is not None:
        asked.serve_ours.mkdir(exist_ok=True)
        asyncio.run(serve_ours(asked.serve_ours.resolve(), asked.events))
        return
    if asked.serve_raw is not None:
        asyncio.run(serve_raw([chunk.encode() for chunk in json.loads(asked.serve_raw.read_text())]))
        return
    found = asyncio.run(compare(asked.streams, asked.events, asked.rounds))
    if asked.json:
        print(json.dumps(found, indent=2))
        return
    print(
        f"{found['streams']} streams x {found['events']} events: {found['chunks']} pieces, {found['bytes']} bytes each"
    )
    print(
        f"ours  {found['ours_seconds']:.3f} s of CPU\nraw   {found['raw_seconds']:.3f} s of CPU\nratio {found['ratio']}"
    )


if __name__ == "__main__":
    main()
