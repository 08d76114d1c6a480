"""The one rule of what of a change may go to the log: its lines masked on the whole texts, then cut to the limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.changes.mask import mask_lines
from redline.changes.shorten import LOG_LIMIT, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redline.changes.record import FileChange
    from redline.sessions.redaction import Redactor


def as_logged(
    change: FileChange, before: bytes | None, after: bytes | None, redactor: Redactor, *, limit: int = LOG_LIMIT
) -> FileChange:
    """`change` as the log keeps it; `before` and `after` are the true bytes of its sides, where there are such.

    Secrets are looked for in the whole texts, so that one which begins above a hunk is seen; then the hunks are cut to
    `limit` bytes.
    """
    if change.hunks:
        old = [(hunk.old_start, hunk.old_start + hunk.old_lines - 1) for hunk in change.hunks if hunk.old_lines]
        new = [(hunk.new_start, hunk.new_start + hunk.new_lines - 1) for hunk in change.hunks if hunk.new_lines]
        change = mask_lines(change, _masks(before, old, redactor), _masks(after, new, redactor))
    return shortened(change, limit)


def _masks(data: bytes | None, lines: Sequence[tuple[int, int]], redactor: Redactor) -> Mapping[int, str]:
    """The masks of the lines that hunks show."""
    return redactor.mask_lines(data, within=lines) if data and lines else {}
