"""Printing a change: the plain unified form for readers, and the form that `git apply` takes."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redline.changes.compare import blob_id, comparison, is_binary, side
from redline.changes.names import NOWHERE, quoted, relative
from redline.changes.retype import halves
from redline.changes.shorten import READER_LIMIT, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redline.changes.record import FileChange, Hunk, Side

NO_NEWLINE = "\\ No newline at end of file"
BINARY = "\\ binary file"
TRUNCATED = "\\ diff truncated"
NO_TEXT = "\\ no text to compare"
_NO_BLOB = "0" * 40


def unified(change: FileChange, *, limit: int | None = READER_LIMIT) -> str:
    """The plain form: `--- path`, `+++ path`, hunks. `limit` in bytes of hunk text; None: whole.

    Odd bytes stand as surrogate escapes, as in the hunks. A change without hunks is its two header lines and a line
    that says what it is.
    """
    shown = change if limit is None else shortened(change, limit)
    old = NOWHERE if change.operation == "add" else quoted(change.old_path or change.path)
    new = NOWHERE if change.operation == "delete" else quoted(change.path)
    lines = [f"--- {old}", f"+++ {new}"]
    for hunk in shown.hunks:
        lines.append(header(hunk, anchored=change.anchored))
        lines += _body(hunk, change.before, change.after)
    if shown.truncated:
        lines.append(TRUNCATED)
    elif not shown.hunks:
        lines += _named(change)
    return "\n".join(lines) + "\n"


def header(hunk: Hunk, *, anchored: bool = True) -> str:
    """The `@@` line; without numbers for a snippet whose place is unknown."""
    if not anchored:
        return "@@ @@"
    return f"@@ -{_range(hunk.old_start, hunk.old_lines)} +{_range(hunk.new_start, hunk.new_lines)} @@"


@dataclass(frozen=True, slots=True)
class PatchItem:
    """A change and the true bytes of its sides; None where there is no file."""

    change: FileChange
    before: bytes | None
    after: bytes | None


def git_patch(items: Sequence[PatchItem], *, root: str | None) -> bytes:
    """`diff --git` sections that `git apply` takes in `root`, and `git apply -R` takes back.

    Hunks are computed from the bytes, so that what the log masked or shortened is whole here. `root`: the folder that
    paths are made relative to; None, or a path outside: the path as it is, without its first slash. Raises ValueError
    where a side's bytes are missing, naming the path.
    """
    return b"".join(_section(half, root) for item in items for half in _halves(item))


def _halves(item: PatchItem) -> Iterable[PatchItem]:
    """git knows no section that makes a file of a link: one goes, and the other comes."""
    if item.change.old_type is None or item.before is None or item.after is None:
        return (item,)
    before, after = halves(item.change)
    return PatchItem(before, item.before, None), PatchItem(after, None, item.after)


def _section(item: PatchItem, root: str | None) -> bytes:
    change = item.change
    _demand_bytes(item)
    old = relative(change.old_path or change.path, root)
    new = relative(change.path, root)
    lines = [f"diff --git {quoted('a/' + old)} {quoted('b/' + new)}"]
    lines += _mode_lines(item)
    if change.operation == "move":
        if item.before == item.after:
            lines.append("similarity index 100%")
        lines += [f"rename from {quoted(old)}", f"rename to {quoted(new)}"]
    text = "\n".join(lines) + "\n"
    if item.before != item.after or change.operation != "move":
        text += _index_line(item)
    data = text.encode("utf-8", "surrogateescape")
    before, after = item.before or b"", item.after or b""
    if before == after:
        return data
    if is_binary(before) or is_binary(after):
        return data + _binary(before, after)
    names = [
        f"--- {NOWHERE if item.before is None else quoted('a/' + old)}",
        f"+++ {NOWHERE if item.after is None else quoted('b/' + new)}",
    ]
    return data + ("\n".join(names) + "\n").encode("utf-8", "surrogateescape") + _hunk_bytes(before, after)


def _demand_bytes(item: PatchItem) -> None:
    change = item.change
    if item.before is None and (change.operation != "add" or change.before is not None):
        raise ValueError(f"{change.path}: the bytes before the change are not at hand, so no patch can be made of it")
    if item.after is None and (change.operation != "delete" or change.after is not None):
        raise ValueError(f"{change.path}: the bytes after the change are not at hand, so no patch can be made of it")


def _mode_lines(item: PatchItem) -> list[str]:
    old, new = _mode(item.change, item.change.before), _mode(item.change, item.change.after)
    if item.before is None:
        return [f"new file mode {new}"]
    if item.after is None:
        return [f"deleted file mode {old}"]
    return [] if old == new else [f"old mode {old}", f"new mode {new}"]


def _mode(change: FileChange, side: Side | None) -> str:
    if change.file_type == "symlink":
        return "120000"
    return "100755" if side is not None and side.executable else "100644"


def _index_line(item: PatchItem) -> str:
    """Full object ids: `git apply` insists on them for binary files."""
    if item.before == item.after and item.before is not None:
        return ""
    old = _NO_BLOB if item.before is None else blob_id(item.before)
    new = _NO_BLOB if item.after is None else blob_id(item.after)
    mode = _mode(item.change, item.change.before)
    both_stand = item.before is not None and item.after is not None
    same_mode = mode == _mode(item.change, item.change.after)
    return f"index {old}..{new}{' ' + mode if both_stand and same_mode else ''}\n"


def _hunk_bytes(before: bytes, after: bytes) -> bytes:
    old, new = side(before), side(after)
    lines: list[str] = []
    for hunk in comparison(before, after).hunks:
        lines.append(header(hunk))
        lines += _body(hunk, old, new)
    return "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")


def ends_unfinished(hunk: Hunk, side: Side | None, *, old: bool) -> bool:
    """Whether the hunk holds the last line of a side that has no final newline."""
    if side is None or side.final_newline or side.lines is None:
        return False
    start, count = (hunk.old_start, hunk.old_lines) if old else (hunk.new_start, hunk.new_lines)
    return count > 0 and start + count - 1 == side.lines


def _body(hunk: Hunk, before: Side | None, after: Side | None) -> Iterable[str]:
    """The hunk's lines with the marker after the last line of each side that has no final newline."""
    old_ends, new_ends = ends_unfinished(hunk, before, old=True), ends_unfinished(hunk, after, old=False)
    if not old_ends and not new_ends:
        return hunk.lines
    last_old = max((at for at, line in enumerate(hunk.lines) if line[0] != "+"), default=-1) if old_ends else -1
    last_new = max((at for at, line in enumerate(hunk.lines) if line[0] != "-"), default=-1) if new_ends else -1
    lines = []
    for at, line in enumerate(hunk.lines):
        lines.append(line)
        if at in (last_old, last_new):
            lines.append(NO_NEWLINE)
    return lines


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"


def _named(change: FileChange) -> list[str]:
    """What a change without hunks is, as lines that no parser takes for content: one at least, so that it is not taken
    for a patch that was cut off."""
    lines = [f"\\ {fact.replace('_', ' ')}" for fact in change.facts]
    if change.file_type == "binary":
        lines.append(BINARY)
    elif change.file_type == "unknown":
        lines.append(NO_TEXT)
    elif change.operation in ("add", "delete"):
        lines.append("\\ empty file")
    elif change.operation == "move" or not lines:
        lines.append("\\ same lines")
    return lines


def _binary(before: bytes, after: bytes) -> bytes:
    """git's own binary form: the whole new bytes, then the whole old ones, so that it can be taken back."""
    return b"GIT binary patch\n" + _literal(after) + b"\n" + _literal(before) + b"\n"


def _literal(data: bytes) -> bytes:
    packed = zlib.compress(data)
    lines = [b"literal %d\n" % len(data)]
    for at in range(0, len(packed), 52):
        piece = packed[at : at + 52]
        length = len(piece) + 64 if len(piece) <= 26 else len(piece) - 26 + 96
        padded = piece + bytes(-len(piece) % 4)
        lines.append(bytes([length]) + base64.b85encode(padded) + b"\n")
    return b"".join(lines)
