"""Signals that end a command: Ctrl-C, a polite kill, a terminal that was closed.

The first one cancels the work, which closes in the log what is open. More of them must not break into that, or what the
work has open (threads, the log) is never closed and the process never ends. Where somebody signals again and the work
still does not come to its end, the process ends without it: the next start closes by the disk what is open then.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from types import FrameType

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_SECONDS = 10.0
"""From the second signal on; an agent that is ended gets a few seconds, and so does a slow surface. Also from the end
of the work to that of the process."""

_SHOW_CURSOR = b"\x1b[?25h\n"


def carry_out(work: Coroutine[Any, Any, T]) -> T:
    """Run to its end what a command does.

    After a signal: KeyboardInterrupt for Ctrl-C, else SystemExit with the shell's exit code for it; or what the work
    itself raised or gave when it was cancelled.
    """
    ending = _Ending()
    with ending.heard():
        try:
            return asyncio.run(ending.follow(work))
        except asyncio.CancelledError:
            if ending.came is None:
                raise
            if ending.came == signal.SIGINT:
                raise KeyboardInterrupt from None
            raise SystemExit(128 + ending.came) from None


def take_no_more() -> None:
    """From here to the end of the process, which is near: the interpreter gives its handlers up before its end, and a
    late Ctrl-C would look like a crash."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


class _Ending:
    """What came, and what is cancelled by it."""

    def __init__(self) -> None:
        self.came: signal.Signals | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._last_resort: threading.Timer | None = None

    async def follow(self, work: Coroutine[Any, Any, T]) -> T:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self.came is not None:  # before there was anything to cancel
            work.close()
            raise asyncio.CancelledError
        return await work

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """Until the loop is closed, its threads included; once one came, none is taken to the end of the process, which
        is near. A signal that whoever started us ignores stays ignored."""
        before = {number: signal.getsignal(number) for number in SIGNALS}
        ours = [number for number in SIGNALS if before[number] is not signal.SIG_IGN]
        for number in ours:
            signal.signal(number, self._take)
        try:
            yield
        finally:
            if self.came is None:
                for number in ours:
                    signal.signal(number, before[number])
            else:
                take_no_more()
                self._lose_patience()

    def _take(self, number: int, _frame: FrameType | None) -> None:
        if self.came is None:
            self.came = signal.Signals(number)
            if self._loop is not None and self._task is not None:
                self._loop.call_soon_threadsafe(self._task.cancel)
        else:
            self._lose_patience()

    def _lose_patience(self) -> None:
        if self._last_resort is None and self.came is not None:
            self._last_resort = threading.Timer(PATIENCE_SECONDS, _end_at_once, (self.came,))
            self._last_resort.daemon = True
            self._last_resort.start()


def _end_at_once(came: signal.Signals) -> None:
    """From a thread of its own, since nobody knows what the others wait for."""
    with contextlib.suppress(OSError, ValueError):
        if sys.stdout.isatty():
            os.write(sys.stdout.fileno(), _SHOW_CURSOR)
        told = "redline: It did not stop in time and was ended; what is open is closed when the session is next read.\n"
        os.write(sys.stderr.fileno(), told.encode())
    os._exit(128 + came)
