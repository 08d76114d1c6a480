"""What an agent sends and an event cannot hold as it is: large texts, and values that the log has no form for.

They leave the event and come back as the same JSON value. In their place stands an object with `omitted`: beside it the
`blob` (or `blobs`, in their order) in which the private store has the text, or the JSON text itself under `json`; where
`json` is true, the stored text is JSON.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from redline.sessions.gate import INTEGER_LIMIT, as_json, escaped
from redline.workspace.store import BytesError

if TYPE_CHECKING:
    from redline.sessions.redaction import Redactor
    from redline.workspace.store import ByteStore

TEXT_LIMIT = 8 * 1024
"""Characters of one text that an event keeps of an agent's arguments, output and notes."""
_DEPTH = 40
_PIECE = 4 << 20
"""Bytes of a text that are stored as one."""

Keep = Callable[[Sequence[bytes]], Awaitable[Sequence[str | None]]]
"""Stores bytes; their blob ids, None for what could not be kept."""
Stored = Callable[[str], bytes | None]
"""The bytes of a blob of the session; None: they are not kept."""
Mask = Callable[[str], str]

_DATA = re.compile(r"[A-Za-z0-9+/]+={0,2}")
"""An image, say. No text that a secret would stand in; to look for one there takes seconds."""


class Bulk:
    """The store of bytes as the records of calls need it, for one session."""

    def __init__(self, store: ByteStore, session: str, redactor: Redactor) -> None:
        self._store = store
        self._session = session
        self._redactor = redactor

    async def slim(self, value: Any) -> Any:
        """A JSON value that an event can hold; what leaves it is masked as the event is."""
        return await slimmed(value, self._keep, self._redactor.mask)

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

    async def _keep(self, data: Sequence[bytes]) -> Sequence[str | None]:
        return await self.keep(*data)


async def slimmed(value: Any, keep: Keep, mask: Mask = str, *, limit: int = TEXT_LIMIT) -> Any:
    """See above; `whole` is its inverse, but for what `mask` has replaced. `limit`: characters of a text that stays."""
    places: list[tuple[dict[str, Any], str]] = []
    found = await _kept(_slim(value, places, limit, 0), places, keep, mask)
    if isinstance(found, str) and not isinstance(value, str):  # too much of what is small
        places = []
        found = await _kept(_json_place(value, places, 0), places, keep, mask)
    return found


async def _kept(found: Any, places: list[tuple[dict[str, Any], str]], keep: Keep, mask: Mask) -> Any:
    for place, text in places:
        await _store(place, text, keep, mask)
    return as_json(found)


class Lost(dict[str, Any]):
    """What stands for a part that is not kept any more."""


def whole(value: Any, stored: Stored) -> Any:
    """The JSON value that was slimmed; in place of what is not kept any more stands a `Lost`."""
    if isinstance(value, Mapping):
        if value.get("omitted") is True:
            return _restored(value, stored)
        return {name: whole(one, stored) for name, one in value.items()}
    if isinstance(value, list):
        return [whole(one, stored) for one in value]
    return value


def sendable(block: Mapping[str, Any], stored: Stored) -> dict[str, Any]:
    """A block of a prompt as the protocol has it: what was kept of it beside the event is in it again."""
    if block.get("type") == "image" and isinstance(block.get("blob"), str):
        data = stored(block["blob"])
        if data is None:
            return {"type": "text", "text": "[an image that is not kept any more]"}
        encoded = base64.b64encode(data).decode("ascii")
        rest = {name: value for name, value in block.items() if name not in ("blob", "bytes", "media_type")}
        return {**rest, "data": encoded, "mimeType": str(block.get("media_type", "image/png"))}
    return dict(whole(block, stored))


def is_whole(value: Any) -> bool:
    """No part of what `whole` has given back is lost."""
    if isinstance(value, Mapping):
        return not isinstance(value, Lost) and all(map(is_whole, value.values()))
    return all(map(is_whole, value)) if isinstance(value, list) else True


async def _store(place: dict[str, Any], text: str, keep: Keep, mask: Mask) -> None:
    masked = text if _DATA.fullmatch(text) else await asyncio.to_thread(mask, text)
    data = masked.encode("utf-8", "surrogatepass")
    blobs = await keep([data[start : start + _PIECE] for start in range(0, len(data), _PIECE)])
    if len(blobs) == 1 and blobs[0] is not None:
        place["blob"] = blobs[0]
    elif None not in blobs:
        place["blobs"] = list(blobs)


def _restored(place: Mapping[str, Any], stored: Stored) -> Any:
    text = place.get("json")
    if not isinstance(text, str):
        parts = [stored(blob) for blob in place.get("blobs", [place.get("blob")]) if isinstance(blob, str)]
        if not parts or None in parts:
            return Lost(place)
        text = b"".join(part for part in parts if part is not None).decode("utf-8", "surrogatepass")
        if "json" not in place:
            return text
    try:
        return json.loads(text)
    except ValueError:
        return Lost(place)


def _slim(value: Any, places: list[tuple[dict[str, Any], str]], limit: int, depth: int) -> Any:
    if isinstance(value, str):
        if len(value) > limit:
            place = {"omitted": True, "bytes": len(value.encode("utf-8", "surrogatepass"))}
            places.append((place, value))
            return place
        return value if value.isascii() or escaped(value) is value else _json_place(value, places, limit)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value if _is_plain(value) else _json_place(value, places, limit)
    if not isinstance(value, dict | list):
        return value
    if depth > _DEPTH or (isinstance(value, dict) and (value.get("omitted") is True or _has_odd_names(value))):
        return _json_place(value, places, limit)
    if isinstance(value, dict):
        return {key: _slim(one, places, limit, depth + 1) for key, one in value.items()}
    return [_slim(one, places, limit, depth + 1) for one in value]


def _is_plain(value: float) -> bool:
    if isinstance(value, int):
        return -INTEGER_LIMIT <= value <= INTEGER_LIMIT
    return math.isfinite(value) and not (value == 0 and math.copysign(1, value) < 0)


def _has_odd_names(value: Mapping[str, Any]) -> bool:
    return any(not name.isascii() and escaped(name) is not name for name in value)


def _json_place(value: Any, places: list[tuple[dict[str, Any], str]], limit: int) -> dict[str, Any]:
    text = json.dumps(value, separators=(",", ":"))
    if len(text) <= limit:
        return {"omitted": True, "json": text}
    place = {"omitted": True, "bytes": len(text), "json": True}
    places.append((place, text))
    return place
