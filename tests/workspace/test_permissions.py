"""What may not be read costs itself, and nothing else. Run as another user where the tests run as root."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ConfigLevel

from redline.workspace.store import ByteStore
from sighted import Sighted, said

NOBODY = 65534


@pytest.fixture
async def unprivileged(seen: Sighted) -> AsyncIterator[None]:
    if os.geteuid() != 0:
        yield
        return
    # Python itself may be out of reach for the other user: all that is imported late is imported now.
    rehearsal = Sighted(seen.root.parent / "rehearsal", ByteStore(seen.root.parent / "rehearsal-data"))
    rehearsal.root.mkdir()
    await rehearsal.begin()
    rehearsal.write("a")
    assert await rehearsal.told() == [("add", "a")]
    temporary = Path(tempfile.gettempdir())
    for folder in [one for one in seen.root.parents if temporary in one.parents]:
        folder.chmod(0o711)
    for folder in (seen.root.parent, *seen.root.parent.rglob("*")):
        os.chown(folder, NOBODY, NOBODY)
    paths = pygit2.settings.search_path  # libgit2 keeps where root's own configuration is
    before = {level: paths[level] for level in (ConfigLevel.GLOBAL, ConfigLevel.XDG)}
    os.seteuid(NOBODY)
    try:
        for level in before:
            paths[level] = str(seen.root.parent / "home")
        yield
    finally:
        os.seteuid(0)
        for level, path in before.items():
            paths[level] = path


@pytest.fixture(params=[True, False], ids=["git", "no git"])
def project(seen: Sighted, request: pytest.FixtureRequest) -> None:
    """Two files that git would have to read to know whether they changed, since their times have."""
    for name in ("d/x", "gone"):
        seen.write(name, b"x\n")
    if request.param:
        seen.repository()
    for name in ("d/x", "gone"):
        os.utime(seen.root / name)


async def told_but(seen: Sighted, unread: str) -> list[tuple[str, str]]:
    """As `Sighted.told`, of a sweep that says of these files alone that it may not read them."""
    sweep = await seen.observer.sweep()
    assert sweep.limited is not None
    assert sweep.limited.code == "FILE_UNREADABLE"
    assert f" {unread}. " in sweep.limited.message
    await seen.observer.keep()
    return [said(found.change, seen.root) for found in sweep.found]


async def test_a_denied_folder_and_a_denied_file_cost_themselves(seen: Sighted, unprivileged: None) -> None:
    secret = seen.write("secret.txt", b"secret\n")
    hidden = seen.write("hidden/inner.txt", b"inner\n")
    seen.write("open.txt", b"open\n")
    await seen.begin()
    secret.write_bytes(b"changed\n")
    secret.chmod(0)
    hidden.parent.chmod(0)
    seen.write("open.txt", b"changed\n")
    assert await told_but(seen, "hidden/inner.txt, secret.txt") == [("modify", "open.txt")]
    seen.write("open.txt", b"changed again\n")
    assert await seen.told() == [("modify", "open.txt")]
    secret.chmod(0o600)
    hidden.parent.chmod(0o700)
    assert await seen.told() == [("modify", "secret.txt")]


async def test_a_new_file_that_may_not_be_read(seen: Sighted, unprivileged: None) -> None:
    await seen.begin()
    path = seen.write("new.txt", b"new\n")
    path.chmod(0)
    assert await told_but(seen, "new.txt") == []
    path.chmod(0o600)
    assert await seen.told() == [("add", "new.txt")]


async def test_a_configuration_of_git_that_may_not_be_read(seen: Sighted, unprivileged: None) -> None:
    seen.write("a.txt", b"a\n")
    await seen.begin()
    seen.write("a.txt", b"b\n")
    assert await seen.told() == [("modify", "a.txt")]


@pytest.mark.usefixtures("project", "unprivileged")
async def test_a_file_that_could_not_be_read_from_the_start(seen: Sighted) -> None:
    locked = seen.root / "d/x"
    seen.write("a.txt", b"one\n")
    locked.chmod(0)
    await seen.begin()
    assert seen.first.limited is not None
    assert " d/x. " in seen.first.limited.message
    seen.write("a.txt", b"two\n")
    seen.write("n.txt", b"n\n")
    assert await seen.told() == [("modify", "a.txt"), ("add", "n.txt")], "said once, and the others are looked at"
    locked.chmod(0o644)
    assert await seen.told() == [], "it was there all the time, and nobody has changed it"
    locked.write_bytes(b"y\n")
    assert await seen.told() == [("modify", "d/x")]
    locked.chmod(0)
    assert await told_but(seen, "d/x") == [], "readable in between, so it is said again"


@pytest.mark.usefixtures("project", "unprivileged")
async def test_what_was_done_to_a_file_while_it_could_not_be_read(seen: Sighted) -> None:
    locked, gone = seen.root / "d/x", seen.root / "gone"
    await seen.begin()
    for path in (locked, gone):
        os.utime(path)
        path.chmod(0)
    seen.write("a.txt", b"two\n")
    assert await told_but(seen, "d/x, gone") == [("add", "a.txt")]
    gone.unlink()
    locked.chmod(0o644)
    locked.write_bytes(b"other\n")
    assert await seen.told() == [("modify", "d/x"), ("delete", "gone")]
    await seen.begin()
    assert (seen.first.found, seen.first.limited) == ([], None)


async def test_a_file_that_stays_unreadable_costs_later_processes_itself_only(
    seen: Sighted, unprivileged: None
) -> None:
    locked = seen.write("d/x", b"x\n")
    locked.chmod(0)
    await seen.begin()
    await seen.observer.keep()
    seen.write("a.txt", b"two\n")
    await seen.begin()
    assert [said(found.change, seen.root) for found in seen.first.found] == [("add", "a.txt")]
    locked.chmod(0o644)
    assert await seen.told() == []
