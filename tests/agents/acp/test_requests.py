"""What an agent has its client do: files and commands, inside the workspace only, and each change told once."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from agents.acp.puppetry import done, edit, found, puppet, said, start, tools, touched, turn, until
from captures.recorded import Onlooker
from redline.files import mutation

if TYPE_CHECKING:
    from pathlib import Path

    from captures.recorded import Stage

TEXT = "".join(f"line {number}\n" for number in range(1, 41))
NEW = TEXT.replace("line 20\n", "line twenty\n")
BEFORE = {"a.txt": TEXT.encode()}
ONE_LINE = [("modify", "a.txt", 1, 1)]


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"call": method, "params": params}


def answers(live: Stage) -> list[dict[str, Any]]:
    return [json.loads(line) for text in said(live) for line in text.replace("}{", "}\n{").splitlines()]


async def test_a_write_is_the_open_calls_and_told_once(tmp_path: Path) -> None:
    steps = [
        edit("c", "a.txt", "line 20", "line twenty"),
        request("fs/write_text_file", path="{w}/a.txt", content=NEW), done("c"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        row = tools(live)["c"]
        assert (row.status, touched(row, live)) == ("applied", ONE_LINE)
        assert row.changes[0].provenance == "result"
        assert len(tools(live)) == 1
        assert not found(live)


async def test_a_write_for_no_call_is_a_call_of_its_own(tmp_path: Path) -> None:
    steps = [request("fs/write_text_file", path="{w}/sub/new.txt", content="new\n")]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        [row] = tools(live).values()
        assert (row.status, touched(row, live)) == ("applied", [("add", "sub/new.txt", 1, 0)])


async def test_what_the_client_wrote_and_the_agent_then_wrote_again_is_one_change(tmp_path: Path) -> None:
    steps = [
        edit("c", "a.txt", "line 20", "line twenty"),
        request("fs/write_text_file", path="{w}/a.txt", content="wrong\n"), {"write": "a.txt", "text": NEW}, done("c"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert touched(tools(live)["c"], live) == ONE_LINE


async def test_line_ends_that_the_agent_took_out_come_back(tmp_path: Path) -> None:
    crlf = TEXT.replace("\n", "\r\n").encode()
    steps = [
        start("c", kind="edit", title="Edit", locations=[{"path": "{w}/a.txt"}]),
        request("fs/read_text_file", path="{w}/a.txt"),
        request("fs/write_text_file", path="{w}/a.txt", content=NEW, _meta={"lineEnding": "crlf"}), done("c"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": crlf}) as live:
        await turn(live, {"a.txt": crlf})
        assert answers(live)[0]["result"]["content"] == crlf.decode()
        assert (live.workspace / "a.txt").read_bytes() == NEW.replace("\n", "\r\n").encode()
        assert touched(tools(live)["c"], live) == ONE_LINE


async def test_a_byte_order_mark_is_not_handed_over_and_is_kept(tmp_path: Path) -> None:
    marked = b"\xef\xbb\xbf" + TEXT.encode()
    steps = [
        request("fs/read_text_file", path="{w}/a.txt"), request("fs/write_text_file", path="{w}/a.txt", content=NEW),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": marked}) as live:
        await turn(live, {"a.txt": marked})
        assert answers(live)[0]["result"]["content"] == TEXT
        assert (live.workspace / "a.txt").read_bytes() == b"\xef\xbb\xbf" + NEW.encode()


async def test_a_file_that_is_not_utf8_is_refused_rather_than_destroyed(tmp_path: Path) -> None:
    latin = "caf\xe9\n".encode("latin-1")
    steps = [
        request("fs/read_text_file", path="{w}/a.txt"),
        request("fs/write_text_file", path="{w}/a.txt", content="café\n"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": latin}) as live:
        await turn(live, {"a.txt": latin})
        assert [list(answer) for answer in answers(live)] == [["error"], ["error"]]
        assert "NOT_TEXT" in answers(live)[1]["error"]["message"]


async def test_nothing_outside_the_workspace_is_read_written_or_run_in(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    steps = [
        request("fs/read_text_file", path=str(tmp_path / "secret.txt")),
        request("fs/read_text_file", path="{w}/../secret.txt"),
        request("fs/write_text_file", path=str(tmp_path / "secret.txt"), content="x"),
        request("terminal/create", command="pwd", cwd=str(tmp_path)),
    ]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert [list(answer) for answer in answers(live)] == [["error"]] * 4
        assert (tmp_path / "secret.txt").read_text() == "secret"


async def test_lines_can_be_read_one_by_one_and_a_missing_file_is_said(tmp_path: Path) -> None:
    steps = [
        request("fs/read_text_file", path="{w}/a.txt", line=2, limit=2),
        request("fs/read_text_file", path="{w}/a.txt", line=40),
        request("fs/read_text_file", path="{w}/none.txt"),
    ]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert [answer.get("result") for answer in answers(live)[:2]] == [
            {"content": "line 2\nline 3\n"},
            {"content": "line 40\n"},
        ]
        assert answers(live)[2]["error"]["code"] == -32002


async def test_an_agent_that_knows_no_missing_file_is_told_that_it_is_empty(tmp_path: Path) -> None:
    steps = [request("fs/read_text_file", path="{w}/none.txt")]
    named = {"agentInfo": {"name": "gemini-cli", "version": "1"}}
    async with puppet(tmp_path, steps, initialize=named) as live:
        await turn(live)
        assert answers(live)[0]["result"] == {"content": ""}


async def test_a_command_runs_in_the_workspace_and_its_changes_are_its_calls(tmp_path: Path) -> None:
    steps = [
        start("c", kind="execute", title="sed", content=[{"type": "terminal", "terminalId": "terminal-1"}]),
        request("terminal/create", command="sed -i s/20/twenty/ a.txt && echo done && exit 3"),
        request("terminal/wait_for_exit", terminalId="terminal-1"),
        request("terminal/output", terminalId="terminal-1"),
        request("terminal/release", terminalId="terminal-1"), done("c"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert answers(live)[1]["result"] == {"exitCode": 3, "signal": None}
        assert answers(live)[2]["result"]["output"] == "done\n"
        row = tools(live)["c"]
        assert touched(row, live) == ONE_LINE
        assert (row.result_view.output, row.result_view.exit_code) == ("done\n", 3)  # type: ignore[union-attr]


async def test_output_is_bounded_at_whole_characters_and_a_command_can_be_killed(tmp_path: Path) -> None:
    steps = [
        request("terminal/create", command="for i in 1 2 3 4 5 6 7 8 9; do printf 'äöü'; done", outputByteLimit=11),
        request("terminal/wait_for_exit", terminalId="terminal-1"),
        request("terminal/output", terminalId="terminal-1"),
        request("terminal/create", command="sleep", args=["100"]),
        request("terminal/kill", terminalId="terminal-2"),
        request("terminal/wait_for_exit", terminalId="terminal-2"),
        request("terminal/output", terminalId="none"),
    ]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        got = answers(live)
        assert got[2]["result"] == {
            "output": "öüäöü", "truncated": True, "exitStatus": {"exitCode": 0, "signal": None},
        }  # fmt: skip
        assert got[5]["result"] == {"exitCode": None, "signal": "SIGTERM"}
        assert "error" in got[6]


async def test_an_unknown_request_is_answered_and_harms_nothing(tmp_path: Path) -> None:
    async with puppet(tmp_path, [request("craft/drain")], files={"a.txt": TEXT}) as live:
        assert await turn(live, BEFORE) == "completed"
        assert answers(live)[0]["error"]["code"] == -32601


class Strict(Onlooker):
    """Says to every question what it is told to, also where the agent did not ask."""

    def __init__(self, outcome: str) -> None:
        super().__init__()
        self.outcome = outcome

    async def ask(self, request: Any) -> Any:
        self.asked.append(request)
        return self.outcome


async def test_a_write_that_the_agent_did_not_ask_for_is_asked_about_with_the_true_change(tmp_path: Path) -> None:
    steps = [request("fs/write_text_file", path="{w}/a.txt", content=NEW)]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, onlooker=Strict("allow_once")) as live:
        await turn(live, BEFORE)
        [asked] = live.onlooker.asked
        assert [(change.added, change.removed, change.anchored) for change in asked.changes] == [(1, 1, True)]
        assert "did not ask" in (asked.note or "")
        assert [touched(row, live) for row in tools(live).values()] == [ONE_LINE]


async def test_a_write_that_is_not_allowed_is_not_made_and_stays_readable(tmp_path: Path) -> None:
    steps = [request("fs/write_text_file", path="{w}/a.txt", content=NEW)]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, onlooker=Strict("reject")) as live:
        await turn(live, BEFORE)
        assert (live.workspace / "a.txt").read_text() == TEXT
        assert "did not allow" in answers(live)[0]["error"]["message"]
        [row] = tools(live).values()
        assert (row.status, row.changes, len(row.proposed)) == ("rejected", (), 1)


async def test_who_has_asked_is_not_asked_about_again_but_about_another_file(tmp_path: Path) -> None:
    asking = {"ask": {"toolCallId": "c", "title": "Edit", "kind": "edit", "content": [
        {"type": "diff", "path": "{w}/a.txt", "oldText": "line 20", "newText": "line twenty"}]}}  # fmt: skip
    steps = [
        asking, request("fs/write_text_file", path="{w}/a.txt", content=NEW),
        request("fs/write_text_file", path="{w}/b.txt", content="b\n"), done("c"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, onlooker=Strict("allow_once")) as live:
        await turn(live, BEFORE)
        assert [one.paths[0].rpartition("/")[2] for one in live.onlooker.asked] == ["a.txt", "b.txt"]
        told = [(operation, name) for row in tools(live).values() for operation, name, _, _ in touched(row, live)]
        assert sorted(told) == [("add", "b.txt"), ("modify", "a.txt")]


async def test_a_command_that_no_call_accounts_for_is_asked_about_and_has_its_row(tmp_path: Path) -> None:
    steps = [
        request("terminal/create", command="echo b > b.txt; echo done"),
        request("terminal/wait_for_exit", terminalId="terminal-1"), {"sleep": 0.2},
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, onlooker=Strict("allow_once")) as live:
        await turn(live, BEFORE)
        assert [one.arguments for one in live.onlooker.asked] == [{"command": "echo b > b.txt; echo done"}]
        [row] = tools(live).values()
        assert (row.status, touched(row, live)) == ("applied", [("add", "b.txt", 1, 0)])
        assert row.result_view.output == "done\n"  # type: ignore[union-attr]


async def test_a_command_that_is_not_allowed_does_not_run(tmp_path: Path) -> None:
    steps = [start("c", kind="execute", title="x"), request("terminal/create", command="echo b > b.txt"), done("c")]
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}, onlooker=Strict("reject")) as live:
        await turn(live, BEFORE)
        assert not (live.workspace / "b.txt").exists()
        assert tools(live)["c"].status == "rejected"


async def test_where_an_editor_has_settled_what_is_asked_nothing_more_is(tmp_path: Path) -> None:
    steps = [request("fs/write_text_file", path="{w}/a.txt", content=NEW), request("terminal/create", command="true")]
    async with puppet(
        tmp_path, steps, files={"a.txt": TEXT}, onlooker=Strict("reject"), options={"settled": True}
    ) as live:
        await turn(live, BEFORE)
        assert not live.onlooker.asked
        assert (live.workspace / "a.txt").read_text() == NEW


async def test_what_the_agent_writes_at_the_same_moment_is_neither_lost_nor_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some agents hand a text over and write it themselves, too: here just before our file would take its place."""
    still_there = mutation.still_there

    def after_the_agent(*given: Any) -> bool:
        (tmp_path / "workspace/a.txt").write_text(NEW)
        return still_there(*given)

    monkeypatch.setattr(mutation, "still_there", after_the_agent)
    steps = [
        edit("c", "a.txt", "line 20", "line twenty"),
        request("fs/write_text_file", path="{w}/a.txt", content=NEW), done("c"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files={"a.txt": TEXT}) as live:
        await turn(live, BEFORE)
        assert "result" in answers(live)[0]
        row = tools(live)["c"]
        assert (row.status, touched(row, live)) == ("applied", ONE_LINE)


@pytest.mark.parametrize("dies", [False, True], ids=["the user stops it", "the agent dies"])
async def test_a_turn_that_ends_withdraws_the_question_about_a_write(tmp_path: Path, dies: bool) -> None:
    class Silent(Onlooker):
        async def ask(self, request: Any) -> Any:
            self.asked.append(request)
            await asyncio.Event().wait()

    asking = {"jsonrpc": "2.0", "id": "w", "method": "fs/write_text_file", "params": {
        "sessionId": "puppet", "path": "{w}/a.txt", "content": NEW}}  # fmt: skip
    steps = [{"raw": json.dumps(asking)}, {"sleep": 0.5}, {"exit": 1} if dies else {"wait_cancel": True}]
    async with puppet(tmp_path, steps, [], files={"a.txt": TEXT}, onlooker=Silent()) as live:
        running = asyncio.create_task(turn(live, BEFORE))
        await until(lambda: live.onlooker.asked)
        if not dies:
            await live.conversation.cancel()
        assert await running == ("failed" if dies else "cancelled")
        [row] = tools(live).values()
        assert (row.status, row.changes) == ("cancelled", ())
        (tmp_path / "script.json").write_text("{}")
        assert await turn(live, BEFORE) == "completed"
