"""Two sessions at work in one workspace: neither takes what it finds there for the doing of its own call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from redline.changes.codec import from_json
from redline.files.local import LocalFiles
from redline.sessions.lease import Lease
from redline.sessions.redaction import Redactor
from redline.tools.recovery import recover
from redline.tools.runner import Runner
from redline.tools.undo import UndoRefused, plan_undo, undo
from redline.tools.undo_plan import UndoPlan
from redline.workspace.observe import Observer
from redline.workspace.store import ByteStore
from tool_bench import Bench


class Session:
    """One that runs, over a bench whose runner looks at the disk."""

    def __init__(self, bench: Bench, folder: Path, root: Path) -> None:
        self.bench = bench
        self.log = bench.log
        self.root = root
        self._folder = folder
        self._bytes = ByteStore(folder / "bytes")
        self.lease = Lease.take(folder / "leases", bench.log.session)

    @classmethod
    async def begin(cls, folder: Path, *, below: str = ".") -> Session:
        bench = await Bench.open(folder)
        session = cls(bench, folder, (bench.workspace / below).resolve())
        session.root.mkdir(exist_ok=True)
        bench.log.leases = folder / "leases"
        bench.workspace = session.root
        observer = Observer(session.root, session._bytes, bench.log.session, Redactor())

        async def permission(_: Any) -> Any:
            return "allow_once"

        bench.runner = Runner(
            bench.toolset, LocalFiles([session.root]), session._bytes, bench.log, permission, Redactor(),
            workspace=session.root, observer=observer,
        )  # fmt: skip
        await bench.log.append("session/started", {"workspace": str(session.root), "agent": "a"})
        return session

    async def turn(self) -> None:
        """Begin one."""
        await self.log.append("turn/started", {"turn": 1, "source": "test", "rule": "all"})

    async def end_turn(self) -> None:
        assert self.bench.runner.sight is not None
        await self.bench.runner.sight.end_turn(1)
        await self.log.append("turn/ended", {"turn": 1, "reason": "completed"})

    async def sh(self, command: str) -> list[str]:
        """What is told as that command's changes."""
        done = await self.bench.call("bash", command=command)
        return _told(done.logged["changes"])

    async def found(self) -> list[tuple[list[str], list[str], list[str]]]:
        """Of each `workspace/changed`: its changes, the calls and the sessions that ran meanwhile."""
        return [
            (_told(event.data["changes"]), event.data.get("during", []), event.data.get("beside", []))
            async for event in self.log.events()
            if event.type == "workspace/changed"
        ]

    async def plan(self, **what: Any) -> UndoPlan:
        return await plan_undo(self.log, self._bytes, LocalFiles([self.root]), Redactor(), **what)

    async def undo(self, **what: Any) -> None:
        await undo(self.log, self._bytes, LocalFiles([self.root]), Redactor(), **what)

    async def recovered(self) -> None:
        """As by a later process, after this one was killed."""
        observer = Observer(self.root, self._bytes, self.log.session, Redactor())
        await recover(self.log, self._bytes, LocalFiles([self.root]), observer=observer)
        await observer.close()

    async def close(self) -> None:
        self.lease.release()
        assert self.bench.runner.sight is not None
        await self.bench.runner.sight.close()
        await self.bench.store.close()


def _told(changes: list[Any]) -> list[str]:
    read = [from_json(change) for change in changes]
    return [f"{change.operation} {Path(change.path).name}" for change in read]


@pytest.fixture
async def one(tmp_path: Path) -> AsyncIterator[Session]:
    session = await Session.begin(tmp_path)
    await session.turn()
    assert await session.sh("true") == []
    yield session
    await session.close()


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[Session]:
    session = await Session.begin(tmp_path)
    yield session
    await session.close()


async def test_what_another_session_writes_during_a_command_is_its_alone(one: Session, other: Session) -> None:
    await other.turn()
    await other.bench.call("write", path="theirs.txt", content="b\n")
    await other.bench.call("edit", path="theirs.txt", old_string="b", new_string="c")
    assert await one.sh("true") == []
    assert await one.found() == []


async def test_what_anybody_may_have_changed_is_nobodys(one: Session, other: Session) -> None:
    await other.turn()
    assert await one.sh("echo mine > mine.txt; echo theirs > theirs.txt") == []
    [(changes, calls, sessions)] = await one.found()
    assert changes == ["add mine.txt", "add theirs.txt"]
    assert calls == ["call-2"]
    assert sessions == [other.log.session]


async def test_a_journalled_change_that_somebody_went_on_from_is_nobodys(one: Session, other: Session) -> None:
    await other.turn()
    await other.bench.call("write", path="theirs.txt", content="b\n")
    assert await one.sh("echo more >> theirs.txt") == []
    assert [changes for changes, _, _ in await one.found()] == [["modify theirs.txt"]]


async def test_an_undo_leaves_it_alone_unless_its_file_is_named(one: Session, other: Session) -> None:
    await other.turn()
    await one.bench.call("write", path="own.txt", content="own\n")
    await one.sh("echo theirs > theirs.txt")
    [note] = (await one.plan()).notes
    assert note == (
        f"{one.root}/theirs.txt was changed on disk while another session was at work here; it is left as it is, "
        "unless you name the file."
    )
    await one.undo()
    assert not (one.root / "own.txt").exists()
    assert (one.root / "theirs.txt").exists()
    with pytest.raises(UndoRefused, match=r"another session was at work here, and may be its doing: .*theirs\.txt"):
        await one.plan(turn=1)
    assert (await one.plan(path="theirs.txt")).notes == [
        f"{one.root}/theirs.txt was changed on disk in that turn while another session was at work here; this is taken "
        "back as well."
    ]
    await one.undo(path="theirs.txt")
    assert not (one.root / "theirs.txt").exists()


async def test_what_is_found_between_two_calls_is_told_in_the_same_way(one: Session, other: Session) -> None:
    await other.turn()
    (one.root / "between.txt").write_text("x\n")
    assert await one.sh("true") == []
    assert await one.found() == [(["add between.txt"], [], [other.log.session])]


async def test_a_session_that_has_ended_meanwhile_was_at_work_too(one: Session, other: Session) -> None:
    await other.turn()
    (one.root / "between.txt").write_text("x\n")
    await other.end_turn()
    other.lease.release()
    await one.end_turn()
    assert await one.found() == [(["add between.txt"], [], [other.log.session])]


async def test_a_session_in_no_turn_is_not_at_work(one: Session, other: Session) -> None:
    assert await one.sh("echo 1 > first.txt") == ["add first.txt"]
    await other.turn()
    await other.end_turn()
    await one.sh("true")
    assert await one.sh("echo 1 > second.txt") == ["add second.txt"]
    assert await one.found() == []


async def test_a_session_that_only_waits_for_an_answer_is_not_at_work(one: Session, other: Session) -> None:
    await other.turn()
    call = {"turn": 1, "call": "w-1"}
    await other.log.append("tool/call", {**call, "name": "write", "kind": "edit", "arguments": {}, "proposed": []})
    await other.log.append("permission/asked", {**call, "request": "r", "title": "Write", "changes": [], "options": []})
    await asyncio.sleep(0.01)
    assert await one.sh("true") == []
    await asyncio.sleep(0.01)
    assert await one.sh("echo x > new.txt") == ["add new.txt"]
    await other.log.append("permission/answered", {**call, "request": "r", "outcome": "allow_once", "by": "t"})
    assert await one.sh("echo x > newer.txt") == []


async def test_a_session_that_was_killed_in_its_turn_is_not_at_work(one: Session, other: Session) -> None:
    await other.turn()
    other.lease.release()
    await one.sh("true")
    assert await one.sh("echo 1 > a.txt") == ["add a.txt"]


async def test_a_session_in_a_folder_of_the_workspace_is_at_work_in_that_folder(one: Session, tmp_path: Path) -> None:
    inner = await Session.begin(tmp_path, below="inner")
    await inner.turn()
    assert await one.sh("echo 1 > outer.txt; echo 2 > inner/in.txt") == ["add outer.txt"]
    assert await one.found() == [(["add in.txt"], ["call-2"], [inner.log.session])]
    await inner.close()


async def test_what_a_killed_process_had_not_found_may_be_another_sessions_as_well(
    one: Session, other: Session
) -> None:
    await other.turn()
    (one.root / "late.txt").write_text("x\n")
    await one.recovered()
    assert await one.found() == [(["add late.txt"], [], [other.log.session])]
