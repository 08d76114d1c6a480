"""A table for a pipe: aligned, and never cut or broken, so that a program finds in it what stands there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from redline.surfaces.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def aligned(*rows: Sequence[str]) -> Iterator[str]:
    """One line a row, two blanks between columns at least; the last column is as long as it is."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()
