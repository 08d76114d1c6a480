"""Which rows may be drawn, and when.

A terminal and a chat only grow, so a row is drawn once, when it is settled, and never before an earlier one. What
stands there after a turn is then the same as what a replay of the log draws, whatever ran at the same time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redline.transcript.rows import (
    AgentRow,
    AnyRow,
    PlanRow,
    SessionState,
    ThoughtRow,
    ToolRow,
    TurnEndRow,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redline.changes.record import FileChange


class InOrder:
    """Takes upserts as they come, gives rows as they may be drawn."""

    def __init__(self) -> None:
        self._first_turn: int | None = None
        """Of what is drawn here. A row of an earlier turn stands in some other scrollback, and one that changes
        now (an undo marks it, a late result ends it) must not be drawn here out of its place."""
        self._waiting: dict[str, AnyRow] = {}
        self._drawn: dict[str, AnyRow] = {}
        """As they were last taken."""
        self._stands: dict[str, ToolRow] = {}
        """Of the calls that are drawn, what stands there."""
        self._last_seq = 0
        self._running = True

    @property
    def waiting(self) -> list[AnyRow]:
        """Not drawn yet, by `seq`."""
        return sorted(self._waiting.values(), key=lambda row: row.seq)

    def take(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        self._running = state.running
        if self._first_turn is None:
            self._first_turn = min((row.turn for row in rows if row.turn), default=state.turn)
        for row in rows:
            self._last_seq = max(self._last_seq, row.seq)
            known = self._waiting.get(row.id) or self._drawn.get(row.id)
            if known is not None and row.revision < known.revision:
                continue
            if row.id in self._drawn:
                again = _again(self._drawn[row.id], row)
                self._drawn[row.id] = row
                if again is not None:
                    self._waiting[row.id] = again
            elif not 0 < row.turn < self._first_turn:
                self._waiting[row.id] = row

    def ready(self) -> Iterator[AnyRow]:
        """Each settled row, up to the first one that is not."""
        for row in self.waiting:
            if not self._settled(row):
                return
            del self._waiting[row.id]
            self._drawn.setdefault(row.id, row)
            yield row
            if isinstance(row, ToolRow):
                self._stands[row.id] = row

    def stands(self, row: AnyRow) -> ToolRow | None:
        """Of a call that is to be drawn once more: what stands there of it, since only what is new has to follow."""
        return self._stands.get(row.id)

    def is_next(self, row: str) -> bool:
        """Nothing else has to be drawn before this row (which may not have come yet)."""
        waiting = self.waiting
        return not waiting or waiting[0].id == row

    def _settled(self, row: AnyRow) -> bool:
        if isinstance(row, ToolRow):
            return row.ended
        if isinstance(row, AgentRow | ThoughtRow | PlanRow):
            return not self._running or row.seq < self._last_seq
        return True


def _again(drawn: AnyRow, row: AnyRow) -> AnyRow | None:
    """What has to be drawn of a row that changed after it was drawn: nothing, its new end, or the whole."""
    if isinstance(drawn, AgentRow) and isinstance(row, AgentRow):
        rest = row.text[len(drawn.text) :]
        return replace(row, text=rest.lstrip("\n")) if row.text.startswith(drawn.text) and rest.strip() else None
    if isinstance(drawn, ToolRow) and isinstance(row, ToolRow):
        return row if _said(drawn) != _said(row) else None
    if isinstance(drawn, PlanRow) and isinstance(row, PlanRow):
        return row if drawn.entries != row.entries else None
    if isinstance(drawn, TurnEndRow) and isinstance(row, TurnEndRow):
        return row if replace(drawn, revision=row.revision) != row else None
    return None


def without_repeats(row: ToolRow, before: ToolRow | None) -> ToolRow:
    """A call that changed after it was drawn, without the changes that stand there already."""
    if before is None:
        return row
    return replace(
        row, changes=[new for new in row.changes if not any(says_the_same(new, old) for old in before.changes)]
    )


def says_the_same(one: FileChange, other: FileChange) -> bool:
    """Two records are of one change, whoever computed them."""
    return replace(other, provenance=one.provenance) == one or (_ends(one) is not None and _ends(one) == _ends(other))


def _ends(change: FileChange) -> tuple[object, ...] | None:
    """What a change is known by; None: its bytes are not."""
    sides = [side for side in (change.before, change.after) if side is not None]
    if not all(side.blob for side in sides):
        return None
    return (change.path, change.old_path, change.operation, *((side.blob, side.executable) for side in sides))


def _said(row: ToolRow) -> tuple[object, ...]:
    return row.status, row.changes, row.error, row.warnings, row.result_view
