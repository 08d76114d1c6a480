"""The demo in the dashboard: the first minute plays by itself, further prompts are answered, Ctrl-C ends it."""

from __future__ import annotations

import json
import re
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import CommandLine, at_a_terminal


@dataclass(frozen=True)
class Served:
    """The running demo, as a program with the token of its address sees it."""

    origin: str
    token: str
    session: str

    def __call__(self, path: str, **body: Any) -> Any:
        data = json.dumps(body).encode() if body else None
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.origin}/api/sessions/{self.session}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self("/rows?limit=1000")["rows"]
        return rows

    def until(self, happened: Callable[[list[dict[str, Any]]], object]) -> list[dict[str, Any]]:
        for _ in range(600):
            if happened(rows := self.rows()):
                return rows
            time.sleep(0.05)
        raise AssertionError(f"it did not happen: {[(row['kind'], row.get('status')) for row in self.rows()]}")


@pytest.fixture
def redline(tmp_path: Path) -> CommandLine:
    (tmp_path / "work").mkdir()
    return CommandLine(tmp_path / "work", tmp_path / "data")


@pytest.fixture
def served(redline: CommandLine) -> Iterator[Served]:
    process = redline.start("demo", "--page", "--no-open", "--fast")
    assert process.stdout is not None
    address = next(
        filter(None, (re.search(r"(http://\S+:\d+)/\?token=(\S+)#/s/(\S+)", line) for line in process.stdout))
    )
    yield Served(*address.groups())
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert errors == ""
    assert f"show {address[3]}" in out


def ends(rows: list[dict[str, Any]]) -> int:
    return sum(row["kind"] == "turn_end" for row in rows)


def test_the_first_turns_play_by_themselves_and_the_visitor_prompts_on(served: Served) -> None:
    rows = served.until(lambda rows: ends(rows) == 4)
    assert {("edit", "failed"), ("edit", "rejected"), ("write", "applied"), ("move", "applied")} <= {
        (row["name"], row["status"]) for row in rows if row["kind"] == "tool"
    }
    assert [row["kind"] for row in rows].count("revert") == 1

    served("/prompt", text="Anything.")
    asked = served.until(lambda rows: any(row["kind"] == "permission" and row["outcome"] is None for row in rows))
    (question,) = [row for row in asked if row["kind"] == "permission" and row["outcome"] is None]
    assert [change["name"] for change in question["changes"]] == ["units.py", "report.py"]
    served("/permission", request=question["request"], option="allow_once")
    done = served.until(lambda rows: ends(rows) == 5)
    assert [net["name"] for net in done[-1]["net"]] == ["report.py", "units.py"]


def test_the_scripted_model_never_runs_out_of_words(served: Served) -> None:
    served.until(lambda rows: ends(rows) == 4)
    for turn in (5, 6, 7, 8):
        served("/prompt", text="And now?")
        rows = served.until(lambda rows, turn=turn: ends(rows) == turn or rows[-1]["kind"] == "permission")
        if rows[-1]["kind"] == "permission":
            served("/permission", request=rows[-1]["request"], option="reject")
            rows = served.until(lambda rows, turn=turn: ends(rows) == turn)
        assert rows[-1]["reason"] == "completed"


def test_a_terminal_may_ask_for_the_cards_instead(redline: CommandLine) -> None:
    typed = at_a_terminal(redline, ["demo", "--terminal", "--fast"], [])
    assert typed.exit_code == 0
    assert "schedule.py" in typed.text
    assert "http://" not in typed.text
