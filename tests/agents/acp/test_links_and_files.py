"""A command of a foreign agent that puts a file in the place of a link, or a link in the place of a file."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from agents.acp.puppetry import done, puppet, start, tools, turn
from redline.transcript.net import net_changes

if TYPE_CHECKING:
    from pathlib import Path

LINK, FILE = "ln -s a.txt f", "printf 'text\\n' >f"
CASES = [
    (LINK, ["rm f; echo now a file >f"], ("link_became_file",)),
    (LINK, ["rm f; printf a.txt >f"], ("link_became_file",)),
    (FILE, ["ln -sf a.txt f"], ("file_became_link",)),
    (LINK, ["rm f; echo one >f", "echo two >>f; chmod +x f"], ("link_became_file", "made_executable")),
    (FILE, ["ln -sf a.txt f", "ln -sf b.txt f"], ("file_became_link",)),
]


def state(folder: Path) -> tuple[str, bool]:
    path = folder / "f"
    return (str(path.readlink()) if path.is_symlink() else path.read_text()), path.is_symlink()


def sh(folder: Path, command: str) -> None:
    subprocess.run(command, shell=True, cwd=folder, check=True)


@pytest.mark.parametrize(("before", "commands", "facts"), CASES)
@pytest.mark.parametrize("as_one", [True, False], ids=["one call", "a call each"])
async def test_it_is_told_as_such_and_taken_back(
    tmp_path: Path, before: str, commands: list[str], facts: tuple[str, ...], as_one: bool
) -> None:
    """In one call that says twice that it is done, what was found of it is told as one."""
    steps = []
    for number, command in enumerate(commands):
        call = "c0" if as_one else f"c{number}"
        if number == 0 or not as_one:
            steps.append(start(call, title=command, kind="execute", rawInput={"command": command}))
        steps += [{"run": command}, done(call), {"sleep": 0.4}]
    async with puppet(tmp_path, steps, files={"a.txt": "a\n"}) as live:
        sh(live.workspace, before)
        first = state(live.workspace)
        await turn(live)
        last = state(live.workspace)
        assert first[1] != last[1]
        changes = tools(live)["c0"].changes
        assert [(one.operation, one.facts[0]) for one in changes] == [("modify", facts[0])]
        landed = live.conversation.transcript.landed()
        session = live.conversation.session
        net = net_changes(landed, lambda blob: session.store.get(session.log.session, blob))
        assert [(one.operation, one.facts) for one in net] == [("modify", facts)]
        undone = await live.conversation.undo(turn=1)
        assert state(live.workspace) == first
        assert (live.workspace / "a.txt").read_text() == "a\n"
        await live.conversation.undo(turn=undone.turn)
        assert state(live.workspace) == last
