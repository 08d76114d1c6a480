"""A workspace compared in two halves says what it says compared as a whole."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.workspace import comparison, index_file
from redline.workspace.comparison import Comparison
from redline.workspace.halves import Cut
from redline.workspace.snapshot import Snapshot

NAMES = st.sampled_from(["a", "a.b", "a-b", "a b", "b", "B", "[b]", "*", "!c", "c\\", "d0", "ä", "é\u0301", ".hidden"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
CHANGES = st.sampled_from(
    ["remove", "write", "add beside", "folder to file", "folder to link", "remove folder", "nest"]
)


def tree(root: Path, paths: set[str]) -> list[str]:
    """The files that could be made: a name cannot be a file and a folder."""
    made = []
    for path in sorted(paths):
        try:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(path)
        except OSError:
            continue
        made.append(path)
    return made


def change(root: Path, path: str, how: str) -> None:
    file, folder = root / path, (root / path).parent
    inside = folder != root and folder.is_dir() and not folder.is_symlink()
    if how == "remove":
        with contextlib.suppress(OSError):  # its folder is gone
            file.unlink()
    elif how == "write" and file.is_file():
        file.write_text("changed and longer\n" * 3)
    elif how == "add beside" and folder.is_dir():
        (folder / "new").write_text("new")
        (folder / "0new").write_text("new")
    elif how == "nest" and folder.is_dir():
        (folder / "nested" / ".git" / "refs").mkdir(parents=True, exist_ok=True)
        (folder / "nested" / "x").write_text("x")
    elif inside and how != "nest":
        shutil.rmtree(folder)
        if how == "folder to file":
            folder.write_text("a file now")
        elif how == "folder to link":
            folder.symlink_to(root)


def paths_seen(folder: Path, root: Path, known: list[bytes]) -> set[bytes]:
    compared = Comparison(folder, os.fsencode(root))
    compared.reload(known)
    return set(compared.paths())


@settings(max_examples=60, deadline=None)
@given(st.sets(PATHS, min_size=2, max_size=30), st.lists(st.tuples(st.integers(0, 1000), CHANGES), max_size=6))
def test_two_halves_name_what_the_whole_names(
    tmp_path_factory: pytest.TempPathFactory, paths: set[str], changes: list[tuple[int, str]]
) -> None:
    at = tmp_path_factory.mktemp("halves")
    root = at / "work"
    root.mkdir()
    made = tree(root, paths)
    snapshot = Snapshot(at / "snapshot", root, lambda _: None, 1000)
    snapshot.prepare()
    blob = bytes(20)
    known = {os.fsencode(path): index_file.entry((root / path).lstat(), index_file.FILE, blob) for path in made}
    (at / "snapshot" / "index").write_bytes(index_file.dump(known))
    for number, how in changes:
        change(root, made[number % len(made)], how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "_WORTH_TWO", 10_000)
        whole = paths_seen(at / "snapshot", root, list(known))
        patch.setattr(comparison, "_WORTH_TWO", 1)
        patch.setattr(comparison, "_processors", lambda: 2)
        assert paths_seen(at / "snapshot", root, list(known)) == whole


def test_a_cut_goes_down_to_where_the_files_are() -> None:
    paths = sorted(b"src/deep/%d/%d.py" % (number % 10, number) for number in range(500))
    cut = Cut.through([b"README", *paths])
    assert cut is not None
    assert [(step.folder, step.middle) for step in cut.steps][:2] == [(b"", b"src"), (b"src/", b"deep")]
    halves = cut.halves(b"/nowhere")
    assert halves is None, "a folder on the way is none"


def test_each_half_has_about_as_many_files(tmp_path: Path) -> None:
    paths = [f"src/deep/{number % 10}/{number}.py" for number in range(500)]
    tree(tmp_path, {*paths, "README", "src/only.py"})
    cut = Cut.through(sorted(map(os.fsencode, paths)))
    assert cut is not None
    halves = cut.halves(os.fsencode(tmp_path))
    assert halves is not None
    first, second = (
        sum(any(os.fsencode(path) == one or os.fsencode(path).startswith(one + b"/") for one in half) for path in paths)
        for half in halves
    )
    assert first + second == len(paths), "each file is in one half"
    assert min(first, second) > 150
    assert {b"README", b"src/only.py"} <= {*halves[0], *halves[1]}, "what is new on the disk is in a half"


@pytest.mark.parametrize("paths", [[], [b"one"], sorted(b"%d" % number for number in range(5_000))])
def test_some_trees_are_not_worth_a_cut(paths: list[bytes], tmp_path: Path) -> None:
    cut = Cut.through(paths)
    assert cut is None or cut.halves(os.fsencode(tmp_path)) is None
