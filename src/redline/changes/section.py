"""One file's section of a patch: what its lines have said so far, and the change that they state."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from redline.changes.names import NOWHERE, bare_git_names, bare_names, name_of_both, unquoted
from redline.changes.patch import BINARY, NO_TEXT
from redline.changes.record import FileChange, Hunk, Side

if TYPE_CHECKING:
    from redline.changes.record import Operation, Provenance

_EXTENDED = re.compile(
    r"(?:new file mode|deleted file mode|old mode|new mode|rename from|rename to|copy from|copy to"
    r"|similarity index|dissimilarity index|index) "
)
_MODES = {"\\ made executable": (False, True), "\\ made not executable": (True, False)}


@dataclass(slots=True)
class PatchedFile:
    """What has been read of one file's section."""

    old: str | None = None
    new: str | None = None
    whole: bool = False
    """Both names were told without prefixes."""
    header: tuple[str, str] | None = None
    """The names of its `diff --git` line."""
    compared: bool = False
    """Its names are of two folders or files that `diff` compared; it knows of no moves."""
    old_absent: bool = False
    """Its time stamp is the one that `diff` gives to a file that is not there."""
    new_absent: bool = False
    operation: Operation | None = None
    copied: bool = False
    binary: bool = False
    without_text: bool = False
    truncated: bool = False
    anchored: bool = True
    old_executable: bool | None = None
    new_executable: bool | None = None
    hunks: list[Hunk] = field(default_factory=list)
    old_unfinished: bool = False
    new_unfinished: bool = False

    def read_extended(self, line: str) -> None:
        """One line between `diff --git` and the names; one that is not known says nothing."""
        match = _EXTENDED.match(line)
        if match is None:
            return
        key, value = match[0].rstrip(), line[match.end() :]
        if key == "new file mode":
            self.operation, self.new_executable = "add", _is_executable(value)
        elif key == "deleted file mode":
            self.operation, self.old_executable = "delete", _is_executable(value)
        elif key == "old mode":
            self.old_executable = _is_executable(value)
        elif key == "new mode":
            self.new_executable = _is_executable(value)
        elif key == "rename from":
            self.operation, self.whole, self.old = "move", True, unquoted(value)
        elif key == "rename to":
            self.operation, self.whole, self.new = "move", True, unquoted(value)
        elif key == "copy to":
            self.operation, self.copied, self.whole, self.new = "add", True, True, unquoted(value)

    def read_reason(self, line: str) -> None:
        """One of the lines that stand where a change has no hunks."""
        self.binary = self.binary or line == BINARY
        self.without_text = self.without_text or line == NO_TEXT
        if line in _MODES:
            self.old_executable, self.new_executable = _MODES[line]

    def change(self, provenance: Provenance) -> FileChange:
        old, new = self.names()
        operation = self.operation or _operation(old, new)
        signs = [line[0] for hunk in self.hunks for line in hunk.lines]
        before, after = self._sides(operation)
        unknown = self.copied or self.without_text  # the hunks of a copy compare it with another file
        return FileChange(
            path=old if operation == "delete" else new,
            operation=operation,
            hunks=() if unknown else tuple(self.hunks),
            added=0 if unknown else signs.count("+"),
            removed=0 if unknown else signs.count("-"),
            file_type="binary" if self.binary else "unknown" if unknown else "text",
            old_path=old if operation == "move" else None,
            exact=not unknown,
            anchored=self.anchored,
            truncated=self.truncated,
            before=before,
            after=after,
            provenance=provenance,
        )

    def names(self) -> tuple[str, str]:
        """Of the two sides, without prefixes."""
        old, new = self.old or self.new or "", self.new or self.old or ""
        if self.whole:
            return old, new
        if self.header is not None:
            return bare_git_names(old, new, self.header)
        bare = bare_names(old, new)
        if not self.compared or NOWHERE in bare:
            return bare
        name = name_of_both(*bare)
        old_empty = not any(hunk.old_lines for hunk in self.hunks)
        new_empty = not any(hunk.new_lines for hunk in self.hunks)
        return NOWHERE if self.old_absent and old_empty else name, NOWHERE if self.new_absent and new_empty else name

    def _sides(self, operation: Operation) -> tuple[Side | None, Side | None]:
        told = self.old_unfinished or self.new_unfinished or self.old_executable or self.new_executable
        if not told:
            return None, None
        return (
            None if operation == "add" else self._side(old=True),
            None if operation == "delete" else self._side(old=False),
        )

    def _side(self, *, old: bool) -> Side:
        unfinished = self.old_unfinished if old else self.new_unfinished
        executable = self.old_executable if old else self.new_executable
        last = self.hunks[-1] if self.hunks else None
        lines = None
        if unfinished and last is not None:
            start, count = (last.old_start, last.old_lines) if old else (last.new_start, last.new_lines)
            lines = start + count - 1
        return Side(blob="", size=0, executable=bool(executable), final_newline=not unfinished, lines=lines)


def _is_executable(mode: str) -> bool:
    return mode.strip() == "100755"


def _operation(old: str, new: str) -> Operation:
    if old == NOWHERE:
        return "add"
    if new == NOWHERE:
        return "delete"
    return "modify" if old == new else "move"
