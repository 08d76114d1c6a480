"""Net changes as cards: what `redline diff` shows, and what an undo would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from redline.surfaces.terminal import card
from redline.surfaces.terminal.card import Setting
from redline.surfaces.terminal.sheet import Drawing, Sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from redline.changes.record import FileChange


def draw_net(
    console: Console,
    changes: Sequence[FileChange],
    *,
    workspace: str,
    session: str,
    applied: bool = True,
    status: str = "",
) -> None:
    """Print one whole card a change. `applied` false: drawn as what is not on disk, with the words of `status`."""
    setting = Setting(workspace, session, whole=True)

    def draw(sheet: Sheet) -> None:
        if not changes:
            sheet.put(Text("No net change."))
        for change in changes:
            frame = sheet.frame(solid=applied)
            frame.head(card.head(change, setting, sheet.glyphs, applied=applied, status=status))
            card.draw_lines(frame, change, setting, sheet.glyphs, applied=applied)
            frame.close()
            sheet.blank()

    console.print(Drawing(draw), highlight=False, crop=False, overflow="ignore")
