"""`redline undo`: what would be taken back, a question, and the undo."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from redline.changes.codec import to_json
from redline.cli.choice import Choice, to_change
from redline.cli.config import load
from redline.cli.house import events_of, folder_of, opened, require_turn, say_damage
from redline.cli.interrupts import carry_out
from redline.cli.question import confirm
from redline.files.local import LocalFiles
from redline.sessions.gate import as_json as json_of
from redline.surfaces.terminal.net import draw_net
from redline.surfaces.visible import visible
from redline.tools.undo import Undone, UndoPlan, plan_undo
from redline.tools.undo import undo as take_back

if TYPE_CHECKING:
    from redline.gateway.archive import Archive


def undo(
    session: str, *, turn: int | None, file: str | None, yes: bool, dry_run: bool, as_json: bool, data: Path | None
) -> None:
    """Plan, show, ask, do."""
    config = load({"data": data}).config

    async def work() -> None:
        async with opened(config) as archive:
            chosen = await to_change(archive, session, "undo {}")
            if turn is not None:
                await require_turn(archive, chosen.session, turn)
            say_damage(await events_of(archive, chosen.session), chosen.session)
            await _undo(archive, chosen, turn, file, yes=yes, dry_run=dry_run, as_json=as_json)

    carry_out(work())


async def _undo(
    archive: Archive, chosen: Choice, turn: int | None, file: str | None, *, yes: bool, dry_run: bool, as_json: bool
) -> None:
    summary = chosen.summary
    workspace = folder_of(Path(summary.workspace))
    files = LocalFiles([workspace])
    with await archive.resume(summary.session, files) as opened_session:
        log, store, redactor = opened_session.log, opened_session.store, opened_session.redactor
        plan = await plan_undo(log, store, files, redactor, turn=turn, path=file)
        if not as_json:
            _show(plan, chosen)
        if dry_run:
            if as_json:
                typer.echo(json.dumps(_as_json(plan), indent=2))
            return
        if not yes:
            what = "this" if len(plan.changes) == 1 else f"these {len(plan.changes)}"
            where = f" in {chosen.place}" if chosen.is_elsewhere else ""
            await confirm(f"Take {what} back{where}?", "Nothing was taken back.")
        done = await take_back(log, store, files, redactor, plan=plan)
    if as_json:
        typer.echo(json.dumps({**_as_json(done), "turn": done.turn}, indent=2))
    else:
        typer.echo(f"Taken back. The way back: redline undo {summary.session} --turn {done.turn}")


def _show(plan: UndoPlan, chosen: Choice) -> None:
    console = Console(file=sys.stdout)
    draw_net(
        console,
        plan.changes,
        workspace=chosen.summary.workspace,
        session=chosen.session,
        applied=False,
        status="would be taken back",
    )
    for note in plan.notes:
        typer.echo(visible(note))
    if not plan.changes:
        typer.echo("Everything already is as it was; the log will say that it was taken back.")


def _as_json(what: UndoPlan | Undone) -> dict[str, object]:
    return {
        "of": [{"turn": turn, "call": call} for turn, call in what.of],
        "changes": json_of([to_json(change) for change in what.changes]),
        "notes": json_of(list(what.notes)),
    }
