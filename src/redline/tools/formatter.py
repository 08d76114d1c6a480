"""A user's own formatters, run on what a call has changed: configured by path, off by default.

A formatter is a filter, as editors run them: it reads the text from its input and writes it, formatted, to its output.
So it never touches the file itself. What it makes of a text is applied like any other change of the call, with stored
bytes, an intent and a check that nobody has changed the file meanwhile; a crash at any moment leaves the one text or
the other, and the log knows which.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from redline.tools.excerpt import decoded
from redline.tools.process import Ended, run
from redline.tools.search import path_matcher, relative
from redline.tools.shell import PROVIDER_KEYS

SECONDS = 10.0
"""After which a formatter is ended, with its whole process group."""
SIZE_LIMIT = 4 << 20
"""Bytes of a text that is formatted."""
_SAID = 300
"""Characters of its own complaint that a warning quotes."""
# Input and output are files, since a text may be larger than a pipe; what goes to stderr is a complaint.
_FILTER = 'from=$1 to=$2; shift 2; exec "$@" <"$from" >"$to"'


class FormatterFailedError(Exception):
    """The text stays as it was; the message says why."""


@dataclass(frozen=True, slots=True)
class Formatter:
    command: Sequence[str]
    """`{path}` in an argument stands for the path of the file."""
    fits: Callable[[str], bool]
    """Asked with a path that is relative to the workspace."""

    @property
    def name(self) -> str:
        return Path(self.command[0]).name


class Formatters:
    """Chosen by the path of a file, relative to the workspace; of several that fit, the first."""

    def __init__(self, commands: Mapping[str, Sequence[str]], workspace: Path) -> None:
        """`commands`: by a pattern as in `.gitignore`, with `{a,b}` besides. Raises `ToolError` INVALID_PATTERN."""
        self._workspace = workspace
        self._formatters = [
            Formatter(tuple(command), path_matcher(pattern, workspace)) for pattern, command in commands.items()
        ]

    def of(self, path: Path) -> Formatter | None:
        name = relative(path, self._workspace)
        return next((formatter for formatter in self._formatters if formatter.fits(name)), None)

    async def formatted(self, formatter: Formatter, path: Path, text: bytes) -> bytes:
        """The text as the formatter writes it. Raises `FormatterFailedError`."""
        if len(text) > SIZE_LIMIT:
            raise FormatterFailedError(f"it has more than {SIZE_LIMIT:,} bytes")
        with tempfile.TemporaryDirectory(prefix="redline-format-") as folder:
            source, result = Path(folder, "source"), Path(folder, "result")
            await asyncio.to_thread(source.write_bytes, text)
            command = [part.replace("{path}", str(path)) for part in formatter.command]
            try:
                ended = await run(
                    ["/bin/sh", "-c", _FILTER, "sh", str(source), str(result), *command],
                    cwd=self._workspace,
                    environment={name: value for name, value in os.environ.items() if name not in PROVIDER_KEYS},
                    seconds=SECONDS,
                    progress=_unheard,
                )
            except (OSError, ValueError) as error:
                raise FormatterFailedError(f"it could not be started: {error}") from error
            _require_success(ended)
            return await asyncio.to_thread(_read, result, text)


def _require_success(ended: Ended) -> None:
    if ended.timed_out:
        raise FormatterFailedError(f"it was ended after {SECONDS:g} seconds")
    if ended.exit_code != 0:
        said = " ".join(decoded(ended.head).split())[:_SAID]
        how = ended.signal or f"exit code {ended.exit_code}"
        raise FormatterFailedError(f"{how}: {said}" if said else how)


def _read(result: Path, text: bytes) -> bytes:
    if result.stat().st_size > 2 * SIZE_LIMIT:
        raise FormatterFailedError("it wrote far more than it was given")
    formatted = result.read_bytes()
    if text.strip() and not formatted.strip():
        raise FormatterFailedError("it wrote nothing to its output, where the formatted text is expected")
    return formatted


async def _unheard(_text: str) -> None:
    """Nobody waits for its words while it runs."""
