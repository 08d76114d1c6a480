"""What a sweep says of what is no plain file, or has no plain name: links, folders, sockets, odd bytes."""

from __future__ import annotations

import os
import socket

import pytest

from sighted import BOTH, Sighted, ready, said


@BOTH
async def test_links_are_their_targets_text(seen: Sighted, in_git: bool) -> None:
    outside = seen.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("never read")
    seen.sh("ln -s ../outside folder; ln -s nowhere dangling; ln -s loop loop")
    await ready(seen, in_git=in_git)
    seen.sh("ln -sfn ../elsewhere folder; rm dangling; ln -s a b")
    (outside / "secret.txt").write_text("changed")
    changes = await seen.sweep()
    assert [said(change, seen.root) for change in changes] == [
        ("add", "b"),
        ("delete", "dangling"),
        ("modify", "folder"),
    ]
    assert {change.file_type for change in changes} == {"symlink"}
    assert changes[2].hunks[0].lines == ("-../outside", "+../elsewhere")


async def test_a_file_that_becomes_a_link_goes_and_comes(seen: Sighted) -> None:
    seen.write("a")
    seen.write("b")
    await ready(seen)
    seen.sh("rm a && ln -s b a")
    changes = await seen.sweep()
    assert [(change.operation, change.file_type) for change in changes] == [("delete", "text"), ("add", "symlink")]
    seen.sh("rm a && echo x > a")
    changes = await seen.sweep()
    assert [(change.operation, change.file_type) for change in changes] == [("delete", "symlink"), ("add", "text")]


async def test_a_folder_becomes_a_file_and_a_file_a_folder(seen: Sighted) -> None:
    seen.write("folder/a", b"one of a kind\n")
    seen.write("file", b"x\n")
    await ready(seen)
    seen.sh("rm -r folder && echo 123456 > folder && rm file && mkdir file && echo 99999 > file/inner")
    assert await seen.told() == [("delete", "file"), ("add", "file/inner"), ("add", "folder"), ("delete", "folder/a")]
    assert await seen.told() == []


async def test_a_folder_replaced_by_a_link_is_not_followed(seen: Sighted) -> None:
    seen.write("folder/a", b"kept\n")
    outside = seen.root.parent / "outside"
    outside.mkdir()
    (outside / "a").write_text("kept\n")
    await ready(seen)
    seen.sh("rm -r folder && ln -s ../outside folder")
    assert await seen.told() == [("add", "folder"), ("delete", "folder/a")]


async def test_sockets_pipes_and_drafts_are_not_seen(seen: Sighted, monkeypatch: pytest.MonkeyPatch) -> None:
    seen.write("was-a-file")
    await ready(seen)
    seen.sh("mkfifo pipe; rm was-a-file; mkfifo was-a-file; echo x > .redline-0123456789abcdef.tmp")
    with socket.socket(socket.AF_UNIX) as listening, monkeypatch.context() as here:
        here.chdir(seen.root)  # an address is short
        listening.bind("socket")
        assert await seen.told() == [("delete", "was-a-file")]


async def test_names_that_are_not_utf8(seen: Sighted) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    seen.write(name, b"one\n")
    await ready(seen)
    seen.write(name, b"two\n")
    seen.write(os.fsdecode(b"\xff\xfe/x"), b"new\n")
    changes = await seen.sweep()
    assert [os.fsencode(change.path).rsplit(b"/", 1)[1] for change in changes] == [b"caf\xe9.txt", b"x"]
    await seen.begin()
    assert seen.first.found == []


async def test_names_with_newlines_quotes_and_stars(seen: Sighted) -> None:
    names = ["a\nb", 'q"uote', "*", "[x]", " lead", "trail ", "back\\slash", "#hash", "!bang", "ünï"]
    await ready(seen)
    for number, name in enumerate(names):
        seen.write(name, b"content %d\n" % number)
    assert {name for _, name in await seen.told()} == set(names)
    assert await seen.told() == []
