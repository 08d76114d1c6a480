"""What a mutation leaves as it was beside the bytes: modes, owners, attributes and links."""

from __future__ import annotations

import os
import stat
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from files.mutations import edit, names, refused
from redline.files.local import LocalFiles
from redline.files.seam import (
    Delete,
    Move,
    Write,
    WriteBytes,
)


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
        """Public reports: I94."""
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
        """Public reports: I92."""
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
        """Public reports: I94."""
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
