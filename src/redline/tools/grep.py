"""`grep`: which lines match.

Expressions run on RE2, whose time grows with the text and never with the cleverness of the pattern.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import re2  # type: ignore[import-untyped]
from pydantic import Field

from redline.files.text import BOM, is_binary
from redline.tools.counting import counted
from redline.tools.excerpt import cut_line, decoded, masked_keys, numbered
from redline.tools.parameters import Parameters, Path, logged_number
from redline.tools.search import (
    SECONDS,
    folder_of,
    in_thread,
    path_matcher,
    relative,
    search_card,
    search_title,
    shown_name,
)
from redline.tools.tool import Tool, ToolContext, ToolError, ToolOutput, ToolResult, text_block
from redline.tools.walk import Deadline, Found, read_regular, walk
from redline.views import GenericResult, ToolCallView, ToolResultView

MATCHES = 250
OUTPUT_BYTES = 50 * 1024
FILE_BYTES = 8 * 2**20
"""Files over this size are not searched."""
LINE_CHARACTERS = 500
_Line = tuple[int, int, int]
"""The number of a line, from 1, and where it starts and ends."""

SLICE_BYTES = 2**20
"""Searched at one go; between two, a search can be stopped."""


class GrepArguments(Parameters):
    pattern: str = Field(
        min_length=1, max_length=1000, description="A regular expression in RE2's syntax, matched within one line."
    )
    path: Path = Field(".", description="The folder or file to search; the workspace if not given.")
    glob: str | None = Field(None, min_length=1, max_length=1000, description="Only files that match, as in glob.")
    literal: bool = Field(False, description="Take the pattern as plain text.")
    ignore_case: bool = Field(False, description="Let letters match in either case.")
    context: int = Field(0, ge=0, le=20, description="Lines to show before and after each match.")
    files_only: bool = Field(False, description="Only the paths of files that match.")
    include_ignored: bool = Field(False, description="Also files that git ignores.")


class Grep(Tool[GrepArguments]):
    name = "grep"
    description = (
        "Search the lines of files. Matching lines are shown below their file's path as '12→text', lines around them "
        f"as '12-text': up to {MATCHES} matches and {OUTPUT_BYTES // 1024} KiB, lines cut after {LINE_CHARACTERS} "
        "characters. RE2 has no look-around and no back-references. Hidden files are searched; binary files, files "
        f"over {FILE_BYTES // 2**20} MiB and what git ignores are not; links are not followed. Ends after "
        f"{SECONDS:.0f} s with what it has. To edit a file that was found, read it first."
    )
    kind = "search"
    parameters = GrepArguments

    async def execute(self, arguments: GrepArguments, context: ToolContext) -> ToolOutput:
        expression = _expression(arguments)
        target = await context.files.resolve(arguments.path)
        stat = await context.files.stat(target)
        deadline = Deadline(SECONDS)
        if stat is not None and stat.kind == "file":
            prefix = relative(target.path, context.workspace)
            files: Iterator[Found] = iter([Found(target.key, "", stat.size, 0.0)])
        else:
            folder, prefix = await folder_of(arguments.path, context)
            files = walk(folder, deadline, ignored=arguments.include_ignored)
            if arguments.glob is not None:
                matches = path_matcher(arguments.glob, folder)
                files = filter(lambda file: matches(file.name), files)
        report = _Report(arguments.context, arguments.files_only)

        def search() -> bool:
            for file in files:
                report.look(prefix + file.name, file, expression, deadline)
                if report.full:
                    break
            return True

        complete = await in_thread(search, deadline)
        lines = report.lines or [f"[No line matches {arguments.pattern}.]"]
        text = "\n".join(lines + report.remarks(complete))
        meta = {"matches": report.matches, "files": report.files, "truncated": report.full or not complete}
        return ToolOutput([text_block(text)], meta=meta)

    def present_call(self, arguments: Mapping[str, Any], _proposed: Sequence[Any]) -> ToolCallView:
        return search_card("Search", arguments)

    def present_result(self, arguments: Mapping[str, Any], result: ToolResult) -> ToolResultView | None:
        matches, files = logged_number(result.meta, "matches"), logged_number(result.meta, "files")
        if result.is_error or matches is None or files is None:
            return None
        title = f"{search_title('Search', arguments)}: {counted(matches, 'match')} in {counted(files, 'file')}"
        return GenericResult(title, result.content)


@dataclass(slots=True)
class _Report:
    """What a grep has found so far, as lines to show."""

    context: int
    files_only: bool
    lines: list[str] = field(default_factory=list)
    matches: int = 0
    files: int = 0
    full: bool = False
    large: int = 0
    """Files that were not searched because of their size."""
    binary: int = 0
    used: int = 0
    """Bytes of `lines`."""

    def look(self, name: str, file: Found, expression: Any, deadline: Deadline) -> None:
        if file.size > FILE_BYTES:
            self.large += 1
            return
        deadline.check()
        data = read_regular(file.path, FILE_BYTES)
        if data is None:
            return
        if is_binary(data):
            self.binary += 1
            return
        data = data.removeprefix(BOM).replace(b"\r\n", b"\n")
        wanted = 1 if self.files_only else MATCHES - self.matches
        found: list[_Line] = []
        try:
            found.extend(itertools.islice(matching_lines(expression, data, deadline), wanted))
        finally:  # what was found until a stop is shown
            if found:
                self._tell(name, data, found)

    def _tell(self, name: str, data: bytes, found: Sequence[_Line]) -> None:
        self.files += 1
        self._add(shown_name(name))
        if self.files_only:
            self.matches += 1
        else:
            self._tell_lines(data, found)
        self.full = self.matches >= MATCHES or self.used >= OUTPUT_BYTES

    def _tell_lines(self, data: bytes, found: Sequence[_Line]) -> None:
        lines = decoded(data).split("\n")
        if lines[-1] == "":
            lines.pop()
        keys = masked_keys(lines)

        def shown(number: int) -> str:
            return keys[number] if number in keys else cut_line(lines[number - 1], LINE_CHARACTERS)

        told = 0
        """The last line that is shown already."""
        for place, (number, _, _) in enumerate(found):
            for above in range(max(told + 1, number - self.context), number):
                self._add(f"{above}-{shown(above)}")
            self._add(numbered(number, shown(number)))
            next_match = found[place + 1][0] if place + 1 < len(found) else len(lines) + 1
            told = min(number + self.context, next_match - 1)
            for below in range(number + 1, told + 1):
                self._add(f"{below}-{shown(below)}")
            self.matches += 1
            if self.used >= OUTPUT_BYTES:
                return

    def _add(self, line: str) -> None:
        self.lines.append(line)
        self.used += len(line.encode()) + 1

    def remarks(self, complete: bool) -> list[str]:
        said = []
        if self.full:
            said.append(
                f"[Stopped after {counted(self.matches, 'match')}; narrow the pattern or the path to see more.]"
            )
        if not complete:
            said.append(f"[Stopped after {SECONDS:.0f} s; there may be more.]")
        if self.large:
            said.append(f"[{counted(self.large, 'file')} over {FILE_BYTES // 2**20} MiB not searched.]")
        if self.binary:
            said.append(f"[{counted(self.binary, 'binary file')} not searched.]")
        return said


def _slice_end(data: bytes, at: int) -> int:
    """Where the slice from `at` ends: at the end of a line, that of the last one without its newline."""
    if len(data) - at <= SLICE_BYTES:
        return len(data) - data.endswith(b"\n")
    stop = data.rfind(b"\n", at, at + SLICE_BYTES)
    if stop < 0:
        stop = data.find(b"\n", at)
    return len(data) if stop < 0 else stop


def matching_lines(expression: Any, data: bytes, deadline: Deadline) -> Iterator[_Line]:
    """Number (from 1), start and end of each line that matches. Lines end at `\\n`. Raises `Stopped`."""
    at, number, counted = 0, 1, 0
    while at < len(data):
        deadline.check()
        stop = _slice_end(data, at)
        match = expression.search(data, at, stop)
        if match is None:
            at = stop + 1
            continue
        start = data.rfind(b"\n", 0, match.start()) + 1
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        number += data.count(b"\n", counted, start)
        counted = start
        yield number, start, end
        at = end + 1


_BY_LINES = b"(?m)"


def _expression(arguments: GrepArguments) -> Any:
    options = re2.Options()
    options.never_nl = True
    options.log_errors = False
    options.case_sensitive = not arguments.ignore_case
    pattern = re2.escape(arguments.pattern) if arguments.literal else arguments.pattern
    try:
        return re2.compile(_BY_LINES + pattern.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0] if error.args and isinstance(error.args[0], bytes) else str(error).encode()
        reason = reason.replace(_BY_LINES, b"", 1)  # what the pattern does not hold, whoever wrote it need not hear of
        raise ToolError(
            "INVALID_PATTERN",
            f"The expression {arguments.pattern!r} does not compile: {decoded(reason)}.",
            "Mend it (RE2 has no look-around and no back-references), or set literal to search plain text.",
        ) from None
