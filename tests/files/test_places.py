"""Which paths are inside the workspace, and that a path checked once cannot lead elsewhere later."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from files.mutations import names
from redline.files.error import FileError
from redline.files.local import LocalFiles
from redline.files.seam import Delete, EditText, Move, Replace, Target, Write, WriteBytes


async def refusal(files: LocalFiles, path: str) -> FileError:
    with pytest.raises(FileError) as caught:
        await files.resolve(path)
    assert caught.value.message
    assert caught.value.remedy
    return caught.value


class TestOutside:
    async def test_sibling_folders_with_the_same_prefix(self, files: LocalFiles, workspace: Path) -> None:
        """Public reports: I96."""
        secret = workspace.with_name("app-secret")
        secret.mkdir()
        (secret / "x").write_text("x")
        assert (await refusal(files, str(secret / "x"))).code == "OUTSIDE_WORKSPACE"
        assert (await refusal(files, "../app-secret/x")).code == "OUTSIDE_WORKSPACE"

    @pytest.mark.parametrize(
        "path",
        ["..", "../b", "sub/../../b", "nowhere/../../b", "/etc/passwd", "//etc/passwd", "~user/../../x", "~/x", "~"],
    )
    async def test_dots_tildes_and_absolute_paths(self, files: LocalFiles, workspace: Path, path: str) -> None:
        """Public reports: I96."""
        (workspace / "sub").mkdir()
        assert (await refusal(files, path)).code == "OUTSIDE_WORKSPACE"

    async def test_dots_in_an_absolute_path(self, files: LocalFiles, workspace: Path) -> None:
        """Public reports: I96."""
        assert (await refusal(files, f"{workspace}/../b")).code == "OUTSIDE_WORKSPACE"

    async def test_a_link_to_a_folder_outside(self, files: LocalFiles, workspace: Path, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (workspace / "out").symlink_to(outside)
        for path in ("out/new.txt", "out/deep/new.txt", "out"):
            assert (await refusal(files, path)).code == "OUTSIDE_WORKSPACE"
        assert names(outside) == []

    async def test_a_link_to_a_file_outside(self, files: LocalFiles, workspace: Path, tmp_path: Path) -> None:
        (tmp_path / "f").write_text("x")
        (workspace / "link").symlink_to("../f")
        assert (await refusal(files, "link")).code == "OUTSIDE_WORKSPACE"

    async def test_a_dangling_link_that_leads_outside(self, files: LocalFiles, workspace: Path, tmp_path: Path) -> None:
        (workspace / "dangling").symlink_to(tmp_path / "nothing")
        assert (await refusal(files, "dangling")).code == "OUTSIDE_WORKSPACE"

    async def test_dots_behind_a_link_follow_the_disk_and_not_the_words(
        self, files: LocalFiles, workspace: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
        (workspace / "link").symlink_to(tmp_path / "elsewhere" / "deep")
        (workspace / "x").write_text("by the words")
        assert (await refusal(files, "link/../x")).code == "OUTSIDE_WORKSPACE"


class TestInside:
    async def test_relative_paths_start_at_the_first_root(self, workspace: Path, tmp_path: Path) -> None:
        (tmp_path / "second").mkdir()
        files = LocalFiles([workspace, tmp_path / "second"])
        assert (await files.resolve("a/b.txt")).real == workspace / "a/b.txt"
        assert (await files.resolve(str(tmp_path / "second/x"))).real == tmp_path / "second/x"
        assert files.roots == (workspace, tmp_path / "second")

    async def test_dots_that_stay_inside(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "sub").mkdir()
        target = await files.resolve("./sub/../a.txt")
        assert target.path == target.real == workspace / "a.txt"

    async def test_a_link_names_both_the_path_and_the_file(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "real.md").write_text("x")
        (workspace / "link.md").symlink_to("real.md")
        target = await files.resolve("link.md")
        assert (target.path, target.real) == (workspace / "link.md", workspace / "real.md")
        assert target.through_link
        assert target.key == (await files.resolve("real.md")).key

    async def test_a_root_that_is_itself_a_link(self, workspace: Path, tmp_path: Path) -> None:
        (tmp_path / "alias").symlink_to(workspace)
        files = LocalFiles([tmp_path / "alias"])
        for path in ("a.txt", str(tmp_path / "alias" / "a.txt"), str(workspace / "a.txt")):
            assert (await files.resolve(path)).real == workspace / "a.txt"

    async def test_a_tilde_is_a_name_when_it_is_said_to_be_one(self, files: LocalFiles, workspace: Path) -> None:
        assert (await files.resolve("./~x")).real == workspace / "~x"
        assert (await files.resolve("a/~x")).real == workspace / "a/~x"

    async def test_two_leading_slashes_are_one(self, files: LocalFiles, workspace: Path) -> None:
        assert (await files.resolve(f"/{workspace}/a")).real == workspace / "a"

    @pytest.mark.parametrize("path", ["link", "way/new.txt", "way/deep/new.txt", "twice"])
    async def test_nothing_is_created_through_a_link_that_leads_nowhere(
        self, files: LocalFiles, workspace: Path, path: str
    ) -> None:
        """Public reports: I93. Also where it would stay inside: a proposal could not name what a link only promises."""
        (workspace / "link").symlink_to("sub/real.txt")
        (workspace / "way").symlink_to("sub/folder")
        (workspace / "twice").symlink_to("link")
        (workspace / "a.txt").write_text("a\n")
        before = names(workspace)
        target = await files.resolve(path)
        source = await files.resolve("a.txt")
        for place, action in (
            (target, Write("x\n")),
            (target, WriteBytes(b"x\n")),
            (target, EditText([Replace("", "x\n")])),
            (source, Move(target)),
        ):
            for attempt in (files.preview, files.apply):
                with pytest.raises(FileError) as refused:
                    await attempt(place, action)
                assert refused.value.code in ("NOT_REGULAR", "EXISTS")
        assert names(workspace) == before
        (workspace / "sub/folder").mkdir(parents=True)
        (workspace / "sub/real.txt").write_text("old\n")
        await files.apply(target, Write("x\n"))
        assert (workspace / path).read_text() == "x\n"
        assert all((workspace / name).is_symlink() for name in ("link", "way", "twice"))


class TestNames:
    @pytest.mark.parametrize("path", ["", "  ", "a\0b", "a\ud83db"])
    async def test_names_that_no_file_can_have(self, files: LocalFiles, path: str) -> None:
        assert (await refusal(files, path)).code == "NOT_FOUND"

    async def test_a_circle_of_links(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "a").symlink_to("b")
        (workspace / "b").symlink_to("a")
        assert (await refusal(files, "a")).code == "NOT_REGULAR"
        target = await files.resolve("a/x")
        with pytest.raises(FileError) as caught:
            await files.apply(target, Write("x"))
        assert caught.value.code in ("NOT_REGULAR", "OUTSIDE_WORKSPACE")

    async def test_a_final_slash_names_a_folder(self, files: LocalFiles, workspace: Path) -> None:
        (workspace / "sub").mkdir()
        assert (await files.resolve("sub/")).real == workspace / "sub"
        assert (await refusal(files, "notes/")).code == "NOT_FOUND"

    async def test_a_name_that_is_too_long(self, files: LocalFiles) -> None:
        error = await refusal(files, "x" * 300)
        assert error.code == "IO"
        assert "too long" in error.message

    async def test_a_name_that_is_not_utf8(self, files: LocalFiles, workspace: Path) -> None:
        """Public reports: F69."""
        name = os.fsdecode(b"r\xe9sum.txt")
        (workspace / name).write_bytes(b"a\n")
        [entry] = await files.list(await files.resolve("."))
        assert entry.name == name
        target = await files.resolve(entry.name)
        await files.apply(target, EditText([Replace("a", "b")]))
        assert (workspace / name).read_bytes() == b"b\n"
        # The escaped form, which is what a log or a model can hold, leads to the same file.
        assert await files.resolve("r\\xE9sum.txt") == target
        with pytest.raises(FileError) as caught:
            await files.apply(target, EditText([Replace("nowhere", "b")]))
        str(caught.value).encode()

    async def test_error_texts_hold_no_half_characters_and_no_control_characters(self, files: LocalFiles) -> None:
        target = await files.resolve(os.fsdecode(b"r\xe9\x1b[31m\n.txt"))
        with pytest.raises(FileError) as caught:
            await files.read(target)
        text = str(caught.value)
        text.encode()
        assert text.isprintable()

    async def test_unicode_forms_of_a_name_are_two_names(self, files: LocalFiles, workspace: Path) -> None:
        await files.apply(await files.resolve("caf\u00e9"), Write("composed"))
        await files.apply(await files.resolve("cafe\u0301"), Write("apart"))
        assert names(workspace) == ["cafe\u0301", "caf\u00e9"]

    def test_a_root_must_exist(self, tmp_path: Path) -> None:
        with pytest.raises(FileError):
            LocalFiles([tmp_path / "nowhere"])
        with pytest.raises(FileError):
            LocalFiles([])


class TestCheckedAgainAtOpen:
    """Between resolve and open, somebody puts a link in the way."""

    @pytest.fixture
    def outside(self, tmp_path: Path) -> Path:
        folder = tmp_path / "outside"
        folder.mkdir()
        (folder / "f.txt").write_bytes(b"theirs\n")
        return folder

    @pytest.mark.parametrize("action", [Write("ours\n"), EditText([Replace("theirs", "ours")]), Delete()])
    async def test_a_folder_that_became_a_link(
        self, files: LocalFiles, workspace: Path, outside: Path, action: Write | EditText | Delete
    ) -> None:
        (workspace / "sub").mkdir()
        target = await files.resolve("sub/f.txt")
        (workspace / "sub").rmdir()
        (workspace / "sub").symlink_to(outside)
        for attempt in (files.apply(target, action), files.preview(target, action), files.read(target)):
            with pytest.raises(FileError) as caught:
                await attempt
            assert caught.value.code == "OUTSIDE_WORKSPACE"
        assert names(outside) == ["f.txt"]
        assert (outside / "f.txt").read_bytes() == b"theirs\n"

    async def test_a_file_that_became_a_link(self, files: LocalFiles, workspace: Path, outside: Path) -> None:
        target = await files.resolve("f.txt")
        (workspace / "f.txt").symlink_to(outside / "f.txt")
        with pytest.raises(FileError) as caught:
            await files.apply(target, Write("ours\n"))
        assert caught.value.code == "NOT_REGULAR"
        assert (outside / "f.txt").read_bytes() == b"theirs\n"

    async def test_a_move_into_a_folder_that_became_a_link(
        self, files: LocalFiles, workspace: Path, outside: Path
    ) -> None:
        (workspace / "a.txt").write_text("x")
        target, to = await files.resolve("a.txt"), await files.resolve("sub/b.txt")
        (workspace / "sub").symlink_to(outside)
        with pytest.raises(FileError) as caught:
            await files.apply(target, Move(to))
        assert caught.value.code == "OUTSIDE_WORKSPACE"
        assert (workspace / "a.txt").exists()

    async def test_a_folder_that_is_swapped_at_the_last_moment(
        self, files: LocalFiles, workspace: Path, outside: Path
    ) -> None:
        (workspace / "sub").mkdir()
        (workspace / "sub/f.txt").write_bytes(b"old\n")
        target = await files.resolve("sub/f.txt")

        async def swap(_outcome: object) -> None:
            (workspace / "sub").rename(workspace / "moved")
            (workspace / "sub").symlink_to(outside)

        with pytest.raises(FileError) as caught:
            await files.apply(target, Write("ours\n"), before_commit=swap)
        assert caught.value.code == "STALE"
        assert (outside / "f.txt").read_bytes() == b"theirs\n"
        assert names(workspace / "moved") == ["f.txt"]
        assert (workspace / "moved/f.txt").read_bytes() == b"old\n"

    async def test_a_target_that_nobody_resolved(self, files: LocalFiles, outside: Path) -> None:
        forged = Target(path=outside / "f.txt", real=outside / "f.txt")
        for attempt in (files.apply(forged, Write("x")), files.read(forged), files.list(forged), files.stat(forged)):
            with pytest.raises(FileError) as caught:
                await attempt
            assert caught.value.code == "OUTSIDE_WORKSPACE"
