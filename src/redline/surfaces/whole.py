"""A change of which the log keeps a part only, whole again out of the kept bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.changes.compare import describe
from redline.changes.retype import halves, joined
from redline.workspace.logged import as_logged

if TYPE_CHECKING:
    from collections.abc import Callable

    from redline.changes.record import FileChange
    from redline.sessions.redaction import Redactor

BASIS = 10 * 2**20
"""Bytes of a side from which hunks are computed again."""


def restored(
    change: FileChange, read: Callable[[str], bytes | None], redactor: Redactor, *, limit: int | None = None
) -> FileChange:
    """`change` with `limit` bytes of its hunks (None: all of them), masked as the log's are, where the bytes of both
    sides are kept; else as it is. `read` gives the bytes of a blob. Blocks, for about two seconds at worst."""
    if change.old_type is not None:
        (whole,) = joined([restored(half, read, redactor, limit=limit) for half in halves(change)])
        return whole
    sides = (change.before, change.after)
    if not change.truncated or change.file_type != "text" or any(side and side.size > BASIS for side in sides):
        return change
    before, after = (None if side is None else read(side.blob) for side in sides)
    if (before is None) != (change.before is None) or (after is None) != (change.after is None):
        return change
    if before is None and after is None:
        return change
    whole = describe(
        change.path,
        before,
        after,
        old_path=change.old_path,
        before_executable=change.before is not None and change.before.executable,
        after_executable=change.after is not None and change.after.executable,
        provenance=change.provenance,
    )
    return as_logged(whole, before, after, redactor, limit=_ALL if limit is None else limit)


_ALL = 1 << 40
