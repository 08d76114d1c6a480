"""How a session's log left each file: what a snapshot is held against after a crash."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from redline.changes.codec import from_json

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.sessions.events import Event

_WITH_CHANGES = ("tool/result", "tool/update", "workspace/changed", "change/reverted")
_ON_DISK = ("result", "observed")


@dataclass(slots=True)
class LastChanges:
    """By path, the last change of each file that landed. Feed it the events in their order."""

    by_path: dict[str, FileChange] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        changes = event.data.get("changes")
        if event.type not in _WITH_CHANGES or not isinstance(changes, list):
            return
        for value in changes:
            try:
                change = from_json(value)
            except (ValueError, TypeError):  # one that cannot be read says nothing
                continue
            if change.provenance in _ON_DISK:
                self.add(change)

    def add(self, change: FileChange) -> None:
        """One that landed."""
        if change.old_path is not None:
            gone = replace(change, path=change.old_path, old_path=None, operation="delete", hunks=(), after=None)
            self.by_path[change.old_path] = gone
        self.by_path[change.path] = change
