"""The contract of a surface: what it shows, what it is sent, what it may be asked.

A surface draws rows and sends back prompts and answers; it folds no events and computes no diff. `Room.attach` gives it
a session's rows, `Room.submit` takes its prompts, `Room.answer` the answers that come by another way than `ask`, such
as a button. A chat platform need not write one: it says how it posts, edits, uploads and counts
(`surfaces.chat.platform.Platform`), and `surfaces.chat.screen.Screen` is its surface. docs/add-a-surface.md builds
both.
"""

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
    """True: it draws change cards, so the model need not write a diff. False or unknown: text only. The diff rule of a
    turn follows from this declaration of the surface that the turn comes from (`gateway.rule`)."""

    async def show(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        """Row upserts, in order. A row seen before comes again with a higher revision.

        One that takes long delays itself only: what comes meanwhile is merged, and it gets each row as it is by then.
        """
        ...

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None:
        """A further piece of text that the model is just writing (kind "agent" or "thought"); the row follows once it
        is committed. A surface may ignore it."""
        ...

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None:
        """None: this surface cannot ask anybody; another may.

        The whole of `request.changes` must be readable before anybody can answer. It may wait as long as a person
        needs; it is cancelled as soon as another surface has answered or the turn has ended, and the row of the request
        then says how and by whom.
        """
        ...
