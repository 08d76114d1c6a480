"""Real programs, as released: how one is installed, and how it is run against the scripted endpoint.

Each is installed once into a folder of its own outside the repository (`REDLINE_INTEROP_CACHE`, by default
`~/.cache/redline-interop`), in the exact release named here, by npm or pip. Each run gets an empty home of its own, a
configuration that names only 127.0.0.1, and no telemetry and no updates.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent

_FAILED: dict[str, str] = {}


class InstallFailed(Exception):  # noqa: N818 - it is what the user reads of
    """An agent could not be installed; the message names the command to run."""


@dataclass(frozen=True)
class Prepared:
    """What one run of an agent needs."""

    command: Sequence[str]
    environment: Mapping[str, str]
    """The whole environment, nothing is inherited."""

    @property
    def isolated(self) -> list[str]:
        """A command that runs it in that environment alone, whoever starts it."""
        return ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in self.environment.items()), *self.command]


@dataclass(frozen=True)
class LiveAgent:
    name: str
    title: str
    version: str
    manager: str
    """npm or pip."""
    packages: Sequence[str]
    start: Callable[[Path, Path, int], tuple[Sequence[str], Mapping[str, str]]]
    """(installation, home, port) -> command and environment; writes the configuration into the home."""
    mode: str = ""
    """The mode to set, so that it asks before it changes files; "": it asks as it starts."""
    settles: float = 0.0
    """Seconds until a session of it can be loaded by another process; an earlier try destroys the session."""
    unasked: Sequence[str] = ()
    """Scenarios of which it asks nothing, in any mode."""

    @property
    def folder(self) -> Path:
        return cache() / f"{self.name}-{self.version}"

    def install(self) -> Path:
        """Install it unless it stands already; its folder. Raises `InstallFailed`."""
        done = self.folder / ".installed"
        wanted = " ".join(self.packages)
        if done.exists() and done.read_text() == wanted:
            return self.folder
        if self.name in _FAILED:
            raise InstallFailed(_FAILED[self.name])  # not tried again for every test
        try:
            self._install(done, wanted)
        except InstallFailed as failed:
            _FAILED[self.name] = str(failed)
            raise
        return self.folder

    def _install(self, done: Path, wanted: str) -> None:
        cache().mkdir(parents=True, exist_ok=True)
        # One at a time on a machine: several test processes may want the same one.
        with (cache() / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if done.exists() and done.read_text() == wanted:
                return
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            for command in self._commands():
                self._run(command)
            done.write_text(wanted)

    def _commands(self) -> Iterable[Sequence[str]]:
        """What fills the empty folder; each is run before the next one is asked for."""
        if self.manager == "pip":
            python = str(self.folder / "bin" / "python")
            return [
                [sys.executable, "-m", "venv", str(self.folder)],
                [python, "-m", "pip", "install", "--quiet", *self.packages],
            ]
        npm = shutil.which("npm")
        if npm is None:
            raise InstallFailed(f"{self.title} needs Node 20 or newer with npm. Install it, then: make interop")
        quiet = ["--no-audit", "--no-fund", "--no-progress", "--ignore-scripts", "--fetch-retry-mintimeout=2000"]
        return [[npm, "install", "--prefix", str(self.folder), *quiet, *self.packages]]

    def _run(self, command: Sequence[str]) -> None:
        again = "When it can be: the tests again."
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        except subprocess.TimeoutExpired:
            raise InstallFailed(f"Installing {self.title} took over ten minutes. {again}") from None
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-1000:]
            raise InstallFailed(f"{self.title} could not be installed: {' '.join(command)}\n{said}\n{again}")

    def prepare(self, home: Path, port: int) -> Prepared:
        """Install it if need be, write its configuration into `home`, which is its own and empty."""
        folder = self.install()
        home.mkdir(parents=True, exist_ok=True)
        temporary = home.parent / f"{home.name}-tmp"  # not a parent of the home: codex refuses that
        temporary.mkdir(exist_ok=True)
        command, own = self.start(folder, home, port)
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_DATA_HOME": str(home / ".local/share"),
            "XDG_STATE_HOME": str(home / ".local/state"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "SHELL": "/bin/bash",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            "DO_NOT_TRACK": "1",
            **own,
        }
        return Prepared(command, environment)


def cache() -> Path:
    return Path(os.environ.get("REDLINE_INTEROP_CACHE") or Path.home() / ".cache" / "redline-interop").absolute()
