"""Comparing large middles in a process of their own, because libgit2 holds the interpreter lock while it searches.

One worker serves the whole process. It starts with the first large comparison and ends with its parent: when the pipe
to it closes, it leaves. Whatever goes wrong with it, the same search runs here instead and gives the same answer.

On the wire: two lengths and the two texts go out; one byte (`P` patch, `B` one block), the counts, a length and the
patch come back.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import struct
import subprocess
import sys
import threading

from redline.changes import engine

Data = bytes | memoryview
LARGE = 1 << 20
"""Bytes of one side of the middle from which on the worker is asked."""
_REQUEST = struct.Struct("<QQ")
_ANSWER = struct.Struct("<cQQQ")
_PIPE_SIZE = 1 << 20
_START = (
    "import sys; sys.path += [path for path in sys.argv[1:] if path not in sys.path]; "
    "from redline.changes.worker import serve; serve()"
)
"""Run with `-I`, so that no file of the current folder is taken for a module."""


def search(before: Data, after: Data) -> engine.Found | None:
    """`engine.search`, in the worker where a side is large. Safe to call from any thread; calls wait for each other."""
    if max(len(before), len(after)) > LARGE:
        with contextlib.suppress(OSError, EOFError):
            return _worker.search(before, after)
    return engine.search(bytes(before), bytes(after))


class Worker:
    """The parent's end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def search(self, before: Data, after: Data) -> engine.Found | None:
        """Raises OSError or EOFError where no worker can be had."""
        with self._lock:
            try:
                return self._ask(before, after)
            except (OSError, EOFError):
                self._end()
            try:
                return self._ask(before, after)  # it may have been ended by somebody: a new one, once
            except BaseException:
                self._end()
                raise

    def end(self) -> None:
        with self._lock:
            self._end()

    def forget(self) -> None:
        """In a forked child: the worker is the parent's, and its lock may be held by a thread that is not here."""
        self._lock = threading.Lock()
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process.returncode = 0
            self._process = None

    def _ask(self, before: Data, after: Data) -> engine.Found | None:
        process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            for part in (_REQUEST.pack(len(before), len(after)), before, after):
                _write(process.stdin.fileno(), part)
            kind, added, removed, length = _ANSWER.unpack(_read(process.stdout.fileno(), _ANSWER.size))
            patch = _read(process.stdout.fileno(), length)
        except BaseException:
            self._end()  # a half-read answer would be taken for the next one
            raise
        return None if kind == b"B" else (patch, added, removed)

    def _started(self) -> subprocess.Popen[bytes]:
        if not sys.executable:
            raise OSError("no interpreter to start")
        paths = [os.path.abspath(path) for path in sys.path if path]  # noqa: PTH100 - entries of sys.path are text
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            start_new_session=True,  # an interrupt at the terminal is not meant for it
        )
        for pipe in (self._process.stdin, self._process.stdout):
            _widen(pipe.fileno() if pipe is not None else -1)
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        with process:  # closes the pipes and waits
            pass


def serve() -> None:
    """The worker's end: answers until its input closes."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while header := requests.read(_REQUEST.size):
        old, new = _REQUEST.unpack(header)
        before, after = requests.read(old), requests.read(new)
        if len(after) < new:
            return
        found = engine.search(before, after)
        patch, added, removed = found or (b"", 0, 0)
        answers.write(_ANSWER.pack(b"B" if found is None else b"P", added, removed, len(patch)))
        answers.write(patch)
        answers.flush()


def _write(descriptor: int, data: Data) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _read(descriptor: int, length: int) -> bytearray:
    data = bytearray(length)
    left = memoryview(data)
    while left:
        count = os.readv(descriptor, [left])
        if not count:
            raise EOFError("the worker left")
        left = left[count:]
    return data


def _widen(descriptor: int) -> None:
    """A larger pipe, where the system has that, means fewer turns between the two processes."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)


_worker = Worker()
atexit.register(_worker.end)
os.register_at_fork(after_in_child=_worker.forget)
