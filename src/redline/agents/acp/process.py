"""Child processes of a foreign agent: the agent itself, and the terminals that it asks for.

Each leads a process group of its own. Beside it, in the group, a guard waits at a pipe whose other end only Redline
holds: should Redline be killed, the pipe closes and the guard ends the group.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

STDERR_KEPT = 16 * 1024
"""Bytes of the end of an agent's stderr, shown where it fails."""
GRACE_SECONDS = 2.0
"""Between the polite signal and the last one."""
_BUFFER = 1 << 20
"""Bytes that wait for us before the child has to."""

_GUARDED = """
{ trap '' TERM HUP INT; read -r _ <"/dev/fd/$1"; kill -TERM 0; sleep 2; kill -KILL 0; } >/dev/null 2>&1 </dev/null &
shift
exec "$@"
"""


_SHELL = re.compile(r"\A(?:/bin/)?sh: (?:line )?\d+: (?:exec: )?")


class Child:
    """A running process with its pipes. Made by `start`."""

    def __init__(self, process: asyncio.subprocess.Process, leash: int) -> None:
        self._process = process
        self._leash: int | None = leash
        self._stderr = bytearray()
        self._draining: asyncio.Task[None] | None = None
        if process.stderr is not None:
            self._draining = asyncio.get_running_loop().create_task(self._drain(process.stderr))

    @classmethod
    async def start(
        cls, command: Sequence[str], *, folder: Path, environment: Mapping[str, str], merged: bool = False
    ) -> Child:
        """`merged`: stderr goes where stdout goes, and nothing can be written to it. Raises OSError or ValueError where
        it cannot be started."""
        guard, leash = os.pipe()
        os.set_inheritable(guard, True)
        try:
            process = await asyncio.create_subprocess_exec(
                "/bin/sh", "-c", _GUARDED, "sh", str(guard), *command,
                cwd=folder, env=environment, start_new_session=True, pass_fds=(guard,), limit=_BUFFER,
                stdin=asyncio.subprocess.DEVNULL if merged else asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT if merged else asyncio.subprocess.PIPE,
            )  # fmt: skip
        except BaseException:
            os.close(leash)
            raise
        finally:
            os.close(guard)
        return cls(process, leash)

    @property
    def stdout(self) -> asyncio.StreamReader:
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def stdin(self) -> asyncio.StreamWriter:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def exit_code(self) -> int | None:
        """None: it runs. Negative: the signal that ended it."""
        return self._process.returncode

    @property
    def stderr(self) -> str:
        """The end of what it said there; what the shell that starts it says of a command that it cannot run, without
        the shell's own name."""
        return _SHELL.sub("", self._stderr.decode("utf-8", "backslashreplace").strip())

    async def wait(self) -> int:
        return await self._process.wait()

    async def settled(self, seconds: float) -> None:
        """Wait, no longer than that, for the exit code and for the rest of stderr."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._process.wait()
                if self._draining is not None:
                    await asyncio.wait({self._draining})

    def signal_group(self, number: signal.Signals) -> None:
        # The guard stays in the group until it is killed here, so the number still names this group and no other.
        if self._leash is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    async def end(self, grace: float = GRACE_SECONDS) -> None:
        """End the whole group, first politely; a second call does nothing."""
        if self._leash is None:
            return
        try:
            if self._process.returncode is None and grace:
                self.signal_group(signal.SIGTERM)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._process.wait(), grace)
        finally:
            self.signal_group(signal.SIGKILL)
            if self._leash is not None:
                os.close(self._leash)
                self._leash = None
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), GRACE_SECONDS)
        if self._draining is not None:
            self._draining.cancel()

    async def _drain(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(64 * 1024):
            self._stderr += chunk
            if len(self._stderr) > 2 * STDERR_KEPT:
                del self._stderr[:-STDERR_KEPT]
