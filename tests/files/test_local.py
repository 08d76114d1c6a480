"""Mutations on the real disk: what is written, what is refused, and what is read again."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from files.mutations import Journal, edit, names, refused
from redline.files import disk, mutation
from redline.files.blob import git_blob
from redline.files.error import FileError
from redline.files.local import LocalFiles
from redline.files.places import Folder
from redline.files.seam import (
    Action,
    Delete,
    EditText,
    Entry,
    Insert,
    Move,
    Replace,
    Stat,
    Write,
    WriteBytes,
)


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
        """Public reports: F63."""
        (workspace / "a").write_bytes(b"\xef\xbb\xbfx\r\n")
        target = await files.resolve("a")
        for content in ("y\n", "\ufeffy\n"):
            await files.apply(target, Write(content))
            assert (workspace / "a").read_bytes() == b"\xef\xbb\xbfy\n"

    async def test_an_overwrite_of_a_file_without_a_bom_adds_none(self, files: LocalFiles, workspace: Path) -> None:
        """Public reports: F63."""
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
        """Public reports: H85."""
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
        """Public reports: H84."""
        (workspace / "a").write_bytes(b"x  \n" * 50)
        target = await files.resolve("a")
        await files.apply(target, EditText([Insert(10, "new  ")]))
        (workspace / "a").write_bytes((workspace / "a").read_bytes().replace(b"  \n", b"\n"))
        outcome = await files.apply(target, edit("new\n", "newer\n"))
        assert outcome.before is not None
        assert outcome.before.data == b"x\n" * 10 + b"new\n" + b"x\n" * 40


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
