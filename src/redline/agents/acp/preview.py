"""What an agent means to do, compared with the disk: the preview that stands before the buttons of a question.

The blocks of a permission request are matched against the files as they are, by the matcher of our own edit tools. What
cannot be matched is shown as the agent sent it, and it is said that it could not be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redline.agents.acp.shown import Shown, changed_lines
from redline.files.error import FileError
from redline.files.seam import Action, Delete, EditText, Files, Replace, Target, Write

if TYPE_CHECKING:
    from redline.agents.acp.call import ForeignCall
    from redline.changes.record import FileChange
    from redline.tools.recorder import Recorder

Pair = tuple[str, str]


@dataclass(slots=True)
class Preview:
    changes: list[FileChange] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Why a change could not be compared with its file; empty: all of them could."""
    expected: dict[str, Shown] = field(default_factory=dict)
    """By real path, how the file will be."""

    @property
    def note(self) -> str | None:
        return " ".join(self.faults) or None


async def preview(call: ForeignCall, files: Files, recorder: Recorder) -> Preview:
    """Of all changes that the call proposes."""
    result = Preview()
    pairs = _block_pairs(call)
    everywhere = bool(isinstance(given := call.fields.get("rawInput"), Mapping) and given.get("replace_all") is True)
    for proposed in call.evidence.proposed:
        result.paths.append(proposed.path)
        try:
            target = await files.resolve(proposed.path)
            action = await _action(proposed, pairs.get(proposed.path), target, files, everywhere)
            outcome = await files.preview(target, action)
        except (FileError, _CannotTell) as problem:
            reason = problem.message if isinstance(problem, FileError) else str(problem)
            result.faults.append(f"This could not be compared with the file: {reason}")
            result.changes.append(proposed)
            continue
        change = await recorder.change(outcome, "proposed")
        before, after = (side.blob if side is not None else None for side in (outcome.before, outcome.after))
        result.expected[target.key] = Shown(before, after, changed_lines(change))
        if outcome.before is not None and outcome.after is not None and outcome.before.blob == outcome.after.blob:
            result.faults.append(f"{proposed.path} already holds this; nothing would change.")
        result.changes.append(change)
    return result


class _CannotTell(Exception):  # noqa: N818 - it says what happened
    pass


async def _action(
    proposed: FileChange, pairs: Sequence[Pair] | None, target: Target, files: Files, everywhere: bool
) -> Action:
    if proposed.operation == "delete":
        return Delete()
    if proposed.operation == "move":
        raise _CannotTell("it is to be moved.")
    pairs = pairs or _hunk_pairs(proposed)
    if not pairs:
        raise _CannotTell("the agent did not say what is to change.")
    there = await files.stat(target)
    if there is None:
        if len(pairs) == 1 and not pairs[0][0]:
            return Write(pairs[0][1])
        raise _CannotTell("it does not exist.")
    if len(pairs) == 1 and not pairs[0][0]:
        return Write(pairs[0][1])
    text = (await files.read(target)).text
    if len(pairs) == 1 and text is not None and pairs[0][0].replace("\r\n", "\n") in (text, text.rstrip("\n")):
        old, new = pairs[0]
        ending = "" if old.endswith("\n") or not text.endswith("\n") else "\n"
        return EditText([Replace(text, new.replace("\r\n", "\n") + ending)])
    return EditText([Replace(old, new, everywhere) for old, new in pairs if old != new])


def _block_pairs(call: ForeignCall) -> dict[str, list[Pair]]:
    """Old and new texts of diff blocks, by the path of the change that was read from them."""
    from redline.agents.acp.places import absolute

    found: dict[str, list[Pair]] = {}
    for block in call.diffs:
        pair: dict[str, Any] = {"old": block.get("oldText") or "", "new": block.get("newText")}
        if isinstance(block.get("path"), str) and isinstance(pair["old"], str) and isinstance(pair["new"], str):
            found.setdefault(absolute(block["path"], call.workspace), []).append((pair["old"], pair["new"]))
    return found


def _hunk_pairs(change: FileChange) -> list[Pair]:
    if change.truncated:
        return []
    return [
        (
            "\n".join(line[1:] for line in hunk.lines if line[0] != "+"),
            "\n".join(line[1:] for line in hunk.lines if line[0] != "-"),
        )
        for hunk in change.hunks
    ]
