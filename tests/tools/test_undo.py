"""Taking changes back: what stands, what is refused, and that an undo is itself a change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from power_cut import Power, PowerCut
from redline.files.local import LocalFiles
from redline.tools.recovery import recover
from redline.tools.undo import Undone, UndoPlan, UndoRefused, plan_undo, undo
from runner_bench import RunnerBench, opened

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[RunnerBench]:
    async for made in opened(tmp_path):
        yield made


async def turn(bench: RunnerBench, number: int, *calls: tuple[str, dict[str, Any]]) -> list[str]:
    """One turn of calls; their ids."""
    await bench.start_turn(number)
    ids = []
    for name, arguments in calls:
        call = bench.call_of(name, **arguments)
        [result] = await bench.run(call)
        assert result.status == "completed", result.error
        ids.append(call.id)
    await bench.end_turn()
    return ids


async def back(bench: RunnerBench, **which: Any) -> Undone:
    return await undo(bench.log, bench.bytes, bench.files, bench.redactor, **which)


async def plan(bench: RunnerBench, **which: Any) -> UndoPlan:
    return await plan_undo(bench.log, bench.bytes, bench.files, bench.redactor, **which)


def tree(bench: RunnerBench) -> dict[str, str]:
    return {
        str(path.relative_to(bench.workspace)): path.read_text()
        for path in bench.workspace.rglob("*")
        if path.is_file()
    }


LINES = "".join(f"line {number}\n" for number in range(1, 31))


async def test_the_last_turn_is_taken_back_by_default(bench: RunnerBench) -> None:
    bench.put("a.txt", LINES)
    await turn(bench, 1, ("read", {"path": "a.txt"}), ("edit", {"path": "a.txt", "old": "line 3\n", "new": "three\n"}))
    await turn(
        bench,
        2,
        ("edit", {"path": "a.txt", "old": "line 20\n", "new": "twenty\n"}),
        ("write", {"path": "new.txt", "content": "new\n"}),
    )
    await turn(bench, 3, ("read", {"path": "a.txt"}))
    undone = await back(bench)
    assert tree(bench) == {"a.txt": LINES.replace("line 3\n", "three\n")}
    assert undone.turn == 4
    assert [each[0] for each in undone.of] == [2, 2]
    reverted = await bench.last("change/reverted")
    assert (reverted["turn"], reverted["call"]) == (4, undone.call)
    assert {(one["turn"], one["call"]) for one in reverted["of"]} == set(undone.of)
    started = (await bench.events("turn/started"))[-1].data
    assert (started["turn"], started["source"]) == (4, "undo")
    assert (await bench.last("turn/ended"))["reason"] == "completed"
    assert await bench.store.open_intents(bench.log.session) == []


async def test_undo_again_takes_the_turn_before_and_then_there_is_nothing(bench: RunnerBench) -> None:
    await turn(bench, 1, ("write", {"path": "a.txt", "content": "one\n"}))
    await turn(bench, 2, ("write", {"path": "a.txt", "content": "two\n"}))
    await back(bench)
    assert tree(bench) == {"a.txt": "one\n"}
    await back(bench)
    assert tree(bench) == {}
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert refused.value.code == "NOTHING_TO_UNDO"


async def test_an_undo_is_undone_by_its_turn_and_stands_again(bench: RunnerBench) -> None:
    bench.put("old.txt", "old\n")
    await turn(
        bench,
        1,
        ("write", {"path": "a.txt", "content": "one\n"}),
        ("read", {"path": "old.txt"}),
        ("move", {"path": "old.txt", "to": "moved.txt"}),
    )
    after = tree(bench)
    first = await back(bench)
    assert tree(bench) == {"old.txt": "old\n"}
    redone = await back(bench, turn=first.turn)
    assert tree(bench) == after
    assert redone.of == [(first.turn, first.call)]
    await back(bench)
    assert tree(bench) == {"old.txt": "old\n"}
    with pytest.raises(UndoRefused):
        await back(bench, turn=first.turn)


async def test_a_turn_is_taken_back_by_hunks_while_the_rest_has_moved_on(bench: RunnerBench) -> None:
    bench.put("a.txt", LINES)
    await turn(
        bench, 1, ("read", {"path": "a.txt"}), ("edit", {"path": "a.txt", "old": "line 15\n", "new": "fifteen\n"})
    )
    await turn(bench, 2, ("edit", {"path": "a.txt", "old": "line 2\n", "new": "two\nand a half\n"}))
    bench.put("a.txt", bench.text("a.txt") + "by hand\n")
    await back(bench, turn=1)
    assert bench.text("a.txt") == LINES.replace("line 2\n", "two\nand a half\n") + "by hand\n"


async def test_lines_that_were_changed_since_refuse_the_whole_undo_with_the_lines(bench: RunnerBench) -> None:
    bench.put("a.txt", LINES)
    await turn(
        bench,
        1,
        ("read", {"path": "a.txt"}),
        ("edit", {"path": "a.txt", "old": "line 15\n", "new": "fifteen\n"}),
        ("write", {"path": "b.txt", "content": "b\n"}),
    )
    bench.put("a.txt", bench.text("a.txt").replace("fifteen", "15, by hand"))
    before = tree(bench)
    seq = bench.log.seq
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert refused.value.code == "CHANGED"
    assert "line 12" in refused.value.message or "line 15" in refused.value.message
    assert "-fifteen" in refused.value.lines
    assert "+15, by hand" in refused.value.lines
    assert tree(bench) == before
    assert bench.log.seq == seq, "nothing was written"


async def test_one_file_of_the_whole_session(bench: RunnerBench) -> None:
    bench.put("a.txt", "one\n")
    await turn(
        bench,
        1,
        ("read", {"path": "a.txt"}),
        ("edit", {"path": "a.txt", "old": "one", "new": "two"}),
        ("write", {"path": "b.txt", "content": "b\n"}),
    )
    await turn(bench, 2, ("edit", {"path": "a.txt", "old": "two", "new": "three"}))
    await turn(bench, 3, ("move", {"path": "a.txt", "to": "c.txt"}))
    await back(bench, path="c.txt")
    assert tree(bench) == {"a.txt": "one\n", "b.txt": "b\n"}


async def test_one_call_of_a_turn(bench: RunnerBench) -> None:
    ids = await turn(
        bench,
        1,
        ("write", {"path": "a.txt", "content": "a\n"}),
        ("write", {"path": "b.txt", "content": "b\n"}),
    )
    await back(bench, call=ids[0])
    assert tree(bench) == {"b.txt": "b\n"}
    await back(bench)
    assert tree(bench) == {}


async def test_one_hunk_of_a_change_and_then_the_rest(bench: RunnerBench) -> None:
    bench.put("a.txt", LINES)
    changed = LINES.replace("line 3\n", "three\n").replace("line 25\n", "twenty-five\n")
    ids = await turn(bench, 1, ("read", {"path": "a.txt"}), ("write", {"path": "a.txt", "content": changed}))
    part = await back(bench, call=ids[1], hunk=2)
    assert bench.text("a.txt") == LINES.replace("line 3\n", "three\n")
    assert (await bench.last("change/reverted"))["of"] == [], "the call still stands"
    with pytest.raises(UndoRefused) as refused:
        await back(bench, call=ids[1], hunk=1, turn=99)
    assert refused.value.code in ("NOTHING_TO_UNDO", "NOT_ONE")
    await back(bench)
    assert bench.text("a.txt") == LINES
    with pytest.raises(UndoRefused):
        await back(bench, turn=part.turn)


async def test_an_undo_of_one_hunk_that_broke_off_leaves_its_call_standing(bench: RunnerBench) -> None:
    bench.put("a.txt", LINES)
    changed = LINES.replace("line 3\n", "three\n").replace("line 25\n", "twenty-five\n")
    ids = await turn(bench, 1, ("read", {"path": "a.txt"}), ("write", {"path": "a.txt", "content": changed}))
    Power(bench, "before the result")
    with pytest.raises(PowerCut):
        await back(bench, call=ids[1], hunk=2)
    del bench.store.submit, bench.bytes.put, bench.files.apply  # type: ignore[method-assign]
    again = await bench.reopen()
    await recover(again.log, again.bytes, again.files)
    closed = await again.last("change/reverted")
    assert closed["status"] == "completed"
    assert [one["hunk"] for one in closed["took"]] == [2]
    assert closed["of"] == []
    await again.store.close()


async def test_a_hunk_that_is_not_there(bench: RunnerBench) -> None:
    bench.put("a.txt", LINES)
    ids = await turn(
        bench, 1, ("read", {"path": "a.txt"}), ("edit", {"path": "a.txt", "old": "line 3\n", "new": "x\n"})
    )
    with pytest.raises(UndoRefused) as refused:
        await back(bench, call=ids[1], hunk=2)
    assert refused.value.code == "NO_HUNK"


async def test_a_created_file_that_was_changed_since_is_not_deleted(bench: RunnerBench) -> None:
    await turn(bench, 1, ("write", {"path": "a.txt", "content": "a\n"}))
    bench.put("a.txt", "a\nby hand\n")
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert refused.value.code == "CHANGED"
    assert "+by hand" in refused.value.lines
    assert tree(bench) == {"a.txt": "a\nby hand\n"}


async def test_a_deleted_file_comes_back_with_its_mode(bench: RunnerBench) -> None:
    bench.put("run.sh", b"\xff\x00 bytes\r\n").chmod(0o755)
    await turn(bench, 1, ("read", {"path": "run.sh"}), ("delete", {"path": "run.sh"}))
    await back(bench)
    path = bench.workspace / "run.sh"
    assert path.read_bytes() == b"\xff\x00 bytes\r\n"
    assert path.stat().st_mode & 0o100


async def test_a_deleted_file_whose_place_is_taken(bench: RunnerBench) -> None:
    bench.put("a.txt", "a\n")
    await turn(bench, 1, ("read", {"path": "a.txt"}), ("delete", {"path": "a.txt"}))
    bench.put("a.txt", "another\n")
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert refused.value.code == "EXISTS"
    assert tree(bench) == {"a.txt": "another\n"}


async def test_a_move_goes_back_with_what_was_written_since(bench: RunnerBench) -> None:
    bench.put("a.txt", "a\n")
    await turn(bench, 1, ("read", {"path": "a.txt"}), ("move", {"path": "a.txt", "to": "sub/b.txt"}))
    bench.put("sub/b.txt", "a\nmore\n")
    undone = await back(bench)
    assert tree(bench) == {"a.txt": "a\nmore\n"}
    assert [change.operation for change in undone.changes] == ["move"]


async def test_a_move_whose_old_place_is_taken(bench: RunnerBench) -> None:
    bench.put("a.txt", "a\n")
    await turn(bench, 1, ("read", {"path": "a.txt"}), ("move", {"path": "a.txt", "to": "b.txt"}))
    bench.put("a.txt", "new\n")
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert refused.value.code == "EXISTS"


async def test_the_executable_bit_goes_back_and_later_text_stays(bench: RunnerBench) -> None:
    bench.put("run.sh", "echo\n")
    await turn(bench, 1, ("read", {"path": "run.sh"}), ("several", {"writes": {"run.sh": "echo\n"}, "chmod": True}))
    bench.put("run.sh", "echo more\n")
    undone = await back(bench)
    assert bench.text("run.sh") == "echo more\n"
    assert not (bench.workspace / "run.sh").stat().st_mode & 0o100
    assert undone.changes[0].facts == ("made_not_executable",)


async def test_bytes_that_were_not_kept_are_refused(bench: RunnerBench) -> None:
    bench.put("a.txt", "a\n")
    await turn(bench, 1, ("read", {"path": "a.txt"}), ("edit", {"path": "a.txt", "old": "a", "new": "b"}))
    bench.bytes.delete(bench.log.session)
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert refused.value.code == "NOT_KEPT"
    assert tree(bench) == {"a.txt": "b\n"}


async def test_what_somebody_already_took_back_by_hand_is_said_and_counts_as_undone(bench: RunnerBench) -> None:
    bench.put("a.txt", "a\n")
    await turn(bench, 1, ("write", {"path": "b.txt", "content": "b\n"}))
    (bench.workspace / "b.txt").unlink()
    undone = await back(bench)
    assert list(undone.changes) == []
    assert "gone already" in undone.notes[0]
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert refused.value.code == "NOTHING_TO_UNDO"


async def test_a_secret_comes_back_true_and_is_logged_masked(bench: RunnerBench) -> None:
    secret = "TOKEN=ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\n"
    bench.put(".env", secret + "NAME=a\n")
    await turn(bench, 1, ("read", {"path": ".env"}), ("cut", {"path": ".env", "first": 1, "last": 1}))
    undone = await back(bench)
    assert tree(bench) == {".env": secret + "NAME=a\n"}
    assert undone.changes[0].redacted
    assert "ghp_" not in str([event.data for event in await bench.events("change/reverted")])


async def test_a_plan_shows_what_would_be_done_and_binds_to_it(bench: RunnerBench) -> None:
    bench.put("a.txt", LINES)
    await turn(bench, 1, ("read", {"path": "a.txt"}), ("edit", {"path": "a.txt", "old": "line 15\n", "new": "x\n"}))
    made = await plan(bench)
    assert [(change.provenance, change.added, change.removed) for change in made.changes] == [("proposed", 1, 1)]
    assert bench.text("a.txt") != LINES
    bench.put("a.txt", bench.text("a.txt") + "by hand\n")
    with pytest.raises(UndoRefused) as refused:
        await back(bench, plan=made)
    assert refused.value.code == "STALE"
    assert bench.text("a.txt").endswith("by hand\n")
    assert len(await bench.events("turn/started")) == 1, "an undo that never began is no turn"
    await back(bench)
    assert bench.text("a.txt") == LINES + "by hand\n"


async def test_a_plan_is_carried_out_as_shown(bench: RunnerBench) -> None:
    await turn(bench, 1, ("write", {"path": "a.txt", "content": "a\n"}))
    made = await plan(bench)
    undone = await back(bench, plan=made)
    assert [change.operation for change in undone.changes] == ["delete"]
    assert tree(bench) == {}


async def test_a_failure_half_way_puts_the_first_part_back(bench: RunnerBench) -> None:
    bench.put("b.txt", "b\n")
    await turn(
        bench,
        1,
        ("read", {"path": "b.txt"}),
        ("edit", {"path": "b.txt", "old": "b", "new": "B"}),
        ("write", {"path": "a.txt", "content": "a\n"}),
    )
    made = await plan(bench)
    assert [Path(change.path).name for change in made.changes] == ["a.txt", "b.txt"]
    # After the look at all files, and before the first is touched.
    bench.log.subscribe(lambda event: bench.put("b.txt", "B\nlater\n") if event.type == "turn/started" else None)
    with pytest.raises(UndoRefused) as refused:
        await back(bench, plan=made)
    assert refused.value.code == "STALE"
    assert tree(bench) == {"a.txt": "a\n", "b.txt": "B\nlater\n"}
    assert await bench.store.open_intents(bench.log.session) == []
    await back(bench)
    assert tree(bench) == {"b.txt": "b\nlater\n"}


@pytest.mark.parametrize("step", ["before the intent", "after the intent", "after the rename", "before the result"])
async def test_a_crash_within_an_undo_is_recovered_as_an_undo_of_what_landed(bench: RunnerBench, step: str) -> None:
    bench.put("b.txt", "b\n")
    await turn(
        bench,
        1,
        ("read", {"path": "b.txt"}),
        ("edit", {"path": "b.txt", "old": "b", "new": "B"}),
        ("write", {"path": "a.txt", "content": "a\n"}),
    )
    power = Power(bench, step, skip=0 if step == "before the result" else 1)
    with pytest.raises(PowerCut):
        await back(bench)
    assert power.off
    del bench.store.submit, bench.bytes.put, bench.files.apply
    again = await bench.reopen()
    recovery = await recover(again.log, again.bytes, again.files)
    assert recovery.turns == [2]
    [undone] = recovery.undos
    whole = step in ("after the rename", "before the result")
    assert undone.status == ("completed" if whole else "interrupted")
    assert not (again.workspace / "a.txt").exists()
    assert again.text("b.txt") == ("b\n" if whole else "B\n")
    if whole:
        with pytest.raises(UndoRefused):
            await back(again, turn=1)
    else:
        await back(again)
    assert tree(again) == {"b.txt": "b\n"}
    await again.store.close()


async def test_a_turn_that_changed_nothing_and_a_turn_that_never_was(bench: RunnerBench) -> None:
    await turn(bench, 1)
    for which in ({"turn": 1}, {"turn": 9}, {"call": "nope"}, {"path": "none.txt"}, {}):
        with pytest.raises(UndoRefused) as refused:
            await back(bench, **which)
        assert refused.value.code == "NOTHING_TO_UNDO"
    with pytest.raises(UndoRefused) as refused:
        await back(bench, path="../outside.txt")
    assert refused.value.code == "OUTSIDE_WORKSPACE"


async def test_a_file_that_the_model_changed_must_be_read_again_after_an_undo(bench: RunnerBench) -> None:
    await turn(bench, 1, ("write", {"path": "a.txt", "content": "one\n"}))
    await turn(bench, 2, ("edit", {"path": "a.txt", "old": "one", "new": "two"}))
    await back(bench)
    await bench.start_turn(4)
    result = await bench.call("edit", path="a.txt", old="one", new="1")
    assert result.error is not None
    assert result.error.code == "STALE"


async def test_a_refusal_names_the_lines_that_stand_in_the_way_and_no_others(bench: RunnerBench) -> None:
    bench.put("a.txt", LINES)
    await turn(bench, 1, ("read", {"path": "a.txt"}), ("edit", {"path": "a.txt", "old": "line 6\n", "new": "six\n"}))
    await turn(bench, 2, ("edit", {"path": "a.txt", "old": "line 1\n", "new": "first\n"}))
    bench.put("a.txt", bench.text("a.txt").replace("six\n", "6, by hand\n"))
    with pytest.raises(UndoRefused) as refused:
        await back(bench, turn=1)
    assert "(line 6)" in refused.value.message
    assert list(refused.value.lines) == [f"{bench.workspace / 'a.txt'}:6", "-six", "+6, by hand"]


async def test_a_created_file_that_was_changed_since_names_the_changed_lines(bench: RunnerBench) -> None:
    await turn(bench, 1, ("write", {"path": "a.txt", "content": LINES}))
    changed = LINES.replace("line 2\n", "two\nand a half\n").replace("line 5\n", "five\n").replace("line 20\n", "")
    bench.put("a.txt", changed)
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert "(lines 2 to 3, 6, 20)" in refused.value.message


async def test_a_refusal_shows_no_line_of_a_secret_that_begins_above_it(bench: RunnerBench) -> None:
    body = [f"{letter * 60}\n" for letter in "ABCDEFGH"]
    key = "-----BEGIN PRIVATE KEY-----\n" + "".join(body) + "-----END PRIVATE KEY-----\n"
    bench.put("key.pem", key.replace(body[6], "old\n"))
    change = {"path": "key.pem", "old": "old\n", "new": "N" * 60 + "\n"}
    await turn(bench, 1, ("read", {"path": "key.pem"}), ("edit", change))
    bench.put("key.pem", key.replace(body[6], "Z" * 60 + "\n"))
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert refused.value.code == "CHANGED"
    assert [line[0] for line in refused.value.lines[1:]] == ["-", "+"]
    assert "N" * 60 not in "\n".join(refused.value.lines)
    assert "Z" * 60 not in "\n".join(refused.value.lines)


async def test_a_file_that_the_session_did_not_change_is_told_from_one_that_was_undone(bench: RunnerBench) -> None:
    for number in range(1, 8):
        await turn(bench, number, ("write", {"path": f"dir/{number}.txt", "content": "x\n"}))
    await back(bench, path="dir/7.txt")
    with pytest.raises(UndoRefused) as refused:
        await back(bench, path="nope")
    assert refused.value.message == "This session made no change to nope."
    assert refused.value.remedy == "It changed dir/7.txt, dir/6.txt, dir/5.txt, dir/4.txt, dir/3.txt and 2 more."
    with pytest.raises(UndoRefused, match="This session made no change of turn 1 to nope") as refused:
        await back(bench, path="nope", turn=1)
    assert refused.value.remedy == "It changed dir/1.txt."
    with pytest.raises(UndoRefused, match=r"Every change to dir/7\.txt has been undone already"):
        await back(bench, path="dir/7.txt")


async def test_what_is_not_kept_is_refused_without_advice_about_files_that_are_not_there(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    bench = await RunnerBench.open(tmp_path, files=LocalFiles([workspace], basis_limit=100))
    await bench.seen("big.txt", "x\n" * 100)
    await turn(bench, 1, ("write", {"path": "big.txt", "content": "y\n"}))
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert refused.value.code == "NOT_KEPT"
    assert "other files" not in refused.value.remedy
    await bench.seen("big.txt", "x\n" * 100)
    await turn(
        bench, 2, ("write", {"path": "big.txt", "content": "z\n"}), ("write", {"path": "small.txt", "content": "z\n"})
    )
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert "Undo the other files one by one" in refused.value.remedy
    await bench.store.close()


async def test_a_link_that_is_named_says_which_file_it_means(bench: RunnerBench) -> None:
    bench.put("ok.txt", "one\n")
    (bench.workspace / "l").symlink_to("ok.txt")
    await turn(bench, 1, ("read", {"path": "ok.txt"}), ("edit", {"path": "ok.txt", "old": "one\n", "new": "two\n"}))
    [note] = (await plan(bench, path="l")).notes
    assert note.startswith("l is a link")
    assert str(bench.workspace / "ok.txt") in note
    assert not (await plan(bench, path="ok.txt")).notes


async def test_what_is_undone_already_names_the_turn_that_undid_it(bench: RunnerBench) -> None:
    await turn(bench, 1, ("write", {"path": "a.txt", "content": "a\n"}))
    done = await back(bench)
    with pytest.raises(UndoRefused, match=f"undo turn {done.turn}, which undid it"):
        await plan(bench, path="a.txt")


async def test_a_refusal_names_every_file_in_the_way_and_says_what_can_be_had(bench: RunnerBench) -> None:
    await turn(bench, 1, *(("write", {"path": f"{number}.txt", "content": "x\n"}) for number in range(8)))
    for number in range(2):
        bench.put(f"{number}.txt", "mine\n")
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert refused.value.code == "CHANGED"
    assert all(f"/{number}.txt: has been changed since" in refused.value.message for number in range(2))
    assert f"{bench.workspace}/0.txt:1" in refused.value.lines
    assert f"{bench.workspace}/1.txt:1" in refused.value.lines
    assert refused.value.remedy.startswith("Nothing was taken back. Undo the other files one by one")
    assert "redline undo --file" in refused.value.remedy
    assert len(tree(bench)) == 8
    await back(bench, path="5.txt")
    assert "5.txt" not in tree(bench)
    for number in range(8):
        bench.put(f"{number}.txt", "mine\n")
    bench.put("5.txt", "mine\n")
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert refused.value.message.endswith("So it is with 2 more files.")
    assert "one by one" not in refused.value.remedy, "there are no others"


async def test_a_file_that_is_in_the_way_is_named_once(bench: RunnerBench) -> None:
    bench.put("a.txt", "one\ntwo\n")
    edits = [("edit", {"path": "a.txt", "old": old, "new": new}) for old, new in (("one", "1"), ("1", "eins"))]
    await turn(bench, 1, ("read", {"path": "a.txt"}), *edits)
    bench.put("a.txt", "uno\ntwo\n")
    with pytest.raises(UndoRefused) as refused:
        await back(bench)
    assert refused.value.message.count("a.txt") == 1
    assert refused.value.remedy == "Undo what came after it first, or mend the file by hand."
