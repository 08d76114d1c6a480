"""Reading one line from the user without blocking the loop, so that a question can be withdrawn."""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios

_LINE_LIMIT = 4096


def forget_typed(descriptor: int) -> None:
    """Throw away what was typed before a question: it cannot have been an answer. Called before the question is
    printed, so that no answer to it is lost, however quick."""
    with contextlib.suppress(termios.error):
        termios.tcflush(descriptor, termios.TCIFLUSH)


async def read_line(descriptor: int) -> str | None:
    """The next line that is typed on a terminal, without its end; None at the end of input. Raises OSError where the
    descriptor cannot be waited for."""
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str | None] = loop.create_future()
    typed = bytearray()

    def readable() -> None:
        if line.done():
            return
        try:
            data = os.read(descriptor, _LINE_LIMIT)
        except BlockingIOError:
            return
        except OSError:  # the terminal is gone
            data = b""
        typed.extend(data)
        if not data:
            line.set_result(None)
        elif b"\n" in typed:
            line.set_result(bytes(typed).split(b"\n", 1)[0].decode("utf-8", "replace"))
        elif len(typed) > _LINE_LIMIT:
            line.set_result("")

    try:
        loop.add_reader(descriptor, readable)
    except (ValueError, NotImplementedError) as fault:
        raise OSError(f"input cannot be waited for: {fault}") from fault
    try:
        return await line
    finally:
        loop.remove_reader(descriptor)
