"""Laying rows out: what is drawn for one row of the transcript, line by line, at the width of the terminal.

Wrapping is done here, by cells, because a wrapped line must keep its bar, its sign and its colour to its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.cells import chop_cells
from rich.text import Text

from redline.surfaces.terminal.lines import Item, Line, Skip
from redline.surfaces.terminal.look import ADDED, CHANGED_PART, HIDDEN, QUIET, REMOVED, Glyphs, glyphs
from redline.surfaces.terminal.spelling import spelt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

NARROW = 76
"""Below this many cells one column of line numbers has to do."""
_LEAST = 12


@dataclass(slots=True)
class Sheet:
    """The lines drawn so far, and what is needed to draw more."""

    console: Console
    glyphs: Glyphs
    width: int
    rows: list[Text] = field(default_factory=list)

    def put(self, row: Text) -> None:
        self.rows.append(row)

    def blank(self) -> None:
        self.rows.append(Text())

    def paragraph(self, text: Text, first: str = "  ", other: str = "  ", *, style: str = "") -> None:
        """Wrapped at words, behind a margin of Redline's own."""
        width = max(self.width - len(first), _LEAST)
        prefix = first
        for line in self.spelt(text).split("\n", allow_blank=True):
            for wrapped in line.wrap(self.console, width) or [Text()]:
                wrapped.rstrip()
                shown = prefix if wrapped.plain else prefix.rstrip()
                self.put(Text().append(shown, style=style).append_text(wrapped))
                prefix = other

    def spelt(self, text: Text) -> Text:
        """As the terminal will print it."""
        return spelt(text, self.console.encoding)

    def frame(self, *, solid: bool) -> Frame:
        return Frame(self, solid)


class Drawing:
    """A renderable that draws on a sheet once the width is known."""

    def __init__(self, draw: Callable[[Sheet], None]) -> None:
        self._draw = draw

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        sheet = Sheet(console, glyphs(options), options.max_width)
        self._draw(sheet)
        for row in sheet.rows:
            row.no_wrap = True
            row.overflow = "ignore"
            row.end = "\n"
            yield from row.render(console, "\n")


class Frame:
    """A card on a sheet: a head, and lines behind a bar. Solid: on disk. Loose, and without red and green: not."""

    def __init__(self, sheet: Sheet, solid: bool) -> None:
        glyphs = sheet.glyphs
        self._sheet = sheet
        self._top, self._side, self._bottom = (
            (glyphs.top, glyphs.side, glyphs.bottom)
            if solid
            else (glyphs.loose_top, glyphs.loose_side, glyphs.loose_bottom)
        )
        self._bar_style = "" if solid else QUIET

    def head(self, text: Text) -> None:
        self._wrapped(text, f"{self._top} ", f"{self._side}    ")

    def section(self, text: Text) -> None:
        """The head of a further file within the frame."""
        self._wrapped(text, f"{self._side} ", f"{self._side}    ")

    def note(self, text: Text, indent: int = 1) -> None:
        margin = self._side + " " * indent
        self._wrapped(text, margin, margin)

    def verbatim(self, text: Text) -> None:
        """One line, cut by cells and not at words."""
        for row in _chopped(self._sheet.spelt(text), self._room(2)):
            self._put(f"{self._side} ", row)

    def blank(self) -> None:
        self._put(self._side, Text())

    def close(self, text: Text | None = None) -> None:
        self._put(f"{self._bottom} " if text is not None else self._bottom, text or Text())

    def lines(self, items: Sequence[Item], *, coloured: bool) -> None:
        digits = max((len(str(number)) for item in items for number in _numbers(item)), default=0)
        for item in items:
            if isinstance(item, Line):
                self._line(item, digits, coloured=coloured)
            elif isinstance(item, Skip):
                self.verbatim(Text(self._skip(item), style=QUIET))
            else:
                self.verbatim(Text(self._gutter("", "", digits) + f"\\ {item.text}", style=QUIET))

    def _line(self, line: Line, digits: int, *, coloured: bool) -> None:
        style = ({"+": ADDED, "-": REMOVED}.get(line.sign, "") if coloured else QUIET) or ""
        old, new = (str(number) if number is not None else "" for number in (line.old, line.new))
        gutter = self._gutter(old, new, digits)
        again = self._gutter("", self._sheet.glyphs.continued, digits) if digits else ""
        content = self._sheet.spelt(_content(line, style, marks=coloured))
        for at, row in enumerate(_chopped(content, self._room(4 + len(gutter)))):
            before = Text().append(again if at else gutter, style=QUIET)
            # Without numbers, only this tells a wrapped line from the next one.
            sign = self._sheet.glyphs.continued if at and not digits else line.sign
            self._put(f"{self._side} ", before.append(f"{sign} ", style=style).append_text(row))

    def _gutter(self, old: str, new: str, digits: int) -> str:
        if not digits:
            return ""
        if self._sheet.width < NARROW:
            return f"{new or old:>{digits}} "
        return f"{old:>{digits}} {new:>{digits}} "

    def _skip(self, skip: Skip) -> str:
        sign = self._sheet.glyphs.skip
        if skip.count is None:
            return f"{sign} another place"
        return f"{sign} {skip.count} unchanged {'line' if skip.count == 1 else 'lines'}"

    def _room(self, taken: int) -> int:
        return max(self._sheet.width - taken, _LEAST)

    def _wrapped(self, text: Text, first: str, other: str) -> None:
        prefix = first
        for line in self._sheet.spelt(text).split("\n", allow_blank=True):
            for row in line.wrap(self._sheet.console, self._room(len(other))) or [Text()]:
                row.rstrip()
                self._put(prefix, row)
                prefix = other

    def _put(self, bar: str, content: Text) -> None:
        bar = bar if content.plain else bar.rstrip()
        self._sheet.put(Text().append(bar, style=self._bar_style).append_text(content))


def _numbers(item: Item) -> Iterator[int]:
    if isinstance(item, Line):
        yield from (number for number in (item.old, item.new) if number is not None)


def _content(line: Line, style: str, *, marks: bool) -> Text:
    text = Text(style=style)
    for piece in line.pieces:
        text.append(piece.text, style=HIDDEN if piece.stands_for_hidden else "")
    if marks and line.changed is not None:
        text.stylize(CHANGED_PART, *line.changed)
    return text


def _chopped(text: Text, width: int) -> list[Text]:
    if text.cell_len <= width:
        return [text]
    offsets: list[int] = []
    for part in chop_cells(text.plain, width):
        offsets.append((offsets[-1] if offsets else 0) + len(part))
    return list(text.divide(offsets[:-1]))
