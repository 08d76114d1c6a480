"""A mutated recording, played against Redline, and what is wrong with the cards of it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from agents.acp.mutations import mutated
from captures.recorded import Recording, Stage, folder, on_disk, replayed, stage
from redline.transcript.rows import AnyRow, FoundRow, ToolRow

_PLAYER = Path(__file__).with_name("player.py")
_UNDONE = ("rejected", "cancelled", "proposed", "running")


@dataclass
class Retold:
    wrong: list[str] = field(default_factory=list)
    """What is not true of the cards; empty: nothing."""
    cards: list[tuple[str, ...]] = field(default_factory=list)
    """What each call is said to have changed."""
    beside: list[tuple[str, ...]] = field(default_factory=list)
    """What is said to be no call's."""
    asked: int = 0
    whole: bool = True
    """The turn went as in the recording."""


async def retold(name: str, mutations: Sequence[str], random: Random, base: Path) -> Retold | None:
    """None: some mutation does not apply to this recording."""
    recording = Recording.of(name)
    value = mutated(dict(recording.value), list(mutations), random)
    if value is None:
        return None
    workspace = base / "workspace"
    workspace.mkdir()
    (base / "link").symlink_to("workspace")
    recording.prepare(workspace)
    before = on_disk(workspace)
    path = base / "recording.json"
    path.write_text(json.dumps(value))
    command = [sys.executable, str(_PLAYER), str(folder()), str(path)]
    found = Retold()
    async with stage(base, command, answers=recording.answers()) as live:
        await live.conversation.prompt("Do the scripted step.", source="terminal")
        await asyncio.sleep(0.2)
        await live.conversation.prompt("What was that?", source="terminal")
        found.whole = on_disk(workspace) == recording.after
        found.asked = len(live.onlooker.asked)
        _judge(found, live, before)
        if on_disk(workspace) == before and "/o_" not in name and (found.cards or found.beside):
            found.wrong.append("nothing changed, and cards say so")  # there and back is two changes
        told = _lasting(live.conversation.transcript.rows)
        if told != _lasting(list(live.onlooker.rows.values())):
            found.wrong.append("a surface was shown something else")
        session = live.session.log.session
    async with stage(base, command, session=session) as later:
        await later.agent.connect(3)
        if _lasting(later.conversation.transcript.rows) != told:
            found.wrong.append("a reload draws something else")
    return found


def _judge(found: Retold, live: Stage, before: dict[str, bytes]) -> None:
    transcript = live.conversation.transcript
    after = on_disk(live.workspace)
    try:
        if replayed(before, transcript.landed(), live.workspace, live) != after:
            found.wrong.append("the cards do not give what is on the disk")
    except AssertionError as error:
        found.wrong.append(str(error).partition("\n")[0])
    for row in transcript.rows:
        if isinstance(row, ToolRow):
            found.wrong += _of_call(row)
        if isinstance(row, ToolRow | FoundRow) and row.changes:
            shown = tuple(f"{one.operation} {Path(one.path).name} -{one.removed} +{one.added}" for one in row.changes)
            (found.cards if isinstance(row, ToolRow) else found.beside).append(shown)


def _of_call(row: ToolRow) -> list[str]:
    wrong = []
    if not row.ended:
        wrong.append(f"{row.call} is still {row.status}")
    if row.changes and row.status in _UNDONE:
        wrong.append(f"{row.call} is {row.status} and drawn as applied")
    if row.status == "applied" and not row.changes:
        wrong.append(f"{row.call} is drawn as applied and shows nothing")
    wrong += [f"{row.call}: {one.provenance}" for one in row.changes if one.provenance not in ("result", "observed")]
    return wrong


def _lasting(rows: list[AnyRow]) -> list[AnyRow]:
    return sorted((row for row in rows if row.kind != "notice"), key=lambda row: (row.turn, row.seq, row.id))
