"""What an agent has its client do and names no call for: each such thing is a call of its own, with its own answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agents.acp.puppetry import done, found, puppet, said, shell, start, tools, touched, turn
from captures.recorded import Onlooker

if TYPE_CHECKING:
    from pathlib import Path

    from captures.recorded import Stage

TEXT = "one\ntwo\n"
FILES = {"a.txt": TEXT, "b.txt": TEXT}
BEFORE = {name: text.encode() for name, text in FILES.items()}


class Asked(Onlooker):
    """Allows every question but those about what is named here."""

    def __init__(self, *refused: str) -> None:
        super().__init__()
        self.refused = refused

    async def ask(self, request: Any) -> Any:
        self.asked.append(request)
        return "reject" if any(word in request.title for word in self.refused) else "allow_once"


def run(command: str, number: int, **more: Any) -> list[dict[str, Any]]:
    """A command that opens the terminal of that number, to its end."""
    return [
        {"call": "terminal/create", "params": {"command": command, **more}},
        {"call": "terminal/wait_for_exit", "params": {"terminalId": f"terminal-{number}"}},
        {"sleep": 0.1},
    ]


def write(path: str, text: str) -> dict[str, Any]:
    return {"call": "fs/write_text_file", "params": {"path": path, "content": text}}


def told(live: Stage) -> dict[str, tuple[str, list[tuple[str, str, int, int]]]]:
    return {row.call_view.title: (row.status, touched(row, live)) for row in tools(live).values()}


GONE = ("applied", [("delete", "a.txt", 0, 2)])


@pytest.mark.parametrize("refused", ["elsewhere", "by the user", "unknown to the shell", "without a fault"])
async def test_a_command_after_another_has_its_own_row_and_answer(tmp_path: Path, refused: str) -> None:
    first = {
        "elsewhere": run("pwd", 9, cwd="/etc")[:1],
        "by the user": run("pwd", 9)[:1],
        "unknown to the shell": run("pwd-no-such", 1),
        "without a fault": run("pwd", 1),
    }[refused]
    number = 2 if len(first) > 1 else 1
    person = Asked("pwd") if refused == "by the user" else Asked()
    async with puppet(tmp_path, [*first, *run("rm a.txt", number)], files=FILES, onlooker=person) as live:
        await turn(live, BEFORE)
        assert told(live)["rm a.txt"] == GONE
        assert len(told(live)) == 2
        permissions = {row.call: row.permission for row in tools(live).values()}
        assert permissions["client#2"] == "allow_once"
        assert permissions["client#1"] == {"elsewhere": None, "by the user": "reject"}.get(refused, "allow_once")
        assert "pwd" not in [one.title for one in person.asked] or refused != "elsewhere"
        assert not found(live)


async def test_commands_at_once_are_each_a_call(tmp_path: Path) -> None:
    steps = [run("sleep 0.3; rm a.txt", 1)[0], *run("cat b.txt", 2), run("", 1)[1], {"sleep": 0.1}]
    async with puppet(tmp_path, steps, files=FILES, onlooker=Asked()) as live:
        await turn(live, BEFORE)
        assert told(live)["sleep 0.3; rm a.txt"] == GONE
        assert told(live)["cat b.txt"] == ("completed", [])
        assert len(live.onlooker.asked) == 2


@pytest.mark.parametrize("announced", ["pwd", "echo rm -r"])
async def test_a_call_that_runs_something_else_is_not_that_commands(tmp_path: Path, announced: str) -> None:
    steps = [shell("c", announced), *run("rm a.txt", 1), done("c")]
    async with puppet(tmp_path, steps, files=FILES, onlooker=Asked("rm a.txt")) as live:
        await turn(live, BEFORE)
        assert told(live) == {announced: ("completed", []), "rm a.txt": ("rejected", [])}


async def test_a_yes_to_a_longer_command_is_none_to_a_part_of_it(tmp_path: Path) -> None:
    asking = {"ask": {"toolCallId": "c", "title": "echo rm a.txt", "kind": "execute",
                      "rawInput": {"command": "echo rm a.txt"}}}  # fmt: skip
    async with puppet(tmp_path, [asking, *run("rm a.txt", 1)[:1]], files=FILES, onlooker=Asked()) as live:
        live.onlooker.refused = ("rm a.txt",)  # type: ignore[attr-defined]
        await turn(live, BEFORE)
        assert (live.workspace / "a.txt").exists()
    base = tmp_path / "wrapped"
    base.mkdir()
    for spelling in ({"command": "sh", "args": ["-c", "echo 'rm' a.txt"]}, {"command": "echo 'rm' a.txt"}):
        asking["ask"]["rawInput"] = {"command": "echo 'rm' a.txt"}
        steps = [asking, {"call": "terminal/create", "params": spelling}]
        async with puppet(base, steps, files=FILES, onlooker=Asked()) as live:
            await turn(live, BEFORE)
            assert len(live.onlooker.asked) == 1


async def test_a_call_without_a_command_takes_the_first_and_shows_it(tmp_path: Path) -> None:
    steps = [start("c", kind="execute", title="Tidy up"), *run("rm a.txt", 1), *run("rm b.txt", 2), done("c")]
    async with puppet(tmp_path, steps, files=FILES, onlooker=Asked()) as live:
        await turn(live, BEFORE)
        assert "rm a.txt" in json.dumps(tools(live)["c"].raw)
        assert tools(live)["client#1"].call_view.title == "rm b.txt"
        assert len(live.onlooker.asked) == 2


async def test_a_call_that_is_announced_with_the_terminal_is_the_commands(tmp_path: Path) -> None:
    content = [{"type": "terminal", "terminalId": "terminal-1"}]
    steps = [*run("rm a.txt", 1)[:1], start("c", kind="execute", title="rm", content=content), done("c")]
    async with puppet(tmp_path, [*steps, {"sleep": 0.2}], files=FILES, onlooker=Asked()) as live:
        await turn(live, BEFORE)
        [row] = tools(live).values()
        assert (row.status, touched(row, live)) == GONE


async def test_a_write_is_no_commands_and_each_has_its_own_answer(tmp_path: Path) -> None:
    steps = [
        shell("c", "pwd"), write("{w}/a.txt", "A\n"), write("{w}/b.txt", "B\n"), write("/etc/no.txt", "x"), done("c"),
    ]  # fmt: skip
    async with puppet(tmp_path, steps, files=FILES, onlooker=Asked("b.txt")) as live:
        await turn(live, BEFORE)
        assert (live.workspace / "b.txt").read_text() == TEXT
        rows = told(live)
        assert rows["Write a.txt"] == ("applied", [("modify", "a.txt", 1, 2)])
        assert [rows[title][0] for title in ("pwd", "Write b.txt", "Write no.txt")] == [
            "completed",
            "rejected",
            "failed",
        ]
        assert [one.title for one in live.onlooker.asked] == ["Write a.txt", "Write b.txt"]


async def test_texts_for_one_file_that_come_at_once_are_written_one_after_the_other(tmp_path: Path) -> None:
    def sent(number: int, path: str, text: str) -> dict[str, Any]:
        params = {"sessionId": "puppet", "path": path, "content": text}
        asked = {"jsonrpc": "2.0", "id": f"w{number}", "method": "fs/write_text_file", "params": params}
        return {"raw": json.dumps(asked)}

    steps = [sent(1, "{w}/a.txt", "A\n"), sent(2, "{w}/b.txt", "B\n"), sent(3, "{w}/a.txt", "A2\n"), {"sleep": 0.5}]
    async with puppet(tmp_path, steps, files=FILES, onlooker=Asked()) as live:
        await turn(live, BEFORE)
        assert (live.workspace / "a.txt").read_text() == "A2\n"
        assert [row.status for row in tools(live).values()] == ["applied"] * 3
        assert not said(live)
