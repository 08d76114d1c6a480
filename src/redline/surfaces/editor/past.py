"""What each file has held on the disk since its buffer was last known to hold the same.

An editor takes up late, or never, what was changed on the disk. A buffer that shows such an earlier text is out of
date, and nobody has typed in it; to write what it says would take back, unseen, what was changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from redline.files.blob import git_blob
from redline.files.seam import Blob, Content
from redline.files.text import view
from redline.workspace.last_changes import LastChanges

if TYPE_CHECKING:
    from redline.sessions.events import Event

Stored = Callable[[Blob], bytes | None]
"""The bytes of a blob of the session; None: they are not kept."""


class Past:
    """By `Target.key`. Feed it each look at a file, and the events of the session."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._files: dict[str, _File] = {}
        self._typed: set[tuple[str, Blob]] = set()
        """By file, what was in the buffer alone when an edit began with it."""

    def agreed(self, key: str, disk: Content) -> None:
        """The buffer holds what the disk does: whatever was before is forgotten, since who goes back to it from here
        does so in the editor, as when a change is taken back there."""
        text = _id(disk.text)
        self._files[key] = _File(text, disk.blob, {text})

    def differed(self, key: str, disk: Content, buffer: str | None) -> None:
        """The disk holds this, and the buffer something else. None: it is not known what."""
        text = _id(disk.text)
        known = self._looked_up(key)
        if known is None or text == known.buffer:  # seen for the first time, or saved since
            known = self._files[key] = _File(text, None, set())
        known.base = known.base or text
        known.texts.add(text)
        known.buffer = known.buffer if buffer is None else _id(buffer)

    def typed(self, key: str, buffer: Content) -> None:
        """Somebody has typed this, and an edit begins with it: no change that does so makes it an earlier text of the
        disk, since whoever goes back to it from here does so in the editor."""
        self._typed.add((key, buffer.blob))

    def take(self, event: Event) -> None:
        """A change that is on the disk says what was there before."""
        last = LastChanges()
        last.take(event)
        for path, change in last.by_path.items():
            known = self._files.get(path) or _File()
            after = None if change.after is None else change.after.blob
            before = None if change.before is None else change.before.blob
            if before and (path, before) not in self._typed and after != known.agreed:
                known.replaced.append(before)
                self._files[path] = known

    def is_outdated(self, key: str, buffer: str) -> bool:
        """Whether the buffer still shows what the disk held before."""
        known = self._looked_up(key)
        return known is not None and _id(buffer) in known.texts

    def has_moved(self, key: str, disk: Content) -> bool:
        """Whether the disk has been changed since the buffer began to differ from it."""
        known = self._looked_up(key)
        return known is not None and known.base is not None and known.base != _id(disk.text)

    def _looked_up(self, key: str) -> _File | None:
        known = self._files.get(key)
        if known is not None:
            blobs, known.replaced = known.replaced, []
            for data in map(self._stored, blobs):
                if data is not None and (text := view(data)) is not None:
                    known.base = known.base or _id(text)
                    known.texts.add(_id(text))
        return known


@dataclass(slots=True)
class _File:
    """Texts by their ids: line ends and a BOM are no matter of a buffer."""

    base: str | None = None
    """What the disk held when the buffer was last known to follow it."""
    agreed: Blob | None = None
    texts: set[str] = field(default_factory=set)
    """What the disk has held since."""
    buffer: str | None = None
    """What was in the buffer, when it was last seen to differ."""
    replaced: list[Blob] = field(default_factory=list)
    """As `texts`, of the log, not looked at yet."""


def _id(text: str | None) -> str:
    return git_blob((text or "").encode("utf-8", "surrogatepass"))
