"""From the facts of a mutation to the change that the log keeps: compared, masked, cut to the log's limit.

A proposal and the intent that follows it are mostly of the same bytes; so what was computed last is kept by blob id and
not computed again. Of a proposal that is cut, the bytes go to the store: whoever is asked may want to see all of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redline.changes.compare import describe, without_basis
from redline.changes.record import FileChange, Operation, Provenance, Side
from redline.changes.shorten import LOG_LIMIT, shortened
from redline.sessions.redaction import Redactor, holds_mask
from redline.sessions.store import StoreError
from redline.workspace.logged import as_logged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redline.files.seam import Content, Outcome
    from redline.workspace.store import SessionBytes

_log = logging.getLogger(__name__)

_INLINE = 512 * 1024
"""Bytes of both sides up to which the work is done at once: it takes a few milliseconds, less than other work that
waits would notice. Larger ones go to a thread."""
_KEPT = 16
"""Changes, and facts of texts, that are kept for the next step."""

_OPERATIONS: Mapping[str, Operation] = {"create": "add", "update": "modify", "delete": "delete", "move": "move"}


class Recorder:
    """Turns outcomes into changes that may be logged."""

    def __init__(self, redactor: Redactor, store: SessionBytes | None = None) -> None:
        """`store`: where the bytes of proposals go that the log does not hold whole; None: nowhere."""
        self._redactor = redactor
        self._store = store
        self._changes: OrderedDict[object, FileChange] = OrderedDict()
        self._sides: OrderedDict[str, Side] = OrderedDict()

    async def change(self, outcome: Outcome, provenance: Provenance, *, limit: int = LOG_LIMIT) -> FileChange:
        """The change of `outcome`, its lines masked on the whole texts and then cut to `limit` bytes."""
        key = _key(outcome, limit)
        kept = self._changes.get(key)
        if kept is None:
            size = sum(len(side.data) for side in (outcome.before, outcome.after) if side and side.data)
            if size > _INLINE:
                kept = await asyncio.to_thread(self._compute, outcome, limit)
            else:
                kept = self._compute(outcome, limit)
            self._changes[key] = kept
            while len(self._changes) > _KEPT:
                self._changes.popitem(last=False)
        if provenance == "proposed" and kept.truncated:
            await self._keep(outcome)
        return kept if kept.provenance == provenance else replace(kept, provenance=provenance)

    def masked(self, text: str) -> str:
        return self._redactor.mask(text)

    def holds_mask(self, value: Any) -> bool:
        """Whether any string in a JSON value holds a mask."""
        return holds_mask(json.dumps(value, ensure_ascii=False))

    def cut(self, change: FileChange) -> FileChange:
        """A change that was computed elsewhere, cut to the log's limit. The log's door masks its lines."""
        return shortened(change, LOG_LIMIT)

    async def _keep(self, outcome: Outcome) -> None:
        """Where they cannot be kept, the proposal is shown as far as the log holds it."""
        for side in (outcome.before, outcome.after):
            if self._store is None or side is None or side.data is None:
                continue
            try:
                await self._store.put(side.data)
            except StoreError as error:
                _log.warning("the bytes of a proposal for %s are not kept: %s", outcome.target.key, error)

    def _compute(self, outcome: Outcome, limit: int) -> FileChange:
        before, after = (side.data if side is not None else None for side in (outcome.before, outcome.after))
        change = described(outcome, self._side_of(outcome.before))
        for side in (change.before, change.after):
            if side is not None and change.file_type != "unknown":
                self._sides[side.blob] = side
                while len(self._sides) > _KEPT:
                    self._sides.popitem(last=False)
        return as_logged(change, before, after, self._redactor, limit=limit)

    def _side_of(self, content: Content | None) -> Side | None:
        """What an earlier change told of these bytes: the state before an edit mostly is the one after another."""
        side = self._sides.get(content.blob) if content is not None else None
        return None if side is None or content is None else replace(side, executable=content.executable)


def described(outcome: Outcome, before_side: Side | None = None) -> FileChange:
    """The whole change of an outcome, with its true lines: hunks where the bytes of both sides are at hand.

    Its paths are those of the files that really change, so that one file has one name in cards, totals, patches and
    undo, however a call named it; links are told beside it.
    """
    before, after = outcome.before, outcome.after
    moved = outcome.moved_to
    path = (moved or outcome.target).key
    old_path = outcome.target.key if moved is not None else None
    if (before is not None and before.data is None) or (after is not None and after.data is None):
        return without_basis(path, _OPERATIONS[outcome.operation], _side(before), _side(after), old_path=old_path)
    return describe(
        path,
        before.data if before is not None else None,
        after.data if after is not None else None,
        old_path=old_path,
        before_executable=before is not None and before.executable,
        after_executable=after is not None and after.executable,
        before_side=before_side,
        after_blob=after.blob if after is not None else None,
        file_type="symlink" if outcome.target.link else None,
    )


def _side(content: Content | None) -> Side | None:
    return None if content is None else Side(content.blob, content.size, executable=content.executable)


def _key(outcome: Outcome, limit: int) -> object:
    sides = tuple(side and (side.blob, side.executable, side.data is None) for side in (outcome.before, outcome.after))
    return (
        outcome.target.key,
        outcome.target.link,
        outcome.moved_to and outcome.moved_to.key,
        outcome.operation,
        sides,
        limit,
    )
