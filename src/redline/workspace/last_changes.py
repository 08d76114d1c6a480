"""How a session's log left each file: what a snapshot is held against after a crash."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from redline.changes.codec import from_json
from redline.changes.record import ON_DISK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redline.changes.record import FileChange
    from redline.sessions.events import Event

_WITH_CHANGES = ("tool/result", "tool/update", "workspace/changed", "change/reverted")
_LATEST = sys.maxsize


@dataclass(slots=True)
class LastChanges:
    """By path, the last change of each file that landed. Feed it the events in their order."""

    by_path: dict[str, FileChange] = field(default_factory=dict)
    _told: dict[str, int] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        changes = event.data.get("changes")
        if event.type not in _WITH_CHANGES or not isinstance(changes, list):
            return
        for value in changes:
            try:
                change = from_json(value)
            except (ValueError, TypeError):  # one that cannot be read says nothing
                continue
            if change.provenance in ON_DISK:
                self.add(change, event.seq)

    def add(self, change: FileChange, seq: int = _LATEST) -> None:
        """One that landed. `seq`: of the event that tells it; later than all, if none does so far."""
        if change.old_path is not None:
            gone = replace(change, path=change.old_path, old_path=None, operation="delete", hunks=(), after=None)
            self.by_path[change.old_path], self._told[change.old_path] = gone, seq
        self.by_path[change.path], self._told[change.path] = change, seq

    def after(self, seq: int) -> Mapping[str, FileChange]:
        """Those of `by_path` that are told by later events than this one."""
        return {path: change for path, change in self.by_path.items() if self._told[path] > seq}
