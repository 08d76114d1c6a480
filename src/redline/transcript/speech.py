"""What is said: the rows of prompts, answers, thoughts and plans. An answer and a thought grow piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redline.transcript import fields
from redline.transcript.rows import (
    AgentRow,
    AnyRow,
    Mark,
    PlanRow,
    ThoughtRow,
    UserRow,
    agent_row_id,
    thought_row_id,
)

if TYPE_CHECKING:
    from redline.sessions.events import Event
    from redline.transcript.fields import Data
    from redline.transcript.standing import Standing


def prompted(standing: Standing, event: Event, data: Data) -> UserRow:
    """The row of a `user/message`."""
    blocks = fields.mappings(data, "content")
    attachments = tuple(block for block in blocks if block.get("type") != "text")
    head = standing.head(event, f"user:{event.seq}", fields.number(data, "turn"))
    return UserRow(**head, text=fields.block_text(blocks), attachments=attachments, content=blocks)


def answered(standing: Standing, event: Event, data: Data) -> AgentRow:
    """The row of an `assistant/message`, with this piece at its end."""
    turn = fields.number(data, "turn")
    id_ = agent_row_id(turn, fields.text(data, "message", str(event.seq)))
    return AgentRow(**standing.head(event, id_, turn), **_grown(standing.get(id_), data))


def thought(standing: Standing, event: Event, data: Data) -> ThoughtRow:
    """The row of an `assistant/thought`, likewise."""
    turn = fields.number(data, "turn")
    id_ = thought_row_id(turn, fields.text(data, "message", str(event.seq)))
    return ThoughtRow(**standing.head(event, id_, turn), **_grown(standing.get(id_), data))


def planned(standing: Standing, event: Event, data: Data) -> PlanRow:
    """The row of a turn's plan, which each `plan/updated` replaces."""
    turn = fields.number(data, "turn")
    head = standing.head(event, f"plan:{turn}", turn)
    return PlanRow(**head, entries=fields.records(data, "entries"), sent=data.get("sent"))


def _grown(row: AnyRow | None, data: Data) -> dict[str, Any]:
    """The text so far with a further piece, and what was sent beside its pieces."""
    text, marks = (row.text, tuple(row.marks)) if isinstance(row, AgentRow | ThoughtRow) else ("", ())
    whole = text + fields.text(data, "text")
    if "meta" in data:
        goes_on = bool(marks) and marks[-1].end == len(text) and marks[-1].meta == data["meta"]
        start = marks[-1].start if goes_on else len(text)
        marks = (*(marks[:-1] if goes_on else marks), Mark(start, len(whole), data["meta"]))
    return {"text": whole, "marks": marks}
