"""Computing a change from the bytes before and after.

Lines end at `\\n` and nowhere else. The common head and tail are cut off first, so that one edit in a large file costs
little more than a comparison of memory (`trim`); the middle goes to git's own algorithm (`engine`), in a process of its
own where it is large (`worker`).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from redline.changes import engine, trim, worker
from redline.changes.record import FileChange, Hunk, Side

if TYPE_CHECKING:
    from redline.changes.record import FileType, LineEnding, Operation, Provenance

BOM = b"\xef\xbb\xbf"
BINARY_WINDOW = 8000
"""A NUL in so many first bytes makes a file binary: git's rule."""
NEIGHBOURS = 32
"""Common lines kept around the middle: context, and what git looks at when it places a group of changed lines."""
SMALL = 24_000
"""Bytes of both sides together that are worth neither a cut nor a guard."""


class Comparison(NamedTuple):
    """The hunks with the counts of the whole."""

    hunks: tuple[Hunk, ...]
    added: int
    removed: int
    exact: bool = True


def compare(before: bytes, after: bytes) -> list[Hunk]:
    """The changed places in file order, 3 lines of context each; sites at most 6 lines apart share a hunk.

    Empty for equal bytes. Where the sides are too large to compare it is one hunk that replaces the whole middle.
    """
    return list(comparison(before, after).hunks)


def comparison(before: bytes, after: bytes) -> Comparison:
    """`compare` with the counts and whether they are exact."""
    if before == after:
        return Comparison((), 0, 0)
    if not before or not after:
        return _one_sided(before, after)
    finished = before.endswith(b"\n") and after.endswith(b"\n")
    if len(before) + len(after) < SMALL:
        small = engine.patch_text(before, after)
        return Comparison(engine.hunks_of(small, 0, finished=finished), *small[1:])
    head = trim.common_head(before, after)
    tail = trim.common_tail(before, after, head)
    start = before.rfind(b"\n", 0, head) + 1
    old_end = trim.tail_start(before, after, start, tail)
    new_end = old_end + len(after) - len(before)
    if _is_one_line(before, start, old_end) and _is_one_line(after, start, new_end):
        return _block(before, after, start, old_end, exact=True)
    neighbours = NEIGHBOURS
    while True:
        cut = trim.cut(before, after, head, tail, neighbours)
        found = worker.search(*trim.middles(before, after, cut))
        if found is None:
            return _block(before, after, start, old_end, exact=old_end == start or new_end == start)
        lines_above = before.count(b"\n", 0, cut.start)
        hunks = engine.hunks_of(found, lines_above, finished=finished)
        if trim.is_settled(hunks, lines_above, cut, before):
            return Comparison(hunks, *found[1:])
        neighbours *= 16


def side(data: bytes, *, executable: bool = False, blob: str | None = None, lines: int | None = None) -> Side:
    """The facts of one state of a file. `blob`: its id, `lines`: its number of lines, where they are known already."""
    final_newline = not data or data.endswith(b"\n")
    newlines = data.count(b"\n") if lines is None else lines - (not final_newline)
    return Side(
        blob=blob or blob_id(data),
        size=len(data),
        executable=executable,
        # Most files have no CR at all, and to find none is many times as fast as to count pairs.
        eol=_line_ending(newlines, data.count(b"\r\n") if b"\r" in data else 0),
        bom=data.startswith(BOM),
        final_newline=final_newline,
        utf8=_is_utf8(data),
        lines=newlines + (not final_newline),
    )


def blob_id(data: bytes) -> str:
    """git's object id of the bytes."""
    digest = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


def is_binary(data: bytes) -> bool:
    return data.find(b"\0", 0, BINARY_WINDOW) >= 0


def describe(
    path: str,
    before: bytes | None,
    after: bytes | None,
    *,
    old_path: str | None = None,
    before_executable: bool = False,
    after_executable: bool = False,
    before_side: Side | None = None,
    after_blob: str | None = None,
    file_type: FileType | None = None,
    provenance: Provenance = "result",
) -> FileChange:
    """The record of what happened to one file. None means that there was, or is, no file.

    `before_side`, `after_blob`: what is known of the bytes already. `file_type`: given for a symbolic link (the bytes
    are its target); else text or binary by git's rule. Raises ValueError where there is no file on either side, or a
    move lacks one.
    """
    if before is None and after is None:
        raise ValueError(f"{path}: a change needs a file before or after")
    if old_path is not None and (before is None or after is None):
        raise ValueError(f"{path}: a move needs a file before and after")
    kind = file_type or ("binary" if is_binary(before or b"") or is_binary(after or b"") else "text")
    result = Comparison((), 0, 0) if kind == "binary" else comparison(before or b"", after or b"")
    was = before_side if before is None or before_side else side(before, executable=before_executable)
    now = None
    if after is not None:
        lines = None
        if kind == "text" and result.exact and was is not None and was.lines is not None:
            # To count the lines of a large text takes longer than to find one changed line in it.
            lines = was.lines + result.added - result.removed
        now = side(after, executable=after_executable, blob=after_blob, lines=lines)
    return FileChange(
        path=path,
        operation=_operation(before, after, old_path),
        hunks=result.hunks,
        added=result.added,
        removed=result.removed,
        file_type=kind,
        old_path=old_path,
        exact=result.exact,
        before=was,
        after=now,
        provenance=provenance,
    )


def without_basis(
    path: str,
    operation: Operation,
    before: Side | None,
    after: Side | None,
    *,
    old_path: str | None = None,
    provenance: Provenance = "result",
) -> FileChange:
    """The record of a change whose bytes are not at hand: no hunks, and no claim about lines."""
    return FileChange(
        path=path,
        operation=operation,
        file_type="unknown",
        old_path=old_path,
        exact=False,
        before=before,
        after=after,
        provenance=provenance,
    )


def _operation(before: bytes | None, after: bytes | None, old_path: str | None) -> Operation:
    if before is None:
        return "add"
    if after is None:
        return "delete"
    return "modify" if old_path is None else "move"


def _one_sided(before: bytes, after: bytes) -> Comparison:
    """A whole file came or went: every line of it, and nothing to search for."""
    removed, added = _signed(before, "-"), _signed(after, "+")
    hunk = Hunk(1 if removed else 0, len(removed), 1 if added else 0, len(added), (*removed, *added))
    return Comparison((hunk,), len(added), len(removed))


def _is_one_line(data: bytes, start: int, end: int) -> bool:
    return start < end and data.find(b"\n", start, end - 1) < 0


def _block(before: bytes, after: bytes, start: int, old_end: int, *, exact: bool) -> Comparison:
    """The whole lines between the common head and tail, from `start` to `old_end` of `before`, as one hunk."""
    new_end = old_end + len(after) - len(before)
    top, bottom = start, old_end
    for _ in range(engine.CONTEXT):
        top = before.rfind(b"\n", 0, max(top - 1, 0)) + 1
        bottom = (before.find(b"\n", bottom) + 1) or len(before)
    removed, added = _signed(before[start:old_end], "-"), _signed(after[start:new_end], "+")
    above, below = _signed(before[top:start], " "), _signed(before[old_end:bottom], " ")
    first = before.count(b"\n", 0, top) + 1
    old_lines, new_lines = (len(above) + len(changed) + len(below) for changed in (removed, added))
    hunk = Hunk(
        first if old_lines else first - 1,
        old_lines,
        first if new_lines else first - 1,
        new_lines,
        (*above, *removed, *added, *below),
    )
    return Comparison((hunk,), len(added), len(removed), exact)


def lines_of(data: bytes) -> list[str]:
    """The lines as hunks hold them: without `\\n`, odd bytes as surrogate escapes."""
    return data.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n") if data else []


def _signed(data: bytes, sign: str) -> list[str]:
    if not data:
        return []
    text = data.decode("utf-8", "surrogateescape").removesuffix("\n")
    return (sign + text.replace("\n", "\n" + sign)).split("\n")


def _line_ending(newlines: int, carriage_returns: int) -> LineEnding:
    if newlines == 0:
        return "none"
    if carriage_returns == 0:
        return "lf"
    return "crlf" if carriage_returns == newlines else "mixed"


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
