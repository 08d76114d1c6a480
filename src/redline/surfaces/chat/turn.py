"""What one turn shows in a place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.surfaces.chat import rows as made_from
from redline.surfaces.chat.cards import short
from redline.surfaces.chat.parts import File, Part, Text
from redline.surfaces.order import InOrder
from redline.surfaces.visible import visible
from redline.transcript.rows import AgentRow, PlanRow, ToolRow, TurnEndRow
from redline.views import TerminalCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.surfaces.chat.cards import Setting
    from redline.surfaces.chat.places import Begun
    from redline.transcript.rows import AnyRow, SessionState


class Turn:
    """Parts of settled rows, and a tail that says what is going on."""

    def __init__(self, begun: Begun, setting: Setting) -> None:
        self.begun = begun
        self.parts = made_from.TurnParts(setting)
        self.ended = False
        self._setting = setting
        self._order = InOrder()
        self._running = True
        self._plan: PlanRow | None = None

    @property
    def filed(self) -> int:
        """Bytes of its files."""
        return sum(len(part.content) for part in self.parts.parts if isinstance(part, File))

    def take(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        self._running = state.running
        self._plan = next((row for row in reversed(rows) if isinstance(row, PlanRow)), self._plan)
        self._order.take(rows, state)
        for row in self._order.ready():
            self.parts.add(row, typed_here=self.begun.typed)
            self.ended = self.ended or isinstance(row, TurnEndRow)

    def tail(self, *, waiting: bool) -> list[Part]:
        if self.ended:
            return []
        rows = self._order.waiting
        parts: list[Part] = []
        if rows and isinstance(rows[0], AgentRow):
            parts += made_from.reply(rows[0].text, [], self._setting.workspace)
        if not self._running:
            return parts
        if self._plan is not None and self._plan.entries:
            parts.append(made_from.plan(self._plan))
        doing = "Working"
        for row in rows:
            if isinstance(row, ToolRow):
                title = short(visible(row.call_view.title), 100)
                doing = f"$ {title}" if isinstance(row.call_view, TerminalCall) else title
                break
        return [*parts, Text("Waiting for an answer …" if waiting else f"{doing} …", "quiet")]
