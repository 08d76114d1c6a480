"""toad, a client in the terminal, in front of `redline acp`: its real command, with keys pressed and widgets read."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clients.installed import REDLINE, ready
from clients.later_python import python314
from interop.agents import LiveAgent
from surfaces.editor.editor_client import Place, call, make_place, until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PIP = "pip==26.2"
"""With which it is installed: Debian's Python comes without one."""


def settled(folder: Path, home: Path, port: int) -> tuple[Sequence[str], Mapping[str, str]]:
    """Tells nobody of its use, and looks for no newer release; shows what is in a call that has ended."""
    settings = home / ".config" / "toad" / "toad.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"statistics": {"allow_collect": False}, "tools": {"expand": "both"}}))
    command = [python314(), "-I", str(Path(__file__).with_name("toad_pilot.py")), str(folder / "site")]
    return command, {"HTTPS_PROXY": "http://127.0.0.1:9"}


@dataclass(frozen=True)
class Package(LiveAgent):
    """Installed for a Python that is not the one that runs the tests; its folder holds `site`."""

    def install(self) -> Path:
        python314()  # first, since one thing is installed at a time
        return super().install()

    def _commands(self) -> Iterator[Sequence[str]]:
        pip, install = str(self.folder / "pip"), ["-m", "pip", "install", "--quiet", "--target"]
        yield [sys.executable, *install, pip, "--no-deps", PIP]
        later = ["/usr/bin/env", f"PYTHONPATH={pip}", python314(), *install, str(self.folder / "site")]
        yield [*later, "--only-binary=:all:", *self.packages]


TOAD = Package("toad", "toad", "0.6.20", "pip", ("batrachian-toad==0.6.20",), settled)


@dataclass
class Toad:
    """Its commands, in a home and a workspace of their own."""

    place: Place
    command: Sequence[str]
    environment: Mapping[str, str]

    def run(self, *arguments: str, steps: Sequence[Sequence[str]]) -> dict[str, Any]:
        """What it showed in the end: see `toad_pilot.py`."""
        done = subprocess.run(
            [*self.command, json.dumps(steps), *arguments],
            env=self.environment,
            cwd=self.place.workspace,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        shown = json.loads(done.stdout.splitlines()[-1])
        assert shown["failed"] == []
        return shown


@pytest.fixture
def toad() -> Iterator[Toad]:
    """In a folder with a short path: toad cuts the last rows of a diff whose name takes more than one."""
    ready(TOAD)
    with tempfile.TemporaryDirectory(prefix="toad-") as folder:
        place = make_place(Path(folder))
        prepared = TOAD.prepare(Path(folder) / "home", 0)
        own = {name: value for name, value in place.environment.items() if name.startswith("REDLINE_")}
        yield Toad(place, prepared.command, {**prepared.environment, **own})


def running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_turn_is_asked_for_shown_as_applied_and_shown_the_same_when_resumed(toad: Toad) -> None:
    file, other = toad.place.workspace / "a.txt", toad.place.workspace / "b.txt"
    file.write_bytes(b"one\r\ntwo\r\n")
    model = toad.place.script(
        [
            {"text": "Looking.", "call": [call("read", path="a.txt")]},
            {"call": [call("edit", path="a.txt", old_string="two", new_string="TWO"), call("bash", command="echo hi")]},
            {"call": [call("write", path="b.txt", content="never\n")]},
            {"text": "Done."},
        ]
    )
    answers = [["answer", "a"], ["answer", "a"], ["answer", "r"]]
    drawn = [["see", "two"], ["see", "TWO"], ["see", "Done."]]
    steps = [["connect"], ["prompt", "Change it."], *answers, ["idle"], *drawn]
    shown = toad.run("acp", f"{REDLINE} --model {shlex.quote(model)}", steps=steps)

    edited = [str(file), "one\r\ntwo\r\n", "one\r\nTWO\r\n"]
    proposed = [edited], [], [[str(other), "", "never\n"]]
    assert tuple(question["diffs"] for question in shown["asked"]) == proposed
    assert all(one["options"] == ["Allow once", "Allow for this session", "Reject"] for one in shown["asked"])
    assert file.read_bytes() == b"one\r\nTWO\r\n"
    assert not other.exists()

    read, edit, echo, refused = shown["calls"]
    assert (read["status"], echo["status"], echo["title"]) == ("completed", "completed", "echo hi")
    assert (edit["status"], edit["diffs"]) == ("completed", [edited])
    assert (refused["status"], refused["diffs"]) == ("failed", [])
    assert shown["said"] == ["Looking.", "Done."]
    assert shown["agents"]
    await until(lambda: not any(map(running, shown["agents"])))

    resumed = toad.run("run", steps=[["resume"], *drawn])
    assert resumed["calls"] == shown["calls"]
    assert resumed["said"] == shown["said"]


async def test_a_cancelled_turn_ends_and_its_command_does_not_look_done(toad: Toad) -> None:
    model = toad.place.script([{"call": [call("bash", command="sleep 60")]}, {"text": "Never said."}])
    steps = [["connect"], ["prompt", "Wait."], ["answer", "a"], ["running"], ["cancel"], ["idle"]]
    shown = toad.run("acp", f"{REDLINE} --model {shlex.quote(model)}", steps=steps)
    [slept] = shown["calls"]
    assert slept["status"] == "failed"
    assert shown["said"] == []
    await until(lambda: not any(map(running, shown["agents"])))
