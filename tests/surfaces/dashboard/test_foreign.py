"""Somebody else's agent behind the dashboard: what it says is read, what is on the disk is believed."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

from agents.acp.puppetry import PUPPET, diff, done, edit, say, start
from surfaces.dashboard.stage import House, dashboard, until

if TYPE_CHECKING:
    from pathlib import Path


def command(folder: Path, *prompts: list[dict[str, Any]]) -> str:
    script = folder / "puppet.json"
    script.write_text(json.dumps({"prompts": list(prompts)}))
    return shlex.join([sys.executable, str(PUPPET), str(script)])


async def begin(house: House) -> str:
    body = {"folder": str(house.workspace), "prompt": "Go."}
    return str((await house.post("sessions", body, status=201))["session"])


async def test_a_mislabelled_edit_is_a_card_and_a_claim_is_not(tmp_path: Path) -> None:
    quiet = start("quiet", title="Thinking about it", kind="think", status="in_progress")
    claim = edit("claim", "never.txt", None, "never\n")
    steps = [
        quiet, {"write": "found.txt", "text": "really\n"}, done("quiet"),
        claim, done("claim"),
        say("There.\n\n```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n```\n"),
    ]  # fmt: skip
    async with dashboard(tmp_path, agent_command=command(tmp_path, steps)) as house:
        session = await begin(house)
        tab = house.tab(f"{session}:0")
        await until(tab.has(session, "turn_end:1"))
        rows = await house.rows(session)
        await until(lambda: tab.ordered(session) == rows)
        on_disk = {
            change["name"]: row["kind"] for row in rows if row["kind"] in ("tool", "found") for change in row["changes"]
        }
        assert list(on_disk) == ["found.txt"]
        (claimed,) = (row for row in rows if row["kind"] == "tool" and row["call"] == "claim")
        assert (claimed["status"], claimed["changes"]) == ("completed", [])
        assert [total["name"] for total in rows[-1]["net"]] == ["found.txt"]
        (said,) = (row for row in rows if row["kind"] == "agent")
        assert said["covered_fences"] == []
        assert claimed["has_raw"] is True
        assert (await house.get(f"sessions/{session}/row", row=claimed["id"]))["raw"]


async def test_a_diff_that_the_cards_show_already_may_be_folded(tmp_path: Path) -> None:
    fence = "Done:\n\n```diff\n--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-old\n+new\n```\n"
    call = edit("e", "f.txt", "old\n", "new\n")
    steps = [call, {"write": "f.txt", "text": "new\n"}, done("e"), say(fence)]
    async with dashboard(tmp_path, agent_command=command(tmp_path, steps)) as house:
        (house.workspace / "f.txt").write_text("old\n")
        session = await begin(house)
        tab = house.tab(f"{session}:0")
        await until(tab.has(session, "turn_end:1"))
        await until(lambda: [row["covered_fences"] for row in tab.ordered(session) if row["kind"] == "agent"] == [[2]])
        assert [row["covered_fences"] for row in await house.rows(session) if row["kind"] == "agent"] == [[2]]


async def test_its_question_shows_the_change_against_the_disk_and_it_can_be_let_go(tmp_path: Path) -> None:
    ask = {
        "ask": {
            "toolCallId": "e", "title": "Edit f.txt", "kind": "edit",
            "content": [diff("f.txt", "two\n", "TWO\n")],
        },
    }  # fmt: skip
    first = [ask, {"write": "f.txt", "text": "one\nTWO\nthree\n"}, done("e")]
    async with dashboard(tmp_path, agent_command=command(tmp_path, first, [say("Again.")])) as house:
        (house.workspace / "f.txt").write_text("one\ntwo\nthree\n")
        session = await begin(house)
        asked = await house.asked(session)
        (hunk,) = asked["changes"][0]["hunks"]
        assert hunk["lines"] == [" one", "-two", "+TWO", " three"]
        await house.answer(session, "allow_once")
        await house.done(session)
        (row,) = (row for row in await house.rows(session) if row["kind"] == "tool")
        assert (row["status"], row["changes"][0]["provenance"]) == ("applied", "observed")
        await (await house.gateway.open(session)).let_go()
        assert (await house.get(f"sessions/{session}"))["runs"] == "nobody"
