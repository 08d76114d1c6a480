"""What a call would do, computed once, against the bytes that are there, by the matcher that will apply it.

The proposal is what a permission request shows and what an approval is bound to: `expected` names the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redline.files.error import FileError
from redline.files.seam import Action, Blob, EditText, Files, Insert, Move, Outcome, Replace, Write, WriteBytes
from redline.sessions.redaction import holds_mask, new_masks
from redline.tools.diff_card import large_cut, links_of, through_link
from redline.tools.landed import unchanged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from redline.changes.record import FileChange
    from redline.tools.knowledge import Knowledge
    from redline.tools.recorder import Recorder
    from redline.tools.tool import Step

_HELD = 2 << 20
"""Bytes of both sides that a proposal holds on to."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One step as previewed."""

    step: Step
    expected: Blob
    """The blob that the preview was made on; empty where there was no file."""
    change: FileChange | None
    """Masked and cut as the log keeps it. None: the step would change nothing."""
    notes: tuple[str, ...] = ()
    """What a person should know before saying yes, beside the hunks."""
    links: tuple[str, ...] = ()
    """For each link that leads to a file of the change, both names."""
    outdated: bool = False
    """The file has changed since."""
    outcome: Outcome | None = None
    """As previewed, with its bytes; None where they are too many to be held until somebody has answered."""


async def propose(
    step: Step, files: Files, knowledge: Knowledge | None, recorder: Recorder, *, keep_limit: int
) -> Proposal:
    """Preview one step. `knowledge` None: do not ask whether the model has seen the file, because a person is about
    to approve the change as it now stands. `keep_limit`: bytes of a file that the store keeps.

    Raises `FileError`, with the file as it was.
    """
    outcome = await _preview(step, files, knowledge)
    refuse_masks(step.action, outcome)
    expected = outcome.before.blob if outcome.before is not None else ""
    if unchanged(outcome):
        return Proposal(step, expected, None)
    change = await recorder.change(outcome, "proposed")
    size = sum(side.size for side in (outcome.before, outcome.after) if side is not None)
    links = tuple(_sentence(through_link(name, real)) for name, real in links_of(outcome).items())
    sides = [side for side in (outcome.before, outcome.after) if side is not None]
    kept = {side.blob for side in sides if side.data is not None and side.size <= keep_limit}
    notes = (*cautions(change), *filter(None, [unkept(outcome, kept)]))
    return Proposal(step, expected, change, notes, links, outcome=outcome if size <= _HELD else None)


async def _preview(step: Step, files: Files, knowledge: Knowledge | None) -> Outcome:
    target = step.target
    if knowledge is None:
        return await files.preview(target, step.action)
    if knowledge.get(target.key) is None:
        there = await files.stat(target)
        if there is not None and there.kind == "file":
            knowledge.check(target.key, str(target.path), "unseen")
    try:
        outcome = await files.preview(target, step.action)
    except FileError as error:
        misfit = error.code in ("NO_MATCH", "AMBIGUOUS", "NO_CHANGE", "NOT_TEXT")
        if misfit and await files.stat(target) is not None:
            # A text that no longer matches is better told as what it is: the file has moved on since it was read.
            knowledge.check(target.key, str(target.path), (await files.read(target)).blob)
            _explain_masks(step.action, error)
        raise
    knowledge.check(target.key, str(target.path), outcome.before.blob if outcome.before else None)
    return outcome


def unkept(outcome: Outcome, kept: Collection[Blob]) -> str | None:
    """What nobody can do with a change later, because the store of bytes holds only the sides `kept`. None: nothing."""
    before, after = outcome.before, outcome.after
    if all(side is None or side.blob in kept for side in (before, after)):
        return None
    place = outcome.moved_to or outcome.target
    size = max(side.size for side in (before, after) if side is not None)
    lost = f"{place.key} is too large for its bytes to be kept ({size} bytes): no patch can be made of this change"
    same_bytes = before is not None and after is not None and before.blob == after.blob
    if before is None or before.blob in kept or same_bytes:
        return f"{lost}."
    return f"{lost}, and it cannot be undone."


def refuse_masks(action: Action, outcome: Outcome) -> None:
    """Refuse new text with a mask in it, which would overwrite a secret by its own placeholder.

    A mask that the file itself holds may stay. Raises `FileError` MASKED.
    """
    if not any(holds_mask(text) for text in _new_texts(action)):
        return
    before = outcome.before.data if outcome.before is not None else None
    after = outcome.after.data if outcome.after is not None else None
    if after is not None and not new_masks(None if before is None else _decoded(before), _decoded(after)):
        return
    raise FileError(
        "MASKED",
        f"The new text for {outcome.target.path} holds a mask where a secret was hidden; it is not the secret.",
        "Leave the lines with secrets as they are: edit the other lines only, or delete lines by their numbers.",
    )


def _explain_masks(action: Action, error: FileError) -> None:
    if isinstance(action, EditText) and any(isinstance(e, Replace) and holds_mask(e.old) for e in action.edits):
        raise FileError(
            "MASKED",
            "The text to replace holds a mask where the file holds a secret, so it matches nothing.",
            "Choose a text without the secret, or delete and insert lines by their numbers.",
        ) from error


def _new_texts(action: Action) -> Iterator[str]:
    match action:
        case Write(content=content):
            yield content
        case EditText(edits=edits):
            for edit in edits:
                if isinstance(edit, Replace):
                    yield edit.new
                elif isinstance(edit, Insert):
                    yield edit.text
        case WriteBytes(data=data):
            yield _decoded(data)
        case Move(data=data) if data is not None:
            yield _decoded(data)
        case _:
            return


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def cautions(change: FileChange) -> Iterator[str]:
    """Why a person should look at a proposed change, whatever rule would allow it: it cannot be read whole, or it
    empties a file or cuts most of it away. Nothing for every other change. Of every agent, ours or not."""
    if change.file_type == "unknown":
        yield f"No preview of {change.path}: the file is over the size that is compared."
    elif change.file_type == "binary":
        yield f"No preview of {change.path}: it is a binary file."
    cut = large_cut(change)
    if cut is not None:
        yield f"{change.path}: {cut}."
    if change.truncated:
        yield f"The change of {change.path} is larger than what the log keeps of one."


def is_for_a_person(change: FileChange) -> bool:
    """No rule may allow it: for what `cautions` say, or because it deletes a file, of which its card says enough."""
    return change.operation == "delete" or any(cautions(change))


def needs_a_person(proposals: Sequence[Proposal]) -> bool:
    """True where a rule must not answer, for what the `cautions` say or because its bytes cannot be kept."""
    return any(proposal.notes for proposal in proposals)
