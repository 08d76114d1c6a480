"""Drawing for tests: what a console of some width and theme would get."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Console

from redline.surfaces.terminal.rows import render_row

if TYPE_CHECKING:
    from redline.transcript.rows import AnyRow

SGR = re.compile(r"\x1b\[[0-9;]*m")


def console(width: int = 80, **more: Any) -> Console:
    settings: dict[str, Any] = {"force_terminal": True, "color_system": "standard", "legacy_windows": False}
    return Console(file=io.StringIO(), width=width, height=40, highlight=False, **{**settings, **more})


def written(of: Console) -> str:
    assert isinstance(of.file, io.StringIO)
    return of.file.getvalue()


def draw(
    rows: AnyRow | Iterable[AnyRow], width: int = 80, *, whole: bool = False, workspace: str = "/w", **more: Any
) -> str:
    """With escape codes."""
    target = console(width, **more)
    for row in [rows] if not isinstance(rows, Iterable) else rows:
        view = render_row(row, workspace=workspace, session="s1", whole=whole)
        target.print(view, highlight=False, crop=False, overflow="ignore")
    return written(target)


def plain(text: str) -> str:
    """Without the escape codes of colours; trailing blanks gone."""
    return "\n".join(line.rstrip() for line in SGR.sub("", text).split("\n"))
