"""One change as it was found on the disk: whose it is, and what several of one call amount to, is told from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from redline.agents.acp.places import key
from redline.files.seam import Content, Outcome, Target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redline.changes.record import FileChange, Side

_OPERATIONS: Mapping[str, Literal["create", "update", "delete", "move"]] = {
    "add": "create", "modify": "update", "delete": "delete", "move": "move",
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One change that is on the disk, and its bytes as far as they are at hand."""

    change: FileChange
    before: bytes | None
    after: bytes | None
    beside: Sequence[str] = ()
    """The other sessions that were at work there when it was found, and may have made it."""

    @cached_property
    def paths(self) -> frozenset[str]:
        return frozenset(key(path) for path in (self.change.path, self.change.old_path) if path)

    @property
    def taken(self) -> dict[str, str | None]:
        """By path, the blob that it began with; None: there was no file."""
        return self._ends(self.change.before, self.change.old_path or self.change.path)

    @property
    def left(self) -> dict[str, str | None]:
        """By path, the blob that it left there."""
        return self._ends(self.change.after, self.change.path)

    def _ends(self, side: Side | None, where: str) -> dict[str, str | None]:
        ends: dict[str, str | None] = dict.fromkeys(self.paths)
        ends[key(where)] = side.blob if side is not None else None
        return ends

    def outcome(self) -> Outcome:
        """The same as the file seam tells it, so that several steps to one file can be told as one."""
        change = self.change
        before, after = _content(change.before, self.before), _content(change.after, self.after)
        link = change.file_type == "symlink"
        if change.operation == "move" and change.old_path:
            return Outcome(_target(change.old_path, link), "move", before, after, moved_to=_target(change.path, link))
        return Outcome(_target(change.path, link), _OPERATIONS[change.operation], before, after)


def _target(path: str, link: bool) -> Target:
    return Target(Path(path), Path(key(path)), link)


def _content(side: Side | None, data: bytes | None) -> Content | None:
    return None if side is None else Content(side.blob, side.size, side.executable, data)
