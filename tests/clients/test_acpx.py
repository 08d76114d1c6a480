"""acpx, a client on the command line, in front of `redline acp`."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from captures.recorded import Recording, on_disk
from clients.installed import ACPX, REDLINE, installed, node
from surfaces.editor.editor_client import Held, Place, call, diffs, make_place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


DENIED = 5
"""Its exit code where it has said no to something."""


CLOSING = "QUEUE_OWNER_CLOSED"
"""What acpx says, marked as worth another try, when its process of before is just ending."""


class Acpx:
    """Its commands, in a home and a workspace of their own."""

    def __init__(self, place: Place, environment: dict[str, str], folder: Path) -> None:
        self.place = place
        self.environment = environment
        self.program = str(folder / "node_modules" / ".bin" / "acpx")
        self.agent = ""

    def run(self, *arguments: str) -> str:
        command = [self.program, "--agent", self.agent, "--cwd", str(self.place.workspace), "--ttl", "1", *arguments]
        for _ in range(10):
            done = subprocess.run(
                command,
                env=self.environment,
                cwd=self.place.folder,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            if CLOSING not in done.stderr + done.stdout:
                break
            time.sleep(1)
        assert done.returncode in (0, DENIED), done.stderr + done.stdout
        return done.stdout

    def frames(self, *arguments: str) -> list[dict[str, Any]]:
        """Everything that went over the wire, as it writes it down."""
        return [json.loads(line) for line in self.run("--format", "json", *arguments).splitlines() if line[:1] == "{"]


@pytest.fixture
def acpx(tmp_path: Path) -> Iterator[Acpx]:
    place = make_place(tmp_path)
    (tmp_path / "home").mkdir()
    with node({**place.environment, "HOME": str(tmp_path / "home")}) as environment:
        yield Acpx(place, environment, installed(*ACPX))


def held(frames: list[dict[str, Any]]) -> Held:
    """What a client keeps of them."""
    kept = Held()
    for frame in frames:
        if frame.get("method") == "session/update":
            kept.take(frame["params"]["update"])
    return kept


def test_a_session_goes_on_in_another_process_and_shows_what_was_applied(acpx: Acpx) -> None:
    (acpx.place.workspace / "a.txt").write_text("one\ntwo\n")
    model = acpx.place.script(
        [
            {"text": "Looking.", "call": [call("read", path="a.txt")]},
            {"call": [call("edit", path="a.txt", old_string="two", new_string="TWO"), call("bash", command="echo hi")]},
            {"text": "Done."},
        ],
        [{"text": "Still here."}],
    )
    acpx.agent = f"{REDLINE} --model {model}"
    session = acpx.run("sessions", "new").split()[-1]
    frames = acpx.frames("--approve-all", "prompt", "Change it.")
    asked = [frame["params"] for frame in frames if frame.get("method") == "session/request_permission"]
    assert diffs(asked[0]["toolCall"]["content"]) == [("one\ntwo\n", "one\nTWO\n")]
    assert [one["kind"] for one in asked[0]["options"]] == ["allow_once", "allow_always", "reject_once"]
    kept = held(frames)
    assert kept.text["agent"] == "Looking.Done."
    edit = next(one for one in kept.calls.values() if one["kind"] == "edit")
    assert (edit["status"], diffs(edit["content"])) == ("completed", [("one\ntwo\n", "one\nTWO\n")])
    assert (acpx.place.workspace / "a.txt").read_text() == "one\nTWO\n"
    assert session in acpx.run("sessions", "list")
    assert held(acpx.frames("--approve-all", "prompt", "And now?")).text["agent"].endswith("Still here.")


def test_a_proxied_agent_is_asked_for_and_shown_with_applied_hunks(acpx: Acpx) -> None:
    recording = Recording.of("claude/b2_edit_ask")
    recording.prepare(acpx.place.workspace)
    before = (acpx.place.workspace / "f.py").read_text()
    acpx.agent = f"{REDLINE} --agent-command {shlex.quote(shlex.join(recording.command()))}"
    kept = held(acpx.frames("--approve-all", "exec", "Do the scripted step."))
    assert on_disk(acpx.place.workspace) == recording.after
    edit = next(one for one in kept.calls.values() if one["kind"] == "edit")
    [(old, new)] = diffs(edit["content"])
    assert before.replace(old, new) == (acpx.place.workspace / "f.py").read_text()


def test_what_is_denied_is_not_done(acpx: Acpx) -> None:
    model = acpx.place.script([{"call": [call("write", path="a.txt", content="x\n")]}, {"text": "Then not."}])
    acpx.agent = f"{REDLINE} --model {model}"
    kept = held(acpx.frames("--deny-all", "exec", "Write."))
    [refused] = kept.calls.values()
    assert refused["status"] == "failed"
    assert not diffs(refused["content"])
    assert not (acpx.place.workspace / "a.txt").exists()
