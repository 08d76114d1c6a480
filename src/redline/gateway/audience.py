"""What the gateway needs of a surface; `redline.surfaces.surface.Surface` is the contract that they are built to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.tools.permission import PermissionOutcome, PermissionRequest
    from redline.transcript.rows import AnyRow, SessionState


class Audience(Protocol):
    name: str
    shows_changes: bool

    async def show(self, rows: Sequence[AnyRow], state: SessionState) -> None: ...

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None: ...

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None: ...
