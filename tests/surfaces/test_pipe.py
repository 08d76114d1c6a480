"""The pipe form: a patch with remarks."""

from __future__ import annotations

import asyncio
import io
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from eventmaker import Log, as_json
from redline.changes.compare import describe
from redline.surfaces.applicable import why_not_a_patch
from redline.surfaces.terminal.pipe import PipeSurface, plain_row
from redline.tools.builtin import builtin_toolset
from redline.transcript.fold import Transcript, rows
from redline.transcript.rows import SessionState

if TYPE_CHECKING:
    from pathlib import Path

    from redline.changes.record import FileChange

PRESENT = builtin_toolset().by_name


class Workspace:
    """Files in a folder, changed step by step through calls."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: dict[str, bytes] = {}
        self.log = Log()

    def change(self, path: str, after: bytes | None, **more: Any) -> FileChange:
        old = more.pop("old_path", None)
        before = self.files.get(old or path)
        made = describe(f"{self.root}/{path}", before, after, old_path=old and f"{self.root}/{old}", **more)
        call = f"c{len(self.log.events)}"
        self.log.call(call, arguments={"path": path}, proposed=[made])
        self.log.result(call, changes=[made])
        self.files.pop(old or path, None)
        if after is not None:
            self.files[path] = after
        return made

    def text(self) -> str:
        found = rows(self.log.events, PRESENT)
        return "".join(f"{line}\n" for row in found for line in plain_row(row, workspace=str(self.root), session="s1"))


def test_git_takes_it_as_a_patch_in_order(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.files = {
        "a.py": b"one\ntwo\nthree\n",
        "gone.txt": b"x\n",
        "old name.txt": b"same\nlines\n",
        "crlf": b"a\r\n",
    }
    for name, data in workspace.files.items():
        (tmp_path / name).write_bytes(data)
    said = "I changed it:\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-one\n+evil\n"
    workspace.log.add("assistant/message", message="m", text=said)
    workspace.change("a.py", b"one\n2\nthree\n")
    workspace.change("a.py", b"one\n2\nthree\nfour")
    workspace.change("new.sh", b"#!/bin/sh\n", after_executable=True)
    workspace.change("empty", b"")
    workspace.change("gone.txt", None)
    workspace.change("new name.txt", b"same\nlines!\n", old_path="old name.txt")
    workspace.change("crlf", b"b\r\n")
    workspace.log.call("c99", arguments={"path": "a.py"}, proposed=[describe(f"{tmp_path}/a.py", b"", b"never\n")])
    workspace.log.result("c99", status="rejected")
    patch = workspace.text()
    assert f"# modify a.py -0 +1: rejected, not applied" in patch  # noqa: F541

    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=tmp_path, check=True)
    on_disk = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert on_disk == workspace.files
    assert (tmp_path / "new.sh").stat().st_mode & 0o100


def test_what_does_not_apply_is_only_a_remark(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.files = {"env": b"K=1\n", "latin": b"caf\xe9\n", "bin": b"\0"}
    masked = replace(describe(f"{tmp_path}/env", b"K=1\n", b"K=2\n"), redacted=True)
    workspace.log.result("masked", changes=[masked])
    workspace.change("latin", b"caf\xe9!\n")
    workspace.change("bin", b"\0\0")
    text = workspace.text()
    assert all(line.startswith("#") for line in text.splitlines())
    assert "# modify env -1 +1: applied (secrets are masked)" in text
    assert "# as a patch: redline diff s1 --turn 1 --call masked --file env --patch" in text
    assert "# -K=1" in text
    assert "applied (not UTF-8)" in text
    assert "applied (binary)" in text


def test_errors_commands_and_the_end_are_told() -> None:
    log = Log()
    log.add("turn/started")
    log.call("c1", name="bash", kind="execute", arguments={"command": "make\x1b[2J"})
    log.result("c1", name="bash", kind="execute", content=[], meta={"exit_code": 2})
    log.call("c3", name="bash", kind="execute", arguments={"command": "sleep 9", "timeout": 5})
    log.result("c3", name="bash", kind="execute", content=[], meta={"timed_out": True, "signal": "SIGTERM"})
    log.call("c2")
    log.result("c2", status="failed", error={"code": "NO_MATCH", "message": "Not there.", "remedy": "Read it."})
    log.add("workspace/changed", changes=as_json([describe("/w/found.txt", None, b"x\n")]))
    log.add("workspace/changed", changes=as_json([describe("/w/theirs.txt", None, b"x\n")]), beside=["s2"])
    log.add("workspace/changed", changes=as_json([describe("/w/beside.txt", None, b"x\n")]), during=["c1"])
    log.add("workspace/changed", changes=as_json([describe("/w/both.txt", None, b"x\n")]), during=["c1", "c2"])
    log.add("turn/ended", reason="failed", error={"code": "MODEL", "message": "Away.", "remedy": "Try later."})
    text = "".join(f"{line}\n" for row in rows(log.events, PRESENT) for line in plain_row(row, workspace="/w"))
    for line in (
        "# $ make^[[2J: exit 2",
        "# $ sleep 9: ended by its time limit of 5 s",
        "# add theirs.txt -0 +1: found on disk, while another session was at work here",
        "# Edit a.py: failed, not applied",
        "# error NO_MATCH: Not there.",
        "# Read it.",
        "# add found.txt -0 +1: found on disk",
        "# add beside.txt -0 +1: found on disk during call c1",
        "# add both.txt -0 +1: found on disk during calls c1, c2",
        "# turn 1: failed",
        "# net add found.txt -0 +1",
        "# error MODEL: Away.",
    ):
        assert f"{line}\n" in text


def test_a_hint_names_what_it_prints() -> None:
    log = Log()
    log.add("turn/started")
    masked = replace(describe("/w/a", b"K=1\n", b"K=2\n"), redacted=True)
    log.result("c 1", changes=[masked])
    log.add("workspace/changed", changes=as_json([masked]))
    log.add("workspace/changed", changes=as_json([masked]), turn=0)
    text = as_text(log)
    assert "\n# as a patch: redline diff s1 --turn 1 --call 'c 1' --file a --patch\n" in text
    assert "\n# the net change of the turn as a patch: redline diff s1 --turn 1 --file a --patch\n" in text
    assert "\n# the net change of the session as a patch: redline diff s1 --file a --patch\n" in text


def as_text(log: Log, **more: Any) -> str:
    shown = rows(log.events, PRESENT)
    return "".join(f"{line}\n" for row in shown for line in plain_row(row, workspace="/w", session="s1", **more))


def test_what_a_command_printed_stands_behind_bars_and_its_middle_is_left_out() -> None:
    printed = "turn 1: completed\ndiff --git a/x b/x\n" + "".join(f"line {at}\n" for at in range(60)) + "last\x1b[2J\n"
    log = Log()
    log.add("turn/started")
    log.call("c1", name="bash", kind="execute", arguments={"command": "make"})
    content = [{"type": "text", "text": printed}]
    log.result("c1", name="bash", kind="execute", content=content, meta={"exit_code": 3})
    text = as_text(log)
    assert "# $ make: exit 3\n# | turn 1: completed\n# | diff --git a/x b/x\n# | line 0\n" in text
    assert "# | last^[[2J\n" in text
    assert "line 30" not in text
    assert "# 39 lines left out: redline show s1 --turn 1 --whole\n" in text
    assert "# | line 30\n" in as_text(log, whole=True)
    assert "left out" not in as_text(log, whole=True)


def test_a_no_of_nobody_is_told_from_that_of_a_person() -> None:
    log = Log()
    log.add("turn/started")
    for outcome, call in (("unavailable", "n"), ("reject", "p")):
        for name, kind, arguments in (("bash", "execute", {"command": f"make {call}"}), ("edit", "edit", {})):
            proposed = [describe(f"/w/{call}", b"", b"x\n")] if name == "edit" else []
            log.call(call + name, name=name, kind=kind, arguments=arguments, proposed=proposed)
            log.add("permission/asked", call=call + name, request=call + name, title="", tool=name, changes=[])
            log.add("permission/answered", call=call + name, request=call + name, outcome=outcome, by="")
            log.result(call + name, "rejected", name=name, kind=kind)
    text = as_text(log)
    assert "# $ make n: nobody could be asked, not run\n" in text
    assert "# modify n -0 +1: nobody could be asked, not applied\n" in text
    assert "# $ make p: rejected, not run\n" in text
    assert "# modify p -0 +1: rejected, not applied\n" in text


def test_the_net_of_a_move_names_both_paths() -> None:
    log = Log()
    log.add("turn/started")
    log.result("c", changes=[describe("/w/new", b"x\n", b"x\n", old_path="/w/old")])
    log.add("turn/ended", reason="completed")
    assert "# net move old -> new\n" in as_text(log)


async def test_it_writes_bytes_and_survives_a_reader_that_left() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    log = Log()
    log.add("user/message", content=[{"type": "text", "text": "é"}])
    shown = rows(log.events, PRESENT)
    raw = io.BytesIO()
    narrow = io.TextIOWrapper(raw, encoding="ascii")
    await PipeSurface(narrow).show(shown, SessionState(session="s1"))
    assert raw.getvalue() == "# > é\n".encode()
    gone = PipeSurface(Gone())
    await gone.show(shown, SessionState(session="s1"))
    await gone.show(shown, SessionState(session="s1"))
    assert await gone.ask(None) is None  # type: ignore[arg-type]


BEGUN = b"".join(b"line %d\n" % number for number in range(40))
ONCE, TWICE = (
    BEGUN.replace(b"line 5\n", b"five\n"),
    BEGUN.replace(b"line 5\n", b"five\n").replace(b"line 6\n", b"six\n"),
)
LATER: dict[str, list[tuple[str, bytes | None, bytes | None, str | None]]] = {
    "nothing more": [("a", BEGUN, ONCE, None)],
    "another file": [("a", BEGUN, ONCE, None), ("b", None, b"b\n", None)],
    "the same file again": [("a", BEGUN, TWICE, None)],
    "the same file elsewhere": [("a", BEGUN, ONCE.replace(b"line 30\n", b""), None)],
    "the file is gone": [("a", BEGUN, None, None)],
    "the file is moved": [("c", BEGUN, ONCE, "a")],
    "the file is moved and changed": [("c", BEGUN, TWICE, "a")],
    "all is undone": [],
    "undone, and another": [("b", None, b"b\n", None)],
}


@pytest.mark.parametrize("later", LATER)
def test_of_a_call_that_goes_on_after_it_was_printed_only_what_is_new_follows(tmp_path: Path, later: str) -> None:
    """Such as a command that still runs when the turn ends: all that was printed is one patch, for one state after the
    other."""
    log = Log()
    log.add("turn/started")
    log.call("c", name="", kind="execute", title="make")
    first = [describe(f"{tmp_path}/a", BEGUN, ONCE)]
    log.result("c", "unknown", changes=first, observed=True, name="", kind="execute", warnings=["Not sure."])
    log.add("turn/ended", reason="completed")
    final = [
        describe(f"{tmp_path}/{name}", before, after, old_path=old and f"{tmp_path}/{old}")
        for name, before, after, old in LATER[later]
    ]
    log.result("c", changes=final, observed=True, name="", kind="execute")
    text = asyncio.run(_as_it_came(log, tmp_path))

    sections = text.split("diff --git ")
    assert len(sections) == len(set(sections)), "a change was printed twice"
    assert "# no longer so: Not sure.\n" in text
    (tmp_path / "a").write_bytes(BEGUN)
    for section in sections[1:]:
        patch = "diff --git " + section.partition("\n# ")[0] + "\n"
        subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=tmp_path, check=True)
    expected = {"a": BEGUN}
    for name, _, after, old in LATER[later]:
        expected.pop(old or name, None)
        expected |= {} if after is None else {name: after}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == expected


async def _as_it_came(log: Log, root: Path) -> str:
    """What is printed where each event is shown at once."""
    printed = io.StringIO()
    surface, transcript = PipeSurface(printed, workspace=root), Transcript("s1", PRESENT)
    for event in log.events:
        await surface.show(transcript.apply(event), transcript.state)
    return printed.getvalue()


def test_a_text_that_became_binary_is_binary_first() -> None:
    assert why_not_a_patch(describe("/w/a", b"\0\xff", b"text\n")) == "binary"
    assert why_not_a_patch(describe("/w/a", b"\xff\n", b"text\n")) == "not UTF-8"
