"""What an action makes of a file. Preview and apply both ask here, so they cannot differ."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

from redline.files.blob import REMEMBERED, git_blob
from redline.files.disk import Found
from redline.files.edits import edited
from redline.files.error import FileError
from redline.files.failures import shown
from redline.files.seam import Action, Content, Delete, EditText, Move, Outcome, Replace, Target, Write
from redline.files.text import BOM, encoded


@dataclass(frozen=True, slots=True)
class Proposal:
    outcome: Outcome
    data: bytes | None
    """The bytes to write; None: no bytes are written (a delete, a plain move)."""
    executable: bool | None = None
    """None: as it is."""
    found: Found | None = None
    """What was read, and must still be there when the change is put in place."""

    @property
    def unchanged(self) -> bool:
        before, after = self.outcome.before, self.outcome.after
        return (
            self.outcome.operation == "update"
            and before is not None
            and after is not None
            and (before.blob, before.executable) == (after.blob, after.executable)
        )


def propose(target: Target, action: Action, found: Found | None, limit: int) -> Proposal:
    """`limit`: bytes above which a side is hashed but not kept. Raises `FileError`."""
    if isinstance(action, EditText):
        return _edit(target, action, found, limit)
    if isinstance(action, Move):
        return _move(target, action, _existing(target, found), limit)
    if isinstance(action, Delete):
        return Proposal(Outcome(target, "delete", _existing(target, found).content, None), None)
    if isinstance(action, Write):
        return _replacement(target, found, _with_bom(encoded(action.content, "content"), found), None, limit)
    return _replacement(target, found, action.data, action.executable, limit)


def _existing(target: Target, found: Found | None) -> Found:
    if found is None:
        raise FileError(
            "NOT_FOUND",
            f"{shown(target.path)} does not exist.",
            "Check the path; list the folder to see what is there.",
        )
    return found


def _with_bom(content: bytes, found: Found | None) -> bytes:
    """The BOM of a file stays, and only once, whether or not the writer typed it."""
    kept = found is not None and found.head.startswith(BOM)
    return content if not kept or content.startswith(BOM) else BOM + content


def _replacement(
    target: Target, found: Found | None, data: bytes, executable: bool | None, limit: int, replacements: int = 0
) -> Proposal:
    before = None if found is None else found.content
    mode = bool(before and before.executable) if executable is None else executable
    kept = data if len(data) <= limit else None
    same = before is not None and before.data == data
    after = Content(before.blob if same and before else git_blob(data), len(data), mode, kept)
    operation: Literal["create", "update"] = "create" if before is None else "update"
    return Proposal(Outcome(target, operation, before, after, replacements), data, executable)


def _edited(data: bytes, action: EditText) -> tuple[bytes, int]:
    """As `edited`. What was previewed is mostly applied next, to the same bytes: then it is not searched for again."""
    for known, done, result in tuple(_last):
        if len(known) == len(data) and done == action and known == data:
            return result
    result = edited(data, action.edits)
    if len(data) <= REMEMBERED:
        _last.appendleft((data, action, result))
    return result


_last: deque[tuple[bytes, EditText, tuple[bytes, int]]] = deque(maxlen=4)


def _edit(target: Target, action: EditText, found: Found | None, limit: int) -> Proposal:
    if found is None:
        first = action.edits[0] if action.edits else None
        if not isinstance(first, Replace) or first.old:
            _existing(target, found)
        data = b""
    else:
        assert found.content.data is not None  # a file over the limit was refused when it was looked for
        data = found.content.data
    result, replacements = _edited(data, action)
    if found is not None and result == data:
        raise FileError(
            "NO_CHANGE",
            f"The edit leaves {shown(target.path)} as it is: the text already reads so.",
            "Nothing needs to be done, or the new text is not the one that was meant.",
        )
    return _replacement(target, found, result, None, limit, replacements)


def _move(target: Target, action: Move, found: Found, limit: int) -> Proposal:
    if action.to.real == target.real:
        raise FileError("NO_CHANGE", f"{shown(target.path)} is moved onto itself.", "Name another path.")
    before = found.content
    after = before
    if action.data is not None:
        kept = action.data if len(action.data) <= limit else None
        after = Content(git_blob(action.data), len(action.data), before.executable, kept)
    return Proposal(Outcome(target, "move", before, after, moved_to=action.to), action.data)
