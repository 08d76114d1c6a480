"""The contract of a surface: what it shows, what it is sent, what it may be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.tools.permission import PermissionOutcome, PermissionRequest
    from redline.transcript.rows import AnyRow, SessionState


class Surface(Protocol):
    name: str
    """As it stands in `turn/started`, `permission/answered` and the log: "terminal", "pipe", …"""
    shows_changes: bool
    """True: it draws change cards, so the model need not write a diff. False or unknown: text only."""

    async def show(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        """Row upserts, in order. A row seen before comes again with a higher revision."""
        ...

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None:
        """A further piece of text that the model is just writing (kind "agent" or "thought"); the row follows once it
        is committed. A surface may ignore it."""
        ...

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None:
        """None: this surface cannot ask anybody; another may."""
        ...
