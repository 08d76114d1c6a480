"""The plan of an undo: which changes it is about, and what it would do to which files, before any is touched.

It is made on the true bytes, from the newest change to the oldest, in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redline.changes.compare import blob_id
from redline.changes.retype import joined
from redline.files.error import FileError
from redline.files.seam import Content, Delete, Files, Move, Outcome, WriteBytes
from redline.tools.recorder import Recorder
from redline.tools.refusal import UndoRefused, nothing, only_beside, together
from redline.tools.rewind import Rewind
from redline.tools.standing import NO_CALL, History, Made, Taken, along_path
from redline.tools.undo_steps import PlannedStep, is_over_folder, is_under

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redline.changes.record import FileChange, Operation
    from redline.sessions.log import SessionLog
    from redline.sessions.redaction import Redactor
    from redline.tools.tool import Step
    from redline.workspace.store import ByteStore


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
    chosen, left = _chosen(history, turn, names, call)
    if hunk is not None and len(chosen) != 1:
        raise UndoRefused("NOT_ONE", "A hunk can be chosen of one change only.", "Name the call and the file.")
    if left and not chosen:
        raise only_beside([made.change.path for made in left])
    if not chosen:
        raise nothing(history, files, turn, path, names, call)
    rewind = Rewind(files, redactor, lambda blob: store.get(log.session, blob))
    recorder = Recorder(redactor)
    await _take_back(rewind, chosen, hunk)
    steps = await rewind.steps()
    changes: list[FileChange] = []
    cleared: set[str] = set()
    for step in (planned.step for planned in steps):
        try:
            # A place that an earlier step clears is not yet as it will be by then.
            waits = is_over_folder(step) or is_under(step, cleared)
            outcome = await (_foreseen(files, step) if waits else files.preview(step.target, step.action))
        except FileError as error:
            raise UndoRefused.of(error) from error
        if isinstance(step.action, Delete):
            cleared.add(step.target.key)
        changes.append(await recorder.change(outcome, "proposed"))
    takes = [made.taken(hunk) for made in reversed(chosen)]
    of = list(dict.fromkeys((made.turn, made.call) for made in reversed(chosen)))
    return UndoPlan(of, joined(changes), steps, takes, [*through, *_said_of_found(chosen, left), *rewind.notes])


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
    """All of it, or a refusal that names every file that is in the way."""
    refusals: list[UndoRefused] = []
    blocked = set[str]()
    for made in _newest_first(chosen):
        if not blocked.isdisjoint(made.paths):  # what was done to it before cannot be judged either
            blocked |= made.paths
            continue
        try:
            if hunk is None:
                await rewind.take_back(made)
            else:
                await rewind.take_back_hunk(made, hunk)
        except UndoRefused as refusal:
            refusals.append(refusal)
            blocked |= made.paths
    if refusals:
        raise together(refusals, others=any(blocked.isdisjoint(made.paths) for made in chosen))


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


def _chosen(
    history: History, turn: int | None, names: Sequence[str] | None, call: str | None
) -> tuple[list[Made], list[Made]]:
    """The changes that are meant; and those that would be, were it not that they may be another session's. Such a
    change is meant where its file is named."""
    if call is not None:
        made = history.of_call(call, turn)
    elif turn is not None:
        made = history.of_turn(turn)
    elif names is not None:
        made = history.of_calls()
    else:
        made = history.of_last_turn()
    if names is not None:
        return along_path(made, names), []
    return [one for one in made if not one.beside], [one for one in made if one.beside]


def _said_of_found(chosen: Sequence[Made], left: Sequence[Made]) -> list[str]:
    """Whoever takes a turn back should know that not all of it is the doing of its calls."""
    found = {made.change.path: made.beside for made in chosen if made.call == NO_CALL}
    taken = [
        f"{path} was changed on disk in that turn {_BESIDE if beside else 'by none of its calls'}; this is taken back "
        "as well."
        for path, beside in found.items()
    ]
    others = dict.fromkeys(made.change.path for made in left)
    return [
        *taken,
        *(f"{path} was changed on disk {_BESIDE}; it is left as it is, unless you name the file." for path in others),
    ]


_BESIDE = "while another session was at work here"
