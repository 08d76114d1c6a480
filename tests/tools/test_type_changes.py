"""A link becomes a file, a file a link, a file a folder, and the reverse: told as such, as a patch that git takes both
ways, and taken back and brought again."""

from __future__ import annotations

import os
import stat
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from redline.changes.patch import git_patch
from redline.files.local import LocalFiles
from redline.files.seam import WriteBytes
from redline.sessions.redaction import Redactor
from redline.tools.runner import Runner
from redline.tools.undo import UndoRefused, plan_undo, undo
from redline.transcript.fold import Transcript
from redline.transcript.net import landed, net_changes, net_items
from redline.transcript.rows import RevertRow, ToolRow
from redline.transcript.totals import net_totals
from redline.workspace.observe import Observer
from redline.workspace.store import ByteStore
from tool_bench import Bench

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from redline.changes.record import FileChange
    from redline.files.seam import Action, Outcome, Target
    from redline.sessions.events import Event
    from redline.tools.permission import PermissionOutcome, PermissionRequest
    from redline.transcript.rows import NetTotal


@pytest.fixture
async def sighted(tmp_path: Path) -> AsyncIterator[Bench]:
    """A bench whose runner looks at the disk."""
    bench = await Bench.open(tmp_path)
    redactor, store = Redactor(), ByteStore(tmp_path / "bytes")

    async def permission(request: PermissionRequest) -> PermissionOutcome:
        bench.requests.append(request)
        return "allow_once"

    bench.runner = Runner(
        bench.toolset, LocalFiles([bench.workspace]), store, bench.log, permission, redactor,
        workspace=bench.workspace, observer=Observer(bench.workspace, store, bench.log.session, redactor),
    )  # fmt: skip
    yield bench
    assert bench.runner.sight is not None
    await bench.runner.sight.close()
    await bench.store.close()


Tree = dict[str, tuple[str, bytes | str]]


def tree(folder: Path) -> Tree:
    """Everything below a folder: its kind and its content."""
    found: Tree = {}
    for at, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = folder / at / name
            facts = path.lstat()
            if stat.S_ISLNK(facts.st_mode):
                found[str(path.relative_to(folder))] = ("link", os.readlink(path))  # noqa: PTH115 - as it is written
            elif path.is_file():
                kind = "executable" if facts.st_mode & 0o100 else "file"
                found[str(path.relative_to(folder))] = (kind, path.read_bytes())
    return found


def sh(folder: Path, command: str) -> None:
    subprocess.run(command, shell=True, cwd=folder, check=True, capture_output=True)


BECAME_FILE, BECAME_LINK = ("link_became_file",), ("file_became_link",)
LINK = "echo hi >a; ln -s a f"
RETYPED = {
    "a link becomes a file": (LINK, "rm f; echo now a file >f", BECAME_FILE, 1, 1),
    "a link becomes a file that holds the same bytes": (LINK, "rm f; printf a >f", BECAME_FILE, 1, 1),
    "a link becomes an executable": (
        LINK, "rm f; printf '#!/bin/sh\\necho\\n' >f; chmod +x f", (*BECAME_FILE, "made_executable"), 1, 2,
    ),
    "a link becomes an empty file": (LINK, "rm f; : >f", BECAME_FILE, 1, 0),
    "a link that leads nowhere becomes a file": ("ln -s none f", "rm f; echo x >f", BECAME_FILE, 1, 1),
    "a link to a folder becomes a file": ("mkdir d; echo x >d/x; ln -s d f", "rm f; echo x >f", BECAME_FILE, 1, 1),
    "a file becomes a link": ("echo hi >a; echo text >f", "ln -sf a f", BECAME_LINK, 1, 1),
    "an executable becomes a link": ("echo hi >f; chmod +x f", "ln -sf a f", BECAME_LINK, 1, 1),
}  # fmt: skip
FOLDERS = {
    "a file becomes a folder": ("echo hi >f", "rm f; mkdir f; echo x >f/y; echo z >f/z"),
    "a folder becomes a file": ("mkdir f; echo x >f/y; echo z >f/z", "rm -r f; echo hi >f"),
    "a file becomes a folder of folders": ("echo hi >f", "rm f; mkdir -p f/g/h; echo x >f/g/h/y; ln -s y f/g/h/l"),
    "a link becomes a folder": (LINK, "rm f; mkdir f; echo x >f/y"),
    "a link to a folder becomes a folder": ("mkdir d; echo x >d/x; ln -s d f", "rm f; mkdir f; echo y >f/x"),
    "a folder becomes a link": ("mkdir -p f/g; echo x >f/g/y; echo hi >a", "rm -r f; ln -s a f"),
    "a file goes down into a folder of its name": ("seq 9 >f", "mv f t; mkdir f; mv t f/f"),
    "a file comes up in place of its folder": ("mkdir f; seq 9 >f/f", "mv f/f t; rmdir f; mv t f"),
}
ALL = {name: case[:2] for name, case in RETYPED.items()} | FOLDERS


async def changed(bench: Bench, before: str, command: str) -> tuple[Tree, Tree]:
    sh(bench.workspace, before)
    first = tree(bench.workspace)
    await bench.log.append("turn/started", {"turn": 1, "source": "test", "rule": ""})
    done = await bench.call("bash", command=command)
    assert done.result.status == "completed"
    await bench.log.append("turn/ended", {"turn": 1, "reason": "completed"})
    return first, tree(bench.workspace)


async def events(bench: Bench) -> list[Event]:
    return [event async for event in bench.log.events()]


async def transcript(bench: Bench) -> Transcript:
    told = Transcript(bench.log.session, {})
    for event in await events(bench):
        told.apply(event)
    return told


@pytest.mark.parametrize("name", RETYPED)
async def test_a_card_and_the_net_change_say_what_became_what(sighted: Bench, tmp_path: Path, name: str) -> None:
    before, command, facts, removed, added = RETYPED[name]
    await changed(sighted, before, command)
    told = await transcript(sighted)
    [card] = [row.changes for row in told.rows if isinstance(row, ToolRow)]
    store = ByteStore(tmp_path / "bytes")
    net = net_changes(told.landed(), lambda blob: store.get(sighted.log.session, blob))
    totals = net_totals(told.landed())
    told_of: list[FileChange | NetTotal] = [*card, *net, *totals]
    for one in told_of:
        assert (one.operation, one.facts, one.removed, one.added) == ("modify", facts, removed, added)
    assert len(card) == len(net) == len(totals) == 1
    signs = [line[0] for hunk in card[0].hunks for line in hunk.lines]
    assert signs == ["-"] * removed + ["+"] * added


@pytest.mark.parametrize("name", ALL)
async def test_its_patch_applies_both_ways(sighted: Bench, tmp_path: Path, name: str) -> None:
    first, last = await changed(sighted, *ALL[name])
    store = ByteStore(tmp_path / "bytes")
    items = net_items(landed(await events(sighted)), lambda blob: store.get(sighted.log.session, blob))
    (tmp_path / "p").write_bytes(git_patch(items, root=str(sighted.workspace)))
    sh(sighted.workspace, f"git apply -R {tmp_path}/p")
    assert tree(sighted.workspace) == first
    sh(sighted.workspace, f"git apply {tmp_path}/p")
    assert tree(sighted.workspace) == last


@pytest.mark.parametrize("name", ALL)
async def test_it_is_taken_back_and_brought_again(sighted: Bench, tmp_path: Path, name: str) -> None:
    first, last = await changed(sighted, *ALL[name])
    parts = sighted.log, ByteStore(tmp_path / "bytes"), LocalFiles([sighted.workspace]), Redactor()
    for turn, expected in ((1, first), (2, last), (3, first)):
        plan = await plan_undo(*parts, turn=turn)
        done = await undo(*parts, plan=plan)
        assert tree(sighted.workspace) == expected
        assert done.turn == turn + 1
    if name in RETYPED:
        rows = [row for row in (await transcript(sighted)).rows if isinstance(row, RevertRow)]
        assert [[change.operation for change in row.changes] for row in rows] == [["modify"]] * 3


async def test_a_link_that_moves_and_then_becomes_a_file_is_no_move(sighted: Bench, tmp_path: Path) -> None:
    sh(sighted.workspace, LINK)
    await sighted.call("bash", command="mv f g")
    await sighted.call("bash", command="rm g; echo text >g")
    store = ByteStore(tmp_path / "bytes")
    net = net_changes(landed(await events(sighted)), lambda blob: store.get(sighted.log.session, blob))
    assert [(one.operation, one.path[-1], one.file_type) for one in net] == [
        ("delete", "f", "symlink"),
        ("add", "g", "text"),
    ]


async def test_a_folder_gives_way_only_where_nothing_else_is_in_it(sighted: Bench, tmp_path: Path) -> None:
    first, _ = await changed(sighted, "echo hi >f", "rm f; mkdir -p f/g/empty; echo x >f/y")
    sighted.put("f/g/mine.txt", "kept\n")
    last = tree(sighted.workspace)
    parts = sighted.log, ByteStore(tmp_path / "bytes"), LocalFiles([sighted.workspace]), Redactor()
    with pytest.raises(UndoRefused) as refused:
        await plan_undo(*parts, turn=1)
    assert refused.value.code == "EXISTS"
    assert str(sighted.workspace / "f/g/mine.txt") in refused.value.message
    (sighted.workspace / "f/g/mine.txt").unlink()
    plan = await plan_undo(*parts, turn=1)
    sighted.put("f/g/mine.txt", "kept\n")  # after the plan was shown
    with pytest.raises(UndoRefused):
        await undo(*parts, plan=plan)
    assert tree(sighted.workspace) == last
    (sighted.workspace / "f/g/mine.txt").unlink()
    await undo(*parts, plan=plan)
    assert tree(sighted.workspace) == first


async def test_what_is_put_into_a_folder_at_the_last_moment_stays(sighted: Bench, tmp_path: Path) -> None:
    await changed(sighted, "echo hi >f", "rm f; mkdir f; echo x >f/y")
    last = tree(sighted.workspace)
    files = LocalFiles([sighted.workspace])
    parts = sighted.log, ByteStore(tmp_path / "bytes"), files, Redactor()
    apply = files.apply

    async def intruded(target: Target, action: Action, **more: Any) -> Outcome:
        if isinstance(action, WriteBytes) and action.over_folder:
            sighted.put("f/mine.txt", "kept\n")
        return await apply(target, action, **more)

    files.apply = intruded  # type: ignore[method-assign]
    with pytest.raises(UndoRefused):
        await undo(*parts, turn=1)
    assert tree(sighted.workspace) == {**last, "f/mine.txt": ("file", b"kept\n")}
