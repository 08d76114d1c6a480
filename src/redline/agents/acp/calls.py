"""The calls of a foreign agent, from what it says to the events of the log.

Updates are not logged as they come: a call is logged when something decisive is said of it, and in between at longer
and longer intervals, so that thousands of cumulative updates leave one call's worth of log. What is found on the disk
is logged at once. Putting the events of a call together is the transcript's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from redline.agents.acp import judgement
from redline.agents.acp.call import ForeignCall
from redline.agents.acp.kinship import closest, same_as
from redline.agents.acp.landing import Landing
from redline.agents.acp.notes import Notes
from redline.changes.codec import to_json
from redline.sessions.gate import GateError, as_json
from redline.tools.found import portions
from redline.tools.tool import text_block

if TYPE_CHECKING:
    from redline.agents.acp.bulk import Bulk
    from redline.agents.acp.judgement import Over
    from redline.agents.acp.normalise import CallSaid
    from redline.agents.acp.notes import Terminal
    from redline.sessions.log import SessionLog
    from redline.tools.recorder import Recorder

_LONGEST_PAUSE = 64.0
_SMALL = 4 * 1024
"""Characters of arguments that are logged also where little is new of a call."""


class Calls:
    """All calls of one session that this process has seen."""

    def __init__(self, log: SessionLog, workspace: str, recorder: Recorder, bulk: Bulk, terminal: Terminal) -> None:
        self.turn = 0
        self.running = False
        """A turn is being worked through."""
        self._log = log
        self.workspace = workspace
        """Where relative paths of the agent start."""
        self._bulk = bulk
        self._notes = Notes(bulk, terminal, log.redactor)
        self.landing = Landing(log, recorder, bulk, self)
        """Where what is found on the disk goes."""
        self._calls: dict[tuple[int, str], ForeignCall] = {}
        self._now = asyncio.get_running_loop().time

    # What the agent says.

    def begin(self, turn: int) -> None:
        self.turn, self.running = turn, True
        self.landing.begin(turn)
        # An agent that is heard of earlier turns at all speaks of the last ones.
        for known in [known for known in self._calls if known[0] < turn - 3]:
            del self._calls[known]

    def of_turn(self, turn: int | None = None) -> list[ForeignCall]:
        wanted = self.turn if turn is None else turn
        return [call for call in self.known() if call.turn == wanted]

    async def take(self, said: CallSaid) -> tuple[ForeignCall, bool]:
        """Take what one message says of a call; the call, whose `ended` tells whether it is said to be over, and
        whether the time had come to log it."""
        call = self.find(said)
        now = self._now()
        had_ended = call.ended
        decisive = call.take(said, now)
        if had_ended is not None and call.ended == had_ended and said.fields.keys() - {"status"}:
            call.ended = now  # more was said of it after its end
        due = decisive or now >= call.due
        if due:
            await self.tell(call, whole=decisive)
        return call, due

    def find(self, said: CallSaid) -> ForeignCall:
        """The call that a message is about, or a new one."""
        known = self._calls.get((self.turn, said.call))
        if known is not None and said.starts and known.closed and known.differs(said):
            number = 2
            while (self.turn, f"{said.call}#{number}") in self._calls:
                number += 1
            # The agent counts its calls anew; from here on the id means the new one.
            self._calls[(self.turn, f"{said.call}#{number}")] = known
            return self._new(said.call, row=f"{said.call}#{number}")
        if known is None and not said.starts:
            earlier = self._calls.get((self.turn - 1, said.call))
            if earlier is not None and (not self.running or earlier.claim is None):
                return earlier
        if known is None and (known := same_as(self._heard(said), self.of_turn())) is not None:
            self._calls[(self.turn, said.call)] = known
        return known or self._new(said.call)

    def linked(self, said: CallSaid) -> ForeignCall:
        """The call that a permission request is about. An agent may ask under an id of its own: then it is the open
        call with the same files or the same command, if there is exactly one."""
        known = self._calls.get((self.turn, said.call))
        asked = self._heard(said)
        if known is not None and not known.only_asked:
            return known
        open_ = [call for call in self.of_turn() if call.ended is None and call.answer is None and not call.made_up]
        fitting = closest(asked, open_)
        if len(fitting) == 1:
            return fitting[0]
        if known is not None:
            if known.answer in (None, "asking") or closest(asked, [known]):
                return known
            return self._new(said.call, row=self._free(said.call))
        call = self._new(said.call)
        call.only_asked = True
        return call

    def own(self, title: str, kind: str, path: str = "", **fields: Any) -> ForeignCall:
        """A call made up for something that the agent had us do and named no call for."""
        call = self._new(self._free("client"))
        call.fields = {"title": title, "kind": kind, **({"locations": [{"path": path}]} if path else {}), **fields}
        call.claim, call.made_up = "completed", True
        return call

    async def tell(self, call: ForeignCall, *, whole: bool) -> None:
        """Log what is new of a call. `whole`: all of it; else only what is small."""
        seen = await self._seen(call)
        data: dict[str, Any] = {
            "title": seen.title,
            "kind": seen.kind,
            "locations": await self._bulk.slim([*seen.locations]),
        }
        if call.ended is None:
            data["status"] = "running" if call.fields.get("status") not in (None, "pending") else "proposed"
        if call.ended is None and (output := await self._notes.live_output(call)):
            data["content"] = [text_block(output)]
        if call.fields.get("rawInput") and (whole or len(str(call.fields.get("rawInput", ""))) < _SMALL):
            data["arguments"] = await self._bulk.slim(call.fields["rawInput"])
        if whole and call.ended is None:  # what has ended is told with its result
            data["meta"] = await self._notes.of(call)
            if not call.changes:
                data["changes"] = [to_json(change) for change in seen.proposed]
        new = {name: value for name, value in data.items() if value and call.told.get(name) != value}
        call.told.update(new)
        call.due, call.pause = self._now() + call.pause, min(call.pause * 2, _LONGEST_PAUSE)
        if "kind" in new and len(call.told) == len(new):
            opened: dict[str, Any] = {name: new.pop(name) for name in ("arguments", "meta") if name in new}
            opened["proposed"] = new.pop("changes", [])
            start = {"name": "", "kind": new.pop("kind"), "title": new.pop("title"), **opened}
            await self._append("tool/call", call, start)
        if new and not (new.keys() == {"status"} and new["status"] == "proposed"):
            await self._append("tool/update", call, new)

    # What the disk says.

    def known(self) -> list[ForeignCall]:
        """All that are remembered, whatever their turn, each once: a call may have two ids."""
        return list(dict.fromkeys(self._calls.values()))

    async def record(self, call: ForeignCall) -> None:
        """Log what was found of a call: at once where it goes on, or where some of what it reported is still to be
        looked for, else with how it ended."""
        if call.closed or (call.ended is not None and not judgement.not_found(call)):
            await self.close(call)
            return
        if not call.told:
            await self.tell(call, whole=True)
        running = {} if call.told.get("status") == "running" else {"status": "running"}
        call.told.update(running)
        await self._append_found("tool/update", call, running)

    async def close(self, call: ForeignCall, *, over: Over | None = None) -> None:
        """Log how a call ended: what the agent says of it, judged by what was found."""
        if not call.told:
            await self.tell(call, whole=True)
        touched = partial(self.landing.was_touched, call.turn)
        verdict = judgement.judge(call, touched, over=over, runs_on=self._notes.runs_on(call))
        data: dict[str, Any] = {
            "name": "",
            "kind": call.evidence.kind,
            "status": verdict.status,
            "content": [text_block(text)] if (text := await self._notes.output(call)) else [],
        }
        arguments = await self._bulk.slim(call.fields.get("rawInput"))
        if arguments and call.told.get("arguments") != arguments:
            data["arguments"] = arguments
        if not call.changes and call.evidence.proposed:
            data["proposed"] = [to_json(change) for change in judgement.undone(call)]
        told = call.told.get("result", {})
        if meta := await self._notes.at_its_end(call, told.get("meta", {})):
            data["meta"] = meta
        for name in ("arguments", "content", "proposed"):
            if not data.get(name) and (known := told.get(name)):
                data[name] = known  # what was told is not taken back where it was only forgotten
        if verdict.warnings:
            data["warnings"] = list(verdict.warnings)
        if verdict.error is not None:
            data["error"] = verdict.error.to_json()
        await self._result(call, data)

    async def _result(self, call: ForeignCall, data: dict[str, Any]) -> None:
        call.stale = False
        if call.closed and call.told.get("result") == data and not call.is_behind:
            return
        call.told["result"] = data
        call.closed = True
        await self._append_found("tool/result", call, data)
        call.forget()

    async def finish(self, over: Over) -> None:
        """The turn is over: what has no end gets one."""
        try:
            for call in self.of_turn():
                if not call.closed:
                    await self.close(call, over=over)
        finally:
            self.running = False

    # Parts of the above.

    async def _seen(self, call: ForeignCall) -> Any:
        if len(call.diffs) and sum(len(str(block.get("newText"))) for block in call.diffs) > 256 * 1024:
            await asyncio.to_thread(lambda: call.evidence)
        return call.evidence

    def _heard(self, said: CallSaid) -> ForeignCall:
        """What a message says, as a call by itself."""
        alone = ForeignCall(self.turn, said.call, self.workspace)
        alone.take(said, self._now())
        return alone

    def _new(self, identity: str, row: str | None = None) -> ForeignCall:
        call = ForeignCall(self.turn, row or identity, self.workspace, started=self._now())
        self._calls[(self.turn, identity)] = call
        return call

    def _free(self, stem: str) -> str:
        taken = {call.id for call in self.of_turn()} | {identity for turn, identity in self._calls if turn == self.turn}
        number = 1
        while f"{stem}#{number}" in taken:
            number += 1
        return f"{stem}#{number}"

    async def _append_found(self, type_: str, call: ForeignCall, data: Mapping[str, Any]) -> None:
        """An event with all that was found of a call; where that is too much for one, others come before it."""
        known = [change for change in call.changes if call.has_logged(change)]
        new = list(portions([change for change in call.changes if not call.has_logged(change)]))
        for some in new[:-1]:
            known += some
            await self._append("tool/update", call, {"changes": call.held(known), "observed": True})
        changes = call.held(call.changes, counted=type_ == "tool/result")
        await self._append(type_, call, {**data, "changes": changes, "observed": True})

    async def _append(self, type_: str, call: ForeignCall, data: Mapping[str, Any]) -> None:
        """What the gate refuses of an agent's word is kept as text, or left out; what was found never is."""
        entry = {"turn": call.turn, "call": call.id, **data}
        try:
            await self._log.append(type_, entry)
        except GateError as error:
            lighter = {name: value for name, value in entry.items() if name not in ("arguments", "meta", "locations")}
            warnings = [*entry.get("warnings", ()), f"The log refused a part of this ({error})."]
            await self._log.append(type_, {**as_json(lighter), "warnings": warnings})
