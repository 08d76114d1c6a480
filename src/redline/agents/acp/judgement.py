"""How a foreign call ended: the agent's claim, the answer to its question and the disk, weighed against each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from redline.agents.acp.places import is_within, key
from redline.tools.ending import Problem

if TYPE_CHECKING:
    from redline.agents.acp.call import ForeignCall

Status = Literal["completed", "failed", "rejected", "cancelled", "interrupted", "unknown"]
Over = Literal["ended", "cancelled", "broken"]
"""How a turn went: to its end, stopped by the user, or broken off by a fault such as the agent's death."""

NOTHING_CHANGED = "The agent reported a change; nothing changed on disk."
SHARED = "Other calls ran at the same time; what they changed together is shown on its own."


@dataclass(frozen=True, slots=True)
class Verdict:
    status: Status
    error: Problem | None = None
    warnings: tuple[str, ...] = ()


def judge(call: ForeignCall, *, over: Over | None = None) -> Verdict:
    """`over`: its turn has ended, so that nothing more of it is to come."""
    warnings = [*call.warnings, *_differences(call)]
    warnings += [f"A part of what the agent sent could not be read ({fault})." for fault in call.evidence.malformed]
    if call.answer == "rejected" or call.answer == "cancelled":
        return _refused(call, warnings)
    if call.claim == "failed":
        return Verdict("failed", _failure(call), tuple(warnings))
    if call.claim is None and over == "cancelled":
        return Verdict("cancelled", Problem("CANCELLED", "The turn was stopped while this ran."), tuple(warnings))
    if call.claim is None and over is not None:
        return _unended(call, warnings, over)
    if call.evidence.proposed and not call.changes:
        warnings.append(SHARED if call.shared else _nothing(call))
    return Verdict("completed", None, tuple(warnings))


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


def _unended(call: ForeignCall, warnings: list[str], over: Over) -> Verdict:
    meant = {key(change.path) for change in call.evidence.proposed}
    done = {path for step in call.steps for path in step.paths}
    if meant and meant <= done:
        warnings.append("The agent never said how this ended; the disk does.")
        return Verdict("completed", None, tuple(warnings))
    if call.only_asked and not meant:
        return Verdict("completed", None, tuple(warnings))
    if over == "broken":
        problem = Problem("INTERRUPTED", "The agent was gone before this ended.", "Look at what is on disk.")
        return Verdict("interrupted", problem, tuple(warnings))
    problem = Problem(
        "UNKNOWN_OUTCOME", "The agent never said how this ended.", "What was found on disk is shown; look at the rest."
    )
    return Verdict("unknown", problem, tuple(warnings))


def _failure(call: ForeignCall) -> Problem:
    said = call.evidence.text.strip() or _raw_text(call)
    message = said if len(said) <= 600 else said[:600] + " […]"
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


def _nothing(call: ForeignCall) -> str:
    outside = [one.path for one in call.evidence.proposed if not is_within(key(one.path), key(call.workspace))]
    if outside:
        return f"{outside[0]} is outside the workspace; whether it was changed was not checked."
    return NOTHING_CHANGED


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
        elif (change.after.blob if change.after is not None else None) != call.approved[path]:
            found.append(f"What was written to {change.path} differs from what was shown when this was allowed.")
    return [
        *found,
        *(f"{path} was changed while this ran, which was not shown when it was allowed." for path in call.beside),
    ]
