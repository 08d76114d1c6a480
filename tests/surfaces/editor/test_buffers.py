"""The editor's buffers: what is typed and not saved counts, and whatever the editor does costs no bytes."""

from __future__ import annotations

import asyncio
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from redline.files.local import BASIS_LIMIT
from redline.surfaces.editor.asking import SECONDS
from surfaces.editor.editor_client import Editor, Held, Place, Refused, call, diffs, make_place, said, until
from surfaces.editor.test_proxied import puppet

if TYPE_CHECKING:
    from collections.abc import Callable

BOTH = {"fs": {"readTextFile": True, "writeTextFile": True}}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


class Buffers:
    """An editor's open files; it knows only one kind of line end, as many do."""

    def __init__(self, editor: Editor, *, saves: bool = True) -> None:
        self.texts: dict[str, str] = {}
        self.saves = saves
        self.on_save: Callable[[str], str] = str
        """What a formatter, run on each save, makes of a text."""
        self.written: list[str] = []
        editor.serve["fs/read_text_file"] = self.read
        editor.serve["fs/write_text_file"] = self.write

    def read(self, params: dict[str, Any]) -> Any:
        path = params["path"]
        if path in self.texts:
            return {"content": self.texts[path]}
        if not Path(path).is_file():
            raise Refused({"code": -32002, "message": "no such file"})
        return {"content": Path(path).read_bytes().decode().replace("\r\n", "\n").removeprefix("\ufeff")}

    def write(self, params: dict[str, Any]) -> Any:
        self.texts[params["path"]] = self.on_save(params["content"].replace("\r\n", "\n"))
        self.written.append(params["path"])
        if self.saves:
            Path(params["path"]).write_bytes(self.texts[params["path"]].encode())
        return {}


def edit_of(old: str, new: str) -> list[dict[str, Any]]:
    return [{"call": [call("read", path="a.txt")]},
            {"call": [call("edit", path="a.txt", old_string=old, new_string=new)]}, {"text": "Done."}]  # fmt: skip


@pytest.mark.parametrize("saves", [True, False])
async def test_an_editor_that_knows_one_line_end_costs_no_bytes(place: Place, saves: bool) -> None:
    path = place.workspace / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\n")
    model = place.script(edit_of("two", "TWO"))
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        buffers = Buffers(editor, saves=saves)
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert path.read_bytes() == b"\xef\xbb\xbfone\r\nTWO\r\nthree\n"
        assert buffers.texts[str(path)] == "one\nTWO\nthree\n"
        edit = list(editor.held[session].calls.values())[-1]
        assert edit["status"] == "completed"
        assert len(diffs(edit["content"])) == 1


async def test_what_is_not_saved_is_read_and_edited_and_stays(place: Place) -> None:
    path = place.workspace / "a.txt"
    path.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    model = place.script(edit_of("typed", "TYPED"))
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        buffers = Buffers(editor)
        buffers.texts[str(path)] = "one\ntwo\ntyped\nthree\n"
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        read, edit = editor.held[session].calls.values()
        assert "typed" in said(read["content"])
        assert edit["status"] == "completed"
        assert buffers.texts[str(path)] == "one\ntwo\nTYPED\nthree\n"
        assert path.read_bytes() == b"one\r\ntwo\r\nTYPED\r\nthree\r\n"
        # What the user typed is on the disk with it: told of the edit, and no part of its change.
        assert diffs(edit["content"]) == [("one\r\ntwo\r\ntyped\r\nthree\r\n", "one\r\ntwo\r\nTYPED\r\nthree\r\n")]
        assert "saved with it: −0 +1 lines" in said(edit["content"])
        live = editor.held[session].calls
        await editor.prompt(session, "/undo")
        assert path.read_bytes() == b"one\r\ntwo\r\ntyped\r\nthree\r\n"
        assert [*live.values()][-1]["title"].startswith("Taken back")
        # Commands, searches and looks at the disk do not see buffers, and that is said, once.
        assert editor.held[session].text["agent"].count("UNSAVED: ") == 1


async def test_a_file_with_unsaved_changes_is_not_deleted_behind_the_editor(place: Place) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\n")
    model = place.script(
        [{"call": [call("read", path="a.txt")]}, {"call": [call("delete", path="a.txt")]}, {"text": "."}]
    )
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        Buffers(editor).texts[str(path)] = "one\ntyped\n"
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        removal = list(editor.held[session].calls.values())[-1]
        assert removal["status"] == "failed"
        assert "STALE" in said(removal["content"])
        assert path.read_text() == "one\n"


async def test_an_editor_that_refuses_a_file_leaves_it_to_the_disk(place: Place) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\ntwo\n")

    def refuse(_: dict[str, Any]) -> Any:
        raise Refused({"code": -32603, "message": "not in a project"})

    async with place.editor(
        "--model", place.script(edit_of("two", "TWO")), "--approval", "all", capabilities=BOTH
    ) as editor:
        answers: dict[str, Callable[[dict[str, Any]], Any]] = {
            "fs/read_text_file": refuse, "fs/write_text_file": refuse,
        }  # fmt: skip
        editor.serve.update(answers)
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert path.read_text() == "one\nTWO\n"


async def test_an_editor_that_offers_only_one_of_both_is_not_asked(place: Place) -> None:
    """Public reports: H91."""
    (place.workspace / "a.txt").write_text("one\ntwo\n")
    model = place.script(edit_of("two", "TWO"))
    capabilities = {"fs": {"readTextFile": True, "writeTextFile": False}}
    async with place.editor("--model", model, "--approval", "all", capabilities=capabilities) as editor:
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert not editor.asked
        assert (place.workspace / "a.txt").read_text() == "one\nTWO\n"


async def test_when_the_editor_goes_in_the_middle_the_turn_goes_on_on_the_disk(place: Place) -> None:
    path = place.workspace / "a.txt"
    path.write_bytes(b"one\r\ntwo\r\n")
    steps = [
        {"call": [call("read", path="a.txt")]},
        {"call": [call("bash", command="touch begun; sleep 2")]},
        {"call": [call("edit", path="a.txt", old_string="two", new_string="TWO")]},
        {"text": "Done."},
    ]
    model = place.script(steps)
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        Buffers(editor)
        session = await editor.new(place.workspace)
        await editor.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go."}])
        await until((place.workspace / "begun").exists)
    assert path.read_bytes() == b"one\r\nTWO\r\n"
    async with place.editor("--model", model) as editor:
        await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=[])
        assert list(editor.held[session].calls.values())[-1]["status"] == "completed"
        assert "EDITOR_GONE" in editor.held[session].text["agent"]


async def test_an_undo_goes_through_the_editor_as_the_edit_did(place: Place) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\ntwo\n")
    model = place.script(edit_of("two", "TWO"))
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        buffers = Buffers(editor)
        buffers.texts[str(path)] = "one\ntwo\n"
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert path.read_text() == buffers.texts[str(path)] == "one\nTWO\n"
        await editor.prompt(session, "/undo")
        assert path.read_text() == buffers.texts[str(path)] == "one\ntwo\n"
        back = list(editor.held[session].calls.values())[-1]
        assert (back["status"], diffs(back["content"])) == ("completed", [("one\nTWO\n", "one\ntwo\n")])
        assert "NOT_APPLIED" not in editor.held[session].text["agent"]
        assert "UNSAVED" not in editor.held[session].text["agent"]
        await editor.prompt(session, "/diff")
        assert "Nothing has changed." in editor.held[session].text["agent"]


async def test_an_undo_leaves_what_was_typed_since(place: Place) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\ntwo\nthree\nfour\nfive\n")
    model = place.script(edit_of("two", "TWO"))
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        buffers = Buffers(editor)
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        buffers.texts[str(path)] += "typed\n"
        await editor.prompt(session, "/undo")
        assert path.read_text() == buffers.texts[str(path)] == "one\ntwo\nthree\nfour\nfive\ntyped\n"


SED = call("bash", command="sed -i s/one/ONE/ a.txt")


@pytest.mark.parametrize("read_before", [True, False])
async def test_a_buffer_that_is_behind_the_disk_takes_nothing_back(place: Place, read_before: bool) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\ntwo\n")
    first = [{"call": [call("read", path="a.txt")]}] if read_before else []
    model = place.script([*first, {"call": [SED]}, *edit_of("two", "TWO")])
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        buffers = Buffers(editor)
        buffers.texts[str(path)] = "one\ntwo\n"  # and it is never loaded again
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert path.read_text() == buffers.texts[str(path)] == "ONE\nTWO\n"
        *_, read, edit = editor.held[session].calls.values()
        assert "ONE" in said(read["content"])
        assert diffs(edit["content"]) == [("ONE\ntwo\n", "ONE\nTWO\n")]
        assert "UNSAVED" not in editor.held[session].text["agent"]


async def test_an_edit_that_was_taken_back_in_the_editor_and_not_saved_counts_as_typed(place: Place) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\ntwo\n")
    model = place.script(edit_of("two", "TWO"), edit_of("two", "2"))
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        buffers = Buffers(editor)
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        buffers.texts[str(path)] = "one\ntwo\n"
        await editor.prompt(session)
        assert path.read_text() == buffers.texts[str(path)] == "one\n2\n"


async def test_what_was_typed_beside_a_change_on_the_disk_is_not_mixed_with_it(place: Place) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\ntwo\n")
    model = place.script([{"call": [SED]}, *edit_of("two", "TWO")])
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        buffers = Buffers(editor)
        buffers.texts[str(path)] = "one\ntwo\ntyped\n"
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        edit = list(editor.held[session].calls.values())[-1]
        assert edit["status"] == "failed"
        assert "UNSAVED: " in said(edit["content"])
        assert path.read_text() == "ONE\ntwo\n"
        assert buffers.texts[str(path)] == "one\ntwo\ntyped\n"


def decline(_: dict[str, Any]) -> Any:
    raise Refused({"code": -32603, "message": "the user declined"})


def ignore(_: dict[str, Any]) -> Any:
    return {}


@pytest.mark.parametrize("write", [decline, ignore])
async def test_what_the_editor_does_not_take_is_told_as_what_the_disk_holds(place: Place, write: Any) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\ntwo\n")
    model = place.script(edit_of("two", "TWO"))
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        Buffers(editor).texts[str(path)] = "one\ntwo\n"
        editor.serve["fs/write_text_file"] = write
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert path.read_text() == "one\nTWO\n"
        _, edit = editor.held[session].calls.values()
        assert (edit["status"], diffs(edit["content"])) == ("completed", [("one\ntwo\n", "one\nTWO\n")])
        assert "EDITOR_BUFFER: " in said(edit["content"])


@pytest.mark.parametrize("git", [True, False])
@pytest.mark.parametrize("write", [decline, ignore])
@pytest.mark.parametrize("new", ["22", "TWO AND MORE"])
async def test_typed_text_whose_editor_does_not_take_an_edit_is_left_alone(
    place: Place, write: Any, git: bool, new: str
) -> None:
    """Whatever the sizes are: the new text may be as long as what the disk holds."""
    path = place.workspace / "a.txt"
    path.write_text("one\n02\nthree\n")
    if git:
        await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(place.workspace)], check=True)
    second = edit_of("three", "THREE")
    model = place.script(edit_of("typed2", new), second, second)
    typed = "one\ntyped2\nthree\n"
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        buffers = Buffers(editor)
        buffers.texts[str(path)] = typed
        accept, editor.serve["fs/write_text_file"] = editor.serve["fs/write_text_file"], write
        session = await editor.new(place.workspace)
        calls = editor.held.setdefault(session, Held()).calls
        await editor.prompt(session)
        assert path.read_text() == "one\n02\nthree\n"
        _, edit = calls.values()  # and no third one, of a change that nobody made
        assert (edit["status"], diffs(edit["content"])) == ("failed", [])
        assert "UNSAVED: " in said(edit["content"])
        assert f"-typed2\n+{new}\n" in said(edit["content"]).partition("Not applied:")[2]
        assert "on the disk:" not in said(edit["content"])
        editor.held[session].text["agent"] = ""
        await editor.prompt(session, "/diff")
        assert "typed2" not in editor.held[session].text["agent"]
        # It is still what somebody has typed: left alone by the next edit as well, and part of one that is taken.
        await editor.prompt(session)
        assert [*calls.values()][-1]["status"] == "failed"
        assert (path.read_text(), buffers.texts[str(path)]) == ("one\n02\nthree\n", typed)
        editor.serve["fs/write_text_file"] = accept
        await editor.prompt(session)
        assert (len(calls), [*calls.values()][-1]["status"]) == (6, "completed")
        assert path.read_text() == buffers.texts[str(path)] == "one\ntyped2\nTHREE\n"
        for _ in range(3):
            await editor.prompt(session, "/undo")
            assert path.read_text() == typed  # the user's own line was saved with the edit, and stays


@pytest.mark.parametrize("write", [decline, ignore])
async def test_an_undo_over_typed_text_that_the_editor_does_not_take_writes_nothing(place: Place, write: Any) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    async with place.editor(
        "--model", place.script(edit_of("two", "TWO")), "--approval", "all", capabilities=BOTH
    ) as editor:
        buffers = Buffers(editor)
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        typed = buffers.texts[str(path)] = "one\nTWO\ntyped\n"
        editor.serve["fs/write_text_file"] = write
        before = len(editor.held[session].calls)
        for _ in range(2):
            await editor.prompt(session, "/undo")
        assert (path.read_text(), buffers.texts[str(path)]) == ("one\nTWO\nthree\n", typed)
        assert not [one for one in [*editor.held[session].calls.values()][before:] if diffs(one["content"])]


async def test_a_typed_text_that_was_edited_and_formatted_does_not_pass_for_an_earlier_text_of_the_disk(
    place: Place,
) -> None:
    """Whoever goes back to it in the editor has typed it again."""
    path = place.workspace / "a.txt"
    path.write_text("one\ntwo\n")
    model = place.script(edit_of("typed", "TYPED"), edit_of("one", "ONE"))
    typed = "one\ntyped\n"
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        buffers = Buffers(editor)
        buffers.texts[str(path)] = typed
        saved = editor.serve["fs/write_text_file"]

        def formatted_on_disk(params: dict[str, Any]) -> Any:
            saved(params)
            path.write_text("one\n  TYPED\n")
            return {}

        editor.serve["fs/write_text_file"] = formatted_on_disk
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert path.read_text() == "one\n  TYPED\n"
        editor.serve["fs/write_text_file"] = saved
        buffers.texts[str(path)] = typed
        await editor.prompt(session)
        assert buffers.texts[str(path)] in (typed, "ONE\ntyped\n")
        edit = [*editor.held[session].calls.values()][-1]
        assert "typed" in said(edit["content"]) or edit["status"] == "failed"


async def test_a_cancellation_does_not_wait_for_an_editor_that_does_not_answer(place: Place) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\ntwo\n")
    model = place.script(edit_of("two", "TWO"))
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        Buffers(editor).texts[str(path)] = "one\ntwo\n"
        editor.serve["fs/write_text_file"] = lambda _: None
        session = await editor.new(place.workspace)
        answer = await editor.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Go."}])
        await until(lambda: any(one["method"] == "fs/write_text_file" for one in editor.asked))
        await editor.notify("session/cancel", sessionId=session)
        assert (await asyncio.wait_for(answer, SECONDS / 2))["stopReason"] == "cancelled"
        [written] = [one["id"] for one in editor.asked if one["method"] == "fs/write_text_file"]
        assert editor.withdrawn == [written]
        assert path.read_text() == "one\nTWO\n"
        _, edit = editor.held[session].calls.values()
        assert diffs(edit["content"]) == [("one\ntwo\n", "one\nTWO\n")]
        assert "EDITOR_BUFFER: " in said(edit["content"])


@pytest.mark.parametrize(("typed", "saves"), [("", True), ("typed\n", True), ("typed\n", False)])
async def test_what_the_editor_makes_of_a_text_as_it_saves_it_stands_and_is_told(
    place: Place, typed: str, saves: bool
) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\ntwo\n")
    model = place.script(edit_of("two", "TWO"))
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        buffers = Buffers(editor, saves=saves)
        buffers.texts[str(path)] = "one\ntwo\n" + typed
        buffers.on_save = str.title
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        result = "One\nTwo\n" + typed.title()
        assert path.read_text() == buffers.texts[str(path)] == result
        edit = list(editor.held[session].calls.values())[-1]
        assert (edit["status"], diffs(edit["content"])) == ("completed", [("one\ntwo\n" + typed, result)])
        assert "as the editor saved it" in said(edit["content"])
        assert len(editor.held[session].calls) == 2


async def test_a_formatter_that_works_behind_the_editor_is_told_and_not_fought(place: Place) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\ntwo\n")
    model = place.script([*edit_of("two", "TWO")[:2], *edit_of("ONE", "1")])
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        buffers = Buffers(editor)

        def write(params: dict[str, Any]) -> Any:
            buffers.write(params)
            path.write_text(path.read_text().upper())
            return {}

        editor.serve["fs/write_text_file"] = write
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        _, edit, _, again = editor.held[session].calls.values()
        assert diffs(edit["content"]) == [("one\ntwo\n", "ONE\nTWO\n")]
        assert "EDITOR_BUFFER: " in said(edit["content"])
        assert diffs(again["content"]) == [("ONE\nTWO\n", "1\nTWO\n")]
        assert path.read_text() == "1\nTWO\n"


@pytest.mark.parametrize("write", [decline, None])
async def test_a_foreign_agents_writes_go_by_the_disk_as_well(place: Place, write: Any) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\ntwo\n")
    asked = {"sessionId": "s", "path": "{w}/a.txt"}
    steps = [
        {"call": "fs/read_text_file", "params": asked},
        {"run": "sed -i s/one/ONE/ a.txt"},
        {"call": "fs/read_text_file", "params": asked},
        {"send": {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Edit", "kind": "edit"}},
        {"call": "fs/write_text_file", "params": {**asked, "content": "ONE\nTWO\n"}},
        {"send": {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}},
    ]
    async with place.editor(*puppet(place, steps), capabilities=BOTH) as editor:
        buffers = Buffers(editor)
        buffers.texts[str(path)] = "one\ntwo\n"  # and it is never loaded again
        if write is not None:
            editor.serve["fs/write_text_file"] = write
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert path.read_text() == "ONE\nTWO\n"
        assert '{"content": "ONE\\ntwo\\n"}' in editor.held[session].text["agent"]
        cards = [one for one in editor.held[session].calls.values() if diffs(one["content"])]
        sides = [side for card in cards for side in diffs(card["content"])]
        assert (sides[0][0], sides[-1][1]) == ("one\ntwo\n", "ONE\nTWO\n")
        assert all(later[0] == earlier[1] for earlier, later in pairwise(sides))
        assert ("EDITOR_BUFFER: " in said(cards[-1]["content"])) == (write is not None)


async def test_a_file_that_grows_too_large_to_be_handed_over_is_edited_on_the_disk(place: Place) -> None:
    path = place.workspace / "a.txt"
    path.write_text("one\n" * (BASIS_LIMIT // 4 - 1) + "two\n")
    first, edit, last = edit_of("two", "three")
    first["call"][0]["arguments"]["limit"] = 1
    model = place.script([first, edit, last])
    async with place.editor("--model", model, "--approval", "all", capabilities=BOTH) as editor:
        buffers = Buffers(editor)
        session = await editor.new(place.workspace)
        await editor.prompt(session)
        assert path.read_bytes()[-10:] == b"one\nthree\n"
        assert buffers.written == []
        assert list(editor.held[session].calls.values())[-1]["status"] == "completed"
