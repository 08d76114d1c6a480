"""What is summed up over a turn, and the row that stands at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from redline.transcript import fields
from redline.transcript.totals import net_totals

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.transcript.fields import Data
    from redline.transcript.rows import TurnEndRow


@dataclass(slots=True)
class Turn:
    whole: bool = False
    """Its beginning was seen."""
    models: list[str] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0
    context: tuple[int, int] = (0, 0)
    context_sent: Any = None
    cost: float | None = 0.0
    counted: bool = False
    """Somebody has said what it used."""
    changes: dict[str, tuple[FileChange, ...]] = field(default_factory=dict)
    """By row, in the order in which they landed."""

    def used(self, data: Data) -> None:
        """Take a `usage/updated`: one request to a model. A cost that is unknown once is unknown for the sum."""
        model = fields.text(data, "model")
        if model and model not in self.models:
            self.models.append(model)
        self.input_tokens += fields.number(data, "input_tokens")
        self.output_tokens += fields.number(data, "output_tokens")
        context = data.get("context")
        if isinstance(context, Mapping):
            self.context = fields.number(context, "used"), fields.number(context, "size")
            self.context_sent = context.get("sent")
        self.counted = True
        cost = fields.amount(data, "cost")
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    def summed_up(self, row: TurnEndRow) -> TurnEndRow:
        return replace(
            row,
            models=tuple(self.models),
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            context_used=self.context[0],
            context_size=self.context[1],
            context_sent=self.context_sent,
            cost=self.cost if self.counted else None,
            net=net_totals(change for landed in self.changes.values() for change in landed),
            partial=not self.whole,
        )
