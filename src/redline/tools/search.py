"""What `glob` and `grep` share: where to look, which paths match, and when to stop.

Both walk the disk in a thread, follow no link, and end by themselves: after so many results, bytes or seconds, which
the answer then says.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pathspec import GitIgnoreSpec

from redline.files.error import FileError
from redline.sessions.gate import escaped
from redline.tools.parameters import logged_text
from redline.tools.tool import ToolContext, ToolError
from redline.tools.walk import Deadline, Stopped
from redline.views import GenericCall, Location, ToolCallView

SECONDS = 20.0
BRACES = 64
"""Alternatives that `{a,b}` in a pattern may amount to."""


def path_matcher(pattern: str, folder: Path) -> Callable[[str], bool]:
    """Whether a name, relative to the folder, matches the pattern. Raises `ToolError` INVALID_PATTERN."""
    cleaned = pattern.removeprefix("./")
    if cleaned.startswith(f"{folder}/"):
        cleaned = cleaned[len(str(folder)) :]
    if cleaned.startswith(("!", "#")):
        cleaned = "\\" + cleaned
    try:
        spec = GitIgnoreSpec.from_lines(map(_checked, _alternatives(cleaned)))
    except (ValueError, re.error) as error:
        raise ToolError("INVALID_PATTERN", f"{pattern!r} is no pattern of paths: {error}.", "Mend it.") from None
    # Escaped, because the matcher takes no name that is not UTF-8.
    return lambda name: spec.match_file(escaped(name))


def _checked(pattern: str) -> str:
    """The pattern, which git would take without a word for one that nothing matches. Raises ValueError."""
    if not pattern.strip(" /"):
        raise ValueError("it names nothing")
    at = 0
    while at < len(pattern):
        if pattern[at] == "[":
            # A `]` that comes first, or first after the negation, stands for itself.
            start = at + 2 + (pattern[at + 1 : at + 2] in ("!", "^"))
            closing = _CLOSING.search(pattern, start)
            if closing is None:
                raise ValueError("it has a '[' that no ']' closes; write '\\[' for the character itself")
            at = closing.end()
        else:
            at += 1 + (pattern[at] == "\\")
    return pattern


_CLOSING = re.compile(r"(?:[^\]\\]|\\.)*\]", re.DOTALL)


def _alternatives(pattern: str) -> list[str]:
    """`a.{b,c}` as `a.b` and `a.c`. Raises ValueError where that makes too many."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        text = waiting.pop()
        close = text.find("}")
        opening = text.rfind("{", 0, close) if close >= 0 else -1
        if opening < 0:
            done.append(text)
        else:
            waiting += [text[:opening] + part + text[close + 1 :] for part in text[opening + 1 : close].split(",")]
        if len(done) + len(waiting) > BRACES:
            raise ValueError(f"its braces make more than {BRACES} alternatives")
    return done


async def folder_of(path: str, context: ToolContext) -> tuple[Path, str]:
    """The folder to walk and the prefix of the names to show. Raises `FileError`."""
    target = await context.files.resolve(path)
    stat = await context.files.stat(target)
    if stat is None:
        raise FileError(
            "NOT_FOUND", f"{path} does not exist.", "Give another path; without one the workspace is searched."
        )
    real = target.real
    if not real.is_dir():
        raise FileError("NOT_REGULAR", f"{path} is not a folder.", "Give a folder.")
    shown = relative(target.path, context.workspace)
    return real, "" if shown == "." else shown + "/"


def relative(path: Path, workspace: Path) -> str:
    return os.path.relpath(path, workspace)


async def in_thread(search: Callable[[], bool], deadline: Deadline) -> bool:
    """Run it aside. False: it was stopped by its deadline. A cancelled caller stops the thread as well."""

    def guarded() -> bool:
        try:
            return search()
        except Stopped:
            return False

    try:
        return await asyncio.to_thread(guarded)
    except asyncio.CancelledError:
        deadline.cancel()
        raise


def shown_name(name: str) -> str:
    """A path on one line: control characters and odd bytes as escapes."""
    text = escaped(name)
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def search_title(verb: str, arguments: Mapping[str, Any]) -> str:
    path = logged_text(arguments, "path")
    where = f" in {path}" if path and path != "." else ""
    return f"{verb} {logged_text(arguments, 'pattern') or ''}".rstrip() + where


def search_card(verb: str, arguments: Mapping[str, Any]) -> ToolCallView:
    path = logged_text(arguments, "path")
    return GenericCall(search_title(verb, arguments), "search", locations=[Location(path)] if path else [])
