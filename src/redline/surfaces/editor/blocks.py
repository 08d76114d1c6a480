"""A prompt's blocks: from the protocol into the log, and back on a replay.

The built-in agent reads text and images. An embedded file becomes text with its address before it, a link its address;
beside it stands what it was, so that a replay gives back what was sent.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import unquote

from redline.agents.acp.bulk import Stored, slimmed, whole
from redline.gateway.title import ATTACHED
from redline.protocol.connection import INVALID_PARAMS, RpcError

Keep = Callable[[bytes], Awaitable[str | None]]
"""Puts the bytes of an image into the session's store; its blob id, or None where it is too large to be kept."""

WAS = "editor"
"""The key beside a logged block under which stands what was sent: `sent`, the block without what is kept elsewhere;
`from`, where the text of a file begins in the text of the logged block; `blob`, a file that is not text."""
_GONE: dict[str, Any] = {"type": "text", "text": "(an image that is not kept any more)"}
_LINES = "\n"
_LARGE = 256 * 1024
"""Characters of a text above which it is kept beside the log."""


async def logged_blocks(prompt: object, keep: Keep) -> list[dict[str, Any]]:
    """For the built-in agent. Raises `RpcError` (invalid params) for what is no content."""
    if not isinstance(prompt, list) or not prompt:
        raise RpcError(INVALID_PARAMS, "prompt is not a list of content blocks, or it is empty")
    return [await _logged(one, number, keep) for number, one in enumerate(prompt)]


async def raw_blocks(prompt: object, keep: Keep) -> list[dict[str, Any]]:
    """For a foreign agent: as they are, but for the data of images and whatever else the log has no room for, which are
    kept beside it and put back when they are sent. Raises `RpcError` (invalid params) for what is no content."""
    if not isinstance(prompt, list) or not prompt or not all(isinstance(one, Mapping) for one in prompt):
        raise RpcError(INVALID_PARAMS, "prompt is not a list of content blocks, or it is empty")
    return [await _raw(one, f"prompt[{number}]", keep) for number, one in enumerate(prompt)]


async def _raw(block: Mapping[str, Any], where: str, keep: Keep) -> dict[str, Any]:
    is_image = block.get("type") == "image" and isinstance(block.get("data"), str)
    apart = ("data", "mimeType") if is_image else ("type", "text") if isinstance(block.get("text"), str) else ()
    own = {name: value for name, value in block.items() if name in apart}
    rest = {name: value for name, value in block.items() if name not in apart}
    kept = await slimmed(rest, partial(_kept, keep, where), limit=_LARGE)
    if "omitted" in kept:  # all of it is too much
        return dict(await slimmed(dict(block), partial(_kept, keep, where), limit=_LARGE))
    return {**kept, **(await _image(own, where, keep) if is_image else own)}


async def _kept(keep: Keep, where: str, data: Sequence[bytes]) -> list[str]:
    blobs = [await keep(one) for one in data]
    if None in blobs:
        raise RpcError(INVALID_PARAMS, f"{where} is too large to be kept: {sum(map(len, data))} bytes")
    return [blob for blob in blobs if blob is not None]


async def _logged(block: object, number: int, keep: Keep) -> dict[str, Any]:
    where = f"prompt[{number}]"
    if not isinstance(block, Mapping):
        raise RpcError(INVALID_PARAMS, f"{where} is not an object")
    match block.get("type"):
        case "text" if isinstance(block.get("text"), str):
            own = {"type": "text", "text": block["text"]}
            return {**own, WAS: await _beside(block, where, keep, "text")} if block.keys() - own.keys() else own
        case "image" if isinstance(block.get("data"), str):
            return {**await _image(block, where, keep), WAS: await _beside(block, where, keep, "data")}
        case "resource" if isinstance(block.get("resource"), Mapping):
            return await _resource(block, where, keep)
        case "resource_link" if isinstance(block.get("uri"), str):
            name = str(block.get("name") or block["uri"])
            text = {"type": "text", "text": f"[{name}]({block['uri']})", ATTACHED: name}
            return {**text, WAS: await _beside(block, where, keep)}
    raise RpcError(INVALID_PARAMS, f"{where} of type {block.get('type')!r} is malformed, or not taken by this agent")


async def _beside(
    block: Mapping[str, Any], where: str, keep: Keep, *apart: str, inner: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The block as it was sent but for what is kept elsewhere: its own fields `apart`, or with `inner` what is left of
    its resource."""
    rest = {name: value for name, value in block.items() if name not in apart}
    rest |= {} if inner is None else {"resource": dict(inner)}
    return {"sent": await slimmed(rest, partial(_kept, keep, where), limit=_LARGE)}


def _data(text: str, where: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RpcError(INVALID_PARAMS, f"{where} is not base64: {error}") from None


async def _image(block: Mapping[str, Any], where: str, keep: Keep, name: str = "data") -> dict[str, Any]:
    data = _data(block["data"], f"{where}.{name}")
    media_type = str(block.get("mimeType") or "image/png")
    blob = await keep(data)
    if blob is None:
        raise RpcError(INVALID_PARAMS, f"{where} is too large to be kept: {len(data)} bytes")
    return {"type": "image", "blob": blob, "bytes": len(data), "media_type": media_type}


async def _resource(block: Mapping[str, Any], where: str, keep: Keep) -> dict[str, Any]:
    resource = block["resource"]
    uri, text, blob = str(resource.get("uri", "")), resource.get("text"), resource.get("blob")
    mime, name = str(resource.get("mimeType") or ""), _file_name(uri)
    if isinstance(text, str):
        opening = f"The user attached {uri}:{_LINES}"
        was = await _beside(block, where, keep, inner=_without(resource, "text"))
        return {"type": "text", "text": opening + text, ATTACHED: name, WAS: {**was, "from": len(opening)}}
    if isinstance(blob, str):
        was = await _beside(block, where, keep, inner=_without(resource, "blob"))
        if mime.startswith("image/"):
            shown = await _image({"data": blob, "mimeType": mime}, f"{where}.resource", keep, "blob")
            return {**shown, ATTACHED: name, WAS: was}
        kept = await keep(_data(blob, f"{where}.resource.blob"))
        own = {"type": "text", "text": f"The user attached {uri}, which is not text.", ATTACHED: name}
        return {**own, WAS: {**was, "blob": kept or ""}}
    raise RpcError(INVALID_PARAMS, f"{where}.resource holds neither text nor blob")


def _without(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: one for name, one in value.items() if name not in names}


def _file_name(uri: str) -> str:
    return unquote(uri.rstrip("/").rpartition("/")[2]) or uri


def sent_blocks(blocks: Sequence[Mapping[str, Any]], stored: Stored) -> list[dict[str, Any]]:
    """As the user sent them."""
    return [_sent(block, stored) for block in blocks]


def _sent(block: Mapping[str, Any], stored: Stored) -> dict[str, Any]:
    was = block.get(WAS)
    if isinstance(was, Mapping) and block.get("type") in ("text", "image"):
        return _put_back(block, was, stored)
    if block.get("type") == "image" and isinstance(block.get("blob"), str):
        data = image(block["blob"], stored)
        rest = _without(block, "blob", "bytes", "media_type")
        return _GONE if data is None else {**rest, "data": data, "mimeType": str(block.get("media_type", "image/png"))}
    return dict(whole(block, stored))


def _put_back(block: Mapping[str, Any], was: Mapping[str, Any], stored: Stored) -> dict[str, Any]:
    """A block that was logged as another one. Earlier logs hold under `WAS` itself what is under `sent` now."""
    own = dict(whole(was["sent"], stored)) if "sent" in was else _without(was, "from")
    resource = own.get("resource") if own.get("type") == "resource" else None
    if block.get("type") == "text" and "blob" not in was:
        text, start = str(block.get("text", "")), was.get("from")
        if isinstance(resource, Mapping):
            return {**own, "resource": {**resource, "text": text[start if isinstance(start, int) else 0 :]}}
        return {**own, "text": text} if own.get("type") == "text" else own
    data = image(str(block.get("blob") or was.get("blob") or ""), stored)
    if isinstance(resource, Mapping):
        uri = str(resource.get("uri", ""))
        link = {"type": "resource_link", "uri": uri, "name": _file_name(uri)}
        return link if data is None else {**own, "resource": {**resource, "blob": data}}
    return _GONE if data is None else {**own, "data": data}


def image(blob: str, stored: Stored) -> str | None:
    """An image's bytes as the protocol has them; None: they are not kept any more."""
    data = stored(blob) if blob else None
    return None if data is None else base64.b64encode(data).decode("ascii")
