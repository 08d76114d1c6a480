"""Consent to what an agent has its client do: a file that is written, a command that is run.

An agent that put a question and was allowed has asked. One that did not, because of a mode in which it decides for
itself, is asked about here, with the true change: the whole text that it hands over, against the disk. So is one that
now hands over what empties a file, or cuts most of it away, and was not what it had shown. So how approvals are set
holds for all that goes through Redline, whatever mode the agent is in.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from redline.agents.acp.shown import Shown
from redline.files.seam import Write
from redline.protocol.connection import INVALID_PARAMS, RpcError
from redline.tools.diff_card import large_cut
from redline.tools.permission import PermissionRequest
from redline.tools.proposal import cautions

if TYPE_CHECKING:
    from redline.agents.acp.call import ForeignCall
    from redline.agents.agent import Host
    from redline.files.seam import Blob, Files, Target
    from redline.tools.permission import PermissionOutcome
    from redline.tools.recorder import Recorder

_UNASKED = "The agent did not ask for this by itself."
_OTHER = "This is not what the agent had shown when it asked."
_ALLOWED = ("allow_once", "allow_session")


class Consent:
    """Of the user, to one agent."""

    def __init__(self, agent: str, host: Host, files: Files, recorder: Recorder, *, given: bool) -> None:
        """`given`: whoever is in front of the agent has settled with it what it may do."""
        self._agent = agent
        self._host = host
        self._files = files
        self._recorder = recorder
        self._given = given
        self._waiting: set[asyncio.Task[PermissionOutcome]] = set()

    async def to_write(self, call: ForeignCall, target: Target, content: str) -> Blob | None:
        """What the file must hold for the answer to be about it (empty: no file); None: whatever it holds. Raises
        `RpcError` where the answer is no, and `FileError` as a preview does."""
        if self._given:
            return None
        outcome = await self._files.preview(target, Write(content))
        seen = outcome.before.blob if outcome.before is not None else ""
        after = outcome.after.blob if outcome.after is not None else ""
        if seen == after:
            return None
        asked = _has_asked_for(call, target)
        if asked and _was_shown(call, target, after):
            return None
        change = await self._recorder.change(outcome, "proposed")
        if asked and large_cut(change) is None:
            return None
        title, tool = f"Write {target.path.name}", f"{self._agent}:write"
        note = " ".join([_OTHER if asked else _UNASKED, *cautions(change)])
        request = PermissionRequest(call.turn, call.id, tool, title, (change,), (target.key,), note=note)
        await self._put(call, request)
        call.approved[target.key] = Shown(seen or None, after or None)
        return seen

    async def to_run(self, call: ForeignCall, command: str) -> None:
        """Raises `RpcError` where the answer is no."""
        if self._given or (call.answer == "allowed" and call.runs(command)):
            return
        request = PermissionRequest(
            call.turn, call.id, f"{self._agent}:terminal", command, (), arguments={"command": command}, note=_UNASKED
        )
        await self._put(call, request)

    def withdraw(self) -> None:
        """The turn is being stopped: no answer is waited for any more."""
        for task in self._waiting:
            task.cancel()

    async def _put(self, call: ForeignCall, request: PermissionRequest) -> None:
        before, call.answer = call.answer, "asking"
        task = asyncio.ensure_future(self._host.permission(request))
        self._waiting.add(task)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            call.answer = "cancelled"
            task.cancel()
            raise
        finally:
            self._waiting.discard(task)
        outcome = "cancelled" if task.cancelled() else task.result()
        if outcome in _ALLOWED:
            call.answer = before if before == "allowed" else "allowed"
            return
        call.answer = "cancelled" if outcome == "cancelled" else "rejected"
        raise RpcError(INVALID_PARAMS, _NO[outcome])


_NO = {
    "reject": "The user did not allow this.",
    "cancelled": "The user withdrew the question whether this is allowed.",
    "unavailable": "Nobody was there to allow this. --approval edits allows changes inside the workspace, but for what "
    "deletes or empties a file or cuts most of it away.",
}


def _has_asked_for(call: ForeignCall, target: Target) -> bool:
    """The user has allowed this call, with this file among what was shown, or without having been shown any."""
    if call.answer != "allowed":
        return False
    return target.key in call.approved or call.unseen or not call.approved


def _was_shown(call: ForeignCall, target: Target, after: Blob) -> bool:
    """The user has allowed the file to become this. `after`: empty where there is to be no file."""
    shown = call.approved.get(target.key)
    return shown is not None and (shown.after or "") == after
