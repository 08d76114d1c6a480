"""The render-intent union: how a tool wants a call and a result shown.

Closed, and tagged by `card`. Views are never stored; a presenter computes them from what is stored, so a live card and
a replayed one cannot differ. A surface that draws all three of each side draws every tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from redline.changes.record import FileChange

Kind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]


@dataclass(frozen=True, slots=True)
class Location:
    path: str
    line: int | None = None
    """Counted from 1."""


@dataclass(frozen=True, slots=True)
class GenericCall:
    title: str
    kind: Kind = "other"
    raw_input: Mapping[str, Any] | None = None
    content: Sequence[Mapping[str, Any]] = ()
    locations: Sequence[Location] = ()
    card: Literal["generic"] = "generic"


@dataclass(frozen=True, slots=True)
class TerminalCall:
    title: str
    """The command."""
    description: str | None = None
    cwd: str | None = None
    card: Literal["terminal"] = "terminal"


@dataclass(frozen=True, slots=True)
class DiffCall:
    title: str
    changes: Sequence[FileChange] = ()
    """The proposed changes."""
    locations: Sequence[Location] = ()
    card: Literal["diff"] = "diff"


@dataclass(frozen=True, slots=True)
class GenericResult:
    title: str | None = None
    """None: keep the call's title."""
    content: Sequence[Mapping[str, Any]] = ()
    card: Literal["generic"] = "generic"


@dataclass(frozen=True, slots=True)
class TerminalResult:
    title: str | None = None
    output: str = ""
    exit_code: int | None = None
    signal: str | None = None
    time_limit: int | None = None
    """Seconds of the limit that ended it, whatever signal that took; None: it ended otherwise."""
    card: Literal["terminal"] = "terminal"


@dataclass(frozen=True, slots=True)
class DiffResult:
    title: str | None = None
    changes: Sequence[FileChange] = ()
    """The applied changes."""
    note: str | None = None
    """Said instead of hunks, or beside them: "unchanged", or why there is no text basis."""
    card: Literal["diff"] = "diff"


ToolCallView = GenericCall | TerminalCall | DiffCall
ToolResultView = GenericResult | TerminalResult | DiffResult
