"""Changes of which the log keeps a part only, whole again: what goes into a `.diff` and stands before buttons."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

from redline.surfaces.whole import restored

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redline.changes.record import FileChange
    from redline.sessions.redaction import Redactor

_KEPT = 4
"""A change is asked about, proposed and applied within moments: it is computed once."""


class Wholes:
    """Of one session."""

    def __init__(self, read: Callable[[str], bytes | None], redactor: Redactor) -> None:
        """`read`: the bytes of a blob; None: they are not kept. May block."""
        self._read = read
        self._redactor = redactor
        self._known: OrderedDict[object, FileChange] = OrderedDict()

    async def of(self, changes: Sequence[FileChange]) -> list[FileChange]:
        """Each as it is where the log holds it whole, or its bytes are not kept. Takes up to two seconds for one that
        was cut, beside whatever else goes on."""
        return [await self._of(change) if change.truncated else change for change in changes]

    def forget(self) -> None:
        """Their lines are large."""
        self._known.clear()

    async def _of(self, change: FileChange) -> FileChange:
        sides = tuple(side and (side.blob, side.executable) for side in (change.before, change.after))
        key = (change.path, change.old_path, change.operation, sides)
        whole = self._known.get(key)
        if whole is None:
            whole = await asyncio.to_thread(restored, change, self._read, self._redactor)
            if whole.truncated:
                return whole
            self._known[key] = whole
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return replace(whole, provenance=change.provenance)
