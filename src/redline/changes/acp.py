"""Changes as diff blocks of the Agent Client Protocol, version 1, and back.

Version 1 has one block, `{type: "diff", path, oldText, newText}`, and no word for deleting, moving, or a place in the
file. What it cannot say goes into `_meta`, as several agents do; what it does not say is not read into it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redline.changes.patch import ends_unfinished
from redline.changes.snippet import Pair, from_snippets

if TYPE_CHECKING:
    from redline.changes.record import FileChange, Hunk, Operation, Provenance

_KINDS: dict[str, Operation] = {
    "add": "add",
    "create": "add",
    "modify": "modify",
    "update": "modify",
    "edit": "modify",
    "delete": "delete",
    "move": "move",
}


def to_blocks(change: FileChange) -> list[dict[str, Any]]:
    """One block per hunk: the hunk's lines on both sides. A new empty file is one block; what has no text has none.

    `oldText` is null for a file that did not exist and for no other: a hunk without an old side, such as all of what
    came into an empty file, has the empty text there. Bytes that are not UTF-8 become U+FFFD, for the wire carries
    text.
    """
    meta: dict[str, Any] = {"kind": change.operation}
    if change.old_path is not None:
        meta["oldPath"] = _plain(change.old_path)
    path = _plain(change.path)
    if not change.hunks and change.operation == "add" and change.file_type == "text":
        return [{"type": "diff", "path": path, "oldText": None, "newText": "", "_meta": meta}]
    return [
        {
            "type": "diff",
            "path": path,
            "oldText": None if change.operation == "add" else _text(change, hunk, old=True),
            "newText": _text(change, hunk, old=False),
            "_meta": meta,
        }
        for hunk in change.hunks
    ]


def to_locations(change: FileChange) -> list[dict[str, Any]]:
    """One location per hunk, at its first changed line as numbered after the change; one without a line where no place
    is known."""
    path = _plain(change.path)
    if not change.hunks or not change.anchored:
        return [{"path": path}]
    return [{"path": path, "line": first_changed_line(hunk)} for hunk in change.hunks]


def first_changed_line(hunk: Hunk) -> int:
    """On the side after, from 1; of a removal the line that follows it."""
    context = next((at for at, line in enumerate(hunk.lines) if line[0] != " "), 0)
    return max((hunk.new_start if hunk.new_lines else hunk.new_start + 1) + context, 1)


@dataclass(frozen=True, slots=True)
class Reading:
    """What diff blocks say."""

    changes: tuple[FileChange, ...]
    """One per path, in the order of their first blocks; unanchored, because a block may be a fragment or a file."""
    malformed: tuple[str, ...]
    """What was wrong with each block that could not be read."""


def from_blocks(blocks: Sequence[object], *, provenance: Provenance = "reported") -> Reading:
    """Read the diff blocks among `blocks`; blocks of one path belong together.

    An `oldText` that is null, missing or empty says nothing about whether the file existed; only `_meta.kind` does, and
    that is the agent's word. A missing `newText` is malformed, not empty.
    """
    pairs: dict[str, list[Pair]] = {}
    metas: dict[str, Mapping[str, object]] = {}
    malformed = []
    for number, block in enumerate(blocks):
        if not isinstance(block, Mapping) or block.get("type") != "diff":
            continue
        path, old, new = block.get("path"), block.get("oldText"), block.get("newText")
        if not isinstance(path, str) or not path:
            malformed.append(f"block {number}: path is missing")
        elif not isinstance(new, str):
            malformed.append(f"block {number} ({path}): newText is missing")
        elif old is not None and not isinstance(old, str):
            malformed.append(f"block {number} ({path}): oldText is not text")
        else:
            pairs.setdefault(path, []).append((old or "", new))
            meta = block.get("_meta")
            metas[path] = meta if isinstance(meta, Mapping) else metas.get(path, {})
    changes = [_change(path, texts, metas[path], provenance) for path, texts in pairs.items()]
    return Reading(tuple(changes), tuple(malformed))


def _change(path: str, pairs: list[Pair], meta: Mapping[str, object], provenance: Provenance) -> FileChange:
    kind, old_path = meta.get("kind"), meta.get("oldPath")
    operation = _KINDS.get(kind, "modify") if isinstance(kind, str) else "modify"
    if operation == "move" and not isinstance(old_path, str):
        operation = "modify"
    if operation == "delete":
        pairs = [(old, "") for old, _ in pairs]
    return from_snippets(
        path,
        pairs,
        operation=operation,
        old_path=old_path if operation == "move" and isinstance(old_path, str) else None,
        provenance=provenance,
    )


def _text(change: FileChange, hunk: Hunk, *, old: bool) -> str:
    """Of one side; empty where it has no lines."""
    if not (hunk.old_lines if old else hunk.new_lines):
        return ""
    other = "+" if old else "-"
    text = "\n".join(line[1:] for line in hunk.lines if line[0] != other)
    if not ends_unfinished(hunk, change.before if old else change.after, old=old):
        text += "\n"
    return _plain(text)


def _plain(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
