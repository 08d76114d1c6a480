"""The `*** Begin Patch` envelope: the patch form that some models write.

It names files and quotes lines, but gives no line numbers: where a chunk belongs is for whoever holds the file to find,
and as a change it is unanchored.

    *** Begin Patch
    *** Update File: src/a.py
    *** Move to: src/b.py
    @@ def greet():
     context
    -old line
    +new line
    *** Add File: notes.md
    +a line
    *** Delete File: gone.txt
    *** End Patch
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redline.changes.compare import without_basis
from redline.changes.record import FileChange, Hunk

BEGIN = "*** Begin Patch"
END = "*** End Patch"
_END_OF_FILE = "*** End of File"
_HEADERS: dict[str, Literal["add", "update", "delete"]] = {
    "*** Add File: ": "add",
    "*** Update File: ": "update",
    "*** Delete File: ": "delete",
}
_MOVE = "*** Move to: "


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines that follow one another in the file, with what changes among them."""

    anchors: tuple[str, ...]
    """Lines of the file above the chunk, outermost first, as `@@` names them: blanks at their ends do not count."""
    lines: tuple[str, ...]
    """Each beginning with ' ', '-' or '+'."""
    at_end: bool = False
    """The chunk is the end of the file."""


@dataclass(frozen=True, slots=True)
class Section:
    """What is to be done to one file."""

    operation: Literal["add", "update", "delete"]
    path: str
    chunks: tuple[Chunk, ...] = ()
    """Of an added file: one, with '+' lines only."""
    move_to: str | None = None


def is_envelope(text: str) -> bool:
    """Some line opens the envelope before any line of another kind of patch."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if _opens(lines, at):
            return True
        if line.startswith(("diff --git ", "--- ", "@@ ")):
            return False
    return False


def _opens(lines: list[str], at: int) -> bool:
    """The line says so, alone or, as in a command, at its end; in words about the form no header follows."""
    line = lines[at].rstrip()
    return line == BEGIN or (line.endswith(BEGIN) and at + 1 < len(lines) and lines[at + 1].startswith(tuple(_HEADERS)))


def read_envelope(text: str) -> list[Section]:
    """The sections, in order, of every envelope in `text`. Words before, between and after them are passed over.

    Raises ValueError, naming the line, for an envelope that is not closed (its end may be missing because the text was
    cut off), for a line that belongs nowhere, and for a patch of another form behind an envelope.
    """
    lines = text.split("\n")
    if lines and all(line.endswith("\r") for line in lines[:-1]) and len(lines) > 1:
        lines = [line.removesuffix("\r") for line in lines]
    reader = _Reader(lines)
    found: list[Section] = []
    if not reader.to_opening():
        raise ValueError(f"no line says {BEGIN!r}")
    found += reader.sections()
    while reader.to_opening():
        found += reader.sections()
    return found


def parse_envelope(text: str) -> list[FileChange]:
    """What the envelopes in `text` ask for, in order, as reported changes without a place. Raises ValueError as
    `read_envelope` does, and where nothing changes."""
    sections = read_envelope(text)
    if not sections:
        raise ValueError("a patch that changes nothing")
    return [_change(section) for section in sections]


def _change(section: Section) -> FileChange:
    if section.operation == "delete":
        return without_basis(section.path, "delete", None, None, provenance="reported")
    hunks = tuple(_hunk(chunk.lines) for chunk in section.chunks if any(line[0] != " " for line in chunk.lines))
    signs = [line[0] for hunk in hunks for line in hunk.lines]
    moved = section.move_to is not None
    return FileChange(
        path=section.move_to or section.path,
        operation="add" if section.operation == "add" else "move" if moved else "modify",
        hunks=hunks,
        added=signs.count("+"),
        removed=signs.count("-"),
        old_path=section.path if moved else None,
        anchored=False,
        provenance="reported",
    )


def _hunk(lines: tuple[str, ...]) -> Hunk:
    added, removed = (sum(line[0] == sign for line in lines) for sign in "+-")
    old, new = len(lines) - added, len(lines) - removed
    return Hunk(1 if old else 0, old, 1 if new else 0, new, lines)


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._opened = False

    def to_opening(self) -> bool:
        """Passes the line that opens the next envelope; False: there is none."""
        lines = self._lines
        for at in range(self._at, len(lines)):
            if _opens(lines, at):
                self._at, self._opened = at + 1, True
                return True
            names = lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")
            if self._opened and (names or lines[at].startswith("diff --git ")):
                raise ValueError(f"line {at + 1}: a patch of another form behind {END!r}; write both in one form")
        return False

    def sections(self) -> list[Section]:
        found: list[Section] = []
        while True:
            line = self._line()
            if line.rstrip() == END:
                self._at += 1
                return found
            if not line.strip():
                self._at += 1
                continue
            header = next((header for header in _HEADERS if line.startswith(header)), None)
            if header is None:
                raise ValueError(f"line {self._at + 1}: expected a file's header or {END!r}")
            self._at += 1
            path = line[len(header) :].strip()
            if not path:
                raise ValueError(f"line {self._at}: the header names no file")
            found.append(self._section(_HEADERS[header], path))

    def _section(self, operation: Literal["add", "update", "delete"], path: str) -> Section:
        if operation == "delete":
            return Section("delete", path)
        if operation == "add":
            return Section("add", path, (Chunk((), tuple(self._signed("+"))),))
        move_to = None
        if self._line().startswith(_MOVE):
            move_to = self._line()[len(_MOVE) :].strip()
            self._at += 1
        chunks = []
        while not self._at_header():
            chunks.append(self._chunk())
        if not chunks and move_to is None:
            raise ValueError(f"line {self._at + 1}: nothing is said to change in {path}")
        return Section("update", path, tuple(chunks), move_to)

    def _chunk(self) -> Chunk:
        anchors = []
        while self._line().startswith("@@"):
            anchor = self._line()[2:].strip()
            anchors += [anchor] if anchor else []
            self._at += 1
        lines = self._signed(" -+")
        if not lines:
            raise ValueError(f"line {self._at + 1}: a chunk without lines, or a line without ' ', '-' or '+' before it")
        at_end = self._line().rstrip() == _END_OF_FILE
        self._at += at_end
        return Chunk(tuple(anchors), tuple(lines), at_end)

    def _signed(self, signs: str) -> list[str]:
        found: list[str] = []
        blanks = 0
        while True:
            line = self._line()
            if line == "" and " " in signs:
                line = " "  # editors strip the one space of an empty context line
            if line == "" or line[0] not in signs:
                break
            found.append(line)
            self._at += 1
        # An empty line before a header parts two sections; it is no context.
        while found and self._at_header() and self._lines[self._at - 1 - blanks] == "":
            blanks += 1
            found.pop()
        return found

    def _at_header(self) -> bool:
        line = self._line()
        return line.rstrip() == END or line.startswith(tuple(_HEADERS))

    def _line(self) -> str:
        if self._at >= len(self._lines):
            raise ValueError(f"the patch ends without {END!r}: it seems to be cut off")
        return self._lines[self._at]
