"""Going back in memory: the state of each file as it is, then as it was before one change after another.

Nothing is written here. A change whose own lines were changed since, whose place is taken or whose bytes were not kept
is refused, with the lines that stand in the way.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from redline.changes.compare import blob_id, compare
from redline.changes.reverse import Conflict, take_back
from redline.files.error import FileError
from redline.files.seam import Blob, Delete, Files, Move, Target, WriteBytes
from redline.tools.tool import Step
from redline.workspace.logged import as_logged
from redline.workspace.store import FILE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from redline.changes.record import FileChange, Hunk, Side
    from redline.sessions.redaction import Redactor
    from redline.tools.standing import Made, Taken

_SHOWN_LINES = 40
"""Lines of a refusal that are shown, of each file."""
_SHOWN_PLACES = 10
"""Changed places that a refusal names by their numbers."""


class UndoRefused(Exception):  # noqa: N818 - it is what people call it
    """The files are as they were.

    `code`: NOTHING_TO_UNDO, CHANGED (the lines have been changed since), EXISTS, MISSING, NOT_KEPT (the bytes are not
    in the store), IS_LINK, NOT_TEXT, NOT_ONE, NO_HUNK, or the code of a `FileError` or of the store.
    """

    def __init__(self, code: str, message: str, remedy: str, lines: Sequence[str] = ()) -> None:
        super().__init__(f"{code}: {message} {remedy}")
        self.code = code
        self.message = message
        self.remedy = remedy
        self.lines: Sequence[str] = tuple(lines)
        """What stands in the way, as hunk lines under `path:line`, from the state that the change left to the current
        one; secrets masked."""


@dataclass(frozen=True, slots=True)
class _State:
    """A file with these bytes."""

    blob: Blob
    executable: bool
    data: bytes | None
    """None: too large to be held; known by its blob only."""


@dataclass(slots=True)
class _Slot:
    """One path, as it is on the disk and as it will be."""

    target: Target
    found: _State | None
    now: _State | None
    takes: list[Taken] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.target.path


class Rewind:
    """Take changes back in it, from the newest to the oldest, then read the `steps` that it comes to."""

    def __init__(self, files: Files, redactor: Redactor, bytes_of: Callable[[Blob], bytes | None]) -> None:
        self._files = files
        self._redactor = redactor
        self._bytes_of = bytes_of
        self._slots: dict[str, _Slot] = {}
        self._moves: list[tuple[_Slot, _Slot]] = []
        self.notes: list[str] = []

    async def take_back(self, made: Made) -> None:
        """Raises `UndoRefused`."""
        change = made.change
        if change.file_type == "symlink":
            raise _is_link(change)
        slot = await self._slot(change.path)
        slot.takes.append(made.taken())
        match change.operation:
            case "add":
                self._unmake(change, slot)
            case "delete":
                self._restore(change, slot)
            case "modify":
                slot.now = self._reverted(change, slot)
            case "move":
                origin = await self._slot(change.old_path or change.path)
                origin.takes.append(made.taken())
                self._move_back(change, slot, origin)

    async def take_back_hunk(self, made: Made, number: int) -> None:
        """One hunk of a change of text, counted from 1."""
        change = made.change
        slot = await self._slot(change.path)
        slot.takes.append(made.taken(number))
        now = self._present(slot)
        before, after = self._bytes(change.before, now, change), self._bytes(change.after, now, change)
        if change.operation not in ("modify", "move") or change.file_type != "text":
            raise UndoRefused("NOT_TEXT", f"{change.path}: this change has no hunks to choose from.", "Undo all of it.")
        hunks = compare(before, after)
        if not 1 <= number <= len(hunks):
            raise UndoRefused(
                "NO_HUNK", f"{change.path}: the change has {len(hunks)} hunks, not {number}.", "Choose one of them."
            )
        without = _without(after, before, hunks[number - 1])
        slot.now = _file(self._merged(change, now, without, after), now.executable)

    def steps(self) -> Iterator[tuple[Step, Blob, list[Taken]]]:
        """What has to be done: the step, the blob that must be there, and what it takes back."""
        moved: set[str] = set()
        for slot, origin in self._moves:
            if slot.found is None or slot.now is not None or origin.found is not None or origin.now is None:
                continue  # what else happened to the two makes it more than a move
            if origin.now.executable != slot.found.executable:
                continue
            data = None if origin.now.blob == slot.found.blob else origin.now.data
            yield Step(slot.target, Move(origin.target, data)), slot.found.blob, [*slot.takes]
            moved |= {slot.target.key, origin.target.key}
        for key, slot in self._slots.items():
            if key in moved or _same(slot.found, slot.now):
                continue
            expected = slot.found.blob if slot.found is not None else ""
            if slot.now is None:
                yield Step(slot.target, Delete()), expected, slot.takes
            else:
                assert slot.now.data is not None
                yield Step(slot.target, WriteBytes(slot.now.data, slot.now.executable)), expected, slot.takes

    # One operation each.

    def _unmake(self, change: FileChange, slot: _Slot) -> None:
        now = slot.now
        if now is None:
            self.notes.append(f"{slot.path} is gone already.")
            return
        if change.after is not None and now.blob != change.after.blob:
            raise self._changed(change, now, "has been changed since it was created, so it is not deleted")
        slot.now = None

    def _restore(self, change: FileChange, slot: _Slot) -> None:
        before = change.before
        if before is None:
            raise _not_kept(change)
        if slot.now is not None:
            if slot.now.blob == before.blob:
                self.notes.append(f"{slot.path} is there again already.")
                return
            raise UndoRefused("EXISTS", f"{slot.path} exists again, with other content.", "Move it away first.")
        slot.now = _State(before.blob, before.executable, self._bytes(before, None, change))

    def _move_back(self, change: FileChange, slot: _Slot, origin: _Slot) -> None:
        if slot.now is None and origin.now is not None:
            self.notes.append(f"{origin.path} is back already.")
            return
        if origin.now is not None:
            raise UndoRefused("EXISTS", f"{origin.path}, where the file was, is taken.", "Move that away first.")
        origin.now = self._reverted(change, slot)
        slot.now = None
        self._moves.append((slot, origin))

    def _reverted(self, change: FileChange, slot: _Slot) -> _State:
        """The file without the change of its bytes and of its mode."""
        now = self._present(slot)
        before, after = change.before, change.after
        if before is None or after is None:
            raise _not_kept(change)
        executable = before.executable if now.executable == after.executable else now.executable
        if now.blob == before.blob or before.blob == after.blob:
            return _State(now.blob, executable, now.data if now.data is not None else self._bytes_of(now.blob))
        if now.blob == after.blob:
            return _State(before.blob, executable, self._bytes(before, now, change))
        if change.file_type != "text":
            raise self._changed(change, now, "has been changed since; it is no text, so only the whole could go back")
        old, new = self._bytes(before, now, change), self._bytes(after, now, change)
        return _file(self._merged(change, now, old, new), executable)

    # Parts of the above.

    async def _slot(self, path: str) -> _Slot:
        try:
            target = await self._files.resolve(path)
            known = self._slots.get(target.key)
            if known is not None:
                return known
            there = await self._files.stat(target)
            state = None
            if there is not None:
                content = await self._files.read(target, FILE_LIMIT)
                state = _State(content.blob, content.executable, content.data)
        except FileError as error:
            raise UndoRefused(error.code, error.message, error.remedy) from error
        slot = self._slots[target.key] = _Slot(target, state, state)
        return slot

    def _present(self, slot: _Slot) -> _State:
        if slot.now is None:
            raise UndoRefused(
                "MISSING", f"{slot.path} is not there any more.", "Undo its deletion, or its move, first."
            )
        return slot.now

    def _merged(self, change: FileChange, now: _State, before: bytes, after: bytes) -> bytes:
        if now.data is None:
            raise UndoRefused("TOO_LARGE", f"{change.path} has grown too large to be undone.", "Mend it by hand.")
        try:
            return take_back(now.data, before, after)
        except Conflict as conflict:
            raise self._refusal(
                change,
                self._masked(change, conflict.hunks, after, now.data),
                "the lines of the change have themselves been changed since",
            ) from conflict

    def _bytes(self, side: Side | None, now: _State | None, change: FileChange) -> bytes:
        if side is None:
            raise _not_kept(change)
        if now is not None and now.blob == side.blob and now.data is not None:
            return now.data
        data = self._bytes_of(side.blob)
        if data is None:
            raise _not_kept(change)
        return data

    def _changed(self, change: FileChange, now: _State, what: str) -> UndoRefused:
        after = self._bytes_of(change.after.blob) if change.after is not None else None
        if change.file_type != "text" or after is None or now.data is None:
            return self._refusal(change, (), what)
        return self._refusal(change, self._masked(change, compare(after, now.data), after, now.data), what)

    def _masked(self, change: FileChange, hunks: Sequence[Hunk], left: bytes, now: bytes) -> Sequence[Hunk]:
        """Hunks that lead from what the change left to what is there now, without the secrets of either text."""
        since = replace(change, operation="modify", hunks=tuple(hunks), before=None, after=None)
        return as_logged(since, left, now, self._redactor).hunks

    def _refusal(self, change: FileChange, hunks: Sequence[Hunk], what: str) -> UndoRefused:
        places = [place for hunk in hunks for place in _places(hunk)]
        where = f" ({_few(places)})" if places else ""
        lines = []
        for hunk in hunks:
            lines += [f"{change.path}:{max(hunk.new_start, 1)}", *hunk.lines]
        remedy = "Undo what came after it first, or mend the file by hand."
        return UndoRefused("CHANGED", f"{change.path}: {what}{where}.", remedy, lines[:_SHOWN_LINES])


def _places(hunk: Hunk) -> Iterator[str]:
    """The line numbers of each changed place as the file is now, without the context; of what was taken out, the line
    before it."""
    number, first, last = hunk.new_start + (hunk.new_lines == 0), 0, 0
    for line in (*hunk.lines, " "):
        if line[0] == " ":
            if first:
                yield str(first) if last <= first else f"{first} to {last}"
            first = last = 0
            number += 1
        elif line[0] == "+":
            first, last = (number if not last else first), number
            number += 1
        else:
            first = first or max(number - 1, 1)


def _few(places: Sequence[str]) -> str:
    one = len(places) == 1 and " " not in places[0]
    more = len(places) - _SHOWN_PLACES
    return f"line{'' if one else 's'} {', '.join(places[:_SHOWN_PLACES])}" + (f" and {more} more" if more > 0 else "")


def _not_kept(change: FileChange) -> UndoRefused:
    return UndoRefused(
        "NOT_KEPT",
        f"{change.path}: its bytes are not in the store, so it cannot be taken back.",
        "What it held before must come from somewhere else: a copy, or git.",
    )


def _is_link(change: FileChange) -> UndoRefused:
    """Files are read and written through links: what would be put back is a file, or the file behind the link."""
    old = [line[1:] for hunk in change.hunks for line in hunk.lines if line.startswith("-")]
    mend = f"Mend it by hand: ln -sfn {shlex.quote(old[0])} {shlex.quote(change.path)}" if old else "Remove it by hand."
    return UndoRefused("IS_LINK", f"{change.path} is a symbolic link, which is not undone here.", mend)


def _file(data: bytes, executable: bool) -> _State:
    return _State(blob_id(data), executable, data)


def _same(first: _State | None, second: _State | None) -> bool:
    if first is None or second is None:
        return first is second
    return first.blob == second.blob and first.executable == second.executable


def _without(after: bytes, before: bytes, hunk: Hunk) -> bytes:
    """`after`, with one of the hunks that lead there from `before` turned back."""
    lines = after.split(b"\n")
    ends = lines[-1] == b""
    if ends:
        lines.pop()
    start = hunk.new_start - 1 if hunk.new_lines else hunk.new_start
    at_end = start + hunk.new_lines == len(lines)
    old = [line[1:].encode("utf-8", "surrogateescape") for line in hunk.lines if line[0] != "+"]
    lines[start : start + hunk.new_lines] = old
    if at_end:
        ends = not before or before.endswith(b"\n")
    return b"\n".join(lines) + (b"\n" if ends and lines else b"")
