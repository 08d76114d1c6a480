"""What a foreign tool is for, by its name and by the kind that its agent gives to the call.

Arguments alone do not say it: two names may be a file's old and new place or two branches to compare. So a shape of
arguments is read as a change only where one of the two says that such a change is meant, and neither says otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def _forms(*verbs: str) -> frozenset[str]:
    """The verbs as names of tools and titles of calls have them: move, moves, moved, moving."""
    found = set(verbs)
    for verb in verbs:
        stem = verb.removesuffix("e")
        found |= {verb + "s", stem + "ed", stem + "ing"}
    return frozenset(found)


_CREATE = _forms("create")
_WRITE = frozenset({*_forms("write", "overwrite"), "wrote"})
_INSERT = _forms("insert")
_EDIT = frozenset({
    *_CREATE, *_WRITE, *_INSERT, *_forms("edit", "replace", "update", "patch", "append", "prepend", "change", "save"),
    "modify", "modifies", "modified", "modifying", "editor",
})  # fmt: skip
_MOVE = frozenset({*_forms("move", "rename", "relocate"), "mv"})
_DELETE = frozenset({*_forms("delete", "remove", "erase", "unlink"), "rm"})
_COPY = frozenset({*_forms("duplicate", "clone", "link", "symlink"), "copy", "copies", "copied", "copying", "cp"})
_LOOK = frozenset({
    *_forms("read", "view", "show", "list", "search", "find", "fetch", "check", "compare", "lint", "review", "browse",
            "preview", "explain", "validate", "log"),
    "get", "ls", "cat", "grep", "glob", "stat", "status", "think", "undo",
})  # fmt: skip
_PATTERN = frozenset({"regex", "regexp", "sed"})
_NO_FILES = frozenset({
    "comment", "comments", "review", "issue", "ticket", "branch", "tag", "commit", "message", "mail", "email", "pr",
})  # fmt: skip
"""What is written, named or removed with a path beside it, and is no file."""
_OF_FILES = frozenset({
    "file", "files", "path", "folder", "directory", "dir", "item", "workspace", "fs", "filesystem", "git", "the", "a",
    "from", "to", "in", "into", "at", "of", "and", "or",
})  # fmt: skip
"""Words beside a verb that leave it a whole file that is meant."""
_LOOKING_KINDS = ("read", "search", "fetch", "think")
_TOKEN = re.compile(r"[^\s()\[\]{}<>`'\",:]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
_SEGMENT = re.compile(r"__|[./:]")
_GLUED = ("multi", "file", "str")


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a call may be believed to mean."""

    looks: bool
    """It changes nothing, whatever its arguments hold."""
    edits: bool
    """It writes into the file that it names."""
    may_edit: bool
    """Nothing speaks against that."""
    creates: bool
    writes: bool
    inserts: bool
    moves: bool
    """It gives a whole file another place or name."""
    deletes: bool
    """It removes a whole file."""
    by_pattern: bool
    """What it replaces is a pattern and not the text itself."""


def purpose(name: str, kind: str | None, paths: Collection[str] = ()) -> Purpose:
    """`name`: of the tool, or the title of the call; empty: unknown. `kind`: as the Agent Client Protocol names them.
    `paths`: what the arguments name, so that a title's words are told from its files."""
    words = _words(name, paths)
    found = frozenset(words)
    replaces = not found.isdisjoint(_forms("replace"))
    first = next((word for word in words if word not in _OF_FILES), "")
    looks = kind in _LOOKING_KINDS or (first in _LOOK and not replaces)  # some find and replace
    other = looks or kind == "execute" or not found.isdisjoint(_COPY) or not found.isdisjoint(_NO_FILES)
    named = not found.isdisjoint(_EDIT)
    may_edit = not other and (named or found.isdisjoint(_MOVE))
    return Purpose(
        looks=looks,
        edits=may_edit and (named or kind == "edit"),
        may_edit=may_edit,
        creates=not found.isdisjoint(_CREATE),
        writes=not found.isdisjoint(_WRITE),
        inserts=not found.isdisjoint(_INSERT),
        moves=not other and _of_whole_files(found, _MOVE, said=kind == "move"),
        deletes=not other and _of_whole_files(found, _DELETE, said=kind == "delete"),
        by_pattern=not found.isdisjoint(_PATTERN),
    )


def _of_whole_files(words: frozenset[str], verbs: frozenset[str], *, said: bool) -> bool:
    """The words name the act and nothing but files; or they name no act, and the kind does (`said`)."""
    if words.isdisjoint(verbs):
        return said and words.isdisjoint(_EDIT | _MOVE | _DELETE)
    return words <= verbs | _OF_FILES


def _words(name: str, paths: Iterable[str]) -> list[str]:
    """The words of a name or title, in lower case, without the files that a title names."""
    files = {path.replace("\\", "/").rstrip("/").rpartition("/")[2] for path in paths} | set(paths)
    tokens = [token for token in _TOKEN.findall(name) if token not in files]
    if len(tokens) == 1:  # the name of a tool, perhaps behind that of its server
        tokens = [_SEGMENT.split(tokens[0])[-1]]
    else:
        tokens = [token for token in tokens if "/" not in token and "." not in token.strip(".…")]
    return [_unglued(word.lower()) for token in tokens for word in _WORD.findall(token)]


def _unglued(word: str) -> str:
    """`multiedit` and `writefile` are an edit and a write."""
    for piece in _GLUED:
        for rest in (word.removeprefix(piece), word.removesuffix(piece)):
            if rest in _EDIT or rest in _MOVE or rest in _DELETE:
                return rest
    return word
