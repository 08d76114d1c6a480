"""The tools that Redline's own agent has."""

from __future__ import annotations

from redline.tools.edit import Edit, Insert, MultiEdit
from redline.tools.glob import Glob
from redline.tools.grep import Grep
from redline.tools.patch import ApplyPatch
from redline.tools.read import Read
from redline.tools.remove import Delete, Move
from redline.tools.shell import Bash
from redline.tools.tool import Toolset
from redline.tools.write import Write


def builtin_toolset() -> Toolset:
    """One of each, in the order in which a model is told of them."""
    return Toolset(
        (Read(), Write(), Edit(), MultiEdit(), Insert(), Delete(), Move(), ApplyPatch(), Bash(), Glob(), Grep())
    )
