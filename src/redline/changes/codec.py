"""The record as JSON, for the log and for every surface that speaks over a wire.

Optional fields that are None and flags at their default are left out; reading fills them in. Reading is strict: what
does not have the shape is refused with the path of the culprit, and keys of a later version are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, cast, get_args

from redline.changes import names
from redline.changes.record import FileChange, FileType, Hunk, LineEnding, Operation, Provenance, Side

_OPERATIONS = get_args(Operation)
_FILE_TYPES = get_args(FileType)
_LINE_ENDINGS = get_args(LineEnding)
_PROVENANCES = get_args(Provenance)
_DEFAULTS: Mapping[type, Sequence[tuple[str, object]]] = {
    record: [(field.name, field.default) for field in fields(record)] for record in (FileChange, Side)
}


def to_json(change: FileChange) -> dict[str, Any]:
    """`{path, operation, hunks?, added?, …}`; hunks as `{old_start, old_lines, new_start, new_lines, lines}`.

    Beside a path whose bytes are not UTF-8, which JSON cannot hold, stands `path_quoted` (or `old_path_quoted`), as git
    quotes it: what acts on the disk needs the true name, and a file whose name is the escaped one is another file.
    """
    value = _without_defaults(change) | quoted_beside("path", change.path)
    if change.old_path is not None:
        value |= quoted_beside("old_path", change.old_path)
    if change.hunks:
        value["hunks"] = [hunk_to_json(hunk) for hunk in change.hunks]
    if change.before is not None:
        value["before"] = side_to_json(change.before)
    if change.after is not None:
        value["after"] = side_to_json(change.after)
    return value


def quoted_beside(name: str, path: str) -> dict[str, str]:
    """What stands beside a path `name` in JSON where its bytes are not UTF-8; empty: they are."""
    true = names.odd(path)
    return {} if true is None else {f"{name}_quoted": true}


def path_from_json(value: Mapping[str, Any], name: str) -> str:
    """The path `name` with odd bytes as surrogate escapes, whether JSON has kept them or not."""
    true = value.get(f"{name}_quoted")
    return names.unquoted(true) if isinstance(true, str) else str(value.get(name))


def side_to_json(side: Side) -> dict[str, Any]:
    return _without_defaults(side)


def hunk_to_json(hunk: Hunk) -> dict[str, Any]:
    return {
        "old_start": hunk.old_start,
        "old_lines": hunk.old_lines,
        "new_start": hunk.new_start,
        "new_lines": hunk.new_lines,
        "lines": list(hunk.lines),
    }


def from_json(value: object) -> FileChange:
    """Raises ValueError, naming the path of what is malformed (`hunks[2].lines[0]: …`)."""
    record = _Fields(value, "")
    return FileChange(
        path=record.path("path"),
        operation=cast("Operation", record.choice("operation", _OPERATIONS)),
        hunks=tuple(hunk_from_json(item, f"hunks[{at}]") for at, item in enumerate(record.items("hunks"))),
        added=record.count("added", 0),
        removed=record.count("removed", 0),
        file_type=cast("FileType", record.choice("file_type", _FILE_TYPES, "text")),
        old_path=record.path("old_path") if record.has("old_path") else None,
        old_type=cast("FileType", record.choice("old_type", _FILE_TYPES)) if record.has("old_type") else None,
        exact=record.flag("exact", True),
        anchored=record.flag("anchored", True),
        truncated=record.flag("truncated", False),
        redacted=record.flag("redacted", False),
        before=side_from_json(record.value["before"], "before") if record.has("before") else None,
        after=side_from_json(record.value["after"], "after") if record.has("after") else None,
        provenance=cast("Provenance", record.choice("provenance", _PROVENANCES, "result")),
    )


def kept_to_json(place: int, counted: FileChange | None = None) -> dict[str, Any]:
    """What stands in an event for a change that an earlier event of the same call holds: its place among the changes of
    that event. `counted`: the change, where it is still to be counted among what a session changed in all."""
    if counted is None:
        return {"kept": place}
    names_counted = ("added", "removed", "exact", "file_type", "provenance")
    value = {"kept": place} | {name: getattr(counted, name) for name in names_counted}
    return {name: item for name, item in value.items() if (name, item) not in (("exact", True), ("file_type", "text"))}


def kept_place(value: object) -> int | None:
    """The place, of such a reference; None: the value is something else."""
    place = value.get("kept") if isinstance(value, Mapping) else None
    return place if type(place) is int and place >= 0 else None


def side_from_json(value: object, path: str = "side") -> Side:
    record = _Fields(value, path)
    return Side(
        blob=record.text("blob"),
        size=record.count("size"),
        executable=record.flag("executable", False),
        eol=cast("LineEnding", record.choice("eol", _LINE_ENDINGS, "none")),
        bom=record.flag("bom", False),
        final_newline=record.flag("final_newline", True),
        utf8=record.flag("utf8", True),
        lines=record.count("lines") if record.has("lines") else None,
    )


def hunk_from_json(value: object, path: str = "hunk") -> Hunk:
    record = _Fields(value, path)
    lines = cast("Sequence[str]", record.items("lines"))
    signs = _signs(lines, path)
    hunk = Hunk(
        old_start=record.count("old_start"),
        old_lines=record.count("old_lines"),
        new_start=record.count("new_start"),
        new_lines=record.count("new_lines"),
        lines=tuple(lines),
    )
    if (hunk.old_lines, hunk.new_lines) != (len(signs) - signs.count("+"), len(signs) - signs.count("-")):
        raise ValueError(f"{path}.lines: {len(signs)} lines, which is not what its own counts say")
    return hunk


def _signs(lines: Sequence[object], path: str) -> str:
    """The sign of each line. All are looked at together, since a log is full of them; one by one to name a culprit."""
    try:
        text = "\n".join(cast("Sequence[str]", lines))
        signs = "".join([line[:1] for line in cast("Sequence[str]", lines)])
        sound = text.count("\n") == max(0, len(lines) - 1) and len(signs) == len(lines) and not signs.strip(" +-")
    except TypeError:
        sound = False
    if sound:
        return signs
    for at, line in enumerate(lines):
        if not isinstance(line, str) or line[:1] not in (" ", "-", "+") or not line or "\n" in line:
            raise ValueError(f"{path}.lines[{at}]: a line begins with ' ', '-' or '+' and holds no newline")
    raise AssertionError("some line is no line of a hunk")


def _without_defaults(record: FileChange | Side) -> dict[str, Any]:
    value = {}
    for name, default in _DEFAULTS[type(record)]:
        held = getattr(record, name)
        if held is not None and held != default:  # what has no default differs from the mark for that
            value[name] = held
    return value


class _Fields:
    """One JSON object and where it stands, so that every complaint can say so."""

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, Mapping):
            raise ValueError(f"{path or 'change'}: an object is needed, not {_kind(value)}")
        self.value = cast("Mapping[str, object]", value)
        self._path = path

    def has(self, name: str) -> bool:
        return self.value.get(name) is not None

    def text(self, name: str) -> str:
        held = self.value.get(name)
        return held if isinstance(held, str) else self._refuse(name, "text", held)

    def path(self, name: str) -> str:
        self.text(name)
        return path_from_json(self.value, name)

    def count(self, name: str, default: int | None = None) -> int:
        held = self.value.get(name, default)
        if isinstance(held, int) and not isinstance(held, bool) and held >= 0:
            return held
        return cast("int", self._refuse(name, "a whole number from 0", held))

    def flag(self, name: str, default: bool) -> bool:
        held = self.value.get(name, default)
        return held if isinstance(held, bool) else cast("bool", self._refuse(name, "true or false", held))

    def choice(self, name: str, allowed: tuple[str, ...], default: str | None = None) -> str:
        held = self.value.get(name, default)
        if isinstance(held, str) and held in allowed:
            return held
        return cast("str", self._refuse(name, "one of " + ", ".join(allowed), held))

    def items(self, name: str) -> Sequence[object]:
        held = self.value.get(name, ())
        if isinstance(held, list | tuple):
            return cast("Sequence[object]", held)
        return cast("Sequence[object]", self._refuse(name, "a list", held))

    def _refuse(self, name: str, needed: str, held: object) -> Any:
        where = f"{self._path}.{name}" if self._path else name
        raise ValueError(f"{where}: {needed} is needed, not {_kind(held)}")


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    return repr(value)[:60] if isinstance(value, str | int | float | bool) else type(value).__name__
