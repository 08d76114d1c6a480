"""From rows to what goes over the wire. Nothing here decides what happened: the rows say it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from redline.gateway.fences import covered_fences
from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.calls import head_of, shown_blocks, shown_call
from redline.surfaces.dashboard.changes import shown_changes, shown_total
from redline.surfaces.dashboard.place import text, texts
from redline.surfaces.dashboard.problems import problem_of
from redline.transcript import rows as of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from redline.changes.record import FileChange
    from redline.surfaces.dashboard.place import Place

_log = logging.getLogger(__name__)
_RAW_LIMIT = 1_000_000
"""Characters of what a foreign agent sent that are shown."""


def shown_row(place: Place, row: of.AnyRow, *, whole: bool = False, covered: Sequence[int] = ()) -> wire.Row:
    """One that cannot be shown is an error row in its place. `whole`: nothing is left out. `covered`: what
    `covered_lines` says of an agent's text."""
    try:
        shown = _row(place, row, whole=whole)
        return shown.model_copy(update={"covered_fences": list(covered)}) if covered else shown
    except Exception:
        _log.exception("The row %s of session %s cannot be shown", row.id, place.session)
        title = "This row cannot be shown. The log of the data folder says why; redline show draws it too."
        return wire.OtherRow(**head_of(row), kind="other", title=title, why="unshown")


def _row(place: Place, row: of.AnyRow, *, whole: bool) -> wire.Row:
    match row:
        case of.UserRow():
            return wire.UserRow(
                **head_of(row), kind="user", text=text(row.text), attachments=shown_blocks(place, row.attachments)
            )
        case of.AgentRow():
            return wire.AgentRow(**head_of(row), kind="agent", text=text(row.text), covered_fences=[])
        case of.ThoughtRow():
            return wire.ThoughtRow(**head_of(row), kind="thought", text=text(row.text))
        case of.ToolRow():
            return shown_call(place, row, whole=whole)
        case of.RevertRow():
            return wire.RevertRow(
                **head_of(row), kind="revert", call=text(row.call), of=called(row.of),
                changes=shown_changes(place, row.changes, whole=whole), reverted=row.reverted,
            )  # fmt: skip
        case of.FoundRow():
            return wire.FoundRow(
                **head_of(row),
                kind="found",
                changes=shown_changes(place, row.changes, whole=whole),
                during=texts(row.during),
                reverted_paths=texts(row.reverted_paths),
            )
        case of.PlanRow():
            entries = [
                wire.PlanEntry(content=text(one.get("content", "")), status=text(one.get("status", "")))
                for one in row.entries
            ]
            return wire.PlanRow(**head_of(row), kind="plan", entries=entries)
        case of.PermissionRow():
            return wire.PermissionRow(
                **head_of(row), kind="permission", request=text(row.request), call=text(row.call),
                title=text(row.title), changes=shown_changes(place, row.changes, whole=whole),
                note=text(row.note), options=[_choice(one) for one in row.options],
                outcome=row.outcome, by=None if row.by is None else text(row.by),
            )  # fmt: skip
        case of.NoticeRow():
            return wire.NoticeRow(**head_of(row), kind="notice", level=row.level, problem=problem_of(row.problem))
        case of.TurnEndRow():
            return wire.TurnEndRow(
                **head_of(row), kind="turn_end", reason=row.reason,
                error=None if row.error is None else problem_of(row.error), models=texts(row.models),
                input_tokens=row.input_tokens, output_tokens=row.output_tokens, cost=row.cost,
                net=[shown_total(place, one) for one in row.net], partial=row.partial,
            )  # fmt: skip
        case of.OtherRow():
            return wire.OtherRow(**head_of(row), kind="other", title=text(row.title), why=row.why)
    assert_never(row)


def row_details(place: Place, row: of.AnyRow) -> wire.RowDetails:
    raw = row.raw if isinstance(row, of.ToolRow) else None
    told = None
    if raw:
        told = text(json.dumps(raw, indent=2, ensure_ascii=False, default=str))
        if len(told) > _RAW_LIMIT:
            told = told[:_RAW_LIMIT] + "\n… (cut here)"
    return wire.RowDetails(row=shown_row(place, row, whole=True), raw=told)


def may_fold(row: of.AnyRow) -> bool:
    """It is an agent's text with a fence in it, which the changes of its turn may cover."""
    return isinstance(row, of.AgentRow) and ("```" in row.text or "~~~" in row.text)


def covered_lines(said: str, changes: Sequence[FileChange], workspace: str) -> tuple[int, ...]:
    """The lines, from 0, on which the diff fences open that the applied changes of the turn cover."""
    return tuple(said.count("\n", 0, start) for start, _ in covered_fences(said, changes, Path(workspace)))


def called(pairs: Iterable[tuple[int, str]]) -> list[wire.Called]:
    return [wire.Called(turn=turn, call=text(call)) for turn, call in pairs]


def _choice(option: Mapping[str, str]) -> wire.Choice:
    return wire.Choice(
        id=text(option.get("id", "")), kind=text(option.get("kind", "")), name=text(option.get("name", ""))
    )
