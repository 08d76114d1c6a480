"""What may not be read costs itself, and nothing else. Run as another user where the tests run as root."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from redline.workspace.store import ByteStore
from sighted import Sighted

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
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_a_denied_folder_and_a_denied_file_cost_themselves(seen: Sighted, unprivileged: None) -> None:
    secret = seen.write("secret.txt", b"secret\n")
    hidden = seen.write("hidden/inner.txt", b"inner\n")
    seen.write("open.txt", b"open\n")
    await seen.begin()
    secret.write_bytes(b"changed\n")
    secret.chmod(0)
    hidden.parent.chmod(0)
    seen.write("open.txt", b"changed\n")
    assert await seen.told() == [("modify", "open.txt")]
    seen.write("open.txt", b"changed again\n")
    assert await seen.told() == [("modify", "open.txt")]
    secret.chmod(0o600)
    hidden.parent.chmod(0o700)
    assert await seen.told() == [("modify", "secret.txt")]


async def test_a_new_file_that_may_not_be_read(seen: Sighted, unprivileged: None) -> None:
    await seen.begin()
    path = seen.write("new.txt", b"new\n")
    path.chmod(0)
    assert await seen.told() == []
    path.chmod(0o600)
    assert await seen.told() == [("add", "new.txt")]


async def test_a_configuration_of_git_that_may_not_be_read(seen: Sighted, unprivileged: None) -> None:
    seen.write("a.txt", b"a\n")
    await seen.begin()
    seen.write("a.txt", b"b\n")
    assert await seen.told() == [("modify", "a.txt")]
