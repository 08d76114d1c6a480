"""Large texts that an agent sends along: out of the events, into the private store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from redline.sessions.gate import as_json
from redline.workspace.store import BytesError

if TYPE_CHECKING:
    from redline.workspace.store import ByteStore

TEXT_LIMIT = 8 * 1024
"""Characters of one text that an event keeps of an agent's arguments, output and notes."""
_DEPTH = 40


class Bulk:
    """The store of bytes as the records of calls need it, for one session."""

    def __init__(self, store: ByteStore, session: str) -> None:
        self._store = store
        self._session = session

    async def slim(self, value: Any) -> Any:
        """A JSON value with each large text in it replaced by `{omitted: true, bytes, blob}`."""
        large: list[tuple[dict[str, Any], bytes]] = []
        slimmed = _slim(value, large, 0)
        if large:
            blobs = await self.keep(*(data for _, data in large))
            for (place, _), blob in zip(large, blobs, strict=True):
                if blob is not None:
                    place["blob"] = blob
        return as_json(slimmed)

    async def fetched(self, blob: str) -> bytes | None:
        """Bytes that were kept; None: they are not at hand."""
        try:
            return await asyncio.to_thread(self._store.get, self._session, blob)
        except BytesError:
            return None

    async def keep(self, *data: bytes) -> list[str | None]:
        """Blob ids; None for what could not be kept: it is a courtesy, and its failure fails nothing."""
        try:
            return await asyncio.to_thread(self._store.put, self._session, *data)
        except BytesError:
            return [None] * len(data)


def _slim(value: Any, large: list[tuple[dict[str, Any], bytes]], depth: int) -> Any:
    if isinstance(value, str) and len(value) > TEXT_LIMIT:
        data = value.encode("utf-8", "surrogatepass")
        place: dict[str, Any] = {"omitted": True, "bytes": len(data)}
        large.append((place, data))
        return place
    if depth > _DEPTH:
        return value
    if isinstance(value, dict):
        return {key: _slim(one, large, depth + 1) for key, one in value.items()}
    if isinstance(value, list):
        return [_slim(one, large, depth + 1) for one in value]
    return value
