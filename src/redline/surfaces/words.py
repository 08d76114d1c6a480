"""What surfaces say about a change and a call, so that one fact has one wording wherever it is read.

What is on disk is `applied`; everything else, whatever it was meant to do, says that it is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.files.local import BASIS_LIMIT
from redline.surfaces.visible import hidden_kinds, visible
from redline.transcript.rows import NetTotal
from redline.views import GenericCall, TerminalCall, TerminalResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from redline.changes.record import Fact, FileChange, Hunk, Operation
    from redline.transcript.rows import FoundRow, ToolRow, ToolStatus, TurnEndRow

DONE: Mapping[Operation, str] = {"add": "Created", "modify": "Edited", "delete": "Deleted", "move": "Moved"}
ASKED: Mapping[Operation, str] = {"add": "Create", "modify": "Edit", "delete": "Delete", "move": "Move"}
UNDONE: Mapping[Operation, str] = {
    "add": "Restored",
    "modify": "Took back",
    "delete": "Removed again",
    "move": "Moved back",
}
ENDS: Mapping[str, str] = {
    "completed": "done",
    "cancelled": "cancelled",
    "failed": "failed",
    "limit": "stopped at its limit",
    "interrupted": "interrupted",
}
NOT_APPLIED: Mapping[ToolStatus, str] = {
    "proposed": "proposed, not applied",
    "running": "running, not applied yet",
    "failed": "failed, not applied",
    "rejected": "rejected, not applied",
    "cancelled": "cancelled, not applied",
    "interrupted": "interrupted, not applied",
    "unknown": "outcome unknown, not counted as applied",
}
NOT_RUN: Mapping[ToolStatus, str] = {
    "proposed": "proposed, not run",
    "running": "running",
    "failed": "failed",
    "rejected": "rejected, not run",
    "cancelled": "cancelled",
    "interrupted": "interrupted",
    "unknown": "outcome unknown",
}
QUIET_KINDS = frozenset(("read", "search"))
"""What they found is for the model; one line says that they ran."""

_LEFT: Mapping[ToolStatus, str] = {
    "running": "applied; the call still runs",
    "failed": "applied, although the call failed",
    "cancelled": "applied before the call was cancelled",
    "interrupted": "applied before the interruption",
    "rejected": "applied, although the call was rejected",
    "unknown": "applied; how the call ended is unknown",
}
_FACTS: Mapping[Fact, str] = {
    "bom_added": "BOM added",
    "bom_removed": "BOM removed",
    "final_newline_added": "final newline added",
    "final_newline_removed": "final newline removed",
    "line_endings_changed": "line ends changed",
    "made_executable": "made executable",
    "made_not_executable": "no longer executable",
    "link_became_file": "symlink became file",
    "file_became_link": "file became symlink",
}
_ENDINGS = {"lf": "LF", "crlf": "CRLF", "mixed": "mixed", "none": "none"}


def done(change: FileChange) -> str:
    """What was done to a file."""
    return "Created or edited" if change.may_be_new else DONE[change.operation]


def applied_word(row: ToolRow, change: FileChange) -> str:
    """Of a change on disk."""
    word = _LEFT.get(row.status, "applied")
    if change.provenance == "reported":
        word = "reported by the agent, not checked"
    elif change.provenance == "observed":
        word += ", found on disk"
    return f"{word}, taken back later" if row.reverted or change.path in row.reverted_paths else word


def found_word(row: FoundRow, change: FileChange) -> str:
    """Of a change that no call reported."""
    word = "found on disk, reported by no tool" + (", during a call" if row.during else "")
    word += beside(row)
    return f"{word}, taken back later" if change.path in row.reverted_paths else word


def beside(row: FoundRow) -> str:
    """Of changes that another session may have made; empty: none was at work."""
    return ", while another session was at work here" if row.beside else ""


def not_applied_word(row: ToolRow) -> str:
    """Of a change that was proposed and is not on disk."""
    if row.status == "rejected" and row.permission == "unavailable":
        return "nobody could be asked, not applied"
    return NOT_APPLIED.get(row.status, "not applied")


def not_run_word(row: ToolRow) -> str:
    """Of a call that is no change of files; empty: it ended well."""
    if row.status == "rejected" and row.permission == "unavailable":
        return "nobody could be asked, not run"
    return NOT_RUN.get(row.status, "")


def ended(result: TerminalResult) -> str:
    """How a command ended; empty: nobody said."""
    if result.time_limit is not None:
        return f"ended by its time limit of {result.time_limit} s"
    if result.signal:
        return f"ended by {visible(result.signal)}"
    return "" if result.exit_code is None else f"exit {result.exit_code}"


def ended_well(result: TerminalResult) -> bool:
    """A command of which it is said how it ended."""
    return result.time_limit is None and not result.signal and result.exit_code == 0


def agent_says(description: str) -> str:
    """What a model says of its command, which must not look like what the command printed, or how it ended."""
    quoted = visible(description).replace('"', "'")
    return f'the agent says: "{quoted}"'


def mutates(row: ToolRow) -> bool:
    """The call was made to change files, so it must be said when it did not."""
    if isinstance(row.call_view, TerminalCall):
        return False
    kind = row.call_view.kind if isinstance(row.call_view, GenericCall) else "edit"
    return kind in ("edit", "delete", "move")


def title(row: ToolRow) -> str:
    result = row.result_view.title if row.result_view is not None else None
    return result or row.call_view.title or row.name or "A call of a tool"


def facts(change: FileChange) -> list[str]:
    """What is said of a change beside its counts."""
    said = [_FACTS[fact] for fact in change.facts if fact != "line_endings_changed"]
    if "line_endings_changed" in change.facts and change.before and change.after:
        said.append(f"line ends changed from {_ENDINGS[change.before.eol]} to {_ENDINGS[change.after.eol]}")
    elif hides_returns(change):
        said.append("CRLF line ends")
    if change.operation == "add" and change.after is not None and change.after.executable:
        said.append("executable")
    if any(side is not None and side.bom for side in (change.before, change.after)) and "bom" not in " ".join(
        change.facts
    ):
        said.append("BOM")
    if change.file_type == "binary" or (change.file_type == "symlink" and change.old_type is None):
        said.append({"binary": "binary file", "symlink": "symbolic link"}[change.file_type])
    if change.redacted:
        said.append("secrets masked")
    if not change.anchored:
        said.append("place in the file unknown")
    return said


def counts(
    change: FileChange | NetTotal, *, at_least: bool = False, minus: str = "\u2212", about: str = "≈", least: str = "≥"
) -> tuple[str, str] | None:
    """Removed and added lines with their signs and, where they are bounds, the sign of that; None where no line
    changed or nobody can count. The signs are those of a surface that lacks the usual ones."""
    if change.file_type in ("binary", "unknown") or not (change.added or change.removed):
        return None
    bound = least if at_least else "" if change.exact else about
    return f"{bound}{minus}{change.removed}", f"{bound}+{change.added}"


def total(parts: Iterable[NetTotal]) -> NetTotal:
    """The sum over the files that can be counted; a bound where one of its parts is."""
    counted = [part for part in parts if part.counted]
    return NetTotal(
        path="",
        operation="modify",
        added=sum(part.added for part in counted),
        removed=sum(part.removed for part in counted),
        exact=all(part.exact for part in counted),
    )


def usage(row: TurnEndRow, *, least: str = "≥") -> list[str]:
    """What a turn used, where anybody said: tokens, context, cost, models."""
    bound = least if row.partial else ""
    said: list[str] = []
    if row.input_tokens or row.output_tokens:
        said.append(f"{bound}{row.input_tokens:,} tokens in, {bound}{row.output_tokens:,} out")
    if row.context_size:
        said.append(f"{row.context_used:,} of {row.context_size:,} tokens in context")
    if row.input_tokens or row.output_tokens or row.cost:
        said.append("cost unknown" if row.cost is None else f"{bound}{_money(row.cost)}")
    if row.models:
        said.append(", ".join(visible(model) for model in row.models))
    return said


def _money(cost: float) -> str:
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.4f}"


def hides_returns(change: FileChange) -> bool:
    """The carriage return of every line is left out where all lines of the file end with one, before and after; the
    card's head says so instead."""
    sides = [side for side in (change.before, change.after) if side is not None and side.eol != "none"]
    return bool(sides) and all(side.eol == "crlf" for side in sides)


def without_hunks(change: FileChange) -> str:
    """Why a change shows no lines; empty: its head says it."""
    before, after = change.before, change.after
    if change.file_type == "binary" and (before or after):
        return " become ".join(f"{side.size} bytes" for side in (before, after) if side is not None)
    if change.file_type == "unknown":
        size = max((side.size for side in (before, after) if side is not None), default=0)
        return (
            f"No text to compare, and no patch: too large{'' if size > BASIS_LIMIT else ', or its bytes are not kept'}."
        )
    if change.truncated:
        return "Too large for the log."
    if change.operation == "add":
        return "An empty file."
    return ""


def hidden(change: FileChange, path: Callable[[str], str]) -> frozenset[str]:
    """The kinds of hidden characters in the paths, as `path` shows them, and in the lines that the change touches. A
    BOM is no reason to warn: the card's head names it."""
    paths = [path(one) for one in (change.path, change.old_path) if one is not None]
    found = frozenset[str]().union(*map(hidden_kinds, paths))
    for hunk in change.hunks:
        first = first_lines(hunk)
        for at, line in enumerate(hunk.lines):
            if line[0] != " ":
                text = line[1:]
                found |= hidden_kinds(text.removeprefix("\ufeff") if at in first else text)
    return found


def first_lines(hunk: Hunk) -> frozenset[int]:
    """Where in the hunk the file's first line stands, before and after: the only ones that a BOM may begin."""
    if hunk.old_start > 1 or hunk.new_start > 1:
        return frozenset()
    old, new = (next((at for at, line in enumerate(hunk.lines) if line[0] != sign), -1) for sign in "+-")
    # A line of both sides that is the first of one only holds no BOM on the other.
    return frozenset(at for at in (old, new) if at >= 0 and (old == new or hunk.lines[at][0] != " "))
