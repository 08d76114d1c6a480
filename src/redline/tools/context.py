"""What a running call may use, and what it has done with it: the `ToolContext` of one call."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from redline.files.error import FileError
from redline.files.seam import Blob, Content, Files, Outcome, Target, Write, WriteBytes
from redline.sessions.store import StoreError
from redline.tools.approval import ASK_AGAIN, is_computed, keeps_changing
from redline.tools.landed import net, take_back, unchanged
from redline.tools.lasting import GONE, is_gone
from redline.tools.mutation import Journal, Landed, to_its_end
from redline.tools.proposal import Proposal
from redline.tools.tool import Step, text_block

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from redline.changes.record import FileChange
    from redline.tools.approval import Approval
    from redline.tools.knowledge import Knowledge

_log = logging.getLogger(__name__)

_OUTPUT_TAIL = 4096
"""Characters of live output that an update holds."""
_OUTPUT_PAUSE = 1.0
"""Seconds between two updates of live output."""


class CallContext:
    """Of one call: it applies what was approved, and holds what is on the disk."""

    def __init__(
        self,
        *,
        turn: int,
        call: str,
        journal: Journal,
        knowledge: Knowledge,
        approval: Approval,
        workspace: Path,
        warnings: list[str],
    ) -> None:
        """`warnings`: those of the call, to add to."""
        self.landed: list[Landed] = []
        """On the disk, in this order."""
        self.seen: dict[str, Blob] = {}
        """By the key of the file: what the model has now read or written."""
        self.told: list[str] = []
        """What the model should hear beside the tool's own words."""
        self._turn = turn
        self._call = call
        self._journal = journal
        self._knowledge = knowledge
        self._approval = approval
        self._workspace = workspace
        self._warnings = warnings
        self._output = ""
        self._output_at = 0.0

    # `ToolContext`.

    @property
    def workspace(self) -> Path:
        return self._workspace

    @property
    def files(self) -> Files:
        return self._journal.files

    async def apply(self, step: Step) -> Outcome:
        proposal = self._approval.take(step)
        for _ in range(ASK_AGAIN):
            # Whoever approved a state that is no more is asked about the new one. Without an answer to stand on, the
            # rule of what the model has seen holds.
            asked = proposal is not None and proposal.change is not None
            if proposal is None or proposal.outdated:
                proposal = await self._approval.ask_anew(step, asked=asked)
            try:
                return await self._apply(step, proposal)
            except FileError as error:
                if error.code != "STALE" or is_computed(step.action):
                    raise
                proposal = replace(proposal, outdated=True)
        raise keeps_changing(step)

    async def apply_all(self, steps: Sequence[Step]) -> Sequence[Outcome]:
        first = len(self.landed)
        try:
            return [await self.apply(step) for step in steps]
        except (Exception, asyncio.CancelledError):
            await to_its_end(self._take_back(self.landed[first:]))
            raise

    async def read(self, target: Target, limit: int | None = None) -> Content:
        content = await self.files.read(target, limit)
        if await is_gone(content, self._knowledge.written(target.key), self._journal.kept):
            self.told.append(GONE.format(path=target.path))
            self._warnings.append(self.told[-1])
            self._knowledge.lose(target.key)
        self._see(target.key, content.blob)
        return content

    async def progress(self, text: str) -> None:
        self._output = (self._output + text)[-_OUTPUT_TAIL:]
        now = time.monotonic()
        if now - self._output_at >= _OUTPUT_PAUSE:
            self._output_at = now
            data = {"turn": self._turn, "call": self._call, "status": "running", "content": [text_block(self._output)]}
            try:
                await self._journal.log.append("tool/update", data)
            except StoreError as error:  # the result still has the whole output
                _log.warning("live output of the call %s was not recorded: %s", self._call, error)

    # What the call does beside the tool.

    async def apply_unasked(self, step: Step, expected: Blob) -> None:
        """A change that nobody is asked about, as it only tidies one that was allowed. Raises as `Journal.apply`."""
        await self._journal.apply(step, turn=self._turn, call=self._call, expected=expected, landed=self._note_landed)

    async def changes(self) -> list[FileChange]:
        """What landed, one change a file: several to one file are told as one, from its first bytes to its last."""
        landed = self.landed
        return await net([item.outcome for item in landed], [item.change for item in landed], self._journal.recorder)

    # Parts of the above.

    async def _apply(self, step: Step, proposal: Proposal) -> Outcome:
        outcome = await self._journal.apply(
            step,
            turn=self._turn,
            call=self._call,
            expected=proposal.expected,
            landed=self._note_landed,
            foreseen=proposal.outcome,
        )
        if unchanged(outcome) and outcome.after is not None and isinstance(step.action, Write | WriteBytes):
            self._see(outcome.target.key, outcome.after.blob)  # whoever gave the whole text knows what is there
        return outcome

    def _note_landed(self, landed: Landed) -> None:
        self.landed.append(landed)
        self._warnings += landed.warnings
        outcome = landed.outcome
        self._knowledge.change(self._call, outcome)
        if outcome.after is None:
            return
        if outcome.moved_to is None:
            self._see(outcome.target.key, outcome.after.blob)
        elif outcome.before is not None and self._knowledge.get(outcome.target.key) == outcome.before.blob:
            self._see(outcome.moved_to.key, outcome.after.blob)

    def _see(self, key: str, blob: Blob) -> None:
        self._knowledge.see(key, blob)
        self.seen[key] = blob

    async def _take_back(self, landed: Sequence[Landed]) -> None:
        await take_back(
            self._journal, landed, turn=self._turn, call=self._call, landed=self._note_landed,
            stuck=lambda _, said: self._warnings.append(said),
        )  # fmt: skip
