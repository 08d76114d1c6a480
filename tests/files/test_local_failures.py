"""What the disk can refuse: each failure has a code and a remedy, and loses nothing.

Where a condition needs rights that a test run may lack, there is a second way to meet it that always runs.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from redline.files import disk
from redline.files.error import FileError
from redline.files.local import LocalFiles
from redline.files.seam import Action, Delete, EditText, Insert, Move, Replace, Write

OLD = b"old line\n" * 4500  # 40 KiB
NEW = "new line\n" * 6800  # 60 KiB


def size(path: Path) -> int:
    return path.stat().st_size


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


async def code_of(call: Coroutine[Any, Any, object]) -> str:
    with pytest.raises(FileError) as caught:
        await call
    assert caught.value.message.strip()
    assert caught.value.remedy.strip()
    return caught.value.code


class TestFullDisk:
    """The old bytes stay, the draft goes, and the code says that there is no room."""

    @pytest.fixture
    def full(self, monkeypatch: pytest.MonkeyPatch) -> None:
        written = 0

        def write(fd: int, data: memoryview) -> int:
            nonlocal written
            if written >= 16384:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            count = os_write(fd, data[: 16384 - written])
            written += count
            return count

        os_write = os.write
        monkeypatch.setattr(disk.os, "write", write)

    @pytest.mark.usefixtures("full")
    @pytest.mark.parametrize("action", [Write(NEW), EditText([Insert(0, "x\n")])])
    async def test_writing_stops_half_way(self, files: LocalFiles, workspace: Path, action: Action) -> None:
        (workspace / "a").write_bytes(OLD)
        assert await code_of(files.apply(await files.resolve("a"), action)) == "NO_SPACE"
        assert (workspace / "a").read_bytes() == OLD
        assert names(workspace) == ["a"]

    @pytest.mark.usefixtures("full")
    async def test_a_new_file_leaves_no_folder_behind(self, files: LocalFiles, workspace: Path) -> None:
        assert await code_of(files.apply(await files.resolve("new/a"), Write(NEW))) == "NO_SPACE"
        assert names(workspace) == []

    async def test_the_flush_finds_the_disk_full(
        self, files: LocalFiles, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fsync(_fd: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        (workspace / "a").write_bytes(OLD)
        monkeypatch.setattr(disk.os, "fsync", fsync)
        assert await code_of(files.apply(await files.resolve("a"), Write(NEW))) == "NO_SPACE"
        assert (workspace / "a").read_bytes() == OLD
        assert names(workspace) == ["a"]

    def test_the_system_takes_no_more(self, open_folder: Path) -> None:
        """Public reports: H90. A limit of file size, for a child process: the system itself ends the write half way."""
        (open_folder / "a").write_bytes(OLD)

        def limited() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (49152, 49152))

        assert in_child(open_folder, limited, ["a"], Write(NEW)) == ["NO_SPACE"]
        assert (open_folder / "a").read_bytes() == OLD
        assert names(open_folder) == ["a"]

    async def test_a_disk_of_64_kib(self, tmp_path: Path, full_after: Callable[[Path, int], None]) -> None:
        """Public reports: H90."""
        folder = tmp_path / "small"
        folder.mkdir()
        full_after(folder, 65536)
        (folder / "a").write_bytes(OLD)
        files = LocalFiles([folder])
        assert await code_of(files.apply(await files.resolve("a"), Write(NEW))) == "NO_SPACE"
        assert (folder / "a").read_bytes() == OLD
        assert names(folder) == ["a"]
        await files.apply(await files.resolve("a"), Write("short\n"))
        assert (folder / "a").read_bytes() == b"short\n"

    @pytest.fixture
    def full_after(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path, int], None]]:
        """Makes a folder a disk of its own with so many bytes: a real one where the system lets us mount it."""
        mounted: list[Path] = []

        def make(folder: Path, size: int) -> None:
            if mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)):
                mounted.append(folder)
                return

            def write(fd: int, data: memoryview) -> int:
                used = sum(entry.stat().st_size for entry in folder.iterdir())
                if used >= size:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return os_write(fd, data[: size - used])

            os_write = os.write
            monkeypatch.setattr(disk.os, "write", write)

        yield make
        for folder in mounted:
            unmount(folder)


class TestReadOnly:
    def test_a_folder_without_write_permission(self, open_folder: Path) -> None:
        (open_folder / "a").write_bytes(b"a\n")
        (open_folder / "a").chmod(0o666)
        (open_folder / "sub").mkdir()
        open_folder.chmod(0o555)
        (open_folder / "sub").chmod(0o555)
        for action in (Write("b"), EditText([Replace("a", "b")]), Delete()):
            assert in_child(open_folder, nobody, ["a"], action) == ["PERMISSION"]
        assert in_child(open_folder, nobody, ["new", "sub/new", "deep/new"], Write("b")) == ["PERMISSION"] * 3
        assert names(open_folder) == ["a", "sub"]
        assert (open_folder / "a").read_bytes() == b"a\n"

    def test_a_file_of_somebody_else_in_a_folder_that_all_may_write(self, open_folder: Path) -> None:
        """The system would let us rename over it. It is not ours to change."""
        (open_folder / "a").write_bytes(b"a\n")
        (open_folder / "a").chmod(0o444 if os.geteuid() else 0o644)
        open_folder.chmod(0o777)
        assert in_child(open_folder, nobody, ["a"], Write("b")) == ["PERMISSION"]
        assert (open_folder / "a").read_bytes() == b"a\n"

    def test_a_file_that_may_not_be_read(self, open_folder: Path) -> None:
        (open_folder / "a").write_bytes(b"a\n")
        (open_folder / "a").chmod(0o200)
        open_folder.chmod(0o777)
        assert in_child(open_folder, nobody, ["a"], EditText([Replace("a", "b")])) == ["PERMISSION"]
        assert (open_folder / "a").read_bytes() == b"a\n"

    async def test_a_disk_that_is_mounted_read_only(
        self, files: LocalFiles, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (workspace / "a").write_bytes(b"a\n")
        mounted = mount("--bind", str(workspace), str(workspace)) and mount(
            "-o", "remount,ro,bind", str(workspace), str(workspace)
        )
        if not mounted:
            os_open = os.open

            def no_writing(path: str, flags: int, *mode: int, **options: int) -> int:
                if flags & os.O_CREAT:
                    raise OSError(errno.EROFS, os.strerror(errno.EROFS))
                return os_open(path, flags, *mode, **options)

            monkeypatch.setattr(disk.os, "open", no_writing)
        try:
            assert await code_of(files.apply(await files.resolve("a"), Write("b"))) == "PERMISSION"
            assert await code_of(files.apply(await files.resolve("new"), Write("b"))) == "PERMISSION"
        finally:
            if mounted:
                unmount(workspace)
        assert (workspace / "a").read_bytes() == b"a\n"


class TestSpecialFiles:
    """Refused at once, by type: a pipe without a writer would hang whoever opens it."""

    ACTIONS = (Write("x"), EditText([Replace("a", "b")]), Delete())

    async def refused_at_once(self, files: LocalFiles, path: str) -> None:
        target = await files.resolve(path)
        async with asyncio.timeout(5):
            assert await code_of(files.read(target)) == "NOT_REGULAR"
            for action in (*self.ACTIONS, Move(await files.resolve("elsewhere"))):
                assert await code_of(files.preview(target, action)) == "NOT_REGULAR"
                assert await code_of(files.apply(target, action)) == "NOT_REGULAR"

    async def test_a_named_pipe(self, files: LocalFiles, workspace: Path) -> None:
        """Public reports: I97."""
        os.mkfifo(workspace / "p")
        await self.refused_at_once(files, "p")
        assert names(workspace) == ["p"]

    async def test_a_named_pipe_behind_a_link(self, files: LocalFiles, workspace: Path) -> None:
        os.mkfifo(workspace / "p")
        (workspace / "link").symlink_to("p")
        target = await files.resolve("link")
        async with asyncio.timeout(5):
            assert await code_of(files.read(target)) == "NOT_REGULAR"
            assert await code_of(files.apply(target, Write("x"))) == "NOT_REGULAR"

    async def test_a_file_that_becomes_a_pipe_while_it_is_changed(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"a")

        async def swap(_outcome: object) -> None:
            (workspace / "a").unlink()
            os.mkfifo(workspace / "a")

        async with asyncio.timeout(5):
            call = files.apply(await files.resolve("a"), Write("x"), before_commit=swap)
            assert await code_of(call) == "STALE"

    async def test_a_socket(self, files: LocalFiles) -> None:
        """Public reports: I97."""
        folder = Path(tempfile.mkdtemp(dir="/tmp"))  # a socket's path may have some 100 bytes only
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(folder / "s"))
                await self.refused_at_once(LocalFiles([folder]), "s")
        finally:
            shutil.rmtree(folder)

    async def test_a_device(self) -> None:
        files = LocalFiles([Path("/dev")])
        target = await files.resolve("zero")
        async with asyncio.timeout(5):
            assert await code_of(files.read(target)) == "NOT_REGULAR"
            assert await code_of(files.apply(target, Write("x"))) == "NOT_REGULAR"

    async def test_a_folder(self, files: LocalFiles, workspace: Path) -> None:
        """Public reports: I97."""
        (workspace / "sub").mkdir()
        (workspace / "sub/a").write_bytes(b"a")
        await self.refused_at_once(files, "sub")
        await self.refused_at_once(files, ".")
        assert names(workspace / "sub") == ["a"]

    async def test_a_file_where_a_folder_is_needed(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"a")
        assert await code_of(files.apply(await files.resolve("a/b"), Write("x"))) == "NOT_REGULAR"
        assert await code_of(files.apply(await files.resolve("a/b/c"), Write("x"))) == "NOT_REGULAR"
        assert (workspace / "a").read_bytes() == b"a"


class TestOneGibibyte:
    SIZE = 1 << 30

    @pytest.fixture
    def huge(self, workspace: Path) -> Path:
        path = workspace / "huge.log"
        with path.open("wb") as file:
            file.truncate(self.SIZE)
        return path

    async def test_it_can_be_replaced_but_not_edited(self, files: LocalFiles, huge: Path) -> None:
        target = await files.resolve("huge.log")
        started = time.perf_counter()
        assert await code_of(files.apply(target, EditText([Replace("a", "b")]))) == "TOO_LARGE"
        assert time.perf_counter() - started < 1  # told from its size, not by reading it
        assert size(huge) == self.SIZE
        outcome = await files.apply(target, Write("small\n"))
        assert outcome.before is not None
        assert (outcome.before.size, outcome.before.data) == (self.SIZE, None)
        assert size(huge) == 6


class TestKilled:
    """A process that is killed between any two steps leaves the old bytes or the new ones."""

    SCRIPT = """
import asyncio, os, signal, sys
from pathlib import Path
from redline.files.local import LocalFiles
from redline.files.seam import Write

where, folder = sys.argv[1], Path(sys.argv[2])
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)

async def journal(outcome):
    if where == "journal":
        die()

async def main():
    files = LocalFiles([folder], on_flush=lambda what, seconds: die() if what == where else None)
    await files.apply(await files.resolve("a"), Write("new\\n" * 10000), before_commit=journal)

asyncio.run(main())
"""

    @pytest.mark.parametrize(
        ("where", "applied"), [("file", False), ("journal", False), ("folder", True), ("never", True)]
    )
    async def test_nothing_is_torn(self, files: LocalFiles, workspace: Path, where: str, applied: bool) -> None:
        (workspace / "a").write_bytes(b"old\n" * 20000)
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", self.SCRIPT, where, str(workspace))
        assert await child.wait() == (0 if where == "never" else -signal.SIGKILL)
        assert (workspace / "a").read_bytes() == (b"new\n" * 10000 if applied else b"old\n" * 20000)
        # The draft that the dead process left is taken away by recovery, or when the folder is next written to.
        assert len(names(workspace)) == (1 if applied else 2)
        await files.sweep(await files.resolve("a"))
        assert names(workspace) == ["a"]

    async def test_the_draft_of_a_living_process_stays(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / ".redline-notes.tmp").write_bytes(b"a user's own")

        async def sweep(_outcome: object) -> None:
            other = LocalFiles([workspace])
            await other.sweep(await other.resolve("a"))
            await other.apply(await other.resolve("b"), Write("b"))

        await files.apply(await files.resolve("a"), Write("x"), before_commit=sweep)
        assert names(workspace) == [".redline-notes.tmp", "a", "b"]


class TestTwoProcesses:
    SCRIPT = """
import asyncio, sys
from pathlib import Path
from redline.files.local import LocalFiles
from redline.files.error import FileError
from redline.files.seam import EditText, Replace

async def main():
    files = LocalFiles([Path(sys.argv[2])])
    target = await files.resolve("a")
    for number in range(40):
        while True:
            try:
                line = f"{sys.argv[1]} {number}"
                await files.apply(target, EditText([Replace(line + "\\n", line + " done\\n")]))
                break
            except FileError as error:
                assert error.code == "STALE", error

asyncio.run(main())
"""

    async def test_no_edit_is_lost(self, workspace: Path) -> None:
        lines = "".join(f"{who} {number}\n" for number in range(40) for who in ("left", "right"))
        (workspace / "a").write_text(lines)
        children = [
            await asyncio.create_subprocess_exec(sys.executable, "-c", self.SCRIPT, who, str(workspace))
            for who in ("left", "right")
        ]
        assert [await child.wait() for child in children] == [0, 0]
        assert (workspace / "a").read_text() == lines.replace("\n", " done\n")
        assert names(workspace) == ["a"]


# A child that lives under other conditions: another user, a limit.


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


def nobody() -> None:
    """Give up root's rights, for which permission bits do not count."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


def in_child(folder: Path, prepare: Callable[[], None], paths: list[str], action: Action) -> list[str]:
    """The codes of applying `action` to each path in a forked process, "" for a success."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            prepare()
            os.write(writing, json.dumps(asyncio.run(_codes(folder, paths, action))).encode())
            os._exit(0)
        except BaseException as error:
            os.write(writing, json.dumps([repr(error)]).encode())
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told: list[str] = json.loads(pipe.read())
    os.waitpid(child, 0)
    return told


async def _codes(folder: Path, paths: list[str], action: Action) -> list[str]:
    files = LocalFiles([folder])
    codes = []
    for path in paths:
        try:
            await files.apply(await files.resolve(path), action)
            codes.append("")
        except FileError as error:
            codes.append(error.code)
    return codes


def mount(*arguments: str) -> bool:
    if os.geteuid() != 0 or not shutil.which("mount"):
        return False
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


def unmount(folder: Path) -> None:
    subprocess.run(["umount", str(folder)], check=True)
