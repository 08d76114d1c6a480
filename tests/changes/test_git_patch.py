"""Patches with every kind of change, applied and taken back by git itself."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from redline.changes.compare import describe
from redline.changes.patch import PatchItem, git_patch

if TYPE_CHECKING:
    from pathlib import Path


def state(folder: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        str(file.relative_to(folder)): (file.read_bytes(), os.access(file, os.X_OK))
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def put(folder: Path, files: dict[str, tuple[bytes, bool]]) -> None:
    for name, (data, executable) in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        (folder / name).chmod(0o755 if executable else 0o644)


def test_every_operation_applies_and_comes_back(tmp_path: Path) -> None:
    root = "/w/project"
    text, changed = b"a\nb\nc\nd\n", b"a\nB\nc\nd\n"
    binary, other = bytes(range(256)) * 20, bytes(reversed(range(256))) * 3
    before = {
        "modified.txt": (text, False),
        "deleted.txt": (text, False),
        "emptied.txt": (text, False),
        "deleted empty": (b"", False),
        "run.sh": (text, False),
        "tool.sh": (text, True),
        "moved.txt": (text, False),
        "moved and edited.txt": (text, True),
        "picture.png": (binary, False),
        "gone.png": (binary, False),
        "moved.png": (binary, False),
        "latin.txt": (b"caf\xe9\n", False),
    }
    after = {
        "modified.txt": (changed, False),
        "added/new file.txt": (text, False),
        "added/tool": (text, True),
        "added/empty": (b"", False),
        "emptied.txt": (b"", False),
        "run.sh": (text, True),
        "tool.sh": (changed, False),
        "to/moved.txt": (text, False),
        "to/edited.txt": (changed, True),
        "picture.png": (other, False),
        "new.png": (other, False),
        "to/moved.png": (binary + b"\0", False),
        "latin.txt": (b"caf\xe8\n", False),
    }
    moves = {"to/moved.txt": "moved.txt", "to/edited.txt": "moved and edited.txt", "to/moved.png": "moved.png"}
    names = sorted({*before, *after} - set(moves.values()))
    items = []
    for name in names:
        old, old_executable = before.get(moves.get(name, name), (None, False))
        new, new_executable = after.get(name, (None, False))
        change = describe(
            f"{root}/{name}",
            old,
            new,
            old_path=f"{root}/{moves[name]}" if name in moves else None,
            before_executable=old_executable,
            after_executable=new_executable,
        )
        items.append(PatchItem(change, old, new))
    patch = git_patch(items, root=root)
    put(tmp_path, before)
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch, check=True)
    assert state(tmp_path) == dict(sorted(after.items()))
    subprocess.run(["git", "apply", "-R", "-"], cwd=tmp_path, input=patch, check=True)
    assert state(tmp_path) == dict(sorted(before.items()))


def test_a_path_outside_the_root_loses_only_its_first_slash() -> None:
    patch = git_patch([PatchItem(describe("/etc/x", b"a\n", b"b\n"), b"a\n", b"b\n")], root="/w")
    assert patch.startswith(b"diff --git a/etc/x b/etc/x\n")
    patch = git_patch([PatchItem(describe("/w-secret/x", b"a\n", b"b\n"), b"a\n", b"b\n")], root="/w")
    assert patch.startswith(b"diff --git a/w-secret/x b/w-secret/x\n")
