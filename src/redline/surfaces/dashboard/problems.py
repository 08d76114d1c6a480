"""What went wrong, as it goes over the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.place import text

if TYPE_CHECKING:
    from redline.agents.agent import Stop
    from redline.transcript.rows import Problem


def problem_of(error: Exception | Stop | Problem) -> wire.Problem:
    """Of an error of the floors below, which all have a code, a message and a remedy."""
    return wire.Problem(
        code=text(str(getattr(error, "code", "ERROR"))),
        message=text(str(getattr(error, "message", error))),
        remedy=text(str(getattr(error, "remedy", ""))),
        lines=[text(str(line)) for line in getattr(error, "lines", ())],
    )
