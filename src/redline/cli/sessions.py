"""`redline sessions`, `show` and `delete`: what the archive holds, drawn again, and removed."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from redline.changes.codec import to_json
from redline.changes.record import FileChange
from redline.cli.choice import Choice, announce, to_change, to_show
from redline.cli.columns import aligned
from redline.cli.config import load
from redline.cli.house import events_of, opened, recovered, require_turn
from redline.cli.interrupts import carry_out
from redline.cli.question import confirm
from redline.sessions.gate import as_json as json_of
from redline.sessions.gate import escaped
from redline.surfaces.terminal import render_row
from redline.surfaces.terminal.pipe import plain_row
from redline.surfaces.visible import visible
from redline.tools.builtin import builtin_toolset
from redline.transcript.fold import Transcript

if TYPE_CHECKING:
    from redline.gateway.archive import Archive
    from redline.sessions.events import Event
    from redline.sessions.store import Damaged, Summary

_SHARES = {"title": 3, "folder": 2}
"""What columns take of the width that the others leave."""
_LEAST_WIDTH = {"turns": 80, "lines edited": 80, "when": 60, "folder": 60}
"""Of the terminal, for a column to be shown at all: what is left to the others must say something."""
PAGE = 1000
"""Events that `show` reads from the end, unless told otherwise."""


def list_sessions(limit: int, *, as_json: bool, data: Path | None) -> None:
    """Print a table, or an array of objects."""
    config = load({"data": data}).config

    async def read() -> list[tuple[Summary, bool]]:
        async with opened(config) as archive:
            return [(one, archive.is_running(one.session)) for one in await archive.list(limit=limit)]

    found = carry_out(read())
    if as_json:
        typer.echo(json.dumps([{**dataclasses.asdict(one), "running": running} for one, running in found], indent=2))
        return
    if not found:
        typer.echo('No sessions yet. Start one: redline run "…"   or see the demo: redline demo')
        return
    rows = [_listed(one, running) for one, running in found]
    console = Console()
    if not console.is_terminal:
        for line in aligned(tuple(rows[0]), *(tuple(row.values()) for row in rows)):
            typer.echo(line)
        return
    table = Table(box=None, pad_edge=False, expand=True)
    headings = [heading for heading in rows[0] if console.width >= _LEAST_WIDTH.get(heading, 0)]
    for heading in headings:
        if heading == "session":  # to be typed, so never cut: wrapped where nothing else helps
            table.add_column(heading, overflow="fold", min_width=min(console.width, _longest(rows)))
        else:
            table.add_column(heading, no_wrap=True, overflow="ellipsis", ratio=_SHARES.get(heading))
    for row in rows:
        short = {**row, "folder": _short(row["folder"])}
        table.add_row(*(Text(visible(short[heading])) for heading in headings))
    console.print(table)


def _listed(one: Summary, running: bool) -> dict[str, str]:
    """A row of the list, by heading."""
    return {
        "session": one.session,
        "when": "running" if running else _when(one.updated_at),
        "turns": str(one.turns),
        "lines edited": _edited(one),
        "title": one.title or "(no title)",
        "folder": one.workspace,
    }


def show(session: str, *, turn: int | None, everything: bool, whole: bool, as_json: bool, data: Path | None) -> None:
    """Draw a session, or one turn, from its log."""
    config = load({"data": data}).config

    async def read() -> tuple[Choice, list[Event | Damaged]]:
        async with opened(config) as archive:
            chosen = await to_show(archive, session)
            await recovered(archive, chosen.session, chosen.summary.workspace)
            return chosen, await _events(archive, chosen.session, turn, everything=everything)

    chosen, events = carry_out(read())
    summary = chosen.summary
    transcript = Transcript(summary.session, builtin_toolset().by_name)
    for event in events:
        transcript.apply(event)
    rows = [row for row in transcript.rows if turn is None or row.turn == turn]
    state = dataclasses.replace(transcript.state, workspace=summary.workspace, title=summary.title)
    if as_json:
        announce(chosen, drawn=False)
        typer.echo(json.dumps({"state": plain(state), "rows": [plain(row) for row in rows]}, indent=2))
        return
    console = Console()
    announce(chosen, drawn=console.is_terminal)
    first = events[0].seq if events else 1
    if first > 1 and turn is None:
        print(f"# {first - 1} earlier events are not drawn; redline show {session} --all draws them.", file=sys.stderr)
    if console.is_terminal:
        for row in rows:
            console.print(
                render_row(row, workspace=summary.workspace, session=summary.session, whole=whole),
                highlight=False, crop=False, overflow="ignore",
            )  # fmt: skip
    else:
        for row in rows:
            for line in plain_row(row, workspace=summary.workspace, session=summary.session, whole=whole):
                sys.stdout.buffer.write(f"{line}\n".encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()


def delete(session: str, *, yes: bool, data: Path | None) -> None:
    """Remove one session after a question."""
    config = load({"data": data}).config

    async def work() -> str:
        async with opened(config) as archive:
            chosen = await to_change(archive, session, "delete {}")
            name = chosen.session
            archive.require_free(name)
            if not yes:
                title = visible(chosen.summary.title or "no title")
                of = f" of {chosen.place}" if chosen.is_elsewhere else ""
                await confirm(
                    f"Delete session {name} ({title}){of} with its log and kept bytes?", "Nothing was deleted."
                )
            await archive.delete(name)
            return name

    typer.echo(f"Deleted {carry_out(work())}. The files in its folder are as they were.")


def plain(value: Any) -> Any:
    """A row or state as JSON: records become objects, a change takes the form that it has in the log."""
    if isinstance(value, FileChange):
        return json_of(to_json(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(one) for one in value]
    return escaped(value) if isinstance(value, str) else value


async def _events(archive: Archive, session: str, turn: int | None, *, everything: bool) -> list[Event | Damaged]:
    store = archive.store
    if turn is not None:
        first = await require_turn(archive, session, turn)
        following = await store.turn_start(session, turn + 1)
        return await events_of(archive, session, after=first - 1, before=following)
    if everything:
        return await events_of(archive, session)
    return await store.page(session, limit=PAGE)


def _longest(rows: list[dict[str, str]]) -> int:
    return max(len(row["session"]) for row in rows)


def _edited(one: Summary) -> str:
    bound = "≥" if one.at_least else "" if one.exact else "≈"
    return f"{bound}+{one.added} {bound}−{one.removed}"


def _when(at: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at / 1000))


def _short(folder: str) -> str:
    home = str(Path.home())
    return "~" + folder[len(home) :] if folder == home or folder.startswith(home + "/") else folder
