"""Going back in memory: the state of each file as it is, then as it was before one change after another.

Nothing is written here. A change whose own lines were changed since, whose place is taken or whose bytes were not kept
is refused, with the lines that stand in the way.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from redline.changes.compare import blob_id, compare
from redline.changes.reverse import Conflict, take_back
from redline.files.error import FileError
from redline.files.seam import Blob, Files, Target
from redline.tools.refusal import UndoRefused, changed, not_kept
from redline.tools.undo_steps import FileState, PlannedStep, RewoundFile, check_folders, steps
from redline.workspace.logged import as_logged
from redline.workspace.store import FILE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redline.changes.record import FileChange, Hunk, Side
    from redline.sessions.redaction import Redactor
    from redline.tools.standing import Made


class Rewind:
    """Take changes back in it, from the newest to the oldest, then read the `steps` that it comes to."""

    def __init__(self, files: Files, redactor: Redactor, bytes_of: Callable[[Blob], bytes | None]) -> None:
        self._files = files
        self._redactor = redactor
        self._bytes_of = bytes_of
        self._rewound: dict[str, RewoundFile] = {}
        self._moves: list[tuple[RewoundFile, RewoundFile]] = []
        self.notes: list[str] = []

    async def take_back(self, made: Made) -> None:
        """Raises `UndoRefused`."""
        change = made.change
        file = await self._file(change.path)
        file.takes.append(made.taken())
        match change.operation:
            case "add":
                self._unmake(change, file)
            case "delete":
                self._restore(change, file)
            case "modify":
                file.now = self._reverted(change, file)
            case "move":
                origin = await self._file(change.old_path or change.path)
                origin.takes.append(made.taken())
                self._move_back(change, file, origin)

    async def take_back_hunk(self, made: Made, number: int) -> None:
        """One hunk of a change of text, counted from 1."""
        change = made.change
        file = await self._file(change.path)
        file.takes.append(made.taken(number))
        now = self._present(file)
        before, after = self._bytes(change.before, now, change), self._bytes(change.after, now, change)
        if change.operation not in ("modify", "move") or change.file_type != "text":
            raise UndoRefused("NOT_TEXT", f"{change.path}: this change has no hunks to choose from.", "Undo all of it.")
        hunks = compare(before, after)
        if not 1 <= number <= len(hunks):
            raise UndoRefused(
                "NO_HUNK",
                f"{change.path}: the change has no hunk {number}; the last one is {len(hunks)}.",
                "Choose one of them.",
            )
        without = _without(after, before, hunks[number - 1])
        file.now = _of_bytes(self._merged(change, now, without, after), now.executable)

    async def steps(self) -> list[PlannedStep]:
        """What has to be done, in this order. Raises `UndoRefused` where a folder that is to give way will not be
        empty."""
        await check_folders(self._files, self._rewound)
        return list(steps(self._rewound, self._moves))

    # One operation each.

    def _unmake(self, change: FileChange, file: RewoundFile) -> None:
        now = file.now
        if now is None:
            self.notes.append(f"{file.path} is gone already.")
            return
        if change.after is not None and (now.blob != change.after.blob or now.link != _is_link(change)):
            raise self._changed(change, now, "has been changed since it was created, so it is not deleted")
        file.now = None

    def _restore(self, change: FileChange, file: RewoundFile) -> None:
        before = change.before
        if before is None:
            raise not_kept(change)
        if file.now is not None:
            if file.now.blob == before.blob and file.now.link == _is_link(change):
                self.notes.append(f"{file.path} is there again already.")
                return
            raise UndoRefused("EXISTS", f"{file.path} exists again, with other content.", "Move it away first.")
        file.now = FileState(before.blob, before.executable, self._bytes(before, None, change), _is_link(change))

    def _move_back(self, change: FileChange, file: RewoundFile, origin: RewoundFile) -> None:
        if file.now is None and origin.now is not None:
            self.notes.append(f"{origin.path} is back already.")
            return
        if origin.now is not None:
            raise UndoRefused("EXISTS", f"{origin.path}, where the file was, is taken.", "Move that away first.")
        origin.now = self._reverted(change, file)
        file.now = None
        self._moves.append((file, origin))

    def _reverted(self, change: FileChange, file: RewoundFile) -> FileState:
        """The file without the change of its bytes and of its mode."""
        now = self._present(file)
        before, after = change.before, change.after
        if before is None or after is None:
            raise not_kept(change)
        if now.link != _is_link(change):
            raise self._changed(change, now, f"is {'a link' if now.link else 'no link'} by now")
        executable = before.executable if now.executable == after.executable else now.executable
        if now.blob == before.blob or before.blob == after.blob:
            data = now.data if now.data is not None else self._bytes_of(now.blob)
            return FileState(now.blob, executable, data, now.link)
        if now.blob == after.blob:
            return FileState(before.blob, executable, self._bytes(before, now, change), now.link)
        if change.file_type != "text":
            what = "a link" if now.link else "no text"
            raise self._changed(change, now, f"has been changed since; it is {what}, so only the whole could go back")
        old, new = self._bytes(before, now, change), self._bytes(after, now, change)
        return _of_bytes(self._merged(change, now, old, new), executable)

    # Parts of the above.

    async def _file(self, path: str) -> RewoundFile:
        try:
            place = self._cleared(path) or await self._files.resolve(path, link=True)
            known = self._rewound.get(place.key)
            if known is not None:
                return known
            there = None if self._cleared(path) is not None else await self._files.stat(place)
            folder = there is not None and there.kind == "directory"
            state = None if there is None or folder else await self._state(place, link=there.kind == "symlink")
        except FileError as error:
            raise UndoRefused.of(error) from error
        file = self._rewound[place.key] = RewoundFile(place, state, state, folder=folder)
        return file

    def _cleared(self, path: str) -> Target | None:
        """The place of a file whose folder a link or a file has taken the place of, which will be gone; None: nothing
        stands there, or it stays."""
        for file in self._rewound.values():
            inside = path.removeprefix(f"{file.place.key}/")
            if inside != path and file.found is not None and file.now is None:
                return Target(Path(path), file.place.real / inside)
        return None

    async def _state(self, place: Target, *, link: bool) -> FileState:
        content = await self._files.read(replace(place, link=link), FILE_LIMIT)
        return FileState(content.blob, content.executable, content.data, link)

    def _present(self, file: RewoundFile) -> FileState:
        if file.now is None:
            raise UndoRefused(
                "MISSING", f"{file.path} is not there any more.", "Undo its deletion, or its move, first."
            )
        return file.now

    def _merged(self, change: FileChange, now: FileState, before: bytes, after: bytes) -> bytes:
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

    def _bytes(self, side: Side | None, now: FileState | None, change: FileChange) -> bytes:
        if side is None:
            raise not_kept(change)
        if now is not None and now.blob == side.blob and now.data is not None:
            return now.data
        data = self._bytes_of(side.blob)
        if data is None:
            raise not_kept(change)
        return data

    def _changed(self, change: FileChange, now: FileState, what: str) -> UndoRefused:
        after = self._bytes_of(change.after.blob) if change.after is not None else None
        if change.file_type != "text" or after is None or now.data is None:
            return changed(change, (), what)
        return changed(change, self._masked(change, compare(after, now.data), after, now.data), what)

    def _masked(self, change: FileChange, hunks: Sequence[Hunk], left: bytes, now: bytes) -> Sequence[Hunk]:
        """Hunks that lead from what the change left to what is there now, without the secrets of either text."""
        since = replace(change, operation="modify", hunks=tuple(hunks), before=None, after=None)
        return as_logged(since, left, now, self._redactor).hunks


def _is_link(change: FileChange) -> bool:
    return change.file_type == "symlink"


def _of_bytes(data: bytes, executable: bool) -> FileState:
    return FileState(blob_id(data), executable, data)


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
