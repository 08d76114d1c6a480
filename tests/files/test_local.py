"""Mutations on the real disk: what is written, what is kept, what is refused, and what happens meanwhile."""

from __future__ import annotations

import asyncio
import os
import stat
import struct
import sys
import tempfile
import threading
from collections.abc import Awaitable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redline.files import disk, mutation
from redline.files.blob import git_blob
from redline.files.error import FileError
from redline.files.local import LocalFiles
from redline.files.places import Folder
from redline.files.seam import (
    Action,
    Delete,
    DeleteLines,
    EditText,
    Entry,
    Insert,
    Move,
    Outcome,
    Replace,
    Stat,
    Write,
    WriteBytes,
)


def edit(old: str, new: str) -> EditText:
    return EditText([Replace(old, new)])


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


async def refused(files: LocalFiles, path: str, action: Action, **options: str) -> FileError:
    """The error of `apply`; `preview` must give the same one unless it is about what was expected."""
    target = await files.resolve(path)
    with pytest.raises(FileError) as caught:
        await files.apply(target, action, expected=options.get("expected"))
    if "expected" not in options:
        with pytest.raises(FileError) as seen:
            await files.preview(target, action)
        assert seen.value.code == caught.value.code
    assert caught.value.message
    assert caught.value.remedy
    return caught.value


class Journal:
    """Takes down what it was told, and how the disk looked at that moment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: list[Outcome] = []
        self.disk: list[bytes | None] = []

    async def __call__(self, outcome: Outcome) -> None:
        self.told.append(outcome)
        self.disk.append(self.path.read_bytes() if self.path.exists() else None)


class TestWhatIsWritten:
    async def test_a_create(self, files: LocalFiles, workspace: Path) -> None:
        journal = Journal(workspace / "deep/er/a.txt")
        target = await files.resolve("deep/er/a.txt")
        outcome = await files.apply(target, Write("x\r\ny"), expected="", before_commit=journal)
        assert (outcome.operation, outcome.before) == ("create", None)
        assert outcome.after is not None
        assert outcome.after.data == b"x\r\ny" == (workspace / "deep/er/a.txt").read_bytes()
        assert outcome.after.blob == git_blob(b"x\r\ny")
        assert (journal.told, journal.disk) == ([outcome], [None])
        assert names(workspace / "deep/er") == ["a.txt"]

    async def test_an_overwrite_keeps_the_bom_and_stores_the_rest_as_given(
        self, files: LocalFiles, workspace: Path
    ) -> None:
        (workspace / "a").write_bytes(b"\xef\xbb\xbfx\r\n")
        target = await files.resolve("a")
        for content in ("y\n", "\ufeffy\n"):
            await files.apply(target, Write(content))
            assert (workspace / "a").read_bytes() == b"\xef\xbb\xbfy\n"

    async def test_an_overwrite_of_a_file_without_a_bom_adds_none(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"x")
        await files.apply(await files.resolve("a"), Write("y"))
        assert (workspace / "a").read_bytes() == b"y"

    @pytest.mark.parametrize("old", [b"\x7fELF\0\0", b"caf\xe9\n", b"\xff\xfea\0"])
    async def test_an_overwrite_of_what_is_not_text(self, files: LocalFiles, workspace: Path, old: bytes) -> None:
        (workspace / "a").write_bytes(old)
        outcome = await files.apply(await files.resolve("a"), Write("y\n"))
        assert outcome.before is not None
        assert (outcome.before.data, outcome.before.text) == (old, None)

    async def test_empty_content_says_what_it_takes_away(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a.py").write_bytes(b"x = 1\n" * 100)
        outcome = await files.apply(await files.resolve("a.py"), Write(""))
        assert outcome.operation == "update"
        assert outcome.before is not None
        assert outcome.before.data == b"x = 1\n" * 100
        assert outcome.after is not None
        assert outcome.after.data == b""

    async def test_an_edit_counts_its_replacements(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"a b a\n")
        outcome = await files.apply(await files.resolve("a"), EditText([Replace("a", "c", replace_all=True)]))
        assert (outcome.operation, outcome.replacements) == ("update", 2)

    async def test_an_empty_old_text_creates_a_file_that_is_missing(self, files: LocalFiles, workspace: Path) -> None:
        outcome = await files.apply(await files.resolve("a"), edit("", "x\n"))
        assert outcome.operation == "create"
        assert (workspace / "a").read_bytes() == b"x\n"

    async def test_exact_bytes_and_their_mode(self, files: LocalFiles, workspace: Path) -> None:
        target = await files.resolve("a")
        await files.apply(target, WriteBytes(b"\0\xff", executable=True))
        assert target.real.stat().st_mode & 0o111
        outcome = await files.apply(target, WriteBytes(b"\0\xff", executable=False))  # the mode alone
        assert outcome.after is not None
        assert not outcome.after.executable
        assert not target.real.stat().st_mode & 0o111
        await files.apply(target, WriteBytes(b"x"))
        assert target.real.read_bytes() == b"x"

    async def test_a_delete(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"x")
        journal = Journal(workspace / "a")
        outcome = await files.apply(await files.resolve("a"), Delete(), before_commit=journal)
        assert (outcome.operation, outcome.after, journal.disk) == ("delete", None, [b"x"])
        assert names(workspace) == []

    @pytest.mark.parametrize("data", [None, b"y"])
    async def test_a_move(self, files: LocalFiles, workspace: Path, data: bytes | None) -> None:
        (workspace / "a").write_bytes(b"x")
        (workspace / "a").chmod(0o750)
        to = await files.resolve("new/b")
        outcome = await files.apply(await files.resolve("a"), Move(to, data))
        assert (outcome.operation, outcome.moved_to) == ("move", to)
        assert outcome.after is not None
        assert outcome.after.executable
        assert outcome.after.data == (workspace / "new/b").read_bytes() == (data or b"x")
        assert stat.S_IMODE((workspace / "new/b").stat().st_mode) == 0o750
        assert names(workspace) == ["new"]
        assert names(workspace / "new") == ["b"]

    async def test_a_move_that_changes_only_the_case(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "readme").write_bytes(b"x")
        await files.apply(await files.resolve("readme"), Move(await files.resolve("README")))
        assert names(workspace) == ["README"]

    @pytest.mark.parametrize("data", [None, b"y"])
    async def test_a_move_that_changes_only_the_case_on_a_disk_that_ignores_case(
        self, files: LocalFiles, workspace: Path, monkeypatch: pytest.MonkeyPatch, data: bytes | None
    ) -> None:
        """The fake answers for either spelling, as the disks of macOS do; the entry has one."""

        def look(folder: Folder, name: str) -> os.stat_result | None:
            entries = [entry for entry in names(folder.path) if entry.casefold() == name.casefold()]
            return disk.look(folder, entries[0]) if entries else None

        (workspace / "readme").write_bytes(b"x")
        monkeypatch.setattr(mutation, "look", look)
        await files.apply(await files.resolve("readme"), Move(await files.resolve("README"), data))
        assert names(workspace) == ["README"]
        assert (workspace / "README").read_bytes() == (data or b"x")
        (workspace / "other").write_bytes(b"o")
        assert (await refused(files, "other", Move(await files.resolve("Readme")))).code == "EXISTS"


class TestUnchanged:
    async def test_an_identical_write_writes_nothing(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"x\n")
        before = (workspace / "a").stat()
        journal = Journal(workspace / "a")
        outcome = await files.apply(await files.resolve("a"), Write("x\n"), before_commit=journal)
        assert outcome.before == outcome.after
        assert journal.told == []
        after = (workspace / "a").stat()
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)

    @pytest.mark.parametrize(
        "action", [edit("a", "a"), EditText([Replace("a", "b"), Replace("b", "a")]), EditText([Insert(0, "")])]
    )
    async def test_edits_that_come_to_nothing_are_told(
        self, files: LocalFiles, workspace: Path, action: Action
    ) -> None:
        (workspace / "f").write_bytes(b"a\n")
        assert (await refused(files, "f", action)).code == "NO_CHANGE"

    async def test_a_move_onto_itself(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"x")
        assert (await refused(files, "a", Move(await files.resolve("./a")))).code == "NO_CHANGE"


class TestWhatMustBeThere:
    @pytest.mark.parametrize("action", [edit("a", "b"), EditText([Insert(0, "x")]), EditText([]), Delete()])
    async def test_a_file_that_does_not_exist(self, files: LocalFiles, workspace: Path, action: Action) -> None:
        assert (await refused(files, "no/where", action)).code == "NOT_FOUND"
        with pytest.raises(FileError) as caught:
            await files.read(await files.resolve("no/where"))
        assert caught.value.code == "NOT_FOUND"
        assert names(workspace) == []

    async def test_a_move_never_overwrites(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"a")
        (workspace / "B").write_bytes(b"b")
        (workspace / "A").write_bytes(b"other case")
        (workspace / "dangling").symlink_to("nothing")
        (workspace / "dir").mkdir()
        for name in ("B", "A", "dangling", "dir"):
            assert (await refused(files, "a", Move(await files.resolve(name)))).code == "EXISTS"
        assert (workspace / "a").read_bytes() == b"a"
        assert (workspace / "B").read_bytes() == b"b"

    async def test_what_was_expected(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"x\n")
        target = await files.resolve("a")
        read = await files.read(target)
        (workspace / "a").write_bytes(b"y\n")
        for action in (Write("z"), edit("x", "z"), edit("nowhere", "z"), Delete(), Move(await files.resolve("b"))):
            assert (await refused(files, "a", action, expected=read.blob)).code == "STALE"
            assert (await refused(files, "a", action, expected="")).code == "STALE"
        assert (await refused(files, "b", Write("z"), expected=read.blob)).code == "STALE"
        assert (workspace / "a").read_bytes() == b"y\n"
        assert names(workspace) == ["a"]

    async def test_time_says_nothing(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"x\n")
        target = await files.resolve("a")
        read = await files.read(target)
        os.utime(workspace / "a", (1, 1))
        await files.apply(target, edit("x", "y"), expected=read.blob)
        # The same size and the same time, but other bytes.
        then = (workspace / "a").stat()
        (workspace / "a").write_bytes(b"z\n")
        os.utime(workspace / "a", ns=(then.st_atime_ns, then.st_mtime_ns))
        assert (await refused(files, "a", Write("w"), expected=git_blob(b"y\n"))).code == "STALE"

    async def test_formatters_that_ran_in_between_are_seen(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"x  \n" * 50)
        target = await files.resolve("a")
        await files.apply(target, EditText([Insert(10, "new  ")]))
        (workspace / "a").write_bytes((workspace / "a").read_bytes().replace(b"  \n", b"\n"))
        outcome = await files.apply(target, edit("new\n", "newer\n"))
        assert outcome.before is not None
        assert outcome.before.data == b"x\n" * 10 + b"new\n" + b"x\n" * 40


class TestModesAndLinks:
    @pytest.fixture
    def umask(self) -> Iterator[None]:
        old = os.umask(0o027)
        yield
        os.umask(old)

    @pytest.mark.usefixtures("umask")
    async def test_a_new_file_follows_the_umask(self, files: LocalFiles, workspace: Path) -> None:
        await files.apply(await files.resolve("sub/a"), Write("x"))
        await files.apply(await files.resolve("run"), WriteBytes(b"x", executable=True))
        assert stat.S_IMODE((workspace / "sub/a").stat().st_mode) == 0o640
        assert stat.S_IMODE((workspace / "sub").stat().st_mode) == 0o750
        assert stat.S_IMODE((workspace / "run").stat().st_mode) == 0o750

    @pytest.mark.parametrize("mode", [0o755, 0o700, 0o664, 0o600, 0o4755])
    async def test_permission_bits_are_kept(self, files: LocalFiles, workspace: Path, mode: int) -> None:
        (workspace / "run.sh").write_bytes(b"a\n")
        (workspace / "run.sh").chmod(mode)
        outcome = await files.apply(await files.resolve("run.sh"), edit("a", "b"))
        assert stat.S_IMODE((workspace / "run.sh").stat().st_mode) == mode & 0o777
        assert outcome.after is not None
        assert outcome.after.executable == bool(mode & 0o100)

    async def test_the_owner_is_kept_where_the_system_allows(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"a\n")
        owner = 65534 if os.geteuid() == 0 else os.geteuid()
        os.chown(workspace / "a", owner, -1)
        await files.apply(await files.resolve("a"), edit("a", "b"))
        assert (workspace / "a").stat().st_uid == owner

    async def test_access_lists_and_the_users_attributes_are_kept(self, files: LocalFiles, workspace: Path) -> None:
        if sys.platform == "linux":
            entries = ((0x01, 6, -1), (0x02, 6, 1000), (0x04, 4, -1), (0x10, 6, -1), (0x20, 4, -1))
            access = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
            kept = {"user.origin": b"here", "system.posix_acl_access": access}
            (workspace / "a").write_bytes(b"a\n")
            for name, value in list(kept.items()):
                try:
                    os.setxattr(workspace / "a", name, value)
                except OSError:
                    del kept[name]  # a disk without attributes has none to keep
            mode = (workspace / "a").stat().st_mode
            await files.apply(await files.resolve("a"), edit("a", "b"))
            assert {name: os.getxattr(workspace / "a", name) for name in kept} == kept
            assert (workspace / "a").stat().st_mode == mode

    async def test_a_links_file_changes_and_the_link_stays(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "docs").mkdir()
        (workspace / "docs/real.md").write_bytes(b"a\n")
        (workspace / "docs/real.md").chmod(0o640)
        (workspace / "link.md").symlink_to("docs/real.md")
        target = await files.resolve("link.md")
        outcome = await files.apply(target, edit("a", "b"))
        assert (workspace / "link.md").readlink() == Path("docs/real.md")
        assert (workspace / "docs/real.md").read_bytes() == b"b\n"
        assert stat.S_IMODE((workspace / "docs/real.md").stat().st_mode) == 0o640
        assert outcome.target.path.name == "link.md"
        assert outcome.target.real.name == "real.md"

    async def test_links_themselves_are_neither_deleted_nor_moved(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "real").write_bytes(b"x")
        (workspace / "link").symlink_to("real")
        assert (await refused(files, "link", Delete())).code == "NOT_REGULAR"
        assert (await refused(files, "link", Move(await files.resolve("b")))).code == "NOT_REGULAR"
        assert names(workspace) == ["link", "real"]

    async def test_of_hard_links_only_the_named_one_changes(
        self, files: LocalFiles, workspace: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "store").write_bytes(b"a\n")
        (workspace / "f").hardlink_to(tmp_path / "store")
        await files.apply(await files.resolve("f"), edit("a", "b"))
        assert (workspace / "f").read_bytes() == b"b\n"
        assert (tmp_path / "store").read_bytes() == b"a\n"
        assert (workspace / "f").stat().st_nlink == 1

    async def test_a_read_only_file_is_left_alone(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "f").write_bytes(b"a\n")
        (workspace / "f").chmod(0o444)
        for action in (edit("a", "b"), Write("b"), Delete()):
            error = await refused(files, "f", action)
            assert error.code == "PERMISSION"
            assert "chmod" in error.remedy
        assert (workspace / "f").read_bytes() == b"a\n"
        await files.apply(await files.resolve("f"), Write("a\n"))  # nothing to write


class TestReading:
    async def test_content_and_its_bound(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"\xef\xbb\xbfa\r\n")
        target = await files.resolve("a")
        whole = await files.read(target)
        assert (whole.text, whole.data, whole.size) == ("a\n", b"\xef\xbb\xbfa\r\n", 6)
        assert (await files.read(target, limit=6)) == whole
        assert (await files.read(target, limit=5)).data is None
        assert (await files.read(target, limit=5)).blob == whole.blob == git_blob(b"\xef\xbb\xbfa\r\n")

    async def test_a_folder_is_listed_by_name_and_kind(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "b").write_bytes(b"")
        (workspace / "a").mkdir()
        (workspace / "c").symlink_to("a")
        os.mkfifo(workspace / "d")
        assert await files.list(await files.resolve(".")) == [
            Entry("a", "directory"), Entry("b", "file"), Entry("c", "symlink"), Entry("d", "other"),
        ]  # fmt: skip
        for path, code in (("b", "NOT_REGULAR"), ("nowhere", "NOT_FOUND")):
            with pytest.raises(FileError) as caught:
                await files.list(await files.resolve(path))
            assert caught.value.code == code

    async def test_stat(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "run").write_bytes(b"abc")
        (workspace / "run").chmod(0o755)
        (workspace / "link").symlink_to("run")
        os.mkfifo(workspace / "pipe")
        seen = {
            path: await files.stat(await files.resolve(path)) for path in (".", "run", "link", "pipe", "no", "run/x")
        }
        assert seen["."] == Stat("directory", 0, executable=False)
        assert seen["run"] == seen["link"] == Stat("file", 3, executable=True)
        assert seen["pipe"] is not None
        assert seen["pipe"].kind == "other"
        assert seen["no"] is seen["run/x"] is None


class TestMeanwhile:
    async def test_two_edits_of_one_file_at_once_both_land(self, files: LocalFiles, workspace: Path) -> None:
        start = b"".join(b"line %d\n" % i for i in range(60))
        target = await files.resolve("a")
        for _ in range(50):
            (workspace / "a").write_bytes(start)
            first, second = await asyncio.gather(
                files.apply(target, edit("line 7\n", "seven\n")), files.apply(target, edit("line 50\n", "fifty\n"))
            )
            assert first.after == second.before
            after = start.replace(b"line 7\n", b"seven\n").replace(b"line 50\n", b"fifty\n")
            assert (workspace / "a").read_bytes() == after

    async def test_sessions_that_share_a_workspace_share_its_locks(self, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"0\n")
        (workspace / "link").symlink_to("a")
        sessions = [LocalFiles([workspace]) for _ in range(10)]
        targets = [await session.resolve("link" if n % 2 else "a") for n, session in enumerate(sessions)]
        edits = [EditText([Insert(1, f"{number}")]) for number in range(10)]
        await asyncio.gather(*(sessions[n].apply(targets[n], edits[n]) for n in range(10)))
        assert len((workspace / "a").read_bytes().splitlines()) == 11

    async def test_moves_in_a_circle_do_not_wait_for_each_other(self, files: LocalFiles, workspace: Path) -> None:
        for name in "ab":
            (workspace / name).write_bytes(name.encode())
        a, b = await files.resolve("a"), await files.resolve("b")
        async with asyncio.timeout(10):
            results = await asyncio.gather(
                *(files.apply(*pair) for pair in ((a, Move(b)), (b, Move(a)))), return_exceptions=True
            )
        assert all(isinstance(result, FileError) and result.code == "EXISTS" for result in results)

    async def test_files_of_different_names_do_not_wait(self, files: LocalFiles, workspace: Path) -> None:
        async def other(_outcome: Outcome) -> None:
            await files.apply(await files.resolve("b"), Write("b"))

        async with asyncio.timeout(10):
            await files.apply(await files.resolve("a"), Write("a"), before_commit=other)
        assert names(workspace) == ["a", "b"]

    @pytest.mark.parametrize("action", [Write("ours\n"), edit("old", "ours"), Delete(), "move", "move and edit"])
    async def test_a_file_that_somebody_saves_during_the_journal_is_not_overwritten(
        self, files: LocalFiles, workspace: Path, action: Action | str
    ) -> None:
        (workspace / "a").write_bytes(b"old\n")
        if isinstance(action, str):
            action = Move(await files.resolve("sub/b"), b"ours\n" if "edit" in action else None)

        async def save(_outcome: Outcome) -> None:
            then = (workspace / "a").stat()
            (workspace / "a").write_bytes(b"new\n")
            os.utime(workspace / "a", ns=(then.st_atime_ns, then.st_mtime_ns))

        with pytest.raises(FileError) as caught:
            await files.apply(await files.resolve("a"), action, before_commit=save)
        assert caught.value.code == "STALE"
        assert (workspace / "a").read_bytes() == b"new\n"
        assert names(workspace) == ["a"]

    @pytest.mark.parametrize("meanwhile", ["created", "deleted", "chmod", "became a folder"])
    async def test_other_changes_during_the_journal(self, files: LocalFiles, workspace: Path, meanwhile: str) -> None:
        path = workspace / "a"
        if meanwhile != "created":
            path.write_bytes(b"old\n")

        async def change(_outcome: Outcome) -> None:
            if meanwhile == "created":
                path.write_bytes(b"new\n")
            elif meanwhile == "chmod":
                path.chmod(0o600)
            else:
                path.unlink()
                if meanwhile == "became a folder":
                    path.mkdir()

        with pytest.raises(FileError) as caught:
            await files.apply(await files.resolve("a"), Write("ours\n"), before_commit=change)
        assert caught.value.code == "STALE"
        assert [name for name in names(workspace) if name != "a"] == []

    async def test_a_journal_that_fails_leaves_everything_as_it_was(self, files: LocalFiles, workspace: Path) -> None:
        async def fail(_outcome: Outcome) -> None:
            raise RuntimeError("the log is gone")

        with pytest.raises(RuntimeError):
            await files.apply(await files.resolve("new/folder/a"), Write("x"), before_commit=fail)
        assert names(workspace) == []
        await files.apply(await files.resolve("new/folder/a"), Write("x"))  # the lock was given back


class TestCancelled:
    async def test_before_the_commit_nothing_changes(self, files: LocalFiles, workspace: Path) -> None:
        reached = asyncio.Event()

        async def wait(_outcome: Outcome) -> None:
            reached.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(files.apply(await files.resolve("sub/a"), Write("x"), before_commit=wait))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert names(workspace) == []

    async def test_while_the_bytes_are_written_nothing_changes(self, workspace: Path) -> None:
        reached, go = threading.Event(), threading.Event()

        def slow(what: str, _seconds: float) -> None:
            if what == "file":
                reached.set()
                go.wait(10)

        files = LocalFiles([workspace], on_flush=slow)
        task = asyncio.create_task(files.apply(await files.resolve("a"), Write("x")))
        await asyncio.to_thread(reached.wait, 10)
        task.cancel()
        await asyncio.sleep(0.02)
        assert not task.done()  # the lock is held until the thread has let go
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert names(workspace) == []

    async def test_during_the_commit_it_is_carried_to_its_end(self, workspace: Path) -> None:
        reached, go = threading.Event(), threading.Event()

        def slow(what: str, _seconds: float) -> None:
            if what == "folder":
                reached.set()
                go.wait(10)

        files = LocalFiles([workspace], on_flush=slow)
        target = await files.resolve("a")
        outcomes: list[Outcome] = []

        async def caller() -> None:
            outcomes.append(await files.apply(target, Write("x")))
            await asyncio.sleep(60)

        task = asyncio.create_task(caller())
        await asyncio.to_thread(reached.wait, 10)
        task.cancel()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [outcome.operation for outcome in outcomes] == ["create"]
        assert (workspace / "a").read_bytes() == b"x"


async def test_flushes_are_named_and_timed(workspace: Path) -> None:
    seen: list[tuple[str, float]] = []
    files = LocalFiles([workspace], on_flush=lambda what, seconds: seen.append((what, seconds)))
    target = await files.resolve("a")
    await files.apply(target, Write("x"))
    assert [what for what, _ in seen] == ["file", "folder"]
    assert all(seconds >= 0 for _, seconds in seen)
    seen.clear()
    await files.apply(target, Delete())
    assert [what for what, _ in seen] == ["folder"]


# Preview is apply, and a refusal leaves the disk as it was: any actions on any bytes.

_DATA = st.one_of(st.binary(max_size=30), st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\xe9"])).map(b"".join))
_TEXT = st.text(alphabet="ab\n\ré\ufeff\ud83d", max_size=4)
_EDIT = st.one_of(
    st.builds(Replace, _TEXT, _TEXT, st.booleans()),
    st.builds(Insert, st.integers(0, 3), _TEXT),
    st.builds(DeleteLines, st.integers(1, 3), st.integers(1, 3)),
)
_ACTION: st.SearchStrategy[Action] = st.one_of(
    st.builds(Write, _TEXT),
    st.builds(EditText, st.lists(_EDIT, min_size=1, max_size=3)),
    st.builds(WriteBytes, _DATA, st.sampled_from([None, True, False])),
    st.just(Delete()),
)


@given(st.one_of(st.none(), _DATA), st.lists(_ACTION, min_size=1, max_size=4), st.sampled_from([8, 1000]))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_preview_equals_apply(start: bytes | None, actions: list[Action], limit: int) -> None:
    async def run(folder: Path) -> None:
        files = LocalFiles([folder], basis_limit=limit)
        target = await files.resolve("f")
        if start is not None:
            target.real.write_bytes(start)
        for action in actions:
            now = _bytes(target.real)
            promised = await _told(files.preview(target, action))
            assert _bytes(target.real) == now
            done = await _told(files.apply(target, action))
            assert done == promised
            if isinstance(done, Outcome):
                _agrees(target.real, now, done, limit)
            else:
                assert _bytes(target.real) == now
            assert names(folder) == (["f"] if target.real.exists() else [])

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


async def _told(call: Awaitable[Outcome]) -> Outcome | tuple[str, str, str]:
    try:
        return await call
    except FileError as error:
        return error.code, error.message, error.remedy


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _agrees(path: Path, before: bytes | None, done: Outcome, limit: int) -> None:
    after = _bytes(path)
    for data, content in ((before, done.before), (after, done.after)):
        assert (data is None) == (content is None)
        if data is not None and content is not None:
            assert (content.blob, content.size) == (git_blob(data), len(data))
            assert content.data == (data if len(data) <= limit else None)
    if done.after is not None:
        assert done.after.executable == bool(path.stat().st_mode & 0o100)


async def test_the_loop_is_free_while_the_disk_works(workspace: Path) -> None:
    ticked = threading.Event()
    waited: list[bool] = []
    files = LocalFiles([workspace], on_flush=lambda _what, _seconds: waited.append(ticked.wait(10)))
    task = asyncio.create_task(files.apply(await files.resolve("a"), Write("x")))
    await asyncio.sleep(0.01)
    ticked.set()  # only reached while a flush waits if the flush does not hold the loop
    await task
    assert waited == [True, True]
