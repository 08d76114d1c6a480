"""Whose change is it? Decided by paths, by what was running, and by what was foretold; where that does not settle it,
nobody is named.

The kind and the status that an agent claims for a call are no evidence that it did not change a file. That a call means
to change a path is evidence that it did; so is that it runs what may change any file, as a command does and a tool that
names no file. A call that names its files is not taken to have changed others: a user may save one meanwhile, or a
formatter may run, and then all that is known is what ran at that time.

Agents announce some calls only after they have done them, so a change whose owner is not certain waits a moment for one
who names it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from redline.agents.acp.call import ForeignCall
from redline.agents.acp.step import Step


@dataclass(frozen=True, slots=True)
class Owners:
    """Where a change on disk may come from: one call owns it; several may; none: unknown."""

    calls: Sequence[ForeignCall]
    certain: bool = True
    """False: only because nothing else is known to have run."""
    during: Sequence[ForeignCall] = ()
    """Where no call may have made it: those that ran meanwhile."""
    commands: Sequence[ForeignCall] = ()
    """Where a call is named because it means to change the file: those that ran meanwhile and may have changed it, too,
    since their command names it."""


LAG_SECONDS = 0.25
"""So soon after the end of a command a change is still its work, where nothing else runs: agents say that a command has
ended when they hear of it, and disks are not always as quick."""


def owners(step: Step, running: Sequence[ForeignCall], earlier: Sequence[ForeignCall], now: float) -> Owners:
    """`running`: the calls that ran at some time since the last look. `earlier`: those of the same turn that ended
    before; a write of theirs may have come late. `now`: by the clock that the calls' ends were taken from."""
    able = [call for call in running if call.may_run]
    meant = [call for call in able if call.means(step)]
    late = [call for call in earlier if call.may_run and call.means(step) and not _done(call, step)]
    foretold = [call for call in (*late, *meant) if call.foretold(step)]
    commands = [call for call in able if call.evidence.is_shell and call.commands_on(_names(step))]
    for candidates in (foretold, meant, late):
        if candidates:
            return Owners(_announced(candidates), commands=[call for call in commands if call not in candidates])
    if worded := [call for call in able if call.is_open_ended and not call.evidence.is_shell and call.words(step)]:
        return Owners(worded)
    if [call for call in able if call.evidence.is_shell]:
        # An edit that does not say of what may be the one just as well.
        free = [call for call in able if call.evidence.is_shell or (call.is_open_ended and call.evidence.edits)]
        return Owners(free, certain=len(free) == 1)
    for candidates in ([call for call in able if call.mentions(step)], [call for call in able if call.is_open_ended]):
        if candidates:
            return Owners(_titled(candidates, step), certain=False)
    if able:
        return Owners((), certain=False, during=able)
    if lagging := [call for call in earlier if call.may_run and call.evidence.is_shell and _just_ended(call, now)]:
        return Owners(lagging)
    return Owners([call for call in running if call.means(step)])


def _announced(calls: Sequence[ForeignCall]) -> Sequence[ForeignCall]:
    """Without those of which only a question is known, where there are others: it was about one of them."""
    return [call for call in calls if not call.only_asked] or calls


def _titled(calls: Sequence[ForeignCall], step: Step) -> Sequence[ForeignCall]:
    """Those whose title names the file, if any does."""
    return [call for call in calls if call.titles(_names(step))] or calls


def _names(step: Step) -> list[str]:
    return [os.path.basename(path) for path in step.paths]  # noqa: PTH119 - of a text, not of a file


def _just_ended(call: ForeignCall, now: float) -> bool:
    return call.ended is not None and now - call.ended <= LAG_SECONDS


def _done(call: ForeignCall, step: Step) -> bool:
    """It has had its change of that path."""
    return any(not step.paths.isdisjoint(known.paths) for known in call.steps)
