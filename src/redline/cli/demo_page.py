"""The demo in the dashboard: its turns play while the page opens, and whoever looks can prompt on."""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack
from importlib.resources import as_file
from importlib.resources import files as resources
from typing import TYPE_CHECKING

import typer

from redline.agents.builtin.agent import NAME
from redline.cli.demo import PROMPTS, UNDONE, answer_of, hurried, scratch
from redline.cli.house import myself
from redline.cli.serve import serve

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from redline.gateway.gateway import Gateway
    from redline.gateway.room import Room
    from redline.tools.permission import PermissionOutcome, PermissionRequest
    from redline.transcript.rows import AnyRow, SessionState

THOUGHT_SECONDS = 1.5
"""How long a question can be read before it is answered in your place."""

_log = logging.getLogger(__name__)


def demo_page(*, data: Path | None, fast: bool, port: int, browse: bool) -> int:
    """Serve until Ctrl-C; the exit code of the server."""
    workspace = scratch()
    sessions: list[str] = []
    playing: list[asyncio.Task[None]] = []
    with ExitStack() as stack:
        script = stack.enter_context(as_file(resources("redline.cli").joinpath("demo.toml")))
        model = f"script:{hurried(script, workspace) if fast else script}"

        async def begin(gateway: Gateway) -> str:
            room = await gateway.start(workspace, NAME, model, source=_Absent.name)
            sessions.append(room.session)
            playing.append(asyncio.create_task(_play(room, 0 if fast else THOUGHT_SECONDS)))
            return room.session

        typer.echo(f"A scripted model works in {workspace}. Tools, permissions, disk and log are the real ones.")
        typer.echo("Three turns play by themselves; then it is your turn: write any prompt. Ctrl-C ends it.")
        code = serve({"data": data, "approval": "ask"}, host="127.0.0.1", port=port, browse=browse, begin=begin)
    me = myself()
    typer.echo(f"\nThe session stays: {me} show {sessions[-1]}; remove it with {me} delete {sessions[-1]}")
    return code


async def _play(room: Room, pause: float) -> None:
    watching = room.attach(_Absent(pause))
    try:
        for prompt, _ in PROMPTS:
            await room.prompt(prompt, source=_Absent.name)
        await room.undo(await room.plan_undo(**UNDONE))
    except Exception:
        _log.exception("The demo could not be played to its end")
    finally:
        watching.close()


class _Absent:
    """Answers in your place while the first turns play; you see each question, and who answered."""

    name = "demo"
    shows_changes = True

    def __init__(self, pause: float) -> None:
        self._pause = pause

    async def show(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        pass

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None:
        pass

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None:
        await asyncio.sleep(self._pause)
        return answer_of(request)
