"""`read`: lines of one file, numbered."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from pydantic import Field

from redline.files.error import FileError
from redline.files.seam import Content, Files, Target
from redline.files.text import BOM, is_binary
from redline.tools.counting import counted
from redline.tools.excerpt import LINE_LIMIT, Window, decoded, outside_key, window
from redline.tools.parameters import Parameters, Path, logged_number, logged_text
from redline.tools.tool import Tool, ToolContext, ToolError, ToolOutput, ToolResult, text_block
from redline.views import GenericCall, GenericResult, Location, ToolCallView, ToolResultView

LINES = 2000
BYTES = 50 * 1024
INLINE = 256 * 1024
"""Bytes up to which a file is cut into lines at once, without a thread."""

LANGUAGES = {
    ".bash": "bash", ".c": "c", ".cc": "cpp", ".cpp": "cpp", ".cs": "csharp", ".css": "css", ".go": "go", ".h": "c",
    ".hpp": "cpp", ".html": "html", ".java": "java", ".js": "javascript", ".json": "json", ".jsx": "jsx",
    ".kt": "kotlin", ".lua": "lua", ".md": "markdown", ".mjs": "javascript", ".php": "php", ".pl": "perl",
    ".proto": "protobuf", ".py": "python", ".pyi": "python", ".r": "r", ".rb": "ruby", ".rs": "rust", ".scala": "scala",
    ".scss": "scss", ".sh": "bash", ".sql": "sql", ".swift": "swift", ".toml": "toml", ".ts": "typescript",
    ".tsx": "tsx", ".vue": "vue", ".xml": "xml", ".yaml": "yaml", ".yml": "yaml", ".zig": "zig",
}  # fmt: skip
"""By suffix, in the names that the usual highlighters know."""


class ReadArguments(Parameters):
    path: Path
    offset: int = Field(1, ge=1, description="The first line to show, counted from 1.")
    limit: int = Field(LINES, ge=1, le=LINES, description=f"How many lines to show, {LINES} at most.")


class Read(Tool[ReadArguments]):
    name = "read"
    description = (
        "Read lines of a text file. Each is shown as its number, an arrow and the line itself, as in '12→text'; all "
        "after the arrow is the file's own, tabs included. Shows up to "
        f"{LINES} lines and {BYTES // 1024} KiB at once, cuts lines over {LINE_LIMIT} characters, and says so: go on "
        "with offset. A file must be read before it is edited, replaced, moved or deleted. Folders: use glob."
    )
    kind = "read"
    parameters = ReadArguments

    async def reads(self, arguments: ReadArguments, files: Files) -> Sequence[Target]:
        return [await files.resolve(arguments.path)]

    async def execute(self, arguments: ReadArguments, context: ToolContext) -> ToolOutput:
        target = await context.files.resolve(arguments.path)
        content = await context.read(target)
        data = _text_bytes(arguments.path, content)
        if len(data) > INLINE:
            text, numbers = await asyncio.to_thread(_shown, arguments, data)
        else:
            text, numbers = _shown(arguments, data)
        language = LANGUAGES.get(PurePath(arguments.path).suffix.lower())
        return ToolOutput([text_block(text)], meta={"path": str(target.path), **numbers, "language": language})

    def present_call(self, arguments: Mapping[str, Any], _proposed: Sequence[Any]) -> ToolCallView:
        path = logged_text(arguments, "path")
        offset = logged_number(arguments, "offset")
        limit = logged_number(arguments, "limit")
        title = f"Read {path or ''}".rstrip()
        if limit is not None:
            first = offset or 1
            title += f" ({_span(first, first + limit - 1)})"
        elif offset is not None and offset > 1:
            title += f" (from line {offset})"
        return GenericCall(title, "read", locations=[Location(path, offset or 1)] if path else [])

    def present_result(self, arguments: Mapping[str, Any], result: ToolResult) -> ToolResultView | None:
        """The title says what was really shown; without a sound `meta` the call's title stays."""
        offset, shown, total = (logged_number(result.meta, name) for name in ("offset", "lines", "total"))
        path = logged_text(arguments, "path")
        if result.is_error or path is None or offset is None or shown is None or total is None:
            return None
        whole = offset == 1 and shown == total
        part = counted(total, "line") if whole else f"{_span(offset, offset + shown - 1)} of {total}"
        return GenericResult(f"Read {path} ({part})", result.content)


def _shown(arguments: ReadArguments, data: bytes) -> tuple[str, dict[str, int]]:
    """The text for the model, and the numbers of `meta`. Raises `ToolError` OUT_OF_RANGE."""
    body = data.removeprefix(BOM)
    lines, endings = _lines(body)
    if arguments.offset > max(len(lines), 1):
        raise ToolError(
            "OUT_OF_RANGE",
            f"{arguments.path} has {counted(len(lines), 'line')}; line {arguments.offset} is past its end.",
            "Give a smaller offset.",
        )
    first = outside_key(lines, arguments.offset)
    shown = window(lines, first, arguments.limit, byte_limit=BYTES)
    footer = " ".join(_footer(arguments, first, shown, len(lines), endings, body, data))
    text = f"{shown.text}\n\n[{footer}]" if shown.text else f"[{footer}]"
    return text, {"offset": first, "lines": shown.shown, "total": len(lines)}


def _span(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _text_bytes(path: str, content: Content) -> bytes:
    if content.data is None:
        raise FileError(
            "TOO_LARGE",
            f"{path} has {content.size} bytes, more than is read at once.",
            "Search it with grep, or show a part of it with a shell command such as sed -n '1,200p'.",
        )
    if is_binary(content.data):
        raise FileError(
            "NOT_TEXT",
            f"{path} is binary: {content.size} bytes, with a NUL among the first 8000.",
            "Use a shell command that knows its format.",
        )
    return content.data


def _lines(body: bytes) -> tuple[list[str], str]:
    """The lines, ended by `\\n` only, and what is to be said of their ends (empty: all are LF)."""
    newlines, returns = body.count(b"\n"), body.count(b"\r\n")
    lines = decoded(body.replace(b"\r\n", b"\n")).split("\n")
    if lines[-1] == "":
        lines.pop()
    if not returns:
        return lines, ""
    ends = (
        "Line ends: CRLF." if returns == newlines else f"Line ends: mixed, {returns} CRLF and {newlines - returns} LF."
    )
    return lines, ends + " Write plain newlines in edits; each line keeps its own end."


def _footer(
    arguments: ReadArguments, first: int, shown: Window, total: int, endings: str, body: bytes, data: bytes
) -> list[str]:
    if not data:
        return ["The file is empty."]
    last = first + shown.shown - 1
    whole = "The only line." if total == 1 else f"All {total} lines."
    said = [f"{_span(first, last).capitalize()} of {total}." if shown.shown < total else whole]
    if last < total:
        why = f" ({BYTES // 1024} KiB are shown at once)" if shown.shown < arguments.limit else ""
        said.append(f"More follow{why}: read on with offset {last + 1}.")
    if shown.cut:
        are = "is" if shown.cut == 1 else "are"
        said.append(f"{counted(shown.cut, 'line')} {are} cut after {LINE_LIMIT} characters.")
    if endings:
        said.append(endings)
    if last >= total and body and not body.endswith(b"\n"):
        said.append("No newline at the end of the file.")
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        said.append(r"Not UTF-8: odd bytes are shown as \xE9 and the like; edits work on texts without them.")
    return said
