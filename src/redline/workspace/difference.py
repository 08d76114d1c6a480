"""A difference: one path whose state is not the one of the snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redline.workspace.state import State


@dataclass(frozen=True, slots=True)
class Difference:
    """One path before and after."""

    path: bytes
    """Relative to the workspace; of a file outside it, absolute."""
    before: State
    after: State
    is_guess: bool = False
    """What was there before is not known."""

    @property
    def is_gone(self) -> bool:
        return self.after.kind == "none" and self.before.blob is not None

    @property
    def is_come(self) -> bool:
        return self.before.kind == "none" and self.after.blob is not None and not self.is_guess
