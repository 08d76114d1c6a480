"""Going back in memory: the state of each file as it is, then as it was before one change after another.

Nothing is written here. A change whose own lines were changed since, whose place is taken or whose bytes were not kept
is refused, with the lines that stand in the way.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from redline.changes.compare import blob_id, compare
from redline.changes.reverse import Conflict, take_back
from redline.files.error import FileError
from redline.files.seam import Blob, Delete, Files, Move, Target, WriteBytes
from redline.tools.refusal import UndoRefused, changed, not_kept
from redline.tools.tool import Step
from redline.workspace.logged import as_logged
from redline.workspace.store import FILE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from redline.changes.record import FileChange, Hunk, Side
    from redline.sessions.redaction import Redactor
    from redline.tools.standing import Made, Taken


@dataclass(frozen=True, slots=True)
class _State:
    """A file with these bytes, or a symbolic link with this text."""

    blob: Blob
    executable: bool
    data: bytes | None
    """None: too large to be held; known by its blob only."""
    link: bool = False


@dataclass(slots=True)
class _Slot:
    """One path, as it is on the disk and as it will be."""

    place: Target
    """Its last step not followed: a change names the very file, or the very link, that it was about."""
    found: _State | None
    now: _State | None
    takes: list[Taken] = field(default_factory=list)
    folder: bool = False
    """A folder is there, which gives way to the file once nothing is left in it."""

    @property
    def path(self) -> Path:
        return self.place.path

    def target(self, state: _State) -> Target:
        return replace(self.place, link=state.link)


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
        """What has to be done, in this order: the step, the blob that must be there, and what it takes back."""
        moves = [(slot, origin) for slot, origin in self._moves if _is_move(slot, origin)]
        moved = {one.place.key for pair in moves for one in pair}
        first = self._in_the_way() - moved
        for key in self._slots:
            if key in first:
                yield from _steps_of(self._slots[key])
        for slot, origin in moves:
            assert slot.found is not None
            assert origin.now is not None
            data = None if origin.now.blob == slot.found.blob else origin.now.data
            to = origin.target(origin.now)
            yield Step(slot.target(slot.found), Move(to, data)), slot.found.blob, [*slot.takes]
        for key, slot in self._slots.items():
            if key not in moved and key not in first:
                yield from _steps_of(slot)

    def _in_the_way(self) -> set[str]:
        """What goes, and stands where the folder of another file is to be, or in a folder that is to give way."""
        needed = {parent for slot in self._slots.values() if slot.now is not None for parent in _parents(slot)}
        clears = {key for key, slot in self._slots.items() if slot.folder and slot.now is not None}
        return {
            key
            for key, slot in self._slots.items()
            if slot.found is not None and slot.now is None and (key in needed or not clears.isdisjoint(_parents(slot)))
        }

    async def check_folders(self) -> None:
        """Raises `UndoRefused` where a folder is to give way in which something is left by then."""
        gone = {key for key, slot in self._slots.items() if slot.found is not None and slot.now is None}
        for slot in self._slots.values():
            if slot.folder and slot.now is not None:
                await require_empty(self._files, slot.place, gone)

    # One operation each.

    def _unmake(self, change: FileChange, slot: _Slot) -> None:
        now = slot.now
        if now is None:
            self.notes.append(f"{slot.path} is gone already.")
            return
        if change.after is not None and (now.blob != change.after.blob or now.link != _is_link(change)):
            raise self._changed(change, now, "has been changed since it was created, so it is not deleted")
        slot.now = None

    def _restore(self, change: FileChange, slot: _Slot) -> None:
        before = change.before
        if before is None:
            raise not_kept(change)
        if slot.now is not None:
            if slot.now.blob == before.blob and slot.now.link == _is_link(change):
                self.notes.append(f"{slot.path} is there again already.")
                return
            raise UndoRefused("EXISTS", f"{slot.path} exists again, with other content.", "Move it away first.")
        slot.now = _State(before.blob, before.executable, self._bytes(before, None, change), _is_link(change))

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
            raise not_kept(change)
        if now.link != _is_link(change):
            raise self._changed(change, now, f"is {'a link' if now.link else 'no link'} by now")
        executable = before.executable if now.executable == after.executable else now.executable
        if now.blob == before.blob or before.blob == after.blob:
            data = now.data if now.data is not None else self._bytes_of(now.blob)
            return _State(now.blob, executable, data, now.link)
        if now.blob == after.blob:
            return _State(before.blob, executable, self._bytes(before, now, change), now.link)
        if change.file_type != "text":
            what = "a link" if now.link else "no text"
            raise self._changed(change, now, f"has been changed since; it is {what}, so only the whole could go back")
        old, new = self._bytes(before, now, change), self._bytes(after, now, change)
        return _file(self._merged(change, now, old, new), executable)

    # Parts of the above.

    async def _slot(self, path: str) -> _Slot:
        try:
            place = self._cleared(path) or await self._files.resolve(path, link=True)
            known = self._slots.get(place.key)
            if known is not None:
                return known
            there = None if self._cleared(path) is not None else await self._files.stat(place)
            folder = there is not None and there.kind == "directory"
            state = None if there is None or folder else await self._state(place, link=there.kind == "symlink")
        except FileError as error:
            raise UndoRefused.of(error) from error
        slot = self._slots[place.key] = _Slot(place, state, state, folder=folder)
        return slot

    def _cleared(self, path: str) -> Target | None:
        """The place of a file whose folder a link or a file has taken the place of, which will be gone; None: nothing
        stands there, or it stays."""
        for slot in self._slots.values():
            inside = path.removeprefix(f"{slot.place.key}/")
            if inside != path and slot.found is not None and slot.now is None:
                return Target(Path(path), slot.place.real / inside)
        return None

    async def _state(self, place: Target, *, link: bool) -> _State:
        content = await self._files.read(replace(place, link=link), FILE_LIMIT)
        return _State(content.blob, content.executable, content.data, link)

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
            raise changed(
                change,
                self._masked(change, conflict.hunks, after, now.data),
                "the lines of the change have themselves been changed since",
            ) from conflict

    def _bytes(self, side: Side | None, now: _State | None, change: FileChange) -> bytes:
        if side is None:
            raise not_kept(change)
        if now is not None and now.blob == side.blob and now.data is not None:
            return now.data
        data = self._bytes_of(side.blob)
        if data is None:
            raise not_kept(change)
        return data

    def _changed(self, change: FileChange, now: _State, what: str) -> UndoRefused:
        after = self._bytes_of(change.after.blob) if change.after is not None else None
        if change.file_type != "text" or after is None or now.data is None:
            return changed(change, (), what)
        return changed(change, self._masked(change, compare(after, now.data), after, now.data), what)

    def _masked(self, change: FileChange, hunks: Sequence[Hunk], left: bytes, now: bytes) -> Sequence[Hunk]:
        """Hunks that lead from what the change left to what is there now, without the secrets of either text."""
        since = replace(change, operation="modify", hunks=tuple(hunks), before=None, after=None)
        return as_logged(since, left, now, self._redactor).hunks


def _steps_of(slot: _Slot) -> Iterator[tuple[Step, Blob, list[Taken]]]:
    """Of one path. A link and a file cannot take each other's place in one step."""
    found, now = slot.found, slot.now
    if _same(found, now):
        return
    if found is not None and (now is None or now.link != found.link):
        yield Step(slot.target(found), Delete()), found.blob, slot.takes if now is None else []
        found = None
    if now is not None:
        assert now.data is not None
        write = WriteBytes(now.data, None if now.link else now.executable, over_folder=slot.folder)
        yield Step(slot.target(now), write), found.blob if found is not None else "", slot.takes


def _is_move(slot: _Slot, origin: _Slot) -> bool:
    """What else happened to the two makes it more than a move, and so does a folder in the place of one of them."""
    if slot.found is None or slot.now is not None or origin.found is not None or origin.now is None:
        return False
    if origin.now.executable != slot.found.executable or origin.now.link or slot.found.link:
        return False
    return not origin.folder and slot.place.key not in _parents(origin)


def _parents(slot: _Slot) -> list[str]:
    return [str(parent) for parent in slot.place.real.parents]


async def require_empty(files: Files, folder: Target, gone: AbstractSet[str]) -> None:
    """Raises `UndoRefused` for a folder in which, however deep, something is left but the files `gone`."""
    try:
        entries = await files.list(folder)
    except FileError as error:
        raise UndoRefused.of(error) from error
    for entry in entries:
        inside = replace(folder, path=folder.path / entry.name, real=folder.real / entry.name)
        if entry.kind == "directory":
            await require_empty(files, inside, gone)
        elif inside.key not in gone:
            message = f"{inside.path} stands in a folder that takes the place of a file, and is none of these changes."
            raise UndoRefused("EXISTS", message, "Move it away first.")


def _is_link(change: FileChange) -> bool:
    return change.file_type == "symlink"


def _file(data: bytes, executable: bool) -> _State:
    return _State(blob_id(data), executable, data)


def _same(first: _State | None, second: _State | None) -> bool:
    if first is None or second is None:
        return first is second
    return (first.blob, first.executable, first.link) == (second.blob, second.executable, second.link)


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
