"""Recorded turns of real agents, played again as the agent of a conversation, and the truth about them.

`captures.tar.xz` holds the recordings with the program that plays one as an agent on standard input and output, changes
on disk included. REDLINE_CAPTURES names a folder of the same shape to use instead.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tarfile
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redline.agents.acp.agent import AcpAgent
from redline.agents.acp.factory import AcpFactory, AcpOptions
from redline.changes.apply import apply_hunks
from redline.files.local import LocalFiles
from redline.gateway.archive import Archive
from redline.gateway.conversation import Conversation
from redline.sessions.gate import escaped
from redline.tools.builtin import builtin_toolset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from redline.changes.record import FileChange
    from redline.gateway.archive import OpenSession
    from redline.tools.permission import PermissionOutcome, PermissionRequest
    from redline.transcript.rows import AnyRow, SessionState

_HERE = Path(__file__).parent


@cache
def folder() -> Path:
    """Where the recordings are; unpacked once in each process."""
    named = os.environ.get("REDLINE_CAPTURES")
    if named:
        return Path(named)
    target = Path(tempfile.mkdtemp(prefix="redline-captures-"))
    with tarfile.open(_HERE / "captures.tar.xz") as archive:
        archive.extractall(target, filter="data")
    return target / "captures"


@cache
def names() -> list[str]:
    """`agent/scenario` of each, in order."""
    with tarfile.open(_HERE / "captures.tar.xz") as archive:
        found = [Path(name) for name in archive.getnames() if name.endswith(".json")]
    return sorted(f"{path.parent.name}/{path.stem}" for path in found)


@dataclass(frozen=True)
class Recording:
    name: str
    path: Path
    value: Mapping[str, Any]

    @classmethod
    def of(cls, name: str) -> Recording:
        path = folder() / f"{name}.json"
        return cls(name, path, json.loads(path.read_text()))

    @property
    def before(self) -> dict[str, bytes]:
        return _bytes(self.value["before"])

    @property
    def after(self) -> dict[str, bytes]:
        return _bytes(self.value["after"])

    def answers(self) -> list[bool]:
        """What the user said to each permission request, in order: allowed?"""
        asked = {
            frame["message"]["id"]: {
                one["optionId"]: one.get("kind", "") for one in frame["message"]["params"]["options"]
            }
            for frame in self.value["frames"]
            if frame["from"] == "agent" and frame["message"].get("method") == "session/request_permission"
        }
        given: dict[Any, bool] = {}
        for frame in self.value["frames"]:
            if frame["from"] == "client" and frame["message"].get("id") in asked and "result" in frame["message"]:
                outcome = frame["message"]["result"].get("outcome") or {}
                options = asked[frame["message"]["id"]]
                given[frame["message"]["id"]] = options.get(outcome.get("optionId"), "").startswith("allow")
        return [given.get(identity, False) for identity in asked]

    def command(self, speed: float | None = None) -> list[str]:
        paced = [] if speed is None else ["--speed", str(speed)]
        return [sys.executable, str(folder() / "replay.py"), str(self.path), *paced]

    def prepare(self, workspace: Path) -> None:
        for name, data in self.before.items():
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).write_bytes(data)


@dataclass
class Onlooker:
    """A surface that answers as the user in the recording did."""

    answers: list[bool] = field(default_factory=list)
    name: str = "terminal"
    shows_changes: bool = True
    rows: dict[str, AnyRow] = field(default_factory=dict)
    asked: list[PermissionRequest] = field(default_factory=list)

    async def show(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        self.rows.update((row.id, row) for row in rows)

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None:
        pass

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None:
        if request.tool in ("agent:write", "agent:terminal"):  # nobody was asked in the recording
            return "allow_once"
        self.asked.append(request)
        return "allow_once" if self.answers and self.answers.pop(0) else "reject"


@dataclass
class Stage:
    """A conversation with an agent in a workspace."""

    conversation: Conversation
    agent: AcpAgent
    session: OpenSession
    workspace: Path
    onlooker: Onlooker


@asynccontextmanager
async def stage(
    base: Path,
    command: Sequence[str],
    *,
    answers: Sequence[bool] = (),
    session: str | None = None,
    onlooker: Onlooker | None = None,
    **options: Any,
) -> AsyncIterator[Stage]:
    """An archive and a workspace below `base`, and a conversation with the agent that `command` starts."""
    workspace = base / "workspace"
    workspace.mkdir(exist_ok=True)
    files = LocalFiles([workspace])
    async with Archive.open(base / "data") as archive:
        opened = (
            await archive.start(workspace, "agent", surface="terminal")
            if session is None
            else await archive.resume(session, files)
        )
        with opened:
            made: list[AcpAgent] = []
            factory = AcpFactory(AcpOptions("agent", command, **options), files, opened.store, opened.redactor)

            def make(**given: Any) -> AcpAgent:
                made.append(factory(**given))
                return made[0]

            conversation = await Conversation.begin(
                opened, make, files=files, workspace=workspace, present=builtin_toolset().by_name
            )
            surface = onlooker or Onlooker(list(answers))
            conversation.attach(surface)
            try:
                yield Stage(conversation, made[0], opened, workspace, surface)
            finally:
                await conversation.close()


def on_disk(workspace: Path) -> dict[str, bytes]:
    """Every file below the workspace, by its relative path."""
    found = {}
    for path in sorted(workspace.rglob("*")):
        if path.is_file() and ".elsewhere" not in path.parts:
            found[str(path.relative_to(workspace))] = path.read_bytes()
    return found


def replayed(
    files: Mapping[str, bytes], changes: Sequence[FileChange], workspace: Path, stage_: Stage
) -> dict[str, bytes]:
    """The files after the changes of the cards, in order, were applied to those before: by hunks where a card has
    text, by the kept bytes where it has none. Every card must fit exactly."""
    state = dict(files)
    for change in changes:
        assert change.provenance in ("result", "observed"), change
        path = str(Path(change.path).relative_to(workspace.resolve()))
        source = path if change.old_path is None else str(Path(change.old_path).relative_to(workspace.resolve()))
        if change.operation == "add":
            assert path not in state, f"{path} is told as new and was there"
            before = b""
        else:
            assert source in state, f"{source} is told as changed and was not there"
            before = state.pop(source)
            assert change.before is not None
            assert change.before.blob == _blob(before), f"{source} held something else before"
        if change.operation == "delete":
            if change.hunks:
                assert apply_hunks(before, change.hunks, final_newline=True) == b""
            continue
        assert change.after is not None
        kept = stage_.session.store.get(stage_.session.log.session, change.after.blob)
        assert kept is not None, f"the bytes of {path} are not kept"
        after = kept
        if change.file_type == "text" and not change.redacted and not change.truncated:
            applied = apply_hunks(_as_logged(before), change.hunks, final_newline=change.after.final_newline)
            assert applied == _as_logged(kept), f"the hunks of {path} do not give what the card says"
        assert change.after.blob == _blob(after), f"the card of {path} does not give what it says"
        state[path] = after
    return state


def _as_logged(data: bytes) -> bytes:
    """Bytes that are not UTF-8 stand in the log as escapes."""
    return escaped(data.decode("utf-8", "surrogateescape")).encode()


def _blob(data: bytes) -> str:
    from redline.changes.compare import blob_id

    return blob_id(data)


def _bytes(entries: Mapping[str, Mapping[str, str]]) -> dict[str, bytes]:
    return {
        name: base64.b64decode(entry["base64"]) if "base64" in entry else entry["text"].encode()
        for name, entry in entries.items()
    }
