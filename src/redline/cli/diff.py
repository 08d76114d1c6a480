"""`redline diff`: the net change of a session or a turn, for a reader or for `git apply`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from redline.changes.codec import to_json
from redline.changes.mask import mask_lines
from redline.changes.patch import PatchItem, git_patch, unified
from redline.changes.retype import halves_of
from redline.cli.choice import Choice, announce, to_show
from redline.cli.config import load
from redline.cli.failure import Failure
from redline.cli.house import events_of, opened, recovered, require_turn, say_damage
from redline.cli.interrupts import carry_out
from redline.sessions.gate import as_json as json_of
from redline.sessions.redaction import Redactor
from redline.surfaces.terminal.net import draw_net
from redline.surfaces.visible import visible
from redline.transcript.fold import rows
from redline.transcript.net import landed, net_items
from redline.transcript.rows import RevertRow, ToolRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.changes.record import FileChange
    from redline.gateway.archive import Archive
    from redline.sessions.events import Event
    from redline.sessions.store import Damaged, Summary


def diff(
    session: str, *, turn: int | None, call: str | None, file: str | None, patch: bool, as_json: bool, data: Path | None
) -> None:
    """Print the net change as cards, as JSON, as plain unified diffs (in a pipe), or as an exact patch."""
    config = load({"data": data}).config

    async def read() -> tuple[Choice, list[PatchItem]]:
        async with opened(config) as archive:
            chosen = await to_show(archive, session)
            await recovered(archive, chosen.session, chosen.summary.workspace)
            return chosen, await _items(archive, chosen.session, turn, call)

    chosen, items = carry_out(read())
    summary = chosen.summary
    console = Console()
    is_drawn = console.is_terminal and not patch and not as_json
    announce(chosen, drawn=is_drawn)
    if file is not None:
        items = _of_file(items, file, summary)
    if patch:
        _print_patch(items, summary)
        return
    redactor = Redactor()
    changes = [_masked(item, redactor) for item in items]
    if as_json:
        typer.echo(json.dumps(json_of([to_json(change) for change in changes]), indent=2, ensure_ascii=True))
        return
    if is_drawn:
        draw_net(console, changes, workspace=summary.workspace, session=summary.session)
        return
    for change in halves_of(changes):
        text = unified(change, limit=None)
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


async def _items(archive: Archive, session: str, turn: int | None, call: str | None) -> list[PatchItem]:
    if turn is not None:
        await require_turn(archive, session, turn)
    events = await events_of(archive, session)
    say_damage(events, session)
    changes = landed(events, turn=turn) if call is None else _of_call(events, session, turn, call)
    return net_items(changes, lambda blob: archive.bytes.get(session, blob))


def _of_call(events: Sequence[Event | Damaged], session: str, turn: int | None, call: str) -> Sequence[FileChange]:
    """What one call changed, an undo included. Agents repeat the ids of calls from turn to turn."""
    found = [row for row in rows(events, {}) if isinstance(row, (ToolRow, RevertRow)) and row.call == call]
    found = [row for row in found if turn is None or row.turn == turn]
    if not found:
        where = f"turn {turn} of session {session}" if turn else f"session {session}"
        raise Failure(
            3, "NO_CALL", f"There is no call {visible(call)} in {where}.", f"redline show {session} --json names them."
        )
    if len(found) > 1:
        turns = ", ".join(str(row.turn) for row in found)
        raise Failure(2, "AMBIGUOUS", f"Turns {turns} each have a call {visible(call)}.", "Say which with --turn.")
    return found[0].changes


def _of_file(items: list[PatchItem], file: str, summary: Summary) -> list[PatchItem]:
    """`file` as it stands on a card (relative to the workspace), relative to here, or absolute."""
    named = {os.path.normpath(Path(summary.workspace) / file), os.path.normpath(Path.cwd() / file)}
    # A change names the file that was written; a link to it is another name for the same.
    wanted = named | {os.path.realpath(path) for path in named}
    found = [item for item in items if {item.change.path, item.change.old_path} & wanted]
    if not found:
        names = ", ".join(visible(os.path.relpath(item.change.path, summary.workspace)) for item in items[:10])
        raise Failure(3, "NO_FILE", f"{file} has no net change there.", f"Changed: {names or 'nothing'}.")
    return found


def _print_patch(items: list[PatchItem], summary: Summary) -> None:
    missing = [item.change.path for item in items if item.change.file_type == "unknown"]
    if missing:
        raise Failure(
            1, "NOT_KEPT", f"The bytes of {visible(', '.join(missing))} are not kept, so no patch can be made of it.",
            "Name the other files with --file, or raise file_limit in the configuration for later sessions.",
        )  # fmt: skip
    sys.stdout.buffer.write(git_patch(items, root=summary.workspace))
    sys.stdout.buffer.flush()


def _masked(item: PatchItem, redactor: Redactor) -> FileChange:
    """A patch has the true lines; what is shown passes the door like everything else."""
    change = item.change
    if not change.hunks:
        return change
    return mask_lines(change, redactor.mask_lines(item.before or b""), redactor.mask_lines(item.after or b""))
