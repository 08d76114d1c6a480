"""Reading patches, unified and git's, by position: inside a hunk every line is content until the counts are used up.

So a removed `-- x` (printed `--- x`) is a line and not a header, and what follows the last hunk (a mail's signature, a
shell prompt) is not content.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from redline.changes.envelope import BEGIN
from redline.changes.names import header_names, is_epoch, name_of_line
from redline.changes.patch import TRUNCATED
from redline.changes.record import FileChange, Hunk
from redline.changes.section import PatchedFile

if TYPE_CHECKING:
    from redline.changes.record import Provenance

_HUNK = re.compile(r"@@ -([0-9]{1,15})(?:,([0-9]{1,15}))? \+([0-9]{1,15})(?:,([0-9]{1,15}))? @@")
"""Longer numbers are no places in a file, nor can every reader of the log hold them."""
_COLOURED = re.compile(r"^\x1b\[[0-9;]*m[^\n]{0,20}(?:diff --git |--- |\+\+\+ |@@ )", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")
_MOVED = "Moved to: "
_COMBINED = ("diff --cc ", "diff --combined ", "@@@ -")
_NOT_READ = "a combined diff of several parents is not read; compare with one of them"


def parse(text: str | bytes, *, provenance: Provenance = "reported") -> list[FileChange]:
    """The changes that a patch states, in its order; paths as the patch names them, without `a/` and `b/`.

    An empty text is no change. Raises ValueError, naming the line, for a hunk that ends early, a file header without a
    hunk, and a text in which no patch is found. Sides are known only where the patch says something about them (a
    missing final newline, the executable bit); their `blob` is empty.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    if not text.strip():
        return []
    files = _Reader(_plain_lines(text)).files()
    if not files:
        raise ValueError("no patch found: a patch has lines that begin with 'diff --git', or with '---' and '+++'")
    return [file.change(provenance) for file in files]


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._files: list[PatchedFile] = []

    def files(self) -> list[PatchedFile]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("diff --git "):
                self._at += 1
                self._git_section(line[len("diff --git ") :])
            elif self._at_names():
                self._files.append(PatchedFile())
                self._names(self._files[-1])
            elif line.startswith(_COMBINED):
                raise ValueError(f"line {self._at + 1}: {_NOT_READ}")
            elif line.startswith("@@ -") and _HUNK.match(line):
                raise ValueError(f"line {self._at + 1}: a hunk with no file named above it")
            elif line.rstrip() == BEGIN:
                raise ValueError(f"line {self._at + 1}: {BEGIN!r} opens a patch of another form")
            else:
                self._trailer(line)
                self._at += 1
        return self._files

    def _trailer(self, line: str) -> None:
        """What some agents put behind a file's hunks: where it was moved."""
        if line.startswith(_MOVED) and self._files and self._files[-1].operation is None:
            file = self._files[-1]
            file.old = file.names()[0]
            file.operation, file.new, file.whole = "move", line[len(_MOVED) :], True
        elif line == TRUNCATED and self._files:
            self._files[-1].truncated = True

    def _git_section(self, names: str) -> None:
        file = PatchedFile(header=header_names(names))
        self._files.append(file)
        file.old, file.new = file.header or ("", "")
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith(("diff --git ", *_COMBINED)):
                return
            if self._at_names():
                self._names(file)
                return
            if line.startswith(("Binary files ", "GIT binary patch")):
                file.binary = True
            else:
                file.read_extended(line)
            self._at += 1

    def _at_names(self) -> bool:
        lines, at = self._lines, self._at
        return at + 1 < len(lines) and lines[at].startswith("--- ") and lines[at + 1].startswith("+++ ")

    def _names(self, file: PatchedFile) -> None:
        """The two lines that name a file, and its hunks."""
        (old, old_stamp), (new, new_stamp) = (name_of_line(self._lines[at][4:]) for at in (self._at, self._at + 1))
        if not file.whole:
            file.old, file.new = old, new
        by_command = self._at > 0 and self._lines[self._at - 1].startswith("diff -")
        file.compared = file.header is None and (by_command or bool(old_stamp and new_stamp))
        file.old_absent, file.new_absent = is_epoch(old_stamp), is_epoch(new_stamp)
        self._at += 2
        while self._at < len(self._lines) and self._lines[self._at].startswith("@@"):
            self._hunk(file)
        if self._at < len(self._lines) and self._lines[self._at] == TRUNCATED:
            file.truncated = True
        elif not file.hunks and not self._reason_follows(file):
            raise ValueError(f"line {self._at + 1}: {new} is named but no hunk follows")

    def _reason_follows(self, file: PatchedFile) -> bool:
        """Lines that say what a change without hunks is."""
        first = self._at
        while self._at < len(self._lines) and self._lines[self._at].startswith("\\ "):
            file.read_reason(self._lines[self._at])
            self._at += 1
        return file.header is not None or self._at > first

    def _hunk(self, file: PatchedFile) -> None:
        header = self._lines[self._at]
        if header.startswith("@@@"):
            raise ValueError(f"line {self._at + 1}: {_NOT_READ}")
        match = _HUNK.match(header)
        self._at += 1
        if match is None:
            self._snippet(file)
            return
        old_start, old_lines, new_start, new_lines = (int(number or 1) for number in match.groups())
        lines: list[str] = []
        old_left, new_left = old_lines, new_lines
        while old_left or new_left:
            if self._marker(file, lines):
                continue
            line = self._content(old_left, new_left)
            lines.append(line)
            old_left -= line[0] != "+"
            new_left -= line[0] != "-"
        self._marker(file, lines)
        file.hunks.append(Hunk(old_start, old_lines, new_start, new_lines, tuple(lines)))

    def _content(self, old_left: int, new_left: int) -> str:
        if self._at >= len(self._lines) or (self._at == len(self._lines) - 1 and self._lines[self._at] == ""):
            raise ValueError(f"line {self._at + 1}: the patch ends inside a hunk")
        line = self._lines[self._at]
        if line == TRUNCATED:
            # Where a patch is cut on purpose, the header above counts the lines that were left.
            raise ValueError(f"line {self._at + 1}: the patch was cut inside a hunk")
        # Mail and editors strip the one space of an empty context line.
        line = line or " "
        fits = {" ": old_left and new_left, "-": old_left, "+": new_left}
        if not fits.get(line[0]):
            raise ValueError(f"line {self._at + 1}: not a line of the hunk above, whose header counts more")
        self._at += 1
        return line

    def _marker(self, file: PatchedFile, lines: list[str]) -> bool:
        """Passes the line that stands after the last one of a side without a final newline, where it is next."""
        at = self._at
        if at >= len(self._lines) or self._lines[at][:1] != "\\" or self._lines[at] == TRUNCATED or not lines:
            return False
        self._at += 1
        file.old_unfinished = file.old_unfinished or lines[-1][0] != "+"
        file.new_unfinished = file.new_unfinished or lines[-1][0] != "-"
        return True

    def _snippet(self, file: PatchedFile) -> None:
        """A hunk whose header gives no place: its lines end where none of the three signs stands."""
        lines: list[str] = []
        while self._at < len(self._lines) and not self._at_names() and self._lines[self._at][:1] in (" ", "-", "+"):
            lines.append(self._lines[self._at])
            self._at += 1
        if not lines:
            raise ValueError(f"line {self._at}: a hunk header that is not understood")
        signs = [line[0] for line in lines]
        old, new = len(signs) - signs.count("+"), len(signs) - signs.count("-")
        file.hunks.append(Hunk(1 if old else 0, old, 1 if new else 0, new, tuple(lines)))
        file.anchored = False


def _plain_lines(text: str) -> list[str]:
    """The lines of the patch itself, without the colours of a terminal and the line ends of another system."""
    if _COLOURED.search(text):
        text = _COLOUR.sub("", text)
    lines = text.split("\n")
    names = [line for line in lines if line.startswith(("--- ", "+++ ", "diff --git "))]
    if names and all(line.endswith("\r") for line in names):
        lines = [line.removesuffix("\r") for line in lines]
    return lines
