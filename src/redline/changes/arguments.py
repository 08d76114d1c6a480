"""What a foreign edit tool was asked to do, read from its arguments.

The result is the agent's word (`reported`) and has no place in the file (unanchored). Arguments come in many shapes and
may be half streamed; where they do not say the whole change, or the tool is not said to make one, none is derived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from redline.changes import envelope
from redline.changes.acp import from_blocks
from redline.changes.compare import without_basis
from redline.changes.parse import parse
from redline.changes.purpose import purpose
from redline.changes.record import FileChange, Hunk
from redline.changes.snippet import Pair, from_snippets

if TYPE_CHECKING:
    from redline.changes.purpose import Purpose
    from redline.changes.record import Operation

Arguments = Mapping[str, Any]

_PATHS = (
    "path", "file_path", "filePath", "filepath", "fileName", "filename", "file", "target_file", "absolute_path",
)  # fmt: skip
_REPLACEMENTS = (
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_str", "new_str"),
    ("oldStr", "newStr"),
    ("old_text", "new_text"),
    ("oldText", "newText"),
)
"""Names that only a replacement has."""
_VAGUE_REPLACEMENTS = (("search", "replace"), ("old", "new"), ("before", "after"))
"""Dates and versions are named so too."""
_CONTENTS = ("content", "contents", "file_text", "fileText", "new_text")
_LINES = ("insert_line", "insertLine", "line_number", "lineNumber", "line")
_INSERTED = ("insert_text", "insertText", "new_str", "new_text", "text", "content")
_NO_LINE = 10**15
"""Larger numbers are no places in a file, nor can every reader of the log hold them."""
_PATCHES = ("patch", "patch_text", "patchText", "diff", "unified_diff", "input")
_RANGES = (
    "start_line", "startLine", "end_line", "endLine", "line_start", "line_end", "start", "end", "range", "from_line",
    "to_line",
)  # fmt: skip
"""They say that lines go as well, and not which."""
_INSTRUCTIONS = ("instructions", "instruction")
"""Beside them a content is a sketch, with words in place of lines that stay."""
_PATTERNS = ("regex", "is_regex", "isRegex", "use_regex", "useRegex", "regexp")
_MOVES = (("source", "destination"), ("src", "dst"), ("from", "to"), ("old_path", "new_path"), ("oldPath", "newPath"))
_ALL_PATHS = (*_PATHS, *(key for pair in _MOVES for key in pair))


def from_arguments(name: str | None, arguments: object, kind: str | None = None) -> list[FileChange]:
    """The changes that a call of tool `name` (or the call's title; None: unknown) asks for; none where the arguments do
    not say. `kind`: of the call, as the Agent Client Protocol names them; None: unknown.

    Patches (unified, git's, and the `*** Begin Patch` envelope), maps of changes by path, diff blocks and pairs such as
    `old_string` and `new_string` are changes by their own words, unless name or kind speak against it. Other pairs,
    creating, inserting at a line, deleting and moving are believed where name or kind say so; see `purpose`.
    """
    if isinstance(arguments, str):
        return [] if purpose(name or "", kind).looks else _from_patch(arguments)
    if not isinstance(arguments, Mapping):
        return []
    command = arguments.get("command")
    named = [arguments[key] for key in _ALL_PATHS if isinstance(arguments.get(key), str)]
    tool = name or ""
    if isinstance(command, str) and any(arguments.get(key) for key in _PATHS):
        tool = command
    meant = purpose(tool, kind, named)
    if meant.looks:
        return []
    for read in (_from_patches, _from_change_map, _from_blocks):
        if changes := read(arguments):
            return changes
    if meant.moves and (moved := _from_move(arguments)):
        return moved
    if meant.may_edit and (changes := _from_edits(arguments, meant)):
        return changes
    path = _first(arguments, _PATHS)
    if path is None:
        return []
    if tool == "str_replace" and isinstance(old := arguments.get("old_str"), str) and "new_str" not in arguments:
        return [from_snippets(path, [(old, "")])]  # the one tool that documents a missing new text as empty
    if tool == "str_replace" and isinstance(old := arguments.get("old_str"), str) and "new_str" not in arguments:
        return [from_snippets(path, [(old, "")])]  # the one tool that documents a missing new text as empty
    change = _from_file(meant, path, arguments)
    return [] if change is None else [change]


def _from_file(meant: Purpose, path: str, arguments: Arguments) -> FileChange | None:
    if meant.deletes and set(arguments) <= {*_PATHS, "description", "explanation", "command"}:
        return without_basis(path, "delete", None, None, provenance="reported")
    if meant.edits and (meant.inserts or any(_is_line(arguments.get(key)) for key in _LINES[:2])):
        return _insertion(path, arguments)
    pair = _pair(arguments, meant)
    if pair is not None:
        created = pair[0] == "" and (meant.writes or meant.creates)
        return from_snippets(path, [pair], operation="add" if created else "modify")
    if not meant.edits or any(old in arguments for old, _ in (*_REPLACEMENTS, *_VAGUE_REPLACEMENTS)):
        return None  # with such a name: half of a replacement, or one of a pattern
    content = _first(arguments, _CONTENTS, empty=True)
    if content is None or _holds(arguments, _RANGES) or _holds(arguments, _INSTRUCTIONS):
        return None
    # Whether there was a file is not said, except by a tool that only creates.
    return from_snippets(path, [("", content)], operation="add" if meant.creates else "modify")


def _insertion(path: str, arguments: Arguments) -> FileChange | None:
    """New lines after line N; nothing where N is not said."""
    line = next((arguments[key] for key in _LINES if _is_line(arguments.get(key))), None)
    text = _first(arguments, _INSERTED)
    if line is None or text is None or _holds(arguments, _RANGES):
        return None
    change = from_snippets(path, [("", text)])
    hunks = tuple(Hunk(line, 0, line + 1, hunk.new_lines, hunk.lines) for hunk in change.hunks)
    return replace(change, hunks=hunks)


def _from_edits(arguments: Arguments, meant: Purpose) -> list[FileChange]:
    """`edits: [{old, new}, …]`, with the path above or in each; all of them or none."""
    edits = arguments.get("edits") or arguments.get("replacements")
    if not isinstance(edits, Sequence) or isinstance(edits, str):
        return []
    pairs: dict[str, list[Pair]] = {}
    for edit in edits:
        pair = _pair(edit, meant) if isinstance(edit, Mapping) and not _is_pattern(arguments) else None
        path = _first(cast("Arguments", edit), _PATHS) or _first(arguments, _PATHS) if pair is not None else None
        if pair is None or path is None:
            return []
        pairs.setdefault(path, []).append(pair)
    return [from_snippets(path, each) for path, each in pairs.items()]


def _from_change_map(arguments: Arguments) -> list[FileChange]:
    """`changes: {path: {type: add | update | delete, content | unified_diff, move_path?}}`."""
    changes = arguments.get("changes")
    if not isinstance(changes, Mapping):
        return []
    derived = []
    for path, change in changes.items():
        one = _mapped(path, change) if isinstance(path, str) and isinstance(change, Mapping) else None
        if one is None:
            return []
        derived.append(one)
    return derived


def _mapped(path: str, change: Arguments) -> FileChange | None:
    kind, content, diff, target = (change.get(key) for key in ("type", "content", "unified_diff", "move_path"))
    if kind == "add" and isinstance(content, str):
        return from_snippets(path, [("", content)], operation="add")
    if kind == "delete":
        if isinstance(content, str):
            return from_snippets(path, [(content, "")], operation="delete")
        return without_basis(path, "delete", None, None, provenance="reported")
    if kind != "update" or not isinstance(diff, str):
        return None
    named = _from_patch(f"--- {path}\n+++ {path}\n{diff}")
    if len(named) != 1:
        return None
    if isinstance(target, str) and target:
        return replace(named[0], path=target, old_path=path, operation="move")
    return replace(named[0], path=path)


def _from_patches(arguments: Arguments) -> list[FileChange]:
    for key in _PATCHES:
        if isinstance(text := arguments.get(key), str) and (changes := _from_patch(text)):
            named = _first(arguments, _PATHS)
            return [replace(changes[0], path=named)] if named and len(changes) == 1 else changes
    command = arguments.get("command")
    words = command if isinstance(command, list) else [command]
    for word in words:
        if isinstance(word, str) and envelope.BEGIN in word and (changes := _from_patch(word)):
            return changes
    return []


def _from_patch(text: str) -> list[FileChange]:
    try:
        changes = envelope.parse_envelope(text) if envelope.is_envelope(text) else parse(text)
    except ValueError:
        return []
    return [replace(change, provenance="reported") for change in changes]


def _from_blocks(arguments: Arguments) -> list[FileChange]:
    content = arguments.get("content")
    blocks = [content] if isinstance(content, Mapping) else content
    if not isinstance(blocks, list):
        return []
    reading = from_blocks(blocks)
    return [] if reading.malformed else list(reading.changes)


def _from_move(arguments: Arguments) -> list[FileChange]:
    for old_key, new_key in _MOVES:
        old, new = arguments.get(old_key), arguments.get(new_key)
        if isinstance(old, str) and isinstance(new, str) and old and new and not _holds(arguments, _PATHS):
            operation: Operation = "move"
            return [without_basis(new, operation, None, None, old_path=old, provenance="reported")]
    return []


def _pair(arguments: Arguments, meant: Purpose) -> Pair | None:
    """Old and new text, as they stand in the file."""
    if not meant.may_edit or meant.by_pattern or _is_pattern(arguments):
        return None
    for old_key, new_key in (*_REPLACEMENTS, *(_VAGUE_REPLACEMENTS if meant.edits else ())):
        old, new = arguments.get(old_key), arguments.get(new_key)
        if isinstance(old, str) and isinstance(new, str):
            return old, new
    return None


def _is_pattern(arguments: Arguments) -> bool:
    return _holds(arguments, _PATTERNS) or any(arguments.get(key) in ("regex", "regexp") for key in ("mode", "type"))


def _holds(arguments: Arguments, keys: Sequence[str]) -> bool:
    return any(arguments.get(key) not in (None, False) for key in keys)


def _first(arguments: Arguments, keys: Sequence[str], *, empty: bool = False) -> str | None:
    return next(
        (arguments[key] for key in keys if isinstance(arguments.get(key), str) and (arguments[key] or empty)), None
    )


def _is_line(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _NO_LINE
