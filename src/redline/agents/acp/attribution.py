"""Whose change is it? Decided by paths, by what was running, and by what was foretold; where that does not settle it,
nobody is named.

The kind and the status that an agent claims for a call are no evidence. That a call means to change a path is; so is
that it runs what may change any file. That it merely was the only one that ran is weak: agents announce some calls only
after they have done them, so such a change waits a moment for an owner who names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from redline.agents.acp.call import ForeignCall, Step


@dataclass(frozen=True, slots=True)
class Owners:
    """Where a change on disk may come from: one call owns it; several only ran meanwhile; none: unknown."""

    calls: Sequence[ForeignCall]
    certain: bool
    """False: only because nothing else is known to have run."""


def owners(step: Step, running: Sequence[ForeignCall], earlier: Iterable[ForeignCall]) -> Owners:
    """`running`: the calls that ran at some time since the last look. `earlier`: those of the same turn that ended
    before; a write of theirs may have come late."""
    able = [call for call in running if call.may_run]
    meant = [call for call in able if call.means(step)]
    late = [call for call in earlier if call.may_run and call.means(step) and not _done(call, step)]
    foretold = [call for call in (*late, *meant) if call.foretold(step)]
    for candidates in (foretold, meant, late, [call for call in able if call.evidence.is_shell]):
        if candidates:
            return Owners(candidates, certain=True)
    for candidates in ([call for call in able if call.mentions(step)], able):
        if candidates:
            return Owners(candidates, certain=False)
    return Owners([call for call in running if call.means(step)], certain=True)


def _done(call: ForeignCall, step: Step) -> bool:
    """It has had its change of that path."""
    return any(not step.paths.isdisjoint(known.paths) for known in call.steps)
