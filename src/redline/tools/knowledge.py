"""What the model knows of files: for each, the content that it saw last, by blob id.

Judged by content and never by time: a file that was touched but holds the same bytes is still known, and one that
changed under an unchanged time is not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from redline.files.error import FileError
from redline.files.seam import Blob

if TYPE_CHECKING:
    from redline.sessions.events import Event


class Knowledge:
    """Maps the key of a file (`Target.key`) to the blob that the model read or wrote last in this session."""

    def __init__(self) -> None:
        self._seen: dict[str, Blob] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def get(self, key: str) -> Blob | None:
        return self._seen.get(key)

    def see(self, key: str, blob: Blob) -> None:
        self._seen[key] = blob

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
        """Take what earlier results of the session recorded as seen, in their order."""
        async for event in events:
            if event.type == "tool/result":
                self.take(event.data.get("seen"))

    def take(self, seen: object) -> None:
        """The `seen` list of one result; malformed entries are passed over."""
        if not isinstance(seen, list):
            return
        for entry in seen:
            if isinstance(entry, Mapping):
                path, blob = entry.get("path"), entry.get("blob")
                if isinstance(path, str) and isinstance(blob, str):
                    self.see(path, blob)


def seen_entries(seen: Mapping[str, Blob]) -> list[dict[str, Any]]:
    """As `tool/result` keeps them."""
    return [{"path": path, "blob": blob} for path, blob in seen.items()]
