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
from redline.cli.house import events_of, opened, recovered, require_turn
from redline.cli.interrupts import carry_out
from redline.sessions.gate import as_json as json_of
from redline.sessions.redaction import Redactor
from redline.surfaces.terminal.net import draw_net
from redline.surfaces.visible import visible
from redline.transcript.net import landed, net_items

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.gateway.archive import Archive
    from redline.sessions.store import Summary


def diff(session: str, *, turn: int | None, file: str | None, patch: bool, as_json: bool, data: Path | None) -> None:
    """Print the net change as cards, as JSON, as plain unified diffs (in a pipe), or as an exact patch."""
    config = load({"data": data}).config

    async def read() -> tuple[Choice, list[PatchItem]]:
        async with opened(config) as archive:
            chosen = await to_show(archive, session)
            await recovered(archive, chosen.session, chosen.summary.workspace)
            return chosen, await _items(archive, chosen.summary, turn)

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


async def _items(archive: Archive, summary: Summary, turn: int | None) -> list[PatchItem]:
    session = summary.session
    if turn is not None:
        await require_turn(archive, session, turn)
    events = await events_of(archive, session)
    return net_items(landed(events, turn=turn), lambda blob: archive.bytes.get(session, blob))


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
