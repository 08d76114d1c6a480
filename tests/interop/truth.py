"""Whether cards tell the truth: their hunks must turn the files as they were into the files as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from redline.changes.apply import apply_hunks
from redline.changes.record import FileChange
from redline.files.blob import git_blob
from redline.transcript.rows import AnyRow, FoundRow, ToolRow

_UNDONE = ("rejected", "cancelled", "proposed", "running")


def untruths(
    rows: Sequence[AnyRow], before: Mapping[str, bytes], after: Mapping[str, bytes], folder: Path
) -> list[str]:
    """What is wrong with the rows of a turn that found `before` in `folder` and left `after`; empty: nothing."""
    wrong: list[str] = []
    claims: list[tuple[str, FileChange]] = []
    for row in rows:
        if not isinstance(row, ToolRow | FoundRow):
            continue
        claims += [(row.id, change) for change in row.changes]
        wrong += [f"{row.id}: {change.path} is only {change.provenance}" for change in row.changes if _is_word(change)]
        if isinstance(row, ToolRow):
            wrong += _of_call(row)
    files = dict(before)
    waiting = list(claims)
    while waiting:
        # Calls of one reply may have ended in another order than they began.
        fitting = next((claim for claim in waiting if _fits(claim[1], files, folder)), None)
        if fitting is None:
            wrong += [f"{row}: {change.operation} {change.path} fits no state of the files" for row, change in waiting]
            break
        waiting.remove(fitting)
        try:
            _apply(fitting[1], files, folder)
        except ValueError as error:
            wrong.append(f"{fitting[0]}: {fitting[1].path}: {error}")
    wrong += [f"{path} was created, and no card says so" for path in after.keys() - files.keys()]
    wrong += [f"{path} was deleted, and no card says so" for path in files.keys() - after.keys()]
    wrong += [f"{p} is not what the cards make of it" for p in after.keys() & files.keys() if after[p] != files[p]]
    return wrong


def _of_call(row: ToolRow) -> list[str]:
    wrong = []
    if not row.ended:
        wrong.append(f"{row.id}: still {row.status} after the turn")
    if row.changes and row.status in _UNDONE:
        wrong.append(f"{row.id}: {row.status}, and drawn as applied")
    if row.status == "applied" and not row.changes:
        wrong.append(f"{row.id}: applied, and it shows nothing")
    return wrong


def _is_word(change: FileChange) -> bool:
    return change.provenance not in ("result", "observed")


def _name(path: str, folder: Path) -> str:
    return str(Path(path).relative_to(folder))


def _fits(change: FileChange, files: Mapping[str, bytes], folder: Path) -> bool:
    held = files.get(_name(change.old_path or change.path, folder))
    if held is None or change.before is None:
        return held is None and change.before is None
    return change.before.blob == git_blob(held)


def _apply(change: FileChange, files: dict[str, bytes], folder: Path) -> None:
    held = files.pop(_name(change.old_path or change.path, folder), b"")
    if change.after is None:
        if apply_hunks(held, change.hunks, final_newline=True):
            raise ValueError("the hunks of a deletion leave something")
        return
    made = apply_hunks(held, change.hunks, final_newline=change.after.final_newline)
    if git_blob(made) != change.after.blob:
        raise ValueError("the hunks do not give the bytes that the card names")
    if change.before is not None and change.before.blob == change.after.blob and change.old_path is None:
        raise ValueError("the card claims a change that is none")
    files[_name(change.path, folder)] = made
