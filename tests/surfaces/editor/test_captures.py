"""Every recorded turn of a real agent, from the agent itself and through `redline acp`: a client that keeps state as
the protocol says gets the same values, and holds in the end what happened on the disk, live and after a load by another
process."""

from __future__ import annotations

import shlex
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from captures.recorded import Recording, folder, names, on_disk
from redline.sessions.gate import escaped
from surfaces.editor.comparison import OURS, Stream, compare
from surfaces.editor.editor_client import Editor, Held, Place, Refused, choosing, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

THEATRE = Path(__file__).parents[2] / "captures" / "theatre.py"
pytestmark = pytest.mark.asyncio(loop_scope="module")


@asynccontextmanager
async def proxy(base: Path) -> AsyncIterator[Editor]:
    """One `redline acp` in front of whatever each workspace's recording is of."""
    command = shlex.join([sys.executable, str(THEATRE), str(folder())])
    async with Place(base, base).editor("--agent-command", command) as editor:
        yield editor


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stages(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Editor, Editor]]:
    """Two processes with one data folder: in the one sessions are run, in the other they are loaded."""
    base = tmp_path_factory.mktemp("captures")
    async with proxy(base) as live, proxy(base) as later:
        yield live, later


@asynccontextmanager
async def bare(base: Path) -> AsyncIterator[Editor]:
    """The agent itself; its client takes whatever it writes, since the recording changes the disk."""
    command = [sys.executable, str(THEATRE), str(folder())]
    async with running(command, base / "work", Place(base, base).environment) as editor:
        for method in OURS:
            editor.serve[method] = lambda _: {"content": "", "terminalId": "t", "output": "", "truncated": False}
        await editor.initialize()
        yield editor


def stage(base: Path, recording: Recording) -> Path:
    """A workspace as it was before the turn."""
    (base / "work").mkdir(parents=True)
    recording.prepare(base / "work")
    (base / "recording").write_text(str(recording.path))
    return base / "work"


async def turn(editor: Editor, workspace: Path, recording: Recording) -> tuple[str, list[Any]]:
    """Work through it as the user in the recording did; the session and the answers."""
    editor.serve["session/request_permission"] = choosing(recording.answers())
    editor.serve["craft/drainMidTurnQueue"] = lambda _: {"messages": []}
    new = await editor.ask("session/new", cwd=str(workspace), mcpServers=[])
    session = new.pop("sessionId")
    answer = await editor.prompt(session, "Do the scripted step.")
    with pytest.raises(Refused):
        await editor.ask("_settled", sessionId=session)  # what was said before its answer has come, too
    return session, [new, answer]


@pytest.mark.parametrize("name", names())
async def test_after_a_recorded_turn_the_client_holds_what_happened_on_disk(
    name: str, stages: tuple[Editor, Editor], tmp_path: Path
) -> None:
    recording, (live, later) = Recording.of(name), stages
    workspace = stage(tmp_path / "bare", recording)
    async with bare(tmp_path / "bare") as editor:
        session, answers = await turn(editor, workspace, recording)
        raw = Stream.of(editor, session, answers, workspace)

    workspace = stage(tmp_path / "proxied", recording)
    before = on_disk(workspace)
    session, answers = await turn(live, workspace, recording)
    assert on_disk(workspace) == recording.after
    held = live.held[session]
    assert not held.early
    check(before, recording.after, held, workspace)
    compare(Stream.of(live, session, answers, workspace), raw)

    await live.ask("session/close", sessionId=session)
    await later.ask("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
    again = later.held.pop(session)
    assert again.calls == held.calls
    assert again.text == held.text
    assert again.notes == held.notes
    assert again.title == held.title
    await later.ask("session/close", sessionId=session)


def check(before: Mapping[str, bytes], after: Mapping[str, bytes], held: Held, workspace: Path) -> None:
    """The diff blocks of the ended calls, in their order, turn the files before into those after."""
    state = {name: _text(data) for name, data in before.items()}
    for call in held.calls.values():
        assert call["status"] in ("completed", "failed")
        place = 0
        for block in (one for one in call["content"] if one["type"] == "diff"):
            name, kind = str(Path(block["path"]).relative_to(workspace)), block["_meta"]["kind"]
            old, new = block["oldText"], block["newText"]
            if kind == "add":
                assert old is None
                assert name not in state
                state[name] = new
            elif kind == "delete":
                assert state.pop(name) == old
            else:
                if kind == "move":
                    state.setdefault(name, state.pop(str(Path(block["_meta"]["oldPath"]).relative_to(workspace)), ""))
                text = state[name]
                place = text.find(old or "", place if place <= len(text) else 0)
                place = text.find(old or "") if place < 0 else place
                assert place >= 0, f"{old!r} is not in {name}"
                state[name] = text[:place] + new + text[place + len(old or "") :]
    for name, data in after.items():
        text = _text(data)
        if b"\0" in data[:8000] or b"\0" in before.get(name, b"")[:8000]:
            continue  # no lines: its call says so in words
        assert state.get(name, text) == text, name
        assert name in state or data in before.values(), name


def _text(data: bytes) -> str:
    """As the log has it: bytes that are not UTF-8 stand as escapes."""
    return escaped(data.decode("utf-8", "surrogateescape"))
