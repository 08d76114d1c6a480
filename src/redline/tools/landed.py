"""What became of the files: of one mutation, and over several of one call."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from redline.files.error import FileError
from redline.files.seam import Blob, Content, Delete, Move, Outcome, Target, WriteBytes
from redline.tools.tool import Step, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from redline.changes.record import FileChange
    from redline.tools.mutation import Journal, Landed
    from redline.tools.recorder import Recorder


def unchanged(outcome: Outcome) -> bool:
    """Nothing would be, or was, written."""
    before, after = outcome.before, outcome.after
    return (
        outcome.operation == "update"
        and before is not None
        and after is not None
        and before.blob == after.blob
        and before.executable == after.executable
    )


def targets_of(outcome: Outcome) -> list[Target]:
    """The paths that a mutation touches."""
    return [outcome.target] if outcome.moved_to is None else [outcome.target, outcome.moved_to]


async def net(outcomes: Sequence[Outcome], changes: Sequence[FileChange], recorder: Recorder) -> list[FileChange]:
    """One change a file, in the order of the first mutation of each.

    Mutations that follow one another on one file are told as one, from its first bytes to its last, and as none where
    those are equal. A move is told as such where nothing else touched either of its paths.
    """
    times = Counter(_id(target) for outcome in outcomes for target in targets_of(outcome))
    result: list[FileChange | None] = []
    files: dict[tuple[str, bool], _Span] = {}
    for outcome, change in zip(outcomes, changes, strict=True):
        if all(times[_id(target)] == 1 for target in targets_of(outcome)):
            result.append(change)
            continue
        for target, before, after in _sides(outcome):
            if _id(target) in files:
                files[_id(target)].after = after
            else:
                files[_id(target)] = _Span(target, before, after, len(result))
                result.append(None)
    for span in files.values():
        outcome_or_none = span.outcome()
        if outcome_or_none is not None:
            result[span.position] = await recorder.change(outcome_or_none, "result")
    return [change for change in result if change is not None]


class _Span:
    """One file from its first state to its last."""

    def __init__(self, target: Target, before: Content | None, after: Content | None, position: int) -> None:
        self.target = target
        self.before = before
        self.after = after
        self.position = position

    def outcome(self) -> Outcome | None:
        if self.before is None:
            return None if self.after is None else Outcome(self.target, "create", None, self.after)
        if self.after is None:
            return Outcome(self.target, "delete", self.before, None)
        outcome = Outcome(self.target, "update", self.before, self.after)
        return None if unchanged(outcome) else outcome


def _id(target: Target) -> tuple[str, bool]:
    """A link and a file that stand at one path one after the other are two."""
    return target.key, target.link


def _sides(outcome: Outcome) -> list[tuple[Target, Content | None, Content | None]]:
    if outcome.moved_to is None:
        return [(outcome.target, outcome.before, outcome.after)]
    return [(outcome.target, outcome.before, None), (outcome.moved_to, None, outcome.after)]


def inverse(outcome: Outcome) -> tuple[Step, Blob] | None:
    """The step that takes a mutation back, and the blob that must be there for it (empty: no file).

    None: the bytes are not at hand.
    """
    before, after, target = outcome.before, outcome.after, outcome.target
    if before is None:
        return (Step(target, Delete()), after.blob) if after is not None else None
    if before.data is None:
        return None
    if outcome.moved_to is not None:
        if after is None:
            return None
        return Step(outcome.moved_to, Move(target, None if before.blob == after.blob else before.data)), after.blob
    return Step(target, WriteBytes(before.data, before.executable)), "" if after is None else after.blob


async def take_back(
    journal: Journal,
    mutations: Sequence[Landed],
    *,
    turn: int,
    call: str,
    landed: Callable[[Landed], None],
    stuck: Callable[[Outcome, str], None],
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Undo mutations of a call that cannot be finished, newest first. `landed`, `facts`: as for `Journal.apply`.
    `stuck` hears of each that stays on the disk, and why."""
    for done in reversed(mutations):
        way_back = inverse(done.outcome)
        if way_back is None:
            stuck(done.outcome, f"{done.outcome.target.path} could not be taken back: its bytes are not kept.")
            continue
        step, expected = way_back
        try:
            await journal.apply(
                step, turn=turn, call=call, expected=expected, landed=landed, facts=facts, check_masks=False
            )
        except (FileError, ToolError) as error:
            stuck(done.outcome, f"{step.target.path} could not be taken back: {error}")
