"""`redline serve` as a process: started, stopped, killed, and beside other Redline processes."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from cli.command_line import COMMAND, CommandLine, call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE = 30.0


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    workspace, data = tmp_path / "workspace", tmp_path / "data"
    workspace.mkdir()
    data.mkdir()
    return CommandLine(workspace, data)


@dataclass
class Served:
    process: subprocess.Popen[str]
    address: str
    client: httpx2.Client

    def follow(self, session: str = "") -> threading.Thread:
        """A stream that is open until the server ends it."""
        begun = threading.Event()

        def read() -> None:
            with self.client.stream("GET", "/api/stream", params={"sessions": session}, timeout=PATIENCE) as answer:
                for _ in answer.iter_raw():
                    begun.set()

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        assert begun.wait(PATIENCE)
        return thread


@contextmanager
def served(line: CommandLine, *options: str) -> Iterator[Served]:
    process = subprocess.Popen(
        [*COMMAND, "serve", "--no-open", *(options or ("--port", "0"))],
        cwd=line.workspace, env=line.environment, text=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", said)
        assert found, said
        origin, _, token = found[0].partition("/?token=")
        headers = {"Authorization": f"Bearer {token}"}
        with httpx2.Client(base_url=origin, headers=headers, timeout=PATIENCE) as client:
            yield Served(process, found[0], client)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
        if process.stdout is not None:
            process.stdout.close()


def until(happened: Any) -> Any:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := happened():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def rows(server: Served, session: str) -> list[dict[str, Any]]:
    return list(server.client.get(f"/api/sessions/{session}/rows").json()["rows"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop_it_stops_with_tabs_open_and_a_turn_running(line: CommandLine, number: signal.Signals) -> None:
    model = line.script([{"text": "", "call": [call("bash", command="sleep 60")]}])
    with served(line) as server:
        body = {"folder": str(line.workspace), "model": model, "prompt": "Wait."}
        session = server.client.post("/api/sessions", json=body).json()["session"]
        threads = [server.follow(f"{session}:0") for _ in range(6)]
        asked = until(lambda: [row for row in rows(server, session) if row["kind"] == "permission"])
        answer = {"request": asked[0]["request"], "option": "allow_once"}
        server.client.post(f"/api/sessions/{session}/permission", json=answer)
        until(lambda: [row for row in rows(server, session) if row.get("status") == "running"])
        server.process.send_signal(number)
        assert server.process.wait(10) == 0
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
    ended = {row["kind"]: row for row in line.rows(session)}
    assert ended["turn_end"]["reason"] == "cancelled"
    assert ended["tool"]["status"] == "cancelled"


def test_killed_and_started_again_it_tells_what_is_true_and_lets_the_same_tab_in(line: CommandLine) -> None:
    model = line.script([{"text": "", "call": [call("bash", command="sleep 60")]}], [{"text": "Back again."}])
    with served(line) as server:
        port = server.address.partition("127.0.0.1:")[2].partition("/")[0]
        body = {"folder": str(line.workspace), "model": model, "prompt": "Wait."}
        session = server.client.post("/api/sessions", json=body).json()["session"]
        until(lambda: [row for row in rows(server, session) if row["kind"] == "permission"])
        server.process.kill()
        server.process.wait(10)
        first = server.address
    with served(line, "--port", port) as server:
        assert server.address == first
        state = server.client.get(f"/api/sessions/{session}").json()
        assert (state["runs"], state["running"]) == ("nobody", False)
        until(lambda: [row for row in rows(server, session) if row.get("reason") == "interrupted"])
        server.client.post(f"/api/sessions/{session}/prompt", json={"text": "Go on."})
        until(lambda: [row for row in rows(server, session) if row["id"] == "turn_end:2"])
        found = rows(server, session)
        assert [row["reason"] for row in found if row["kind"] == "turn_end"] == ["interrupted", "completed"]
        assert [row["status"] for row in found if row["kind"] == "tool"] == ["interrupted"]


def test_a_turn_of_redline_run_appears_within_a_second(line: CommandLine) -> None:
    model = line.script([{"text": "From the terminal."}])
    with served(line) as server:
        done = line("run", "Hello.", "--model", model)
        assert done.returncode == 0, done.stderr
        found = until(lambda: server.client.get("/api/sessions").json()["sessions"])
        assert [row["kind"] for row in rows(server, found[0]["session"])] == ["user", "agent", "turn_end"]
        assert found[0]["runs"] == "nobody"


def test_a_turn_whose_process_is_killed_is_closed_before_the_eyes_of_who_looks(line: CommandLine) -> None:
    model = line.script([{"text": "", "call": [call("bash", command="sleep 60")]}])
    with served(line) as server:
        running = line.start("run", "Wait.", "--model", model, "--approval", "all")
        try:
            found = until(lambda: server.client.get("/api/sessions").json()["sessions"])
            session = found[0]["session"]
            until(lambda: [row for row in rows(server, session) if row.get("status") == "running"])
            assert server.client.get(f"/api/sessions/{session}").json()["runs"] == "elsewhere"
            running.kill()
            running.wait(PATIENCE)
            until(lambda: [row for row in rows(server, session) if row.get("reason") == "interrupted"])
            assert [row["status"] for row in rows(server, session) if row["kind"] == "tool"] == ["interrupted"]
            assert server.client.get(f"/api/sessions/{session}").json()["running"] is False
        finally:
            running.kill()
            running.communicate()


def test_two_servers_share_the_sessions_and_only_one_runs_each(line: CommandLine) -> None:
    model = line.script([{"text": "", "call": [call("write", path="{workspace}/a.txt", content="a\n")]}])
    with served(line) as one, served(line) as two:
        body = {"folder": str(line.workspace), "model": model, "prompt": "Write."}
        session = one.client.post("/api/sessions", json=body).json()["session"]
        (asked,) = until(lambda: [row for row in rows(two, session) if row["kind"] == "permission"])
        assert asked["changes"][0]["hunks"][0]["lines"] == ["+a"]
        assert two.client.get(f"/api/sessions/{session}").json()["runs"] == "elsewhere"
        answer = {"request": asked["request"], "option": "allow_once"}
        refused = two.client.post(f"/api/sessions/{session}/permission", json=answer)
        assert (refused.status_code, refused.json()["code"]) == (409, "BUSY")
        assert one.client.post(f"/api/sessions/{session}/permission", json=answer).json() == {"settled": True}
        until(lambda: [row for row in rows(two, session) if row["id"] == "turn_end:1"])
        until(lambda: rows(one, session) == rows(two, session))


def test_what_cannot_be_is_said_with_a_remedy(line: CommandLine) -> None:
    with served(line) as server:
        port = server.address.partition("127.0.0.1:")[2].partition("/")[0]
        taken = line("serve", "--no-open", "--port", port)
        assert taken.returncode == 2
        assert "--port" in taken.stderr
        assert "Traceback" not in taken.stderr
    open_to_all = line("serve", "--no-open", "--port", "0", "--host", "0.0.0.0", "--no-token")
    assert open_to_all.returncode == 2
    assert "--no-token" in open_to_all.stderr


def test_the_token_is_the_users_alone(line: CommandLine) -> None:
    with served(line) as server:
        kept = line.data / "dashboard.token"
        assert kept.stat().st_mode & 0o077 == 0
        assert server.address.endswith(kept.read_text().strip())
        kept.unlink()
    with served(line) as again:
        assert again.address.endswith(kept.read_text().strip())
        assert again.address.partition("token=")[2] != server.address.partition("token=")[2]
        assert again.client.get("/api/agents").status_code == 200
