"""The editor's buffers behind the file seam: what the user has typed and not saved is what the agent reads and edits.

Text is read and written through the editor; everything else goes to the disk, once buffer and disk are found to agree.
What an editor does to line ends, to a BOM or to a final newline when it saves costs no bytes: after each write the disk
is looked at, and made to hold exactly what was meant. Where the editor is gone, or will not, the disk is used.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

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
from redline.files.text import BOM, encoded
from redline.protocol.connection import ConnectionClosed, RpcError

if TYPE_CHECKING:
    from pathlib import Path

    from redline.surfaces.editor.screen import Wire

_log = logging.getLogger(__name__)
Notice = Callable[[str, str, str], Awaitable[None]]
"""A code, what there is to say, and what to do about it."""
_SAVE = "Save it where they should be the same."
SECONDS = 30.0
"""How long an editor may take to answer."""


class EditorFiles:
    """`files.seam.Files` over the local disk and the buffers of one editor."""

    def __init__(self, local: LocalFiles, wire: Wire, session: str) -> None:
        self._local = local
        self._wire = wire
        self._session = session
        self.notice: Notice | None = None
        """Told once of each file with unsaved changes: whoever has no editor, such as a command, does not see them."""
        self._noticed: set[str] = set()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

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

    async def read(self, target: Target, limit: int | None = None) -> Content:
        """As the editor holds it; with the disk's own bytes where the two say the same."""
        disk = await self._local.read(target, limit)
        return await self._held(target, disk) or disk

    async def preview(self, target: Target, action: Action) -> Outcome:
        buffer = await self._unsaved(target, action)
        if buffer is None:
            return await self._local.preview(target, action)
        return _outcome(target, action, buffer)

    async def apply(
        self, target: Target, action: Action, *, expected: Blob | None = None, before_commit: BeforeCommit | None = None
    ) -> Outcome:
        """See the contract. A text goes through the editor, whose user can take it back there; the disk ends up with
        exactly the bytes of the outcome."""
        if not isinstance(action, (Write, EditText)):
            await self._unsaved(target, action)
            return await self._local.apply(target, action, expected=expected, before_commit=before_commit)
        lock = self._locks.setdefault(target.key, asyncio.Lock())
        async with lock:
            buffer = await self._unsaved(target, action)
            if buffer is None:
                return await self._through(target, action, expected, before_commit)
            if expected is not None and expected != buffer.blob:
                raise _stale(target, "is no longer what was read or approved: it was changed in the editor")
            outcome = _outcome(target, action, buffer)
            if outcome.after == outcome.before:
                return outcome
            if before_commit is not None:
                await before_commit(outcome)
            if not await self._write(target, outcome):
                raise _stale(target, "had unsaved changes in an editor that does not take the new text")
            await self._settle(target, outcome)
            return outcome

    # Where buffer and disk agree.

    async def _through(
        self, target: Target, action: Action, expected: Blob | None, before_commit: BeforeCommit | None
    ) -> Outcome:
        """The disk decides what happens. Once it has, the editor is told, so that its buffer follows at once."""
        outcome = await self._local.apply(target, action, expected=expected, before_commit=before_commit)
        if outcome.after != outcome.before and await self._write(target, outcome):
            await self._settle(target, outcome)
        return outcome

    # Parts of the above.

    async def _unsaved(self, target: Target, action: Action) -> Content | None:
        """What the editor holds where it differs from the disk; None: they agree, or there is no buffer. What is no
        text is refused then: it would take away what the user has typed."""
        try:
            disk = await self._local.read(target)
        except FileError:
            return None  # the disk says it better
        buffer = await self._held(target, disk)
        if buffer is not None and not isinstance(action, (Write, EditText)):
            what = "moved" if isinstance(action, Move) else "changed"
            raise _stale(target, f"has unsaved changes in the editor and cannot be {what} on the disk")
        return buffer

    async def _held(self, target: Target, disk: Content) -> Content | None:
        """The buffer as bytes, where its text is another than the disk's."""
        saved = disk.text
        if target.link or saved is None or disk.data is None or self._wire.closed:
            return None
        params = {"sessionId": self._session, "path": str(target.path)}
        try:
            answer = await self._wire.request("fs/read_text_file", params, seconds=SECONDS)
        except (RpcError, ConnectionClosed, TimeoutError) as problem:
            _log.debug("the editor does not read %s: %s", target.path, problem)
            return None
        text = answer.get("content") if isinstance(answer, dict) else None
        if not isinstance(text, str) or _plain(text) == saved or "\0" in text:
            return None
        data = _as_bytes(_plain(text), disk.data)
        await self._notice(target)
        return replace(disk, blob=git_blob(data), size=len(data), data=data)

    async def _notice(self, target: Target) -> None:
        if self.notice is not None and target.key not in self._noticed:
            self._noticed.add(target.key)
            message = f"{target.path} has unsaved changes in the editor. The agent reads them and an edit saves them; "
            await self.notice("UNSAVED", message + "commands and searches see the file as it was saved.", _SAVE)

    async def _write(self, target: Target, outcome: Outcome) -> bool:
        """Hand the new text to the editor. False: it does not take it."""
        text = None if outcome.after is None else outcome.after.text
        if text is None or self._wire.closed:
            return False
        params = {"sessionId": self._session, "path": str(target.path), "content": text}
        try:
            await self._wire.request("fs/write_text_file", params, seconds=SECONDS)
        except (RpcError, ConnectionClosed, TimeoutError) as problem:
            _log.debug("the editor does not write %s: %s", target.path, problem)
            return False
        return True

    async def _settle(self, target: Target, outcome: Outcome) -> None:
        """Whatever the editor saved, or did not save yet: the disk holds the bytes that were meant."""
        after = outcome.after
        if after is not None and after.data is not None:
            await self._local.apply(target, WriteBytes(after.data, after.executable))


def _outcome(target: Target, action: Action, buffer: Content) -> Outcome:
    assert buffer.data is not None
    places = 0
    if isinstance(action, EditText):
        data, places = edited(buffer.data, action.edits)
        if data == buffer.data:
            raise FileError("NO_CHANGE", f"The edit leaves {target.path} as it is.", "Nothing needs to be done.")
    else:
        assert isinstance(action, Write)
        data = encoded(action.content, "content")
        if buffer.data.startswith(BOM) and not data.startswith(BOM):
            data = BOM + data
    after = replace(buffer, blob=git_blob(data), size=len(data), data=data)
    return Outcome(target, "update", buffer, after, places)


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _as_bytes(text: str, disk: bytes) -> bytes:
    """A buffer's text with the line ends and the BOM of the file: lines that stand unchanged at the beginning and the
    end keep their own, those between take the one that most lines have."""
    bom = BOM if disk.startswith(BOM) else b""
    old = disk.removeprefix(BOM).split(b"\n")
    new = text.encode("utf-8", "surrogatepass").split(b"\n")
    crlf = sum(line.endswith(b"\r") for line in old[:-1])
    ending = b"\r" if crlf * 2 > len(old) - 1 else b""
    bare = [line.removesuffix(b"\r") for line in old[:-1]]
    most = min(len(bare), len(new) - 1)
    head = next((at for at in range(most) if bare[at] != new[at]), most)
    tail = next((at for at in range(most - head) if bare[-1 - at] != new[-2 - at]), most - head)
    ends = old[len(bare) - tail : len(bare)]
    middle = [line + ending for line in new[head : len(new) - 1 - tail]]
    return bom + b"\n".join([*old[:head], *middle, *ends, new[-1]])


def _stale(target: Target, what: str) -> FileError:
    return FileError(
        "STALE", f"{target.path} {what}.", "Read it again. Where that does not help, ask the user to save."
    )
