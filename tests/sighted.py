"""A workspace under observation, for tests: real files, the real git, and shells that change things."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from redline.changes.compare import blob_id
from redline.changes.record import FileChange
from redline.sessions.redaction import Redactor
from redline.workspace.bounds import Limits
from redline.workspace.observe import Found, Observer, Sweep
from redline.workspace.store import ByteStore

SESSION = "s1"
BOTH = pytest.mark.parametrize("in_git", [True, False], ids=["git", "no git"])


@dataclass
class Sighted:
    root: Path
    store: ByteStore
    limits: Limits = field(default_factory=Limits)
    first: Sweep = field(default_factory=lambda: Sweep([]))
    observer: Observer = None  # type: ignore[assignment]

    async def begin(self, **more: object) -> Sighted:
        """Start an observer, as a new process would."""
        self.observer = Observer(self.root, self.store, SESSION, Redactor(), limits=self.limits)
        self.first = await self.observer.start(**more)  # type: ignore[arg-type]
        return self

    def write(self, name: str, data: bytes = b"one\ntwo\nthree\n") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def sh(self, command: str) -> None:
        subprocess.run(command, shell=True, cwd=self.root, check=True, capture_output=True)

    def git(self, *arguments: str, folder: str = ".") -> str:
        return git(self.root / folder, *arguments)

    def repository(self, folder: str = ".") -> None:
        """A git repository with everything committed."""
        self.git("init", "-q", folder=folder)
        self.git("add", "-A", folder=folder)
        self.git("commit", "-qm", "first", "--allow-empty", folder=folder)

    async def sweep(self) -> list[FileChange]:
        """The changes of a sweep that is not limited, each held against the bytes that it speaks of."""
        sweep = await self.observer.sweep()
        assert sweep.limited is None
        for found in sweep.found:
            self.check(found)
        await self.observer.keep()
        return [found.change for found in sweep.found]

    async def told(self) -> list[tuple[str, str]]:
        """Operation and path of each change of a sweep; of a move `old -> new`."""
        return [said(change, self.root) for change in await self.sweep()]

    def check(self, found: Found) -> None:
        change = found.change
        assert change.provenance == "observed"
        for side, data in ((change.before, found.before), (change.after, found.after)):
            if side is not None and data is not None:
                assert side.blob == blob_id(data)
                assert self.store.get(SESSION, side.blob) == data


def said(change: FileChange, root: Path) -> tuple[str, str]:
    def short(path: str) -> str:
        return os.path.relpath(path, root)

    name = short(change.path) if change.old_path is None else f"{short(change.old_path)} -> {short(change.path)}"
    return change.operation, name


def git(folder: Path, *arguments: str) -> str:
    """The git binary, untouched by the configuration of whoever runs the tests."""
    environment = {
        **os.environ,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder, env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout


async def ready(seen: Sighted, *, in_git: bool = True) -> Sighted:
    """Looked at once, with nothing found yet."""
    if in_git:
        seen.repository()
    await seen.begin()
    assert seen.first.limited is None
    assert seen.first.found == []
    return seen
