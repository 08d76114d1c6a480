"""One process group from its start to its certain end: bounded in time and output, with nothing left behind.

The command leads a session of its own. Beside it, in its group, a guard waits at a pipe whose other end only Redline
holds: should Redline be killed, the pipe closes and the guard ends the group. The output comes through a pipe of our
own, which is closed by us where a process that left the group keeps its end open.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from redline.tools.excerpt import decoded

HEAD = TAIL = 24 * 1024
"""Bytes of output kept from each end."""
GRACE_SECONDS = 2.0
"""Between the polite signal and the last one, at the time limit."""
CANCEL_GRACE_SECONDS = 0.5
"""The same when the caller is cancelled, who waits."""
DRAIN_SECONDS = 0.3
"""How long output may still come once the command itself has ended."""
PROGRESS_SECONDS = 0.1
"""Between two pieces of live output."""
PROGRESS_LIMIT = 8 * 1024
"""Bytes of one piece; of more, the end."""

_WORD_END = re.compile(rb"[A-Za-z0-9+/_=.~:@-]{1,1000}\Z")
_WORD_START = re.compile(rb"\A[A-Za-z0-9+/_=.~:@-]{1,1000}")

_GUARDED = """
exec 3<&0 </dev/null
{ trap '' TERM; read -r _; kill -TERM 0; sleep 2; kill -KILL 0; } <&3 >/dev/null 2>&1 &
exec 3<&-
exec "$@"
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, and what it printed."""

    head: bytes
    tail: bytes
    """Empty where `head` holds everything."""
    total: int
    """Bytes printed."""
    exit_code: int | None
    signal: str | None
    """Its name, as in `SIGKILL`."""
    timed_out: bool
    left_behind: bool
    """Processes of the group still ran when the command had ended; they were ended."""
    escaped: bool
    """A process outside the group still held the output open."""

    @property
    def omitted(self) -> int:
        return self.total - len(self.head) - len(self.tail)


async def run(
    command: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    seconds: float,
    progress: Callable[[str], Awaitable[None]],
) -> Ended:
    """Run it to its end, or until `seconds` have passed or the caller is cancelled: then its group is ended.

    Raises OSError or ValueError where it cannot be started.
    """
    output = await _Output.open(progress)
    guard, leash = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", _GUARDED, "sh", *command,
            cwd=cwd, env=environment, start_new_session=True,
            stdin=guard, stdout=output.write_end, stderr=output.write_end,
        )  # fmt: skip
    except BaseException:
        output.close()
        os.close(leash)
        raise
    finally:
        os.close(guard)
        os.close(output.write_end)
    reading = asyncio.ensure_future(output.read())
    timed_out = lingering = False
    reached_end = False
    try:
        try:
            await asyncio.wait_for(process.wait(), seconds)
            lingering = not await _finished(reading, DRAIN_SECONDS)
        except TimeoutError:
            timed_out = True
            await _end(process, GRACE_SECONDS)
        except asyncio.CancelledError:
            await _end(process, CANCEL_GRACE_SECONDS)
            raise
    finally:
        # On every way out, a second cancellation included: nothing of the group survives this call.
        _signal(process, signal.SIGKILL)
        os.close(leash)
        try:
            reached_end = await _finished(reading, DRAIN_SECONDS)
        finally:
            reading.cancel()
            output.close()
    code = process.returncode
    return Ended(
        *output.kept(),
        exit_code=code if code is not None and code >= 0 else None,
        signal=_name(-code) if code is not None and code < 0 else None,
        timed_out=timed_out,
        left_behind=lingering and reached_end,
        escaped=not reached_end,
    )


async def _end(process: asyncio.subprocess.Process, grace: float) -> None:
    _signal(process, signal.SIGTERM)
    try:
        await asyncio.wait_for(process.wait(), grace)
    except TimeoutError:
        _signal(process, signal.SIGKILL)
        await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    # The guard stays in the group until it is killed here, so the number still names this group and no other.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


async def _finished(reading: asyncio.Future[None], seconds: float) -> bool:
    done, _ = await asyncio.wait([reading], timeout=seconds)
    return bool(done)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class _Output:
    """The read end of the output: keeps head and tail, counts the rest, passes on whole lines while it runs."""

    def __init__(self, progress: Callable[[str], Awaitable[None]], write_end: int) -> None:
        self.write_end = write_end
        self._progress: Callable[[str], Awaitable[None]] | None = progress
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._stream = asyncio.StreamReader()
        self._transport: asyncio.BaseTransport

    @classmethod
    async def open(cls, progress: Callable[[str], Awaitable[None]]) -> _Output:
        read_end, write_end = os.pipe()
        output = cls(progress, write_end)
        protocol = asyncio.StreamReaderProtocol(output._stream)
        pipe = os.fdopen(read_end, "rb", buffering=0)
        output._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, pipe)
        return output

    def close(self) -> None:
        self._transport.close()

    async def read(self) -> None:
        waiting = bytearray()
        told = 0.0
        while True:
            try:
                chunk = await asyncio.wait_for(
                    self._stream.read(64 * 1024), PROGRESS_SECONDS if b"\n" in waiting else None
                )
            except TimeoutError:
                chunk = None
            if chunk:
                self._keep(chunk)
                waiting += chunk
                _forget(waiting, 4 * PROGRESS_LIMIT)
            if chunk == b"":
                break
            if chunk is None or time.monotonic() - told >= PROGRESS_SECONDS:
                await self._tell(waiting)
                told = time.monotonic()
        await self._tell(waiting, last=True)

    async def _tell(self, waiting: bytearray, *, last: bool = False) -> None:
        """Whole lines only, because a secret is masked by the line."""
        end = len(waiting) if last else waiting.rfind(b"\n") + 1
        piece = waiting[:end]
        del waiting[:end]
        _forget(piece, PROGRESS_LIMIT)
        if piece and self._progress is not None:
            try:
                await self._progress(decoded(bytes(piece)))
            except Exception:
                # Live output is a courtesy: where it cannot be shown, the command and its result go on.
                self._progress = None

    def _keep(self, chunk: bytes) -> None:
        self._total += len(chunk)
        room = HEAD - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        if len(self._tail) > 4 * TAIL:
            del self._tail[:-TAIL]

    def kept(self) -> tuple[bytes, bytes, int]:
        """Head, tail, total. Where something is left out, both are cut between lines if a line ends near, else
        between words: half of a secret no longer looks like one."""
        head, tail = bytes(self._head), bytes(self._tail[-TAIL:])
        if len(head) + len(tail) == self._total:
            return head, tail, self._total
        end = head.rfind(b"\n") + 1
        start = tail.find(b"\n") + 1
        head = head[:end] if end > len(head) // 2 else _WORD_END.sub(b"", head)
        tail = tail[start:] if 0 < start < len(tail) // 2 else _WORD_START.sub(b"", tail)
        return head, tail, self._total


def _forget(lines: bytearray, limit: int) -> None:
    """Drop whole lines from the front until no more than `limit` bytes are left; of one endless line, all of it."""
    if len(lines) > limit:
        cut = lines.find(b"\n", len(lines) - limit) + 1
        del lines[: cut or len(lines)]
