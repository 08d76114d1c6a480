"""How a foreign call ended: the agent's claim, the answer to its question and the disk, weighed against each other."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from redline.agents.acp.places import is_within, key
from redline.tools.ending import Problem

if TYPE_CHECKING:
    from redline.agents.acp.call import ForeignCall
    from redline.changes.record import FileChange

Status = Literal["completed", "failed", "rejected", "cancelled", "interrupted", "unknown"]
Over = Literal["ended", "cancelled", "broken"]
"""How a turn went: to its end, stopped by the user, or broken off by a fault such as the agent's death."""

NOTHING_CHANGED = "The agent reported a change; nothing changed on disk."
SHARED = "Other calls ran at the same time; what they changed together is shown on its own."
NOT_FOUND = "No change of this call was found; what else changed that file in this turn is shown."
_MESSAGE = 600
"""Characters of what an agent says of a failure that its message keeps."""
_RUNS_ON = Problem(
    "STILL_RUNNING",
    "This command still ran when the turn ended.",
    "What it has changed by then is shown; it ends with the agent.",
)
Touched = Callable[[str], bool]
"""Whether a change of a path (links followed) was found in the call's turn, whoever made it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    status: Status
    error: Problem | None = None
    warnings: tuple[str, ...] = ()


def judge(call: ForeignCall, touched: Touched, *, over: Over | None = None, runs_on: bool = False) -> Verdict:
    """A claim that the disk refutes stays named, whatever else ran at that time. `over`: the turn of the call has
    ended, so that nothing more of it is to come, but for what a command of ours does that `runs_on`."""
    warnings = [*call.warnings, *_differences(call)]
    warnings += [f"A part of what the agent sent could not be read ({fault})." for fault in call.evidence.malformed]
    if call.answer == "rejected" or call.answer == "cancelled":
        return _refused(call, warnings)
    if call.claim == "failed":
        return Verdict("failed", _failure(call), tuple(warnings))
    if call.claim is None and over == "cancelled":
        return Verdict("cancelled", Problem("CANCELLED", "The turn was stopped while this ran."), tuple(warnings))
    if call.claim is None and over == "ended" and runs_on:
        return Verdict("unknown", _RUNS_ON, tuple(warnings))
    if call.claim is None and over is not None:
        return _unended(call, warnings, over, touched)
    warnings += _not_done(call, touched)
    return Verdict("completed", None, tuple(warnings))


def undone(call: ForeignCall) -> list[FileChange]:
    """What a call that is over has reported and not done. Of a file without an old text the report does not say whether
    it was to be new; where it is not there after all, it was."""
    return [
        replace(change, operation="add")
        if change.operation == "modify" and not _had_text(change) and not os.path.lexists(change.path)
        else change
        for change in call.evidence.proposed
    ]


def not_found(call: ForeignCall) -> dict[str, FileChange]:
    """Of what it has reported, the changes of files of which none was found yet, by path (links followed)."""
    landed = {path for step in call.steps for path in step.paths}
    return {key(change.path): change for change in call.evidence.proposed if key(change.path) not in landed}


def _had_text(change: FileChange) -> bool:
    return any(line[0] != "+" for hunk in change.hunks for line in hunk.lines)


def _refused(call: ForeignCall, warnings: list[str]) -> Verdict:
    if call.changes:
        return Verdict(
            "failed",
            Problem(
                "CHANGED_ALL_THE_SAME",
                "This was not allowed, and files were changed all the same.",
                "Look at the change; `redline undo` takes it back.",
            ),
            tuple(warnings),
        )
    return Verdict("rejected" if call.answer == "rejected" else "cancelled", None, tuple(warnings))


def _unended(call: ForeignCall, warnings: list[str], over: Over, touched: Touched) -> Verdict:
    meant = _meant(call)
    done = {path for step in call.steps for path in step.paths}
    if meant and meant <= done:
        warnings.append("The agent never said how this ended; the disk does.")
        return Verdict("completed", None, tuple(warnings))
    if call.only_asked and all(map(touched, meant)):  # it was a question, and what it was about stands elsewhere
        return Verdict("completed", None, tuple(warnings))
    if over == "broken":
        problem = Problem("INTERRUPTED", "The agent was gone before this ended.", "Look at what is on disk.")
        return Verdict("interrupted", problem, tuple(warnings))
    message, remedy = "The agent never said how this ended.", "What was found on disk is shown; look at the rest."
    if meant and not any(map(touched, meant)):
        message, remedy = "The agent never said how this ended; nothing of what it announced changed on disk.", ""
    return Verdict("unknown", Problem("UNKNOWN_OUTCOME", message, remedy), tuple(warnings))


def _meant(call: ForeignCall) -> set[str]:
    """The files that it was to change: those of its diffs, else those that it names, where that is its purpose."""
    seen = call.evidence
    if seen.proposed or seen.is_shell:
        return {key(change.path) for change in seen.proposed}
    return set(map(key, seen.intended))


def _failure(call: ForeignCall) -> Problem:
    said = call.evidence.text.strip() or _raw_text(call)
    # Cut between two words: what a cut leaves of a secret would not be known for one.
    message = said if len(said) <= _MESSAGE else (said[:_MESSAGE].rsplit(None, 1)[0] + " […]")
    return Problem("AGENT_FAILED", message or "The agent reported a failure.", "")


def _raw_text(call: ForeignCall) -> str:
    output = call.fields.get("rawOutput")
    if isinstance(output, str):
        return output.strip()
    if isinstance(output, dict):
        for name in ("error", "message", "stderr", "output", "content"):
            if isinstance(output.get(name), str) and output[name].strip():
                return str(output[name]).strip()
    return ""


def _not_done(call: ForeignCall, touched: Touched) -> list[str]:
    """What was reported and is not among the call's changes: refuted by the disk, or not to be told apart."""
    claims = not_found(call)
    missing = [path for path, change in claims.items() if not touched(path) and not (call.changes and _is_idle(change))]
    unseen = [path for path in missing if not _was_looked_at(path, call.workspace)]
    if unseen:
        return [f"{claims[unseen[0]].path} is outside the workspace; whether it was changed was not checked."]
    if call.changes:
        return [f"The agent reported a change of {claims[path].path}, too; nothing changed there." for path in missing]
    if missing:
        return [NOTHING_CHANGED]
    if claims:
        return [SHARED if call.shared & claims.keys() else NOT_FOUND]
    return []


def _is_idle(change: FileChange) -> bool:
    return not change.added and not change.removed and change.operation == "modify"


def _was_looked_at(path: str, workspace: str) -> bool:
    """Files outside are looked at once they are named, as far as they may be read."""
    return is_within(path, key(workspace)) or not os.path.lexists(path) or os.access(path, os.R_OK)


def _differences(call: ForeignCall) -> list[str]:
    """What was written, against what was shown when it was allowed."""
    if call.answer != "allowed" or call.evidence.is_shell:
        return []
    found = []
    for change in call.changes:
        path = key(change.path)
        if path not in call.approved:
            if call.approved:
                found.append(f"{change.path} was changed, too, which was not shown when this was allowed.")
        elif not call.approved[path].is_done_by(change):
            found.append(f"What was written to {change.path} differs from what was shown when this was allowed.")
    return [
        *found,
        *(f"{path} was changed while this ran, which was not shown when it was allowed." for path in call.beside),
    ]
