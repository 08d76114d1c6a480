"""Changes made of fragments: pieces of old and new text whose place in the file nobody told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.changes.compare import comparison
from redline.changes.record import FileChange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from redline.changes.record import Operation, Provenance

Pair = tuple[str, str]
"""Old and new text of one fragment."""


def from_snippets(
    path: str,
    pairs: Iterable[Pair],
    *,
    operation: Operation = "modify",
    old_path: str | None = None,
    provenance: Provenance = "reported",
) -> FileChange:
    """An unanchored change, fragments in the order given; a fragment whose texts are equal adds no hunk.

    A fragment may stop in the middle of a line, so a final newline that one of its texts lacks says nothing, except
    where it is all that differs.
    """
    results = [comparison(*_bytes_of(old, new)) for old, new in pairs]
    return FileChange(
        path=path,
        operation=operation,
        hunks=tuple(hunk for result in results for hunk in result.hunks),
        added=sum(result.added for result in results),
        removed=sum(result.removed for result in results),
        old_path=old_path,
        exact=all(result.exact for result in results),
        anchored=False,
        provenance=provenance,
    )


def _bytes_of(old: str, new: str) -> tuple[bytes, bytes]:
    finished = (_finished(old), _finished(new))
    before, after = (old, new) if finished[0] == finished[1] else finished
    return encoded(before), encoded(after)


def encoded(text: str) -> bytes:
    """The bytes of any text: surrogate escapes become the bytes they stand for, other surrogates their own three."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _finished(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
