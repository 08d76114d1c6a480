"""The one record of a change: one file in one call.

The shape is the one that version 2 of the Agent Client Protocol gives to changes (operation, paths, file type, patch),
with the facts beside it that a reader needs to trust a card: counts of the whole, both sides' blob ids, and where the
record comes from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Operation = Literal["add", "modify", "delete", "move"]
FileType = Literal["text", "binary", "symlink", "unknown"]
LineEnding = Literal["lf", "crlf", "mixed", "none"]
Provenance = Literal["result", "observed", "reported", "proposed"]
ON_DISK: frozenset[Provenance] = frozenset({"result", "observed"})
"""What a change says that was seen on the disk, whoever made it."""
Fact = Literal[
    "bom_added",
    "bom_removed",
    "final_newline_added",
    "final_newline_removed",
    "line_endings_changed",
    "made_executable",
    "made_not_executable",
    "link_became_file",
    "file_became_link",
]


@dataclass(frozen=True, slots=True)
class Side:
    """One state of a file: before or after the change."""

    blob: str
    """git's object id of the bytes: SHA-1 of `blob <size>\\0` and the bytes, 40 hex digits. Empty where only a foreign
    patch speaks of the file: then `size` says nothing either."""
    size: int
    """In bytes."""
    executable: bool = False
    """The owner's executable bit; git records no other mode."""
    eol: LineEnding = "none"
    bom: bool = False
    """The bytes begin with EF BB BF."""
    final_newline: bool = True
    """The last line ends with `\\n`; true of an empty file, which has no last line."""
    utf8: bool = True
    """The bytes decode as UTF-8; where not, hunk lines hold surrogate escapes for the odd bytes."""
    lines: int | None = None
    """Lines in all, one without a final newline included; None where nobody counted."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One changed place. The four numbers are those of a unified diff's `@@` header: lines count from 1, and a side
    without lines starts at the line before the place (0 for an empty file)."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]
    """Each begins with ' ', '-' or '+' and holds no `\\n`. Bytes that are not UTF-8 stand as surrogate escapes
    (PEP 383), so that `line.encode("utf-8", "surrogateescape")` gives the file's bytes back."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What happened to one file in one call."""

    path: str
    """As named, made absolute. Of a move: the new path."""
    operation: Operation
    hunks: tuple[Hunk, ...] = ()
    """In file order; empty for binary files, pure moves and changes of the mode alone."""
    added: int = 0
    """Added lines of the whole change, counted before any shortening."""
    removed: int = 0
    file_type: FileType = "text"
    """`unknown`: no text basis, because the file is over the bound of the diff basis or its bytes are not at hand."""
    old_path: str | None = None
    """Of a move: where the file was."""
    old_type: FileType | None = None
    """Of a change of type, a link that became a file or a file that became a link: what it was. `file_type` is what it
    is now. The log holds its two halves instead (`retype`)."""
    exact: bool = True
    """False: too large to compare; the hunks are one block and the totals are bounds (shown with ≈)."""
    anchored: bool = True
    """False: a snippet whose place in the file is unknown; show no line numbers."""
    truncated: bool = False
    """Hunks were cut; the totals are still those of the whole."""
    redacted: bool = False
    """Some line was masked; the true bytes are in the private store."""
    before: Side | None = None
    """None for a file that did not exist, or of which nothing is known."""
    after: Side | None = None
    provenance: Provenance = "result"

    @property
    def may_be_new(self) -> bool:
        """Found on the disk where nobody had looked before, such as among what git ignores: whether the file was there
        is not known, though a `modify` says so."""
        found = self.provenance == "observed" and self.file_type == "unknown"
        return found and self.operation == "modify" and self.before is None and self.after is not None

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What changed besides lines, named so that a reader sees it even where no visible character differs."""
        if self.before is None or self.after is None or self.operation not in ("modify", "move"):
            return ()
        of_mode: list[tuple[bool, Fact]] = [
            (self.after.executable and not self.before.executable, "made_executable"),
            (self.before.executable and not self.after.executable, "made_not_executable"),
        ]
        # What are no lines has no line ends: in binary data these bytes mean nothing.
        of_text: list[tuple[bool, Fact]] = [
            (self.after.bom and not self.before.bom, "bom_added"),
            (self.before.bom and not self.after.bom, "bom_removed"),
            (self.after.final_newline and not self.before.final_newline, "final_newline_added"),
            (self.before.final_newline and not self.after.final_newline, "final_newline_removed"),
            (_endings_differ(self.before.eol, self.after.eol), "line_endings_changed"),
        ]
        if self.old_type is not None:
            return ("file_became_link",) if self.file_type == "symlink" else ("link_became_file", *_held(of_mode))
        pairs = [*of_mode] if self.file_type == "binary" else [*of_text, *of_mode]
        return _held(pairs)


def _held(pairs: list[tuple[bool, Fact]]) -> tuple[Fact, ...]:
    return tuple(fact for holds, fact in pairs if holds)


def _endings_differ(before: LineEnding, after: LineEnding) -> bool:
    return before != after and "none" not in (before, after)
