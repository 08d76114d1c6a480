"""Why changes cannot be taken back, told to whoever asked: what stands in the way, and what to do instead."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from redline.tools.standing import along_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redline.changes.record import FileChange, Hunk
    from redline.files.error import FileError
    from redline.files.seam import Files
    from redline.tools.standing import History, Made
    from redline.tools.tool import Step, ToolError

_SHOWN_LINES = 40
"""Lines of a refusal that are shown, of each file."""
_SHOWN_PLACES = 10
"""Changed places that a refusal names by their numbers."""
_SHOWN_FILES = 5
"""Changed files that a refusal names, where the one that was asked for is none of them."""


class UndoRefused(Exception):  # noqa: N818 - it is what people call it
    """The files are as they were.

    `code`: NOTHING_TO_UNDO, CHANGED (the lines have been changed since), EXISTS, MISSING, NOT_KEPT (the bytes are not
    in the store), NOT_TEXT, NOT_ONE, NO_HUNK, or the code of a `FileError` or of the store.
    """

    def __init__(self, code: str, message: str, remedy: str, lines: Sequence[str] = ()) -> None:
        super().__init__(f"{code}: {message} {remedy}")
        self.code = code
        self.message = message
        self.remedy = remedy
        self.lines: Sequence[str] = tuple(lines)
        """What stands in the way, as hunk lines under `path:line`, from the state that the change left to the current
        one; secrets masked."""

    @classmethod
    def of(cls, error: FileError | ToolError) -> Self:
        return cls(error.code, error.message, error.remedy)


def changed(change: FileChange, hunks: Sequence[Hunk], what: str) -> UndoRefused:
    """`hunks`: from what the change left to what is there now, masked. `what` has become of the file."""
    places = [place for hunk in hunks for place in _places(hunk)]
    where = f" ({_few(places)})" if places else ""
    lines = []
    for hunk in hunks:
        lines += [f"{change.path}:{max(hunk.new_start, 1)}", *hunk.lines]
    remedy = "Undo what came after it first, or mend the file by hand."
    return UndoRefused("CHANGED", f"{change.path}: {what}{where}.", remedy, lines[:_SHOWN_LINES])


def not_kept(change: FileChange) -> UndoRefused:
    return UndoRefused(
        "NOT_KEPT",
        f"{change.path}: its bytes are not in the store, so it cannot be taken back.",
        "What it held before must come from somewhere else: a copy, or git.",
    )


def together(refusals: Sequence[UndoRefused], *, others: bool) -> UndoRefused:
    """One refusal of several, at least one. `others`: the selection holds files that nothing stands in the way of."""
    first, more = refusals[0], len(refusals) - _SHOWN_FILES
    if len(refusals) == 1 and not others:
        return first
    said = [one.message for one in refusals[:_SHOWN_FILES]]
    if more > 0:
        said.append(f"So it is with {more} more {'file' if more == 1 else 'files'}.")
    remedy = "Nothing was taken back. "
    remedy += "Undo the other files one by one, with their paths: redline undo --file PATH. " if others else ""
    remedy += first.remedy if len({one.remedy for one in refusals}) == 1 else ""
    lines = [line for one in refusals[:_SHOWN_FILES] for line in one.lines]
    return UndoRefused(first.code, " ".join(said), remedy.rstrip(), lines)


def overtaken(step: Step) -> UndoRefused:
    """The file has changed since the plan was made, and shown."""
    message = f"{step.target.path} has changed since it was shown what this undo would do."
    return UndoRefused("STALE", message, "Look at what it would do now.")


def only_beside(paths: Sequence[str]) -> UndoRefused:
    """All that is left of a selection was found while another session was at work."""
    shown = ", ".join(dict.fromkeys(paths[:_SHOWN_FILES]))
    return UndoRefused(
        "NOTHING_TO_UNDO",
        f"What is left was changed on disk while another session was at work here, and may be its doing: {shown}.",
        "Name a file, to take back what was done to it.",
    )


def nothing(
    history: History, files: Files, turn: int | None, path: str | None, names: Sequence[str] | None, call: str | None
) -> UndoRefused:
    """Why a selection holds no change. `names`: those under which the history knows the file `path`."""
    what = "".join(
        f" {name} {value}" for name, value in (("of turn", turn), ("of call", call), ("to", path)) if value is not None
    )
    made = [made for made in history.made.values() if turn in (None, made.turn) and call in (None, made.call)]
    meant = made if names is None else along_path(made, names)
    if made and not meant:
        reason = f"This session made no change{what}."
        return UndoRefused("NOTHING_TO_UNDO", reason, f"It changed {_listed(files, made)}.")
    if any(made.id in history.undone for made in meant):
        reason = f"Every change{what} has been undone already."
        ids = {made.id for made in meant}
        undos = {one.turn for one in history.made.values() if any(taken.change in ids for taken in one.took or ())}
        which = f"turn {max(undos)}, which undid it" if undos else "the turn that undid it"
        return UndoRefused("NOTHING_TO_UNDO", reason, f"To redo it, undo {which}.")
    return UndoRefused(
        "NOTHING_TO_UNDO", f"This session made no change{what} that is kept.", "See what it did: redline show."
    )


def _places(hunk: Hunk) -> Iterator[str]:
    """The line numbers of each changed place as the file is now, without the context; of what was taken out, the line
    before it."""
    number, first, last = hunk.new_start + (hunk.new_lines == 0), 0, 0
    for line in (*hunk.lines, " "):
        if line[0] == " ":
            if first:
                yield str(first) if last <= first else f"{first} to {last}"
            first = last = 0
            number += 1
        elif line[0] == "+":
            first, last = (number if not last else first), number
            number += 1
        else:
            first = first or max(number - 1, 1)


def _few(places: Sequence[str]) -> str:
    one = len(places) == 1 and " " not in places[0]
    more = len(places) - _SHOWN_PLACES
    return f"line{'' if one else 's'} {', '.join(places[:_SHOWN_PLACES])}" + (f" and {more} more" if more > 0 else "")


def _listed(files: Files, made: Sequence[Made]) -> str:
    """The files that were changed, the last ones first, as they are named inside the workspace."""
    root = files.roots[0]
    paths = [Path(path) for path in dict.fromkeys(one.change.path for one in reversed(made))]
    shown = [str(path.relative_to(root) if path.is_relative_to(root) else path) for path in paths[:_SHOWN_FILES]]
    more = len(paths) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
