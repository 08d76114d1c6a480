"""The sessions of one data folder: started, found, resumed, deleted."""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gateway.parlour import Parlour, call, parlour, step
from redline.files.local import LocalFiles
from redline.gateway.archive import Archive
from redline.sessions.store import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Parlour]:
    async with parlour(tmp_path) as made:
        yield made


async def test_a_session_begins_with_what_a_list_needs(place: Parlour) -> None:
    opened = await place.archive.start(place.workspace, "builtin", model="script:x", surface="terminal")
    [summary] = await place.archive.list()
    assert (summary.session, summary.workspace, summary.agent) == (
        opened.log.session, str(place.workspace), "builtin",
    )  # fmt: skip
    assert place.archive.is_running(opened.log.session)
    opened.close()
    opened.close()
    assert not place.archive.is_running(opened.log.session)


async def test_the_data_folder_is_private_to_the_user(place: Parlour) -> None:
    (await place.archive.start(place.workspace, "builtin")).close()
    assert stat.S_IMODE(place.archive.data.stat().st_mode) == 0o700
    for path in place.archive.data.rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


async def test_a_session_is_found_by_any_beginning_that_is_its_own(place: Parlour) -> None:
    ids = []
    for _ in range(3):
        with await place.archive.start(place.workspace, "builtin") as opened:
            ids.append(opened.log.session)
        await asyncio.sleep(0.002)  # the log's clock has milliseconds, and the last one is asked for
    for session in ids:
        assert await place.archive.find(session) == session
        tail = session.rpartition("-")[2]
        assert await place.archive.find(tail) == session
        assert await place.archive.find(tail.upper()) == session
    assert await place.archive.find("last") == ids[-1]
    assert sorted(ids) == ids or ids[0][:15] == ids[-1][:15]
    assert all(session == session.lower() for session in ids)


async def test_a_beginning_that_fits_several_names_them(place: Parlour) -> None:
    ids = []
    for _ in range(2):
        with await place.archive.start(place.workspace, "builtin") as opened:
            ids.append(opened.log.session)
    with pytest.raises(StoreError, match="fits 2 sessions") as caught:
        await place.archive.find(ids[0][:4])
    assert caught.value.code == "AMBIGUOUS"
    assert all(session in caught.value.message for session in ids)


@pytest.mark.parametrize("name", ["", "nothing", "last", "../sessions", "%"])
async def test_a_session_that_is_not_there_is_said(place: Parlour, name: str) -> None:
    with pytest.raises(StoreError) as caught:
        await place.archive.find(name)
    assert caught.value.code == "NO_SESSION"


async def test_one_process_runs_a_session(place: Parlour) -> None:
    opened = await place.archive.start(place.workspace, "builtin")
    files = LocalFiles([place.workspace])
    for refused in (place.archive.resume(opened.log.session, files), place.archive.delete(opened.log.session)):
        with pytest.raises(StoreError) as caught:
            await refused
        assert caught.value.code == "BUSY"
    opened.close()
    (await place.archive.resume(opened.log.session, files)).close()


async def test_a_deleted_session_is_gone_with_its_bytes(place: Parlour) -> None:
    write = call("write", path="{workspace}/a.txt", content="hello\n")
    conversation = await place.begin(place.script([step("", write)]), approval="all")
    await conversation.prompt("go", source="pipe")
    await conversation.close()
    session = conversation.session.log.session
    conversation.session.close()
    assert (place.archive.bytes.root / session).exists()
    assert await place.archive.delete(session)
    assert not (place.archive.bytes.root / session).exists()
    assert await place.archive.list() == []
    assert not await place.archive.delete(session)
    assert (place.workspace / "a.txt").exists()


CRASH = """
import asyncio, os, sys
from pathlib import Path
from redline.gateway.archive import Archive

async def main(data, workspace):
    archive = Archive.open(Path(data))
    opened = await archive.start(Path(workspace), "builtin")
    log = opened.log
    await log.append("turn/started", {"turn": 1, "source": "terminal", "rule": "cards_only"})
    await log.append("tool/call", {"turn": 1, "call": "c", "name": "bash", "kind": "execute",
                                   "arguments": {"command": "x"}, "proposed": []})
    print(log.session, flush=True)
    os.kill(os.getpid(), 9)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_the_bytes_of_a_closed_session_are_compressed(place: Parlour, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redline.gateway.archive.COMPACTION_SECONDS", 60)
    text = b"the same line again\n" * 5_000
    with await place.archive.start(place.workspace, "builtin") as opened:
        [blob] = place.archive.bytes.put(opened.log.session, text)
        size = place.archive.bytes.size()
    await place.archive.close()
    assert place.archive.bytes.size() < size / 10
    assert place.archive.bytes.get(opened.log.session, str(blob)) == text


async def test_what_a_killed_process_left_open_is_closed_at_the_resume(place: Parlour) -> None:
    run = [sys.executable, "-c", CRASH, str(place.archive.data), str(place.workspace)]
    killed = await asyncio.to_thread(subprocess.run, run, capture_output=True, text=True, check=False)
    assert killed.returncode == -9, killed.stderr
    session = killed.stdout.strip()
    assert not place.archive.is_running(session)
    opened = await place.archive.resume(session, LocalFiles([place.workspace]))
    assert opened.recovery is not None
    assert [closed.call for closed in opened.recovery.calls] == ["c"]
    types = [event.type async for event in opened.log.events()]
    assert types[-2:] == ["tool/result", "turn/ended"]
    opened.close()


def test_a_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as caught:
        Archive.open(tmp_path / "file")
    assert caught.value.remedy
