"""A turn through HTTP: what arrives live is what is there after a reload."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from surfaces.dashboard.stage import House, call, dashboard, step, until

if TYPE_CHECKING:
    from typing import Any

WRITE = call("write", path="{workspace}/hello.txt", content="hello\n")
TWO_TURNS = (
    [step("I will write a greeting.", WRITE, thinking="A greeting is wanted."), step("There it is.")],
    [step("", call("bash", command="printf 'diff --git a/x b/x\\n--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n-1\\n+2\\n'"))],
)


def kinds(rows: list[dict[str, Any]]) -> list[str]:
    return [row["kind"] for row in rows]


async def test_what_a_tab_saw_live_is_what_another_finds(house: House) -> None:
    session = await house.begin(*TWO_TURNS)
    tab = house.tab(f"{session}:0")
    await house.post(f"sessions/{session}/prompt", {"text": "Greet."}, status=202)
    await house.answer(session, "allow_once")
    await until(tab.has(session, "turn_end:1"))
    await house.post(f"sessions/{session}/prompt", {"text": "And now?"}, status=202)
    await house.answer(session, "allow_once", 2)
    await until(tab.has(session, "turn_end:2"))
    await until(lambda: tab.ordered(session)[-1]["kind"] == "turn_end" and not tab.states[session]["running"])
    reloaded = await house.rows(session)
    assert tab.ordered(session) == reloaded
    assert await house.rows(session, limit=2) == reloaded
    assert kinds(reloaded)[:6] == ["user", "thought", "agent", "tool", "permission", "agent"]
    assert (house.workspace / "hello.txt").read_text() == "hello\n"


async def test_a_change_is_a_card_and_the_text_of_a_diff_is_not(house: House) -> None:
    session = await house.begin(*TWO_TURNS, prompt="Greet.")
    await house.answer(session, "allow_once")
    await house.done(session)
    await house.post(f"sessions/{session}/prompt", {"text": "And now?"}, status=202)
    await house.answer(session, "allow_once", 2)
    await house.done(session, 2)
    written, shell = (row for row in await house.rows(session) if row["kind"] == "tool")
    assert (written["status"], written["card"], written["changes"][0]["name"]) == ("applied", "diff", "hello.txt")
    assert (shell["status"], shell["card"], shell["changes"], shell["proposed"]) == ("completed", "terminal", [], [])
    assert "+++ b/x" in shell["output"]
    end = (await house.rows(session))[-1]
    assert end["kind"] == "turn_end"
    assert end["net"] == []


async def test_what_was_rejected_is_readable_and_not_on_disk(house: House) -> None:
    session = await house.begin([step("", WRITE), step("As you like.")], prompt="Greet.")
    assert await house.answer(session, "reject") == {"settled": True}
    await house.done(session)
    (row,) = (row for row in await house.rows(session) if row["kind"] == "tool")
    assert row["status"] == "rejected"
    assert row["changes"] == []
    assert row["proposed"][0]["hunks"][0]["lines"] == ["+hello"]
    assert row["proposed"][0]["provenance"] == "proposed"
    assert (await house.rows(session))[-1]["net"] == []
    assert not (house.workspace / "hello.txt").exists()


async def test_a_long_change_comes_as_a_summary_and_whole_when_asked_for(house: House) -> None:
    content = "".join(f"line {number}\n" for number in range(401))
    many = call("write", path="{workspace}/long.txt", content=content)
    few = call("write", path="{workspace}/short.txt", content=content.partition("\n")[2])
    session = await house.begin([step("", many), step("", few)], prompt="Write.")
    asked = await house.asked(session)
    assert (asked["changes"][0]["hunks"], asked["changes"][0]["hunks_omitted"]) == ([], True)
    whole = await house.get(f"sessions/{session}/row", row=asked["id"])
    assert len(whole["row"]["changes"][0]["hunks"][0]["lines"]) == 401
    await house.answer(session, "allow_once")
    await house.answer(session, "allow_once", 2)
    await house.done(session)
    long, short = (row for row in await house.rows(session) if row["kind"] == "tool")
    change = long["changes"][0]
    assert (change["hunks"], change["hunks_omitted"], change["added"], change["diff_lines"]) == ([], True, 401, 401)
    details = await house.get(f"sessions/{session}/row", row=long["id"])
    assert len(details["row"]["changes"][0]["hunks"][0]["lines"]) == 401
    assert details["row"]["changes"][0]["hunks_omitted"] is False
    assert (short["changes"][0]["hunks_omitted"], short["changes"][0]["diff_lines"]) == (False, 400)


async def test_a_prompt_waits_for_the_end_of_the_turn_and_stop_stops_both(house: House) -> None:
    session = await house.begin([step("", call("bash", command="sleep 60"))], [step("second")], prompt="Wait.")
    await house.answer(session, "allow_once")
    await until(lambda: _status(house, session, "running"))
    await house.post(f"sessions/{session}/prompt", {"text": "Later."}, status=202)
    assert (await house.get(f"sessions/{session}"))["waiting"] == 1
    assert await house.post(f"sessions/{session}/cancel", {}) == {"cancelled": True}
    rows = await house.rows(session)
    assert [row["reason"] for row in rows if row["kind"] == "turn_end"] == ["cancelled"]
    assert [row["status"] for row in rows if row["kind"] == "tool"] == ["cancelled"]
    assert await house.post(f"sessions/{session}/cancel", {}) == {"cancelled": False}


async def _status(house: House, session: str, status: str) -> bool:
    return any(row["kind"] == "tool" and row["status"] == status for row in await house.rows(session))


async def test_a_prompt_has_words_and_not_too_many(house: House) -> None:
    session = await house.begin([step("ok")])
    for text, code in (("", "REQUEST"), ("  \n", "REQUEST"), ("x" * 1_000_001, "TOO_LONG")):
        refused = await house.post(f"sessions/{session}/prompt", {"text": text}, status=422)
        assert (refused["code"], bool(refused["remedy"])) == (code, True)
    assert await house.rows(session) == []


async def test_a_session_needs_a_folder_a_model_and_an_agent_that_are_there(house: House) -> None:
    async def refused(**body: str) -> tuple[str, bool]:
        answer = await house.post("sessions", {"folder": str(house.workspace), **body}, status=409)
        return answer["code"], bool(answer["remedy"])

    assert await refused(folder=str(house.folder / "nowhere")) == ("FOLDER", True)
    assert await refused(folder="relative") == ("FOLDER", True)
    assert await refused() == ("NO_MODEL", True)
    assert await refused(model="script:/nowhere.toml") == ("SCRIPT", True)
    assert await refused(agent="nobody-knows-it") == ("UNKNOWN_AGENT", True)
    assert (await house.get("sessions"))["sessions"] == []


async def test_the_list_is_searched_paged_and_tells_who_runs_what(house: House) -> None:
    made = [await house.begin([step("ok")], prompt=f"Paint the {colour} door.") for colour in ("red", "green", "blue")]
    for session in made:
        await house.done(session)
    assert [one["session"] for one in (await house.get("sessions", query="GREEN door"))["sessions"]] == [made[1]]
    assert (await house.get("sessions", query="violet"))["sessions"] == []
    seen: list[str] = []
    before: int | None = None
    while True:
        page = await house.get("sessions", limit=1, **({} if before is None else {"before": before}))
        seen += [one["session"] for one in page["sessions"]]
        before = page["before"]
        if before is None:
            break
    assert sorted(seen) == sorted(made)
    assert {one["runs"] for one in (await house.get("sessions"))["sessions"]} == {"here"}


async def test_the_list_on_the_stream_hears_of_new_and_deleted_sessions(house: House) -> None:
    tab = house.tab(listing=True)
    session = await house.begin([step("ok")], prompt="Hello.")
    await until(lambda: session in tab.listed and tab.listed[session]["turns"] == 1)
    await house.done(session)
    deleted = await house.client.delete(f"/api/sessions/{session}")
    assert deleted.status_code == 200
    await until(lambda: session not in tab.listed)
    assert (await house.client.get(f"/api/sessions/{session}")).status_code == 404


async def test_a_reload_in_the_middle_of_a_turn_has_what_is_there_and_gets_the_rest(house: House) -> None:
    writes = [call("write", path=f"{{workspace}}/{n}.txt", content=f"{n}\n") for n in range(4)]
    session = await house.begin([step("", write) for write in writes], prompt="Four.")
    for count in (1, 2):
        await house.answer(session, "allow_once", count)
    await house.asked(session, 3)
    page = await house.get(f"sessions/{session}/rows")
    cards = [row["id"] for row in page["rows"] if row["kind"] == "tool" and row["changes"]]
    assert len(cards) == 2
    tab = house.tab(f"{session}:{page['seq']}")
    for count in (3, 4):
        await house.answer(session, "allow_once", count)
    await until(tab.has(session, "turn_end:1"))
    joined = {row["id"]: row for row in page["rows"]} | tab.rows[session]
    assert not set(cards) & set(tab.rows[session])
    assert sorted(joined.values(), key=lambda row: row["seq"]) == await house.rows(session)


async def test_a_damaged_event_costs_one_row(house: House) -> None:
    session = await house.begin([step("one", WRITE), step("two")], prompt="Go.")
    await house.answer(session, "allow_once")
    await house.done(session)
    await (await house.gateway.open(session)).let_go()
    before = await house.rows(session)
    said = next(row for row in before if row["kind"] == "agent")
    with closing(sqlite3.connect(house.folder / "data" / "sessions.db")) as database, database:
        database.execute("UPDATE events SET data = '{' WHERE session = ? AND seq = ?", (session, said["seq"]))
    async with dashboard(house.folder) as again:
        after = await again.rows(session)
    assert [row["kind"] for row in after] == ["other" if row is said else row["kind"] for row in before]
    assert "damaged" in next(row["title"] for row in after if row["kind"] == "other")
