"""Taking changes back: by hunks while the rest of a file has moved on, or not at all.

The plan is made on the true bytes, from the newest change to the oldest, in memory; only when every file is clear is
the first one touched. It is applied by the same journalled path as a tool's changes, so a crash in the middle is
recovered like any other, and an undo is a change that can itself be undone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redline.changes.codec import to_json
from redline.changes.compare import blob_id
from redline.changes.retype import joined
from redline.files.error import FileError
from redline.files.seam import Blob, Content, Delete, Files, Move, Outcome, WriteBytes
from redline.tools.landed import net, take_back
from redline.tools.mutation import Journal, Landed, to_its_end
from redline.tools.recorder import Recorder
from redline.tools.refusal import UndoRefused as UndoRefused
from redline.tools.refusal import nothing, overtaken
from redline.tools.rewind import Rewind, require_empty
from redline.tools.standing import NO_CALL, History, Made, Taken, along_path, calls_of
from redline.tools.tool import Step, ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redline.changes.record import FileChange, Operation
    from redline.sessions.log import SessionLog
    from redline.sessions.redaction import Redactor
    from redline.workspace.store import ByteStore


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One file of an undo."""

    step: Step
    expected: Blob
    """What must be there for it; empty: no file."""
    takes: tuple[Taken, ...]


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What an undo would do."""

    of: Sequence[tuple[int, str]]
    """Turn and call of what it takes back, newest first; no call (`NO_CALL`) for what was found on disk in the turn."""
    changes: Sequence[FileChange]
    """As they would land, one a file. May be empty: everything already is as it was."""
    steps: Sequence[PlannedStep]
    takes: Sequence[Taken]
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo did."""

    turn: int
    """The turn that the undo is; undoing that turn is the way back."""
    call: str
    of: Sequence[tuple[int, str]]
    changes: Sequence[FileChange]
    notes: Sequence[str] = ()


async def plan_undo(
    log: SessionLog,
    store: ByteStore,
    files: Files,
    redactor: Redactor,
    *,
    turn: int | None = None,
    path: str | None = None,
    call: str | None = None,
    hunk: int | None = None,
) -> UndoPlan:
    """What `undo` with the same arguments would do now; nothing is written.

    Without any it is about the last turn that changed files; `turn` names another, an undo's own turn too; `path`
    alone is about all that the session did to that file; `call` about one call; `hunk`, from 1, about one hunk of a
    selection that is one change. Raises `UndoRefused`.
    """
    history = await History.read(log.events())
    names, through = (None, []) if path is None else await _names(history, files, path)
    chosen = _chosen(history, turn, names, call)
    if hunk is not None and len(chosen) != 1:
        raise UndoRefused("NOT_ONE", "A hunk can be chosen of one change only.", "Name the call and the file.")
    if not chosen:
        raise nothing(history, files, turn, path, names, call)
    rewind = Rewind(files, redactor, lambda blob: store.get(log.session, blob))
    recorder = Recorder(redactor)
    await _take_back(rewind, chosen, hunk)
    await rewind.check_folders()
    steps: list[PlannedStep] = []
    changes: list[FileChange] = []
    cleared: set[str] = set()
    for step, expected, takes in rewind.steps():
        try:
            outcome = await (
                _foreseen(files, step) if _waits(step, cleared) else files.preview(step.target, step.action)
            )
        except FileError as error:
            raise UndoRefused.of(error) from error
        if isinstance(step.action, Delete):
            cleared.add(step.target.key)
        changes.append(await recorder.change(outcome, "proposed"))
        steps.append(PlannedStep(step, expected, tuple(takes)))
    takes = [made.taken(hunk) for made in reversed(chosen)]
    of = list(dict.fromkeys((made.turn, made.call) for made in reversed(chosen)))
    return UndoPlan(of, joined(changes), steps, takes, [*through, *_said_of_found(chosen), *rewind.notes])


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
        if _is_over_folder(step):
            await require_empty(files, step.target, {one.step.target.key for one in plan.steps})
        elif not _is_under(step, done):  # else an earlier step brings about what is expected
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


def _waits(step: Step, cleared: set[str]) -> bool:
    """Its place is not yet as it will be when its turn comes."""
    return _is_over_folder(step) or _is_under(step, cleared)


def _is_over_folder(step: Step) -> bool:
    return isinstance(step.action, WriteBytes) and step.action.over_folder


def _is_under(step: Step, cleared: set[str]) -> bool:
    place = (step.action.to if isinstance(step.action, Move) else step.target).real
    return not cleared.isdisjoint(map(str, (place, *place.parents)))


async def _foreseen(files: Files, step: Step) -> Outcome:
    """What a step will do whose place an earlier one has cleared by then: the disk cannot tell yet."""
    action = step.action
    if isinstance(action, Move):
        moved = (await files.preview(step.target, Delete())).before
        data = action.data
        return Outcome(step.target, "move", moved, moved if data is None else _content(data), moved_to=action.to)
    assert isinstance(action, WriteBytes)
    return Outcome(step.target, "create", None, _content(action.data, bool(action.executable)))


def _content(data: bytes, executable: bool = False) -> Content:
    return Content(blob_id(data), len(data), executable, data)


async def _take_back(rewind: Rewind, chosen: Sequence[Made], hunk: int | None) -> None:
    try:
        for made in _newest_first(chosen):
            if hunk is None:
                await rewind.take_back(made)
            else:
                await rewind.take_back_hunk(made, hunk)
    except UndoRefused as refusal:
        if refusal.code != "NOT_KEPT" or len({made.change.path for made in chosen}) == 1:
            raise
        remedy = "Undo the other files one by one, with their paths."
        raise UndoRefused(refusal.code, refusal.message, remedy, refusal.lines) from refusal


def _newest_first(chosen: Sequence[Made]) -> list[Made]:
    """Of the changes of one event, which are of different files, those first that may have taken the place of a
    folder, and those last whose place a folder may have taken."""
    return sorted(chosen, key=lambda made: (-made.seq, _LAST.get(made.change.operation, 0), -made.index))


_LAST: Mapping[Operation, int] = {"modify": 1, "move": 1, "delete": 2}


async def _names(history: History, files: Files, path: str) -> tuple[tuple[str, str], list[str]]:
    """The path as it is named, and the file that it leads to; a link that the session itself has changed means itself.
    The second of the result: what to know of a link that means another file."""
    try:
        place = await files.resolve(path, link=True)
        own = (str(place.path), place.key)
        if along_path(list(history.made.values()), own):
            return own, []
        target = await files.resolve(path)
    except FileError as error:
        raise UndoRefused.of(error) from error
    there = await files.stat(place)
    through = [f"{path} is a link: what is taken back is in {target.key}."] if there and there.kind == "symlink" else []
    return (str(target.path), target.key), through


def _chosen(history: History, turn: int | None, names: Sequence[str] | None, call: str | None) -> list[Made]:
    if call is not None:
        made = history.of_call(call, turn)
    elif turn is not None:
        made = history.of_turn(turn)
    elif names is not None:
        made = history.of_calls()
    else:
        made = history.of_last_turn()
    return made if names is None else along_path(made, names)


def _said_of_found(chosen: Sequence[Made]) -> list[str]:
    """Whoever takes a turn back should know that not all of it is the doing of its calls."""
    paths = dict.fromkeys(made.change.path for made in chosen if made.call == NO_CALL)
    return [
        f"{path} was changed on disk in that turn by none of its calls; this is taken back as well." for path in paths
    ]
