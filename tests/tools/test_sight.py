"""What a command does behind the tools is found, told as its own, and can be taken back."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from redline.changes.codec import from_json, path_from_json
from redline.files.local import LocalFiles
from redline.sessions.redaction import Redactor
from redline.tools.recovery import recover
from redline.tools.runner import Call, Runner
from redline.tools.undo import UndoRefused, plan_undo, undo
from redline.workspace.observe import Observer
from redline.workspace.store import ByteStore
from tool_bench import Bench


@pytest.fixture
async def sighted(tmp_path: Path) -> AsyncIterator[Bench]:
    """A bench whose runner looks at the disk."""
    bench = await Bench.open(tmp_path)
    bench.runner = runner_of(bench, tmp_path)
    yield bench
    assert bench.runner.sight is not None
    await bench.runner.sight.close()
    await bench.store.close()


def runner_of(bench: Bench, folder: Path) -> Runner:
    async def permission(request: Any) -> Any:
        bench.requests.append(request)
        return bench.answer(request) if callable(bench.answer) else bench.answer

    store, redactor = ByteStore(folder / "bytes"), Redactor()
    observer = Observer(bench.workspace, store, bench.log.session, redactor)
    files = LocalFiles([bench.workspace])
    return Runner(
        bench.toolset, files, store, bench.log, permission, redactor, workspace=bench.workspace, observer=observer
    )


async def found(bench: Bench) -> list[tuple[int, list[str], list[str]]]:
    """Of each `workspace/changed`: the turn, the changes, and the calls during which they came."""
    return [
        (event.data["turn"], told(event.data["changes"]), event.data.get("during", []))
        async for event in bench.log.events()
        if event.type == "workspace/changed"
    ]


def told(changes: list[Any]) -> list[str]:
    read = [from_json(change) if isinstance(change, dict) else change for change in changes]
    return [f"{change.operation} {Path(change.path).name} {change.provenance}" for change in read]


def listing(bench: Bench) -> set[bytes]:
    return {os.fsencode(path.name) for path in bench.workspace.iterdir()}


async def recovered(bench: Bench, folder: Path) -> None:
    """Close the session as somebody who takes it up after a kill."""
    store, redactor = ByteStore(folder / "bytes"), Redactor()
    observer = Observer(bench.workspace, store, bench.log.session, redactor)
    await recover(bench.log, store, LocalFiles([bench.workspace]), observer=observer)
    await observer.close()


async def undone(bench: Bench, folder: Path, **what: Any) -> None:
    await undo(bench.log, ByteStore(folder / "bytes"), LocalFiles([bench.workspace]), Redactor(), **what)


async def test_an_edit_in_a_command_is_a_change_of_its_call(sighted: Bench, tmp_path: Path) -> None:
    path = sighted.put("a.txt", "one\ntwo\n")
    done = await sighted.call("bash", command="sed -i s/two/2/ a.txt; touch new.txt")
    assert told(done.logged["changes"]) == ["modify a.txt observed", "add new.txt observed"]
    assert done.result.changes[0].hunks[0].lines == (" one", "-two", "+2")
    await undone(sighted, tmp_path)
    assert path.read_text() == "one\ntwo\n"
    assert not (sighted.workspace / "new.txt").exists()
    done = await sighted.call("bash", command="true")
    assert done.logged["changes"] == []
    assert await found(sighted) == []


async def test_a_command_after_an_edit_in_one_message(sighted: Bench) -> None:
    sighted.put("a.txt", "one\n")
    await sighted.call("read", path="a.txt")
    edit, shell = await sighted.runner.run(
        1,
        [
            Call("e", "edit", {"path": "a.txt", "old_string": "one", "new_string": "two"}),
            Call("s", "bash", {"command": "echo three >> a.txt"}),
        ],
    )
    assert told(list(edit.changes)) == ["modify a.txt result"]
    assert told(list(shell.changes)) == ["modify a.txt observed"]
    assert (shell.changes[0].added, shell.changes[0].removed) == (1, 0)


async def formatted(sighted: Bench) -> Path:
    """In turn 1 a call edits a file, and then something else formats it and makes another."""
    path = sighted.put("a.txt", "one\n" + "same\n" * 9 + "end\n")
    await sighted.call("read", path="a.txt")
    await sighted.call("edit", path="a.txt", old_string="one", new_string="two")
    path.write_text(path.read_text().replace("two", "two;").replace("end", "end;"))
    sighted.put("made.txt", "by nobody that we know\n")
    assert sighted.runner.sight is not None
    await sighted.runner.sight.end_turn(1)
    assert await found(sighted) == [(1, ["modify a.txt observed", "add made.txt observed"], [])]
    return path


async def test_a_turn_is_taken_back_with_what_was_found_in_it(sighted: Bench, tmp_path: Path) -> None:
    path = await formatted(sighted)
    path.write_text(path.read_text() + "since\n")
    parts = sighted.log, ByteStore(tmp_path / "bytes"), LocalFiles([sighted.workspace]), Redactor()
    plan = await plan_undo(*parts, turn=1)
    assert [note.split(" was ")[0] for note in plan.notes] == [str(path), str(sighted.workspace / "made.txt")]
    done = await undo(*parts, plan=plan)
    assert path.read_text() == "one\n" + "same\n" * 9 + "end\nsince\n"
    assert not (sighted.workspace / "made.txt").exists()
    await undo(*parts, turn=done.turn)
    assert path.read_text() == "two;\n" + "same\n" * 9 + "end;\nsince\n"
    assert (sighted.workspace / "made.txt").exists()


async def test_found_lines_that_were_changed_since_refuse_the_undo(sighted: Bench, tmp_path: Path) -> None:
    path = await formatted(sighted)
    path.write_text(path.read_text().replace("end;", "END"))
    with pytest.raises(UndoRefused) as refused:
        await undone(sighted, tmp_path, turn=1)
    assert refused.value.code == "CHANGED"
    assert path.read_text().startswith("two;\n")


async def test_one_call_is_taken_back_without_what_was_found(sighted: Bench, tmp_path: Path) -> None:
    await formatted(sighted)
    with pytest.raises(UndoRefused) as refused:  # its only line was formatted since
        await undone(sighted, tmp_path, turn=1, call=[event async for event in edits(sighted)][-1])
    assert refused.value.code == "CHANGED"
    assert (sighted.workspace / "made.txt").exists()


async def edits(bench: Bench) -> AsyncIterator[str]:
    async for event in bench.log.events():
        if event.type == "tool/result" and event.data["name"] == "edit":
            yield event.data["call"]


async def test_moves_modes_and_deletes_of_a_command_are_taken_back(sighted: Bench, tmp_path: Path) -> None:
    sighted.put("old.txt", "content\n" * 20)
    sighted.put("run.sh", "#!/bin/sh\n")
    sighted.put("gone.bin", b"\0binary")
    done = await sighted.call("bash", command="mv old.txt new.txt; chmod +x run.sh; rm gone.bin")
    assert told(done.logged["changes"]) == [
        "delete gone.bin observed",
        "move new.txt observed",
        "modify run.sh observed",
    ]
    await undone(sighted, tmp_path)
    assert sorted(path.name for path in sighted.workspace.iterdir()) == ["gone.bin", "old.txt", "run.sh"]
    assert sighted.bytes_of("gone.bin") == b"\0binary"
    assert not (sighted.workspace / "run.sh").stat().st_mode & 0o100


async def test_what_somebody_else_did_before_the_command_is_not_its_own(sighted: Bench) -> None:
    sighted.put("a.txt", "one\n")
    sighted.put("b.txt", "one\n")
    await sighted.call("read", path="a.txt")

    def answer(request: Any) -> Any:
        sighted.put("a.txt", "by the user, while the question stood open\n")
        return "allow_once"

    sighted.answer = answer
    done = await sighted.call("bash", command="echo mine >> b.txt")
    assert told(done.logged["changes"]) == ["modify b.txt observed"]
    assert await found(sighted) == [(1, ["modify a.txt observed"], [])]


async def test_a_rejected_command_has_no_changes(sighted: Bench) -> None:
    sighted.answer = "reject"
    done = await sighted.call("bash", command="echo x > a.txt")
    assert done.logged["changes"] == []


async def test_a_cancelled_command_tells_what_it_did_until_then(sighted: Bench) -> None:
    task = asyncio.create_task(sighted.runner.run(1, [Call("s", "bash", {"command": "echo x > a.txt; sleep 60"})]))
    while not (sighted.workspace / "a.txt").exists():  # noqa: ASYNC110 - a file tells nobody
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [result] = [event.data async for event in sighted.log.events() if event.type == "tool/result"]
    assert result["status"] == "cancelled"
    assert told(result["changes"]) == ["add a.txt observed"]
    assert "a.txt" in result["content"][0]["text"]


async def test_a_command_with_a_thousand_files(sighted: Bench) -> None:
    done = await sighted.call("bash", command="for i in $(seq 1100); do echo $i > f$i; done")
    assert len(done.logged["changes"]) == 500
    [first, second] = await found(sighted)
    assert (len(first[1]), first[2], len(second[1])) == (500, [done.result.call.id], 100)


async def test_the_users_edits_between_turns_are_where_a_turn_starts(sighted: Bench) -> None:
    sight = sighted.runner.sight
    assert sight is not None
    sighted.put("a.txt", "one\n")
    await sight.ready()
    sighted.put("a.txt", "by the user\n")
    await sight.start_turn()
    sighted.put("b.txt", "during the turn\n")
    await sight.end_turn(1)
    assert await found(sighted) == [(1, ["add b.txt observed"], [])]


async def test_what_changed_in_a_killed_turn_is_told_by_whoever_closes_it(sighted: Bench, tmp_path: Path) -> None:
    await sighted.log.append("turn/started", {"turn": 1, "source": "terminal", "rule": ""})
    sighted.put("a.txt", "one\n")
    await sighted.call("bash", command="echo two >> a.txt")
    sighted.put("a.txt", "after the kill\n")
    await recovered(sighted, tmp_path)
    assert await found(sighted) == [(1, ["modify a.txt observed"], [])]
    assert [event.type async for event in sighted.log.events()][-1] == "turn/ended"
    sighted.put("a.txt", "by the user, once the turn was closed\n")
    await recovered(sighted, tmp_path)
    again = runner_of(sighted, tmp_path)
    assert again.sight is not None
    await again.sight.ready()
    await again.sight.end_turn(2)
    assert await found(sighted) == [(1, ["modify a.txt observed"], [])]
    await again.sight.close()


async def test_a_turn_that_broke_off_before_any_look_is_closed_without_one(sighted: Bench, tmp_path: Path) -> None:
    await sighted.log.append("turn/started", {"turn": 1, "source": "terminal", "rule": ""})
    sighted.put("a.txt", "one\n")
    await recovered(sighted, tmp_path)
    assert await found(sighted) == []
    assert not list((tmp_path / "bytes").rglob("state.json"))


async def test_what_changed_before_a_turn_that_broke_off_before_its_first_look_is_none_of_it(
    sighted: Bench, tmp_path: Path
) -> None:
    """It never came to a call: the model was being loaded, say."""
    sighted.put("a.txt", "one\n")
    await sighted.call("bash", command="echo two >> a.txt")
    sighted.put("a.txt", "by the user\n")
    sighted.put("b.txt", "by the user\n")
    await sighted.log.append("turn/started", {"turn": 2, "source": "terminal", "rule": ""})
    await recovered(sighted, tmp_path)
    assert await found(sighted) == []
    again = runner_of(sighted, tmp_path)
    assert again.sight is not None
    await again.sight.ready()
    await again.sight.end_turn(3)
    assert await found(sighted) == []
    await again.sight.close()


async def test_more_text_than_one_event_holds_is_told_in_several(sighted: Bench) -> None:
    line = "x" * 99
    done = await sighted.call("bash", command=f"for i in $(seq 12); do yes {line} | head -n 9000 > f$i.txt; done")
    beside = await found(sighted)
    assert len(done.logged["changes"]) + sum(len(changes) for _, changes, _ in beside) == 12
    assert all(during == [done.result.call.id] for _, _, during in beside)


@pytest.mark.skipif(sys.platform == "darwin", reason="its disks take no name that is not UTF-8")
async def test_an_undo_acts_on_the_true_name_never_on_the_file_with_the_escaped_one(
    sighted: Bench, tmp_path: Path
) -> None:
    literal = sighted.put("bad\\xFF", "the user's\n")
    sighted.put("a.txt", "one\n")
    command = (
        r"printf 'agent\n' > $(printf 'bad\377'); printf 'agent\n' > $(printf 'bad\376'); mv a.txt $(printf 'mv\377')"
    )
    await sighted.call("bash", command=command)
    names = {b"bad\xff", b"bad\xfe", b"mv\xff"}
    assert names < listing(sighted)
    await undone(sighted, tmp_path)
    assert listing(sighted) == {b"a.txt", b"bad\\xFF"}
    assert literal.read_text() == "the user's\n"
    intents = [event.data async for event in sighted.log.events() if event.type == "file/intent"]
    kept = {os.fsencode(Path(path_from_json(data, "path")).name) for data in intents}
    assert kept == names


LINKS = {
    "made": "ln -s a.txt new",
    "made and dangling": "ln -s nowhere new",
    "made and leading outside": "ln -s /etc new; ln -s /etc/passwd new2",
    "deleted": "rm link",
    "turned": "ln -sfn b.txt link",
    "made of a file": "rm a.txt; ln -s b.txt a.txt",
    "made a file": "rm link; echo text > link",
    "made beside files": "ln -s a.txt new; echo more >> a.txt; rm b.txt; echo new > c.txt",
    "made of a folder": "mv folder elsewhere; ln -s elsewhere folder",
    "made of a folder that leads outside": "rm -r folder; ln -s /etc folder",
    "no link, but a file made of a folder": "rm -r folder; echo text > folder",
}


def shape(bench: Bench) -> dict[str, str]:
    """Of each file its text, of each link where it leads."""
    return {
        str(path.relative_to(bench.workspace)): f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        for path in bench.workspace.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.mark.parametrize("command", LINKS.values(), ids=LINKS.keys())
async def test_a_link_is_taken_back_with_the_rest_of_its_turn_and_so_is_the_undo(
    sighted: Bench, tmp_path: Path, command: str
) -> None:
    for name in ("a.txt", "b.txt", "folder/inner.txt"):
        sighted.put(name, f"{name}\n")
    (sighted.workspace / "link").symlink_to("a.txt")
    before = shape(sighted)
    await sighted.call("bash", command=command)
    after = shape(sighted)
    assert after != before
    await undone(sighted, tmp_path)
    assert shape(sighted) == before
    done = await sighted.call("bash", command="true")
    assert done.logged["changes"] == []  # the undo is not found as somebody's change
    if command.startswith(("mv folder", "rm -r folder")):
        return  # the folder that an undo has made is not removed again
    undo_turn = max([event.data["turn"] async for event in sighted.log.events() if event.type == "change/reverted"])
    await undone(sighted, tmp_path, turn=undo_turn)
    assert shape(sighted) == after


async def test_a_link_that_is_gone_already_is_no_obstacle(sighted: Bench, tmp_path: Path) -> None:
    sighted.put("a.txt", "one\n")
    await sighted.call("bash", command="ln -s a.txt new; echo two >> a.txt")
    (sighted.workspace / "new").unlink()
    await undone(sighted, tmp_path)
    assert shape(sighted) == {"a.txt": "one\n"}


@pytest.mark.parametrize("now", ["another link", "a file"])
async def test_what_stands_in_the_place_of_a_link_is_not_taken_away(sighted: Bench, tmp_path: Path, now: str) -> None:
    sighted.put("a.txt", "one\n")
    await sighted.call("bash", command="ln -s a.txt new")
    new = sighted.workspace / "new"
    new.unlink()
    if now == "a file":
        new.write_text("a.txt")  # the very bytes of the link
    else:
        new.symlink_to("/etc/passwd")
    was = shape(sighted)
    with pytest.raises(UndoRefused, match="new"):
        await undone(sighted, tmp_path)
    assert shape(sighted) == was


async def test_a_file_that_was_made_a_link_since_is_not_written_through(sighted: Bench, tmp_path: Path) -> None:
    sighted.put("a.txt", "one\n")
    await sighted.call("bash", command="echo two >> a.txt")
    path = sighted.workspace / "a.txt"
    other = sighted.put("other.txt", path.read_text())
    path.unlink()
    path.symlink_to("other.txt")
    with pytest.raises(UndoRefused, match="link by now"):
        await undone(sighted, tmp_path)
    assert other.read_text() == "one\ntwo\n"
