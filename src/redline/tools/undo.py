"""Taking changes back: by hunks while the rest of a file has moved on, or not at all.

Only when the plan is clear about every file is the first one touched. It is applied by the same journalled path as a
tool's changes, so a crash in the middle is recovered like any other, and an undo is a change that can itself be undone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redline.changes.codec import to_json
from redline.changes.retype import joined
from redline.files.error import FileError
from redline.files.seam import Delete, Files
from redline.tools.landed import net, take_back
from redline.tools.mutation import Journal, Landed, to_its_end
from redline.tools.recorder import Recorder
from redline.tools.refusal import UndoRefused as UndoRefused
from redline.tools.refusal import overtaken
from redline.tools.standing import calls_of
from redline.tools.tool import ToolError
from redline.tools.undo_plan import UndoPlan as UndoPlan
from redline.tools.undo_plan import plan_undo as plan_undo
from redline.tools.undo_steps import is_over_folder, is_under, require_empty

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.changes.record import FileChange
    from redline.sessions.log import SessionLog
    from redline.sessions.redaction import Redactor
    from redline.workspace.store import ByteStore


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo did."""

    turn: int
    """The turn that the undo is; undoing that turn is the way back."""
    call: str
    of: Sequence[tuple[int, str]]
    changes: Sequence[FileChange]
    notes: Sequence[str] = ()


async def undo(
    log: SessionLog,
    store: ByteStore,
    files: Files,
    redactor: Redactor,
    *,
    turn: int | None = None,
    path: str | None = None,
    call: str | None = None,
    hunk: int | None = None,
    plan: UndoPlan | None = None,
) -> Undone:
    """Take changes back, as a turn of its own; all of the selection or nothing. For the selection see `plan_undo`.

    `plan`: exactly what was planned, and shown, before; refused where a file has changed since. The caller holds the
    session's lease and no turn is running. Raises `UndoRefused`, with the files as they were, or `StoreError`.
    """
    if plan is None:
        plan = await plan_undo(log, store, files, redactor, turn=turn, path=path, call=call, hunk=hunk)
    else:
        await _require_as_planned(plan, files)
    return await to_its_end(_carry_out(plan, log, Journal(files, store, log, Recorder(redactor))))


async def _require_as_planned(plan: UndoPlan, files: Files) -> None:
    """Refuse a plan that time has overtaken before any file is touched, and before there is a turn for it. Each file is
    looked at again under its lock."""
    done: set[str] = set()
    for planned in plan.steps:
        step = planned.step
        if is_over_folder(step):
            await require_empty(files, step.target, {one.step.target.key for one in plan.steps})
        elif not is_under(step, done):  # else an earlier step brings about what is expected
            try:
                there = (await files.preview(step.target, Delete())).before
            except FileError as error:
                if error.code != "NOT_FOUND":
                    raise UndoRefused.of(error) from error
                there = None
            if ("" if there is None else there.blob) != planned.expected:
                raise overtaken(step)
        done.update(step.keys)


async def _carry_out(plan: UndoPlan, log: SessionLog, journal: Journal) -> Undone:
    summary = await log.store.summary(log.session)
    turn = (summary.turns if summary is not None else 0) + 1
    call = f"undo-{turn}"
    # What a crash may leave beside these files is looked for there.
    paths = [key for planned in plan.steps for key in planned.step.keys]
    await log.append("turn/started", {"turn": turn, "source": "undo", "rule": "", "paths": paths})
    landed: list[Landed] = []
    notes = list(plan.notes)
    refusal: UndoRefused | None = None
    taken = list(plan.takes)
    try:
        for planned in plan.steps:
            facts = {"reverts": [one.to_json() for one in planned.takes], "steps": len(plan.steps)}
            await journal.apply(
                planned.step,
                turn=turn,
                call=call,
                expected=planned.expected,
                landed=landed.append,
                facts=facts,
                check_masks=False,
            )
    except (FileError, ToolError) as error:
        # To the person who saw the plan, and not to an agent that has read the file.
        refusal = overtaken(planned.step) if error.code == "STALE" else UndoRefused.of(error)
        stuck: list[str] = []
        await take_back(
            journal, landed[:], turn=turn, call=call, landed=landed.append, facts={"reverts": []},
            stuck=lambda outcome, _: stuck.append(outcome.target.key),
        )  # fmt: skip
        taken = [one for planned in plan.steps if planned.step.target.key in stuck for one in planned.takes]
        notes += [f"{path} was taken back and could not be put back again." for path in stuck]
    notes += [warning for one in landed for warning in one.warnings]
    changes = await net([one.outcome for one in landed], [one.change for one in landed], journal.recorder)
    took = [one.to_json() for one in taken]
    event: dict[str, Any] = {
        "turn": turn,
        "call": call,
        "of": calls_of(took),
        "took": took,
        "changes": [to_json(change) for change in changes],
    }
    await log.append("change/reverted", event, durable=True)
    end: dict[str, Any] = {"turn": turn, "reason": "completed" if refusal is None else "failed"}
    if refusal is not None:
        end["error"] = {"code": refusal.code, "message": refusal.message, "remedy": refusal.remedy}
    await log.append("turn/ended", end)
    if refusal is not None:
        raise refusal
    return Undone(turn, call, plan.of, joined(changes), notes)
