"""What the model knows of files: for each, the content that it saw last and the last change that it made, by blob ids.

Judged by content and never by time: a file that was touched but holds the same bytes is still known, and one that
changed under an unchanged time is not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from redline.changes.codec import path_from_json
from redline.files.error import FileError
from redline.files.seam import Blob

if TYPE_CHECKING:
    from redline.files.seam import Outcome
    from redline.sessions.events import Event


@dataclass(frozen=True, slots=True)
class Written:
    """The last change of a file by a call of the model, from its first state in that call to its last."""

    call: str
    before: Blob
    after: Blob


class Knowledge:
    """Maps the key of a file (`Target.key`) to the blob that the model read or wrote last in this session, and to what
    it wrote last."""

    def __init__(self) -> None:
        self._seen: dict[str, Blob] = {}
        self._written: dict[str, Written] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def get(self, key: str) -> Blob | None:
        return self._seen.get(key)

    def see(self, key: str, blob: Blob) -> None:
        self._seen[key] = blob

    def written(self, key: str) -> Written | None:
        return self._written.get(key)

    def lose(self, key: str) -> None:
        """The model has been told that its last change there is gone."""
        self._written.pop(key, None)

    def change(self, call: str, outcome: Outcome) -> None:
        """A call has changed a file: the steps of one call count as one change."""
        before, after = outcome.before, outcome.after
        written = None
        if before is not None and after is not None and outcome.moved_to is None:
            written = Written(call, before.blob, after.blob)
        self._write(outcome.target.key, written)

    def _write(self, key: str, written: Written | None) -> None:
        known = self._written.pop(key, None)
        if written is not None and known is not None and (known.call, known.after) == (written.call, written.before):
            written = replace(written, before=known.before)
        if written is not None and written.before != written.after:
            self._written[key] = written

    def check(self, key: str, path: str, current: Blob | None) -> None:
        """Refuse a change to content that the model has not seen. `current` None: no file is there, so anything goes.

        Raises `FileError` NOT_OBSERVED or STALE.
        """
        if current is None:
            return
        seen = self.get(key)
        if seen is None:
            raise FileError(
                "NOT_OBSERVED",
                f"{path} exists and has not been read in this session.",
                "Read it first, so that the change is made on what is really there.",
            )
        if seen != current:
            raise FileError(
                "STALE",
                f"{path} has changed since it was read.",
                "Read it again and make the change on what is there now.",
            )

    async def restore(self, events: AsyncIterator[Event]) -> None:
        """Take what earlier results of the session recorded as seen and as changed, in their order."""
        async for event in events:
            if event.type == "tool/result":
                self.take(event.data.get("seen"))
                self._take_changes(str(event.data.get("call")), event.data.get("changes"))

    def take(self, seen: object) -> None:
        """The `seen` list of one result; malformed entries are passed over."""
        if not isinstance(seen, list):
            return
        for entry in seen:
            if isinstance(entry, Mapping):
                path, blob = entry.get("path"), entry.get("blob")
                if isinstance(path, str) and isinstance(blob, str):
                    self.see(path, blob)

    def _take_changes(self, call: str, changes: object) -> None:
        """Those that the calls themselves made: what was found on the disk has a provenance."""
        for change in changes if isinstance(changes, list) else ():
            if not isinstance(change, Mapping) or "provenance" in change:
                continue
            before, after = (_blob_of(change, side) for side in ("before", "after"))
            written = None
            if before is not None and after is not None and change.get("operation") == "modify":
                written = Written(call, before, after)
            self._write(path_from_json(change, "path"), written)


def _blob_of(change: Mapping[str, Any], side: str) -> Blob | None:
    state = change.get(side)
    blob = state.get("blob") if isinstance(state, Mapping) else None
    return blob if isinstance(blob, str) else None


def seen_entries(seen: Mapping[str, Blob]) -> list[dict[str, Any]]:
    """As `tool/result` keeps them."""
    return [{"path": path, "blob": blob} for path, blob in seen.items()]
