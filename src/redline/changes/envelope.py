"""The `*** Begin Patch` envelope: the patch form that some models write.

It names files and changed lines with context but no line numbers, so what it gives is unanchored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from redline.changes.compare import without_basis
from redline.changes.record import FileChange, Hunk

BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_ADD, _DELETE, _UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
_MOVE, _END_OF_FILE = "*** Move to: ", "*** End of File"


@dataclass(slots=True)
class _Section:
    verb: str
    path: str
    number: int
    target: str | None = None
    hunks: list[list[str]] = field(default_factory=list)


def parse_envelope(text: str) -> list[FileChange]:
    """The changes between `*** Begin Patch` and `*** End Patch`, in order.

    Raises ValueError, naming the line, for a line that has no place in the form, a section without lines, and a patch
    that does not end.
    """
    lines = text[text.index(BEGIN) :].split("\n")
    if lines[0].endswith("\r"):
        lines = [line.removesuffix("\r") for line in lines]
    sections: list[_Section] = []
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() == _END:
            if not sections:
                raise ValueError("a patch that changes nothing")
            return [_change(section) for section in sections]
        verb = next((verb for verb in (_ADD, _DELETE, _UPDATE) if line.startswith(verb)), None)
        if verb is not None:
            sections.append(_Section(verb, line[len(verb) :].strip(), number))
        elif not sections:
            raise ValueError(f"line {number}: no file is named above it")
        else:
            _read_line(sections[-1], line, number)
    raise ValueError("the patch does not end")


def _read_line(section: _Section, line: str, number: int) -> None:
    if section.verb == _UPDATE and line.startswith(_MOVE) and not section.hunks:
        section.target = line[len(_MOVE) :].strip()
    elif section.verb == _UPDATE and line.startswith("@@"):
        section.hunks.append([])
    elif section.verb == _UPDATE and line.rstrip() == _END_OF_FILE:
        return
    elif section.verb == _ADD and line[:1] == "+":
        section.hunks = section.hunks or [[]]
        section.hunks[0].append(line)
    elif section.verb == _UPDATE and (not line or line[0] in " +-"):
        section.hunks = section.hunks or [[]]
        section.hunks[-1].append(line or " ")
    elif line.strip():
        raise ValueError(f"line {number}: not a line of a patch")


def _change(section: _Section) -> FileChange:
    if section.verb == _DELETE:
        return without_basis(section.path, "delete", None, None, provenance="reported")
    hunks = tuple(_hunk(lines) for lines in section.hunks if any(line[0] != " " for line in lines))
    if section.verb == _UPDATE and not hunks and section.target is None:
        raise ValueError(f"line {section.number}: {section.path} is named but no change follows")
    signs = [line[0] for hunk in hunks for line in hunk.lines]
    moved = section.target is not None
    return FileChange(
        path=section.target or section.path,
        operation="add" if section.verb == _ADD else "move" if moved else "modify",
        hunks=hunks,
        added=signs.count("+"),
        removed=signs.count("-"),
        old_path=section.path if moved else None,
        anchored=False,
        provenance="reported",
    )


def _hunk(lines: list[str]) -> Hunk:
    added, removed = (sum(line[0] == sign for line in lines) for sign in "+-")
    old, new = len(lines) - added, len(lines) - removed
    return Hunk(1 if old else 0, old, 1 if new else 0, new, tuple(lines))
