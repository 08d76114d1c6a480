"""What was shown of a file before it was allowed, to be held against what was then done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redline.changes.record import FileChange


@dataclass(frozen=True, slots=True)
class Shown:
    """How a file was to be when its change was shown and allowed."""

    before: str | None
    after: str | None
    """Blobs; None: no file."""
    lines: tuple[str, ...] = ()
    """Those that were to go and to come; empty: they are not known."""

    def is_done_by(self, change: FileChange) -> bool:
        """It is the change that was shown, though the file may have been changed elsewhere before it was made."""
        blobs = [side.blob if side is not None else None for side in (change.before, change.after)]
        if blobs[1] == self.after:
            return True
        moved_on = blobs[0] != self.before and None not in (*blobs, self.after)
        return moved_on and bool(self.lines) and self.lines == changed_lines(change)


def changed_lines(change: FileChange) -> tuple[str, ...]:
    """The lines that go and come, in order; none where not all of them are known."""
    if change.truncated or change.redacted or not change.exact:
        return ()
    return tuple(line for hunk in change.hunks for line in hunk.lines if line[0] != " ")
