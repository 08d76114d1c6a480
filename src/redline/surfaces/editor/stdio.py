"""Standard input and output as the two streams of a connection.

The wire gets a descriptor of its own, and what anything prints goes to stderr from then on: one stray line on standard
output would be taken for a message.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from typing import Any, cast

_CHUNK = 64 * 1024


async def streams() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The reader and the writer. Call it once in a process."""
    sys.stdout.flush()
    out = os.dup(1)
    os.dup2(2, 1)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 20)
    if _is_plain(0):
        threading.Thread(target=_feed, args=(reader, loop), daemon=True).start()
    else:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb"))
    if _is_plain(out):
        return reader, cast("asyncio.StreamWriter", _PlainWriter(out))
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(out, "wb"))
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


def _is_plain(descriptor: int) -> bool:
    """A file on a disk, which an event loop cannot wait for."""
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def _feed(reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> None:
    while chunk := os.read(0, _CHUNK):
        loop.call_soon_threadsafe(reader.feed_data, chunk)
    loop.call_soon_threadsafe(reader.feed_eof)


class _PlainWriter:
    """As much of a StreamWriter as a connection uses, for a file."""

    def __init__(self, descriptor: int) -> None:
        self._file: Any = os.fdopen(descriptor, "wb", buffering=0)

    def write(self, data: bytes) -> None:
        self._file.write(data)

    async def drain(self) -> None:
        pass

    def close(self) -> None:
        self._file.close()
