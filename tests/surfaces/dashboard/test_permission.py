"""Questions and undo over HTTP: the whole change before the answer, and what was shown is what is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.parlour import Screen, never
from surfaces.dashboard.stage import House, call, step, until

if TYPE_CHECKING:
    from redline.tools.permission import PermissionOutcome, PermissionRequest

BEFORE = "".join(f"line {number}\n" for number in range(1, 41))
EDITS = [
    {"old_string": "line 3\n", "new_string": "line three\n"},
    {"old_string": "line 30\n", "new_string": "line thirty\n"},
]


async def edited(house: House) -> tuple[str, dict[str, Any]]:
    """A session that has changed `f.txt` in two places, and the row of that call."""
    (house.workspace / "f.txt").write_text(BEFORE)
    edit = call("multi_edit", path="{workspace}/f.txt", edits=EDITS)
    session = await house.begin([step("", call("read", path="{workspace}/f.txt")), step("", edit)], prompt="Edit.")
    await house.answer(session, "allow_once")
    await house.done(session)
    rows = [row for row in await house.rows(session) if row["kind"] == "tool" and row["changes"]]
    assert len(rows) == 1, [row["error"] for row in await house.rows(session) if row["kind"] == "tool"]
    return session, rows[0]


async def test_the_whole_change_stands_before_the_buttons(house: House) -> None:
    (house.workspace / "f.txt").write_text(BEFORE)
    edit = call("multi_edit", path="{workspace}/f.txt", edits=EDITS)
    session = await house.begin([step("", call("read", path="{workspace}/f.txt")), step("", edit)], prompt="Edit.")
    asked = await house.asked(session)
    assert [option["id"] for option in asked["options"]] == ["allow_once", "allow_session", "reject"]
    (change,) = asked["changes"]
    changed = [line for hunk in change["hunks"] for line in hunk["lines"] if line[0] != " "]
    assert changed == ["-line 3", "+line three", "-line 30", "+line thirty"]
    assert change["provenance"] == "proposed"
    assert (house.workspace / "f.txt").read_text() == BEFORE


async def test_a_proposal_that_is_too_large_for_the_log_is_shown_from_the_kept_bytes(house: House) -> None:
    text = "".join(f"{number} {'y' * 90}\n" for number in range(12_000))
    session = await house.begin([step("", call("write", path="{workspace}/a.txt", content=text))], prompt="Write.")
    asked = await house.asked(session)
    assert asked["changes"][0]["truncated"]
    (tool,) = (row for row in await house.rows(session) if row["kind"] == "tool")
    for row, name in ((asked["id"], "changes"), (tool["id"], "proposed")):
        (whole,) = (await house.get(f"sessions/{session}/row", row=row))["row"][name]
        assert not whole["truncated"]
        assert sum(len(hunk["lines"]) for hunk in whole["hunks"]) == 12_000


async def test_only_what_was_offered_is_an_answer(house: House) -> None:
    session = await house.begin([step("", call("write", path="{workspace}/a.txt", content="a\n"))], prompt="Write.")
    request = (await house.asked(session))["request"]
    for option in ("allow_everything", "unavailable", ""):
        body = {"request": request, "option": option}
        assert (await house.post(f"sessions/{session}/permission", body, status=409))["code"] == "NO_OPTION"
    unknown = {"request": "no-such-request", "option": "allow_once"}
    assert (await house.post(f"sessions/{session}/permission", unknown, status=409))["code"] == "NO_OPTION"
    assert (await house.asked(session))["outcome"] is None


async def test_an_answer_elsewhere_settles_every_copy(house: House) -> None:
    session = await house.begin([step("", call("write", path="{workspace}/a.txt", content="a\n"))])
    tabs = [house.tab(f"{session}:0") for _ in range(3)]
    room = await house.gateway.open(session)
    terminal = Screen(answer=never)
    room.attach(terminal)
    await house.post(f"sessions/{session}/prompt", {"text": "Write."}, status=202)
    request = (await house.asked(session))["request"]
    await until(lambda: terminal.asked)
    body = {"request": request, "option": "reject"}
    assert await house.post(f"sessions/{session}/permission", body) == {"settled": True}
    body["option"] = "allow_once"
    assert await house.post(f"sessions/{session}/permission", body) == {"settled": False}
    await house.done(session)
    for tab in tabs:
        await until(tab.has(session, "turn_end:1"))
        (row,) = (row for row in tab.ordered(session) if row["kind"] == "permission")
        assert (row["outcome"], row["by"]) == ("reject", "dashboard")
    assert not (house.workspace / "a.txt").exists()


async def test_an_answer_of_another_surface_settles_the_page(house: House) -> None:
    session = await house.begin([step("", call("write", path="{workspace}/a.txt", content="a\n"))])
    tab = house.tab(f"{session}:0")

    async def allow(request: PermissionRequest) -> PermissionOutcome | None:
        await until(lambda: any(row["kind"] == "permission" for row in tab.ordered(session)))
        return "allow_once"

    (await house.gateway.open(session)).attach(Screen(name="chat", answer=allow))
    await house.post(f"sessions/{session}/prompt", {"text": "Write."}, status=202)
    await until(tab.has(session, "turn_end:1"))
    (row,) = (row for row in tab.ordered(session) if row["kind"] == "permission")
    assert (row["outcome"], row["by"]) == ("allow_once", "chat")


async def test_a_file_that_changes_under_the_question_is_asked_about_again(house: House) -> None:
    (house.workspace / "f.txt").write_text(BEFORE)
    edit = call("edit", path="{workspace}/f.txt", old_string="line 3\n", new_string="line three\n")
    session = await house.begin([step("", call("read", path="{workspace}/f.txt")), step("", edit)], prompt="Edit.")
    await house.asked(session)
    (house.workspace / "f.txt").write_text(BEFORE + "somebody else\n")
    await house.answer(session, "allow_once")
    again = await house.asked(session, 2)
    assert "line three" not in (house.workspace / "f.txt").read_text()
    assert again["note"].startswith("The file changed since the last answer")
    assert again["changes"][0]["before"]["size"] == len(BEFORE + "somebody else\n")
    await house.answer(session, "allow_once", 2)
    await house.done(session)
    assert (house.workspace / "f.txt").read_text().endswith("somebody else\n")
    assert "line three\n" in (house.workspace / "f.txt").read_text()


async def test_undo_does_what_was_shown(house: House) -> None:
    session, row = await edited(house)
    preview = await house.post(f"sessions/{session}/undo/preview", {"turn": 1})
    assert preview["of"] == [{"turn": 1, "call": row["call"]}]
    changed = [line for hunk in preview["changes"][0]["hunks"] for line in hunk["lines"] if line[0] != " "]
    assert changed == ["-line three", "+line 3", "-line thirty", "+line 30"]
    assert "line three" in (house.workspace / "f.txt").read_text()
    done = await house.post(f"sessions/{session}/undo", {"plan": preview["plan"]})
    assert (house.workspace / "f.txt").read_text() == BEFORE
    (undone,) = (one for one in await house.rows(session) if one["kind"] == "tool" and one["changes"])
    assert undone["reverted"] is True
    assert (await house.post(f"sessions/{session}/undo", {"plan": preview["plan"]}, status=404))["code"] == "NO_PLAN"
    back = await house.post(f"sessions/{session}/undo/preview", {"turn": done["turn"]})
    await house.post(f"sessions/{session}/undo", {"plan": back["plan"]})
    assert "line three" in (house.workspace / "f.txt").read_text()


async def test_one_hunk_is_taken_back_and_the_rest_stays(house: House) -> None:
    session, row = await edited(house)
    selection = {"turn": 1, "call": row["call"], "path": row["changes"][0]["path"], "hunk": 2}
    preview = await house.post(f"sessions/{session}/undo/preview", selection)
    await house.post(f"sessions/{session}/undo", {"plan": preview["plan"]})
    text = (house.workspace / "f.txt").read_text()
    assert "line three\n" in text
    assert "line 30\n" in text
    (still,) = (one for one in await house.rows(session) if one["kind"] == "tool" and one["changes"])
    assert still["reverted"] is False


async def test_undo_works_while_nobody_runs_the_session_and_leaves_it_so(house: House) -> None:
    session, _ = await edited(house)
    room = await house.gateway.open(session)
    await room.let_go()
    tab = house.tab(f"{session}:0")
    await until(lambda: tab.states.get(session, {}).get("runs") == "nobody")
    preview = await house.post(f"sessions/{session}/undo/preview", {"path": "f.txt"})
    await house.post(f"sessions/{session}/undo", {"plan": preview["plan"]})
    await until(tab.has(session, "turn_end:2"))
    assert not house.archive.is_running(session)
    assert (house.workspace / "f.txt").read_text() == BEFORE


async def test_a_file_that_moved_on_is_not_undone_blindly(house: House) -> None:
    session, _ = await edited(house)
    preview = await house.post(f"sessions/{session}/undo/preview", {"turn": 1})
    after = (house.workspace / "f.txt").read_text().replace("line three", "line 3, by hand")
    (house.workspace / "f.txt").write_text(after)
    refused = await house.post(f"sessions/{session}/undo", {"plan": preview["plan"]}, status=409)
    assert (refused["code"], refused["remedy"]) == ("STALE", "Look at what it would do now.")
    assert (house.workspace / "f.txt").read_text() == after
    again = await house.post(f"sessions/{session}/undo/preview", {"turn": 1}, status=409)
    assert again["code"] == "CHANGED"
    assert any("line 3, by hand" in line for line in again["lines"])


async def test_an_undo_during_a_turn_waits_for_its_end(house: House) -> None:
    session = await house.begin([step("", call("bash", command="true"))], prompt="Run.")
    await house.asked(session)
    assert (await house.post(f"sessions/{session}/undo/preview", {}, status=409))["code"] == "RUNNING"
    deleted = await house.client.delete(f"/api/sessions/{session}")
    assert (deleted.status_code, deleted.json()["code"]) == (409, "RUNNING")
