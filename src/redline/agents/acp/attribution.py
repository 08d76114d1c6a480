"""Whose change is it? Decided by paths, by what was running, and by what was foretold; where that does not settle it,
nobody is named.

The kind and the status that an agent claims for a call are no evidence. That a call names a path and means to change it
is; so is that it was the only one that could have run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from redline.agents.acp.call import ForeignCall, Step


def owners(step: Step, running: Sequence[ForeignCall], earlier: Iterable[ForeignCall]) -> list[ForeignCall]:
    """The calls that a change on disk may come from: one is its owner; several only ran meanwhile; none: unknown.

    `running`: those that ran at some time since the last look. `earlier`: those of the same turn that ended before; a
    write of theirs may have come late.
    """
    able = [call for call in running if call.may_run]
    for candidates in (
        [call for call in able if call.means(step)],
        [call for call in earlier if call.may_run and call.means(step) and not _done(call, step)],
        [call for call in able if call.evidence.is_shell],
        [call for call in able if call.mentions(step)],
        able,
        [call for call in running if call.means(step)],
    ):
        if candidates:
            return _narrowed(candidates, step)
    return []


def _narrowed(candidates: list[ForeignCall], step: Step) -> list[ForeignCall]:
    """Of several, those that had foretold it, if there are such."""
    if len(candidates) == 1:
        return candidates
    return [call for call in candidates if call.foretold(step)] or candidates


def _done(call: ForeignCall, step: Step) -> bool:
    """It has had its change of that path."""
    return any(not step.paths.isdisjoint(known.paths) for known in call.steps)
