"""Text as the protocol's blocks carry it: fenced where a client would take it for Markdown, nothing hidden in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from redline.changes.acp import to_blocks
from redline.changes.patch import unified
from redline.sessions.gate import escaped
from redline.tools.diff_card import missing_basis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.changes.record import Fact, FileChange
    from redline.transcript.rows import Problem

_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A, 0x0D)} | {0x7F: 0x2421}
_RUNS = re.compile(r"`+")

_FACTS: dict[Fact, str] = {
    "bom_added": "a byte order mark was added",
    "bom_removed": "the byte order mark was removed",
    "final_newline_added": "the final newline was added",
    "final_newline_removed": "the final newline was removed",
    "line_endings_changed": "the line endings changed",
    "made_executable": "it became executable",
    "made_not_executable": "it is no longer executable",
    "link_became_file": "the symbolic link became a file",
    "file_became_link": "the file became a symbolic link",
}


def block(text: str) -> dict[str, Any]:
    """A text block of a call's content."""
    return {"type": "content", "content": {"type": "text", "text": escaped(text)}}


def fenced(text: str, language: str = "") -> str:
    """As it is, whatever it holds: the fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in _RUNS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    body = plain(text)
    return f"{fence}{language}\n{body}{'' if body.endswith(chr(10)) else chr(10)}{fence}"


def plain(text: str) -> str:
    """Without terminal sequences; other control characters become visible signs, and odd bytes escapes such as `\\xE9`,
    as on the cards."""
    return _SEQUENCES.sub("", escaped(text)).translate(_CONTROLS)


def line(text: str) -> str:
    """For titles: one line."""
    return " ".join(plain(text).split())


def told(problem: Problem) -> str:
    return " ".join(part for part in (f"{problem.code}:", problem.message, problem.remedy) if part)


def shown(changes: Sequence[FileChange], note: str | None = None) -> list[dict[str, Any]]:
    """Changes as content: a diff block per hunk, and words for whatever no block can say. `note`: what the call's own
    card says beside or instead of hunks, where a text basis is missing, too."""
    blocks: list[dict[str, Any]] = []
    for change in changes:
        diffs = to_blocks(change)
        blocks += diffs
        words = beside(change, diffs=bool(diffs), noted=note is not None)
        if words:
            blocks.append(block(words))
    return [*blocks, block(note)] if note is not None else blocks


def beside(change: FileChange, *, diffs: bool, noted: bool) -> str:
    """What a reader must know of a change beside its diff blocks; empty: nothing. `diffs`: there are some. `noted`: a
    missing text basis is told elsewhere."""
    said = []
    if change.operation == "move":
        said.append(f"moved from {change.old_path}")
    said += [_FACTS[fact] for fact in change.facts]
    if change.file_type == "symlink" and change.old_type is None:  # what looks like its text is where it leads
        said.append(f"it {'was' if change.operation == 'delete' else 'is'} a symbolic link")
    missing = None if noted else missing_basis(change)
    if missing:
        said.append(missing)
    if change.truncated:
        said.append(f"only a part is shown; in all −{change.removed} +{change.added} lines")
    if not change.exact and change.file_type != "unknown":  # there nothing was compared at all
        said.append("too large to compare line by line")
    if not said and not diffs and not noted:
        said.append({"add": "created", "delete": "deleted"}.get(change.operation, "changed"))
    return f"{change.path}: {'; '.join(said)}." if said else ""


def patch(label: str, changes: Sequence[FileChange]) -> str:
    """What is not on the disk, readable and never to be taken for a change. `label`: what became of it. Empty: there is
    nothing to show."""
    text = "\n".join(unified(change) for change in changes)
    return f"{label}\n\n{fenced(text, 'diff')}" if text.strip() else ""
