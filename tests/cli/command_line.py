"""Runs the real `redline` command in a process of its own, with a data folder and a workspace of the test's."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-m", "redline"]


@dataclass(frozen=True)
class CommandLine:
    workspace: Path
    data: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("REDLINE_", "COLUMNS"))}
        return {**kept, "REDLINE_DATA": str(self.data), "REDLINE_CONFIG": str(self.data / "none.toml"), "TERM": "xterm"}

    def __call__(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments], cwd=self.workspace, env={**self.environment, **more}, text=True,
            capture_output=True, stdin=subprocess.DEVNULL, timeout=180, check=False,
        )  # fmt: skip

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, *arguments], cwd=self.workspace, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, preexec_fn=_mind_interrupts,
        )  # fmt: skip

    def script(self, *turns: list[dict[str, object]]) -> str:
        """A model string for a script; each turn is its list of steps."""
        path = self.data.parent / "script.json"
        path.write_text(json.dumps({"turn": [{"step": steps} for steps in turns]}))
        return f"script:{path}"

    def rows(self, session: str = "last") -> list[dict[str, object]]:
        shown = self("show", session, "--all", "--json")
        assert shown.returncode == 0, shown.stderr
        return json.loads(shown.stdout)["rows"]


def call(tool: str, **arguments: object) -> dict[str, object]:
    return {"tool": tool, "arguments": arguments}


EDIT: list[dict[str, object]] = [
    {"text": "Looking.", "call": [call("read", path="a.txt")]},
    {"call": [call("edit", path="a.txt", old_string="two", new_string="TWO")]},
    {"text": "Done."},
]


def wait_for(file: Path) -> None:
    """Until a command of a turn has made it."""
    until = time.monotonic() + 90
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert file.exists()


@dataclass(frozen=True)
class Typed:
    """What came out of a terminal session, without its colour codes."""

    text: str
    exit_code: int


def at_a_terminal(
    command_line: CommandLine, arguments: list[str], answers: list[tuple[str, str]], *, columns: int = 100
) -> Typed:
    """Run the command on a real pseudo-terminal and type each answer once its prompt has appeared."""
    pid, terminal = pty.fork()
    if pid == 0:  # the child
        _mind_interrupts()
        os.chdir(command_line.workspace)
        os.execve(COMMAND[0], [*COMMAND, *arguments], {**command_line.environment, "COLUMNS": str(columns)})
    seen = b""
    waiting = list(answers)
    mark = 0
    until = time.monotonic() + 180
    try:
        while time.monotonic() < until:
            ready, _, _ = select.select([terminal], [], [], 0.2)
            if ready:
                try:
                    piece = os.read(terminal, 65536)
                except OSError:
                    break
                if not piece:
                    break
                seen += piece
            if waiting and re.search(waiting[0][0].encode(), seen[mark:]):
                mark = len(seen)
                os.write(terminal, waiting.pop(0)[1].encode())
    finally:
        os.close(terminal)
    _, status = os.waitpid(pid, 0)
    plain = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", seen).decode("utf-8", "replace").replace("\r\n", "\n")
    assert not waiting, f"never asked: {waiting[0][0]}\n{plain}"
    return Typed(plain, os.waitstatus_to_exitcode(status))


def _mind_interrupts() -> None:
    """What a shell runs in the background is started deaf to Ctrl-C, the tests and all that they start with it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt(process: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> tuple[str, str]:
    process.send_signal(number)
    return process.communicate(timeout=90)
