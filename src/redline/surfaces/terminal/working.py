"""The line at the bottom that says what goes on, while something does.

It stands below all that was drawn, moves down with it, and leaves no trace in the scrollback. Only on a real terminal.
"""

from __future__ import annotations

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from redline.surfaces.terminal.sheet import Drawing, Sheet
from redline.surfaces.visible import visible, visible_prose

PARTIAL_ROWS = 6
"""Rows of a paragraph that is still being written."""


class Working:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._enabled = console.is_terminal and not console.is_dumb_terminal
        self._spinner: Spinner | None = None

    def show(self, doing: str, partial: str = "") -> None:
        """`doing`: a few words. `partial`: the text of the line that a model is writing at the moment."""
        if not self._enabled:
            return
        if self._spinner is None:
            plain = not self._console.encoding.startswith("utf")
            self._spinner = Spinner("line" if plain else "dots", style="dim")
        self._spinner.update(text=Text(_one_line(doing, self._console.width - 4), style="dim"))
        view = Group(_partial(partial), self._spinner) if partial.strip() else Group(self._spinner)
        if self._live is None:
            self._live = Live(view, console=self._console, transient=True, refresh_per_second=10)
            self._live.start()
        else:
            self._live.update(view)

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def _partial(text: str) -> Drawing:
    def draw(sheet: Sheet) -> None:
        sheet.paragraph(Text(visible_prose(text)))
        del sheet.rows[:-PARTIAL_ROWS]

    return Drawing(draw)


def _one_line(text: str, width: int) -> str:
    shown = Text(visible(" ".join(text.split())))
    shown.truncate(max(width, 8), overflow="ellipsis")
    return shown.plain
