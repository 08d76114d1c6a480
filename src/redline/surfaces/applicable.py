"""A change as git applies it, out of the record alone: what a surface can give a reader without the kept bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.changes.names import quoted, relative
from redline.changes.patch import unified
from redline.changes.retype import halves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redline.changes.record import FileChange


def section(change: FileChange, root: str | None) -> Iterator[str]:
    """The lines of a `diff --git` section, paths relative to `root`; of a link that became a file, or the other way,
    two. Only where `why_not_a_patch` has no objection."""
    for half in halves(change):
        yield from _section(half, root)


def _section(change: FileChange, root: str | None) -> Iterator[str]:
    old, new = relative(change.old_path or change.path, root), relative(change.path, root)
    yield f"diff --git {quoted('a/' + old)} {quoted('b/' + new)}"
    yield from _modes(change)
    if change.operation == "move":
        yield from (f"rename from {quoted(old)}", f"rename to {quoted(new)}")
    if change.hunks:
        yield "--- /dev/null" if change.operation == "add" else f"--- {quoted('a/' + old)}"
        yield "+++ /dev/null" if change.operation == "delete" else f"+++ {quoted('b/' + new)}"
        yield from unified(change, limit=None).removesuffix("\n").split("\n")[2:]


def why_not_a_patch(change: FileChange) -> str | None:
    """Why the record cannot be applied: it does not hold the true bytes, or not all of them. None: it can."""
    sides = [side for side in (change.before, change.after) if side is not None]
    reasons: list[tuple[bool, str]] = [
        (change.redacted, "secrets are masked"),
        (change.file_type == "binary", "binary"),
        (any(not side.utf8 for side in sides), "not UTF-8"),
        (change.may_be_new, "whether it was there before is not known"),
        (change.file_type == "unknown", "no text to compare"),
        (change.truncated, "too large for the log"),
        (not change.anchored, "its place in the file is unknown"),
        (_is_odd(change), "its lines cannot be written as UTF-8"),
    ]
    return next((reason for holds, reason in reasons if holds), None)


def _is_odd(change: FileChange) -> bool:
    return any(not line.isascii() and _has_surrogate(line) for hunk in change.hunks for line in hunk.lines)


def _has_surrogate(line: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in line)


def _modes(change: FileChange) -> Iterator[str]:
    link = change.file_type == "symlink"
    old, new = (
        "120000" if link else "100755" if side is not None and side.executable else "100644"
        for side in (change.before, change.after)
    )
    if change.operation == "add":
        yield f"new file mode {new}"
    elif change.operation == "delete":
        yield f"deleted file mode {old}"
    elif old != new:
        yield from (f"old mode {old}", f"new mode {new}")
