"""The two events of a call, `tool/call` and `tool/result`, as the log can hold them.

Whatever the log refuses of them is left out and said; that a call was made, how it ended and what it changed on the
disk never is.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from redline.changes.codec import from_json, to_json
from redline.changes.shorten import shortened
from redline.sessions.gate import GateError, as_json
from redline.sessions.store import StoreError
from redline.tools.ending import Problem
from redline.tools.knowledge import seen_entries
from redline.tools.tool import ContentBlock, text_block
from redline.workspace.store import BytesError, ByteStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.changes.record import FileChange
    from redline.sessions.log import SessionLog
    from redline.tools.ending import Ending
    from redline.tools.recorder import Recorder
    from redline.tools.slot import Slot

_EVENT_HUNKS = 4 << 20
"""Bytes of hunks in one event, over all its changes: what an event may hold, less room for the rest."""

_SHORT = 4096
"""Characters of an argument that is kept where the arguments as a whole are not: paths are no longer."""


class CallEvents:
    """Of one session."""

    def __init__(self, log: SessionLog, store: ByteStore, recorder: Recorder) -> None:
        self._log = log
        self._store = store
        self._recorder = recorder

    async def open(self, turn: int, slot: Slot) -> None:
        """Record the call with its proposal, once. Raises `StoreError` where not even that it was made can be kept."""
        if slot.opened:
            return
        data = {
            "turn": turn,
            "call": slot.call.id,
            "name": slot.call.name,
            "kind": slot.tool.kind if slot.tool is not None else "other",
            "arguments": slot.given,
            "proposed": as_events_hold(slot.proposed),
        }
        if slot.problem is not None:
            data["proposal_error"] = slot.problem.to_json()
        try:
            await self._log.append("tool/call", data)
        except GateError as error:
            await self._open_lighter(data, error.reason)
        except StoreError as error:
            # There may be room for the call itself, if not for all that it says; then its failure is recorded.
            slot.problem = Problem(error.code, f"{error.message} Nothing was done.", error.remedy)
            slot.proposed = []
            told = {"proposed": [], "proposal_error": slot.problem.to_json()}
            await self._open_lighter({**data, **told}, "the log could not take it")
        slot.opened = True

    async def _open_lighter(self, data: Mapping[str, Any], reason: str) -> None:
        """Without what is large in the arguments: which file a call is about is mostly not. If not even that can be
        kept, without any."""
        omitted = {"omitted": True, "reason": reason}
        try:
            await self._log.append("tool/call", {**data, "arguments": _short(data["arguments"], omitted)})
        except (GateError, StoreError):
            await self._log.append("tool/call", {**data, "arguments": omitted})

    async def close(self, turn: int, slot: Slot, ending: Ending) -> list[str]:
        """Record how it ended; its warnings, with those of this. Never raises for what the log cannot take: what is on
        the disk is told to the model even then."""
        warnings = list(ending.warnings)
        data: dict[str, Any] = {
            "turn": turn,
            "call": slot.call.id,
            "name": slot.call.name,
            "kind": slot.tool.kind if slot.tool is not None else "other",
            "status": ending.status,
            "content": await self._stored(ending.content, warnings),
            "changes": as_events_hold(ending.changes),
        }
        if ending.meta is not None:
            data["meta"] = ending.meta
        if ending.error is not None:
            data["error"] = ending.error.to_json()
        if ending.seen:
            data["seen"] = seen_entries(ending.seen)
        await self._record(data, warnings)
        return warnings

    async def _record(self, data: dict[str, Any], warnings: list[str]) -> None:
        """Append the result. What the gate refuses of it, or a full disk has no room for, is left out, and said; the
        changes never are."""
        lighter: list[dict[str, Any]] = [{}, {"meta": None}, {"meta": None, "content": []}]
        for without in lighter:
            entry = {**data, **without}
            if warnings:
                entry["warnings"] = [self._recorder.masked(warning) for warning in warnings]
            try:
                await self._log.append("tool/result", entry, durable=True)
            except GateError as error:
                warnings.append(f"The log refused a part of this result ({error}).")
            except StoreError as error:
                warnings.append(f"The log could not take this result ({error.code}: {error.message.rstrip('.')}).")
                await self._record_least(data, warnings)
                return
            else:
                return

    async def _record_least(self, data: Mapping[str, Any], warnings: Sequence[str]) -> None:
        """The result in a few bytes: how the call ended, and which files it changed."""
        least = {**data, "meta": None, "content": [text_block("[This result could not be recorded.]")]}
        least["changes"] = [to_json(shortened(from_json(change), 0)) for change in data["changes"]]
        least["warnings"] = [self._recorder.masked(warning) for warning in warnings]
        with contextlib.suppress(StoreError, GateError):  # the next start closes it by what is on the disk
            await self._log.append("tool/result", least, durable=True)

    async def _stored(self, content: Sequence[ContentBlock], warnings: list[str]) -> list[Any]:
        """Blocks as the log keeps them: the bytes of an image go to the store."""
        blocks: list[Any] = []
        for block in content:
            if block.get("type") == "image" and isinstance(block.get("data"), str):
                blocks.append(await self._stored_image(block, warnings))
            else:
                blocks.append(as_json(dict(block)))
        return blocks

    async def _stored_image(self, block: ContentBlock, warnings: list[str]) -> dict[str, Any]:
        media_type = str(block.get("media_type", "application/octet-stream"))
        try:
            data = base64.b64decode(block["data"], validate=True)
            [blob] = await asyncio.to_thread(self._store.put, self._log.session, data)
        except (binascii.Error, ValueError, BytesError, OSError) as error:
            warnings.append(f"An image of this result could not be kept ({error}).")
            blob = None
        if blob is None:
            return text_block(f"[an image, {media_type}, that was not kept]")
        return {"type": "image", "blob": blob, "bytes": len(data), "media_type": media_type}


def _short(arguments: Any, omitted: Mapping[str, Any]) -> Any:
    """The arguments that are short, and of each of the others that it was left out."""
    if not isinstance(arguments, Mapping):
        return omitted
    return {name: value if _is_short(value) else omitted for name, value in arguments.items()}


def _is_short(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= _SHORT)


def as_events_hold(changes: Sequence[FileChange]) -> list[Any]:
    """As JSON; many large changes share the room of one event."""
    each = _EVENT_HUNKS // max(1, len(changes))
    return [to_json(shortened(change, each)) for change in changes]
