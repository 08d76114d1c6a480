"""The editor's buffers behind the file seam: what the user has typed and not saved is what the agent reads and edits.

Where buffer and disk agree, and where the buffer is only behind the disk, the disk is written first and the editor is
told. Where somebody has typed, the text goes through the editor alone. After each write the disk is looked at: what an
editor does to line ends, to a BOM or to a final newline costs no bytes, what it makes of the text otherwise stands and
is told, and what it does not take is said. Where the editor is gone, or will not, the disk is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from redline.changes.compare import describe
from redline.files.blob import git_blob
from redline.files.edits import edited
from redline.files.error import FileError
from redline.files.local import LocalFiles
from redline.files.seam import (
    Action,
    BeforeCommit,
    Blob,
    Content,
    EditText,
    Entry,
    Move,
    Outcome,
    Stat,
    Target,
    Write,
    WriteBytes,
)
from redline.files.text import BOM, encoded, view
from redline.surfaces.editor.asking import SILENT, Asking, fits
from redline.surfaces.editor.buffer_text import as_bytes, same
from redline.surfaces.editor.past import Past, Stored

if TYPE_CHECKING:
    from pathlib import Path

    from redline.sessions.events import Event
    from redline.surfaces.editor.screen import Wire

Notice = Callable[[str, str, str], Awaitable[None]]
"""A code, what there is to say, and what to do about it."""
_SAVE = "Save it where they should be the same."


@dataclass(frozen=True, slots=True)
class _Typed:
    """A buffer in which somebody has typed."""

    buffer: Content
    disk: Content


class EditorFiles:
    """`files.seam.Files` over the local disk and the buffers of one editor. Feed it the session's events."""

    def __init__(self, local: LocalFiles, wire: Wire, session: str, stored: Stored) -> None:
        self._local = local
        self._editor = Asking(wire, session)
        self.notice: Notice | None = None
        """Told once of each file with unsaved changes: whoever has no editor, such as a command, does not see them."""
        self._noticed: set[str] = set()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._past = Past(stored)
        self.hear: Callable[[Event], None] = self._past.take

    def let_go(self) -> None:
        """Wait for no answer of the editor to what is under way: what is on the disk by now is how it ended."""
        self._editor.let_go()

    @property
    def roots(self) -> Sequence[Path]:
        return self._local.roots

    async def resolve(self, path: str, *, link: bool = False) -> Target:
        return await self._local.resolve(path, link=link)

    async def stat(self, target: Target) -> Stat | None:
        return await self._local.stat(target)

    async def list(self, target: Target) -> list[Entry]:
        return await self._local.list(target)

    async def sweep(self, target: Target) -> None:
        await self._local.sweep(target)

    async def on_disk(self, target: Target, limit: int | None = None) -> Content:
        return await self._local.read(target, limit)

    async def read(self, target: Target, limit: int | None = None) -> Content:
        """As the editor holds it; with the disk's own bytes where the two say the same, or the editor is behind."""
        disk = await self._local.read(target, limit)
        return await self._typed(target, disk, self._editor.gone) or disk

    async def preview(self, target: Target, action: Action) -> Outcome:
        typed = await self._unsaved(target, action, self._editor.gone)
        if typed is None:
            return await self._local.preview(target, action)
        return _outcome(target, action, typed.buffer)

    async def apply(
        self, target: Target, action: Action, *, expected: Blob | None = None, before_commit: BeforeCommit | None = None
    ) -> Outcome:
        """See the contract. A text goes to the editor as well, whose user can take it back there."""
        gone = self._editor.gone
        lock = self._locks.setdefault(target.key, asyncio.Lock())
        async with lock:
            typed = await self._unsaved(target, action, gone)
            if typed is not None:
                return await self._into(typed, target, action, expected, before_commit, gone)
            outcome = await self._local.apply(target, action, expected=expected, before_commit=before_commit)
            changed = outcome.after is not None and outcome.after != outcome.before
            if not changed or target.link or not _is_text(action) or not fits(outcome.after) or self._editor.closed:
                return outcome
            refusal = await self._editor.write(target, outcome.after, gone)
            return await self._settled(target, outcome, None, refusal, before_commit, gone)

    # Parts of the above.

    async def _into(
        self,
        typed: _Typed,
        target: Target,
        action: Action,
        expected: Blob | None,
        before_commit: BeforeCommit | None,
        gone: asyncio.Event,
    ) -> Outcome:
        """Where somebody has typed: the editor has to take it, or nothing is done."""
        if expected is not None and expected != typed.buffer.blob:
            raise _stale(target, "is no longer what was read or approved: it was changed in the editor")
        outcome = _outcome(target, action, typed.buffer)
        if outcome.after == outcome.before:
            return outcome
        self._past.typed(target.key, typed.buffer)
        if before_commit is not None:
            await before_commit(outcome)
        refusal = await self._editor.write(target, outcome.after, gone)
        return await self._settled(target, outcome, typed, refusal, before_commit, gone)

    async def _settled(
        self,
        target: Target,
        outcome: Outcome,
        typed: _Typed | None,
        refusal: str | None,
        before_commit: BeforeCommit | None,
        gone: asyncio.Event,
    ) -> Outcome:
        """Once the editor was told: see to it that the disk holds the bytes that were meant, or say what it holds.
        `refusal`: why the editor did not take them."""
        after = outcome.after
        assert after is not None
        assert after.data is not None
        disk = await self._local.read(target)
        buffer = await self._editor.text(target, gone)
        exact = WriteBytes(after.data, after.executable)
        made = after
        if disk.blob == after.blob or same(disk.text, after.text):
            await self._local.apply(target, exact, expected=disk.blob)
        elif typed is not None and _is_left(typed, disk, buffer, refusal):
            raise _unsaved(target, f"the new text is not in it: {refusal or 'the editor has left it as it was'}")
        elif typed is not None and disk.blob == typed.disk.blob:
            # Not saved, by an editor that leaves that to its user.
            assert buffer is not None
            await self._local.apply(target, exact, expected=disk.blob)
            if not same(buffer, after.text):
                made = _with(after, as_bytes(buffer, after.data))
                assert made.data is not None
                await self._local.apply(target, WriteBytes(made.data), expected=after.blob, before_commit=before_commit)
        elif (outcome.before is None or disk.blob != outcome.before.blob) and (
            same(buffer, disk.text) or (refusal is None and same(buffer, after.text))
        ):  # what it saved is in the buffer as well, or a program that it runs on each save works behind it
            made = disk
            if before_commit is not None:
                await before_commit(Outcome(target, "update", after, made))
        else:
            return outcome  # somebody else has written it since, which is found by whoever looks
        notes = self._noted(target, after, made, buffer, refusal)
        saved = () if typed is None else await asyncio.to_thread(_saved_with_it, target, typed)
        return replace(outcome, after=made, notes=(*saved, *notes))

    def _noted(
        self, target: Target, meant: Content, made: Content, buffer: str | None, refusal: str | None
    ) -> tuple[str, ...]:
        """What has to be said of an editor that was told; `made` is on the disk."""
        notes = []
        if made is not meant:
            changed = "was changed (formatted, perhaps) as the editor saved it"
            notes.append(f"{target.path} {changed}; read it before you edit those lines.")
        if same(buffer, made.text):
            self._past.agreed(target.key, made)
        else:
            if same(buffer, meant.text):
                self._past.agreed(target.key, meant)
            self._past.differed(target.key, made, None)
            if buffer is not None or refusal == SILENT:
                why = refusal or "it still holds another text"
                message = f"EDITOR_BUFFER: {target.path} is changed on the disk, and perhaps not in the editor: {why}."
                notes.append(f"{message} Load it there again before it is saved.")
        return tuple(notes)

    async def _unsaved(self, target: Target, action: Action, gone: asyncio.Event) -> _Typed | None:
        """What somebody has typed; None: nothing, or there is no buffer. What would take it away is refused then, and
        so is what would take away what was changed on the disk beside it."""
        try:
            disk = await self._local.read(target)
        except FileError:
            return None  # the disk says it better
        buffer = await self._typed(target, disk, gone)
        if buffer is None:
            return None
        if not _is_text(action):
            what = "moved" if isinstance(action, Move) else "changed"
            raise _stale(target, f"has unsaved changes in the editor and cannot be {what} on the disk")
        if self._past.has_moved(target.key, disk):
            raise _unsaved(target, "the file was changed on the disk meanwhile, which an edit of them would take back")
        return _Typed(buffer, disk)

    async def _typed(self, target: Target, disk: Content, gone: asyncio.Event) -> Content | None:
        """The buffer as bytes, where somebody has typed in it."""
        if target.link or disk.text is None or disk.data is None:
            return None
        text = await self._editor.text(target, gone)
        if text is None:
            return None
        if same(text, disk.text):
            self._past.agreed(target.key, disk)
            return None
        self._past.differed(target.key, disk, text)
        if self._past.is_outdated(target.key, text):
            return None
        await self._notice(target)
        return _with(disk, as_bytes(text, disk.data))

    async def _notice(self, target: Target) -> None:
        if self.notice is not None and target.key not in self._noticed:
            self._noticed.add(target.key)
            message = f"{target.path} has unsaved changes in the editor. The agent reads them and an edit saves them; "
            await self.notice("UNSAVED", message + "commands and searches see the file as it was saved.", _SAVE)


def _is_left(typed: _Typed, disk: Content, buffer: str | None, refusal: str | None) -> bool:
    """Whether the editor did not take a text, as it was told to: its buffer, and so the disk, hold nothing of it."""
    if same(disk.text, typed.buffer.text):
        return False  # saved meanwhile as it was typed: nothing is unsaved any more
    if buffer is None:
        return refusal is not None or disk.blob == typed.disk.blob
    return buffer == typed.buffer.text


def _saved_with_it(target: Target, typed: _Typed) -> tuple[str, ...]:
    """What the user had typed is on the disk now as well, and no work of the agent: said of it, and no part of its
    change, so that no undo of it takes the user's own lines away."""
    assert typed.disk.data is not None
    assert typed.buffer.data is not None
    own = describe(str(target.path), typed.disk.data, typed.buffer.data)
    about = "" if own.exact else "about "
    lines = f"{about}−{own.removed} +{own.added} lines, which this card does not show"
    return (f"What you had typed in the editor was saved with it: {lines}.",)


def _is_text(action: Action) -> bool:
    if isinstance(action, WriteBytes):
        return view(action.data) is not None
    return isinstance(action, (Write, EditText))


def _outcome(target: Target, action: Action, buffer: Content) -> Outcome:
    assert buffer.data is not None
    places = 0
    if isinstance(action, EditText):
        data, places = edited(buffer.data, action.edits)
        if data == buffer.data:
            raise FileError("NO_CHANGE", f"The edit leaves {target.path} as it is.", "Nothing needs to be done.")
    elif isinstance(action, WriteBytes):
        data = action.data
    else:
        assert isinstance(action, Write)
        data = encoded(action.content, "content")
        if buffer.data.startswith(BOM) and not data.startswith(BOM):
            data = BOM + data
    after = _with(buffer, data)
    if isinstance(action, WriteBytes) and action.executable is not None:
        after = replace(after, executable=action.executable)
    return Outcome(target, "update", buffer, after, places)


def _with(content: Content, data: bytes) -> Content:
    return replace(content, blob=git_blob(data), size=len(data), data=data)


def _stale(target: Target, what: str) -> FileError:
    return FileError(
        "STALE", f"{target.path} {what}.", "Read it again. Where that does not help, ask the user to save."
    )


def _unsaved(target: Target, why: str) -> FileError:
    remedy = "Ask the user to save the file there, or to load it again; then read it again."
    return FileError("UNSAVED", f"{target.path} has unsaved changes in the editor, and {why}.", remedy)
