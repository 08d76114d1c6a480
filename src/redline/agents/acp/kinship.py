"""Which call does a message mean that names it by another id? Told by what both say of the work.

Some agents ask about a call under an id of the question's own, before they announce the call or after. Both then hold
the same arguments, the same command or the same diff, or at least name the same files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redline.agents.acp.call import ForeignCall
    from redline.changes.record import FileChange

_SAME_WORDS, _SAME_WORK, _SAME_FILES = 3, 2, 1


def closest(one: ForeignCall, others: Sequence[ForeignCall]) -> list[ForeignCall]:
    """Those of `others` that may be the same call as `one`, where several may, only the likeliest."""
    likeness = [(_likeness(one, other), other) for other in others]
    best = max((like for like, _ in likeness), default=(0, False))
    return [other for like, other in likeness if like == best and like[0]]


def same_as(new: ForeignCall, calls: Sequence[ForeignCall]) -> ForeignCall | None:
    """The call that `new`, which is announced only now, has been all along: one that was asked about under another id,
    if only one may be that, else one that was made up for a command and whose terminal `new` shows."""
    asked = [call for call in calls if call.only_asked and call.answer is not None and not call.closed]
    fitting = closest(new, asked)
    if len(fitting) == 1:
        return fitting[0]
    made_up = [call for call in calls if call.made_up and call.terminals]
    shown = set(new.evidence.terminals) if made_up else set()
    return next((call for call in made_up if shown == set(call.terminals)), None)


def _likeness(one: ForeignCall, other: ForeignCall) -> tuple[int, bool]:
    """How much both say the same, and whether they are of one kind."""
    first, second = one.evidence, other.evidence
    of_one_kind = first.kind == second.kind
    given = one.fields.get("rawInput")
    if given and given == other.fields.get("rawInput"):
        return _SAME_WORDS, of_one_kind
    if first.command is not None or second.command is not None:
        return (_SAME_WORK if first.command == second.command else 0), of_one_kind
    if first.proposed and second.proposed:
        return (_SAME_WORK if _lines(first.proposed) == _lines(second.proposed) else 0), of_one_kind
    if first.is_shell or second.is_shell or not first.named or not second.named:
        return 0, of_one_kind
    if (first.proposed and second.only_looks) or (second.proposed and first.only_looks):
        return 0, of_one_kind
    within = first.named <= second.named or second.named <= first.named
    return (_SAME_FILES if within else 0), of_one_kind


def _lines(changes: Sequence[FileChange]) -> set[tuple[str, str]]:
    return {(change.path, line) for change in changes for hunk in change.hunks for line in hunk.lines if line[0] != " "}
