"""The terminal as a surface: draws rows as they settle, streams the agent's text, asks."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import sys
from typing import TYPE_CHECKING, TextIO

from rich.text import Text

from redline.surfaces.order import InOrder, without_repeats
from redline.surfaces.terminal import prompt
from redline.surfaces.terminal.answer import forget_typed, read_line
from redline.surfaces.terminal.card import Setting
from redline.surfaces.terminal.look import STRONG, glyphs
from redline.surfaces.terminal.rows import render_row
from redline.surfaces.terminal.sheet import Drawing, Sheet
from redline.surfaces.terminal.working import Working
from redline.surfaces.visible import visible_prose
from redline.transcript.rows import AgentRow, AnyRow, SessionState, ToolRow
from redline.views import TerminalCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console, RenderableType

    from redline.tools.permission import PermissionOutcome, PermissionRequest


_GONE = frozenset((errno.EIO, errno.ENXIO, errno.EBADF, errno.EPIPE))
"""How writing to a terminal fails that was closed, or whose line was cut."""


class TerminalSurface:
    """One terminal. Text that a model writes appears line by line; everything else once it is settled. One that goes
    away ends the drawing, which is no fault: nobody is left to be shown anything."""

    name = "terminal"
    shows_changes = True

    def __init__(
        self,
        console: Console,
        *,
        workspace: Path | str,
        ask: bool = True,
        whole: bool = False,
        names_folder: bool = False,
        stdin: TextIO | None = None,
    ) -> None:
        """`ask`: questions may be put to whoever sits there. `whole`: nothing is folded. `names_folder`:
        questions say which folder it is about. `stdin`: where answers come from (the process's own)."""
        self._console = console
        self._workspace = str(workspace)
        self._may_ask = ask
        self._whole = whole
        self._names_folder = names_folder
        self._stdin = stdin if stdin is not None else sys.stdin
        self._order = InOrder()
        self._working = Working(console)
        self._one_question = asyncio.Lock()
        self._asking = False
        self._gone = False
        self._state = SessionState(session="")
        self._streamed: dict[str, str] = {}
        """By row: the text that was streamed so far."""
        self._printed: dict[str, int] = {}
        """By row: how many characters of its text stand in the terminal, always whole lines."""
        _survive_odd_encodings(console)

    async def show(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        self._state = state
        self._order.take(rows, state)
        self._draw()

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None:  # noqa: ARG002 - the contract's
        if kind == "agent":
            self._streamed[row] = self._streamed.get(row, "") + text
        self._draw(writing=kind)

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None:
        if not self._may_ask or self._gone or not self._console.is_terminal or not _is_terminal(self._stdin):
            return None
        async with self._one_question:
            self._asking = True
            try:
                self._working.stop()
                return await self._ask(request)
            except asyncio.CancelledError:
                with contextlib.suppress(OSError):
                    self._console.print()
                raise
            except OSError:
                return None
            finally:
                self._asking = False
                self._draw()

    def close(self) -> None:
        """Take the working line away; what was drawn stays."""
        with self._unless_gone():
            self._working.stop()

    # Drawing.

    def _draw(self, writing: str = "") -> None:
        if not self._asking and not self._gone:
            with self._unless_gone():
                self._draw_ready(writing)

    @contextlib.contextmanager
    def _unless_gone(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in _GONE:
                raise
            self._gone = True

    def _draw_ready(self, writing: str) -> None:
        for row in self._order.ready():
            if isinstance(row, AgentRow):
                self._finish_text(row)
            else:
                new = without_repeats(row, self._order.stands(row)) if isinstance(row, ToolRow) else row
                self._print(render_row(new, workspace=self._workspace, session=self._state.session, whole=self._whole))
        partial = self._stream_on()
        if self._state.running:
            self._working.show(self._doing(writing), partial)
        else:
            self._working.stop()

    def _print(self, renderable: RenderableType) -> None:
        self._console.print(renderable, highlight=False, crop=False, overflow="ignore")

    def _stream_on(self) -> str:
        """Print the whole lines of streamed text that may be printed; what is left of the last line."""
        for row, text in self._streamed.items():
            if not self._order.is_next(row):
                return ""
            self._print_lines(row, text)
            return text[self._printed.get(row, 0) :]
        return ""

    def _print_lines(self, row: str, text: str) -> None:
        """Whole lines only; blank ones wait for what follows them, since at the end of a text they are not drawn."""
        done = self._printed.get(row, 0)
        ready = text[done : text.rfind("\n") + 1]
        if ready.strip():
            end = ready.index("\n", len(ready.rstrip()))
            self._printed[row] = done + end + 1
            self._print(_prose(ready[:end]))

    def _finish_text(self, row: AgentRow) -> None:
        """What is not there yet of a committed text. If what was streamed is not how it begins, all of it."""
        streamed = self._streamed.pop(row.id, "")
        printed = self._printed.pop(row.id, 0)
        if not row.text.startswith(streamed[:printed]):
            printed = 0
        rest = row.text[printed:].rstrip()
        if rest.strip():
            self._print(_prose(rest))
        if row.text.strip():
            self._console.print()

    def _doing(self, writing: str) -> str:
        for row in self._order.waiting:
            if isinstance(row, ToolRow):
                title = row.call_view.title
                last = row.output.rstrip().rsplit("\n", 1)[-1] if row.output.strip() else ""
                doing = f"$ {title}" if isinstance(row.call_view, TerminalCall) else title
                return f"{doing}   {last}" if last else doing
        return {"thought": "Thinking", "agent": "Writing"}.get(writing, "Working")

    # Asking.

    async def _ask(self, request: PermissionRequest) -> PermissionOutcome:
        setting = Setting(self._workspace, self._state.session, whole=True)
        request_view = Drawing(
            lambda sheet: prompt.draw_request(sheet, request, setting, names_folder=self._names_folder)
        )
        self._print(request_view)
        bottom = glyphs(self._console.options).bottom
        while True:
            forget_typed(self._stdin.fileno())
            self._console.print(Text(prompt.question(request, bottom), style=STRONG), end="", soft_wrap=True)
            self._console.file.flush()
            outcome = prompt.answer(await read_line(self._stdin.fileno()), request)
            if outcome == prompt.VIEW:
                await asyncio.to_thread(self._page, request_view)
            elif outcome is not None:
                self._console.print()
                return outcome  # type: ignore[return-value]

    def _page(self, view: Drawing) -> None:
        with self._console.pager(styles=False):
            self._print(view)


def _prose(text: str) -> Drawing:
    def draw(sheet: Sheet) -> None:
        sheet.paragraph(Text(visible_prose(text)))

    return Drawing(draw)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (ValueError, AttributeError):
        return False


def _survive_odd_encodings(console: Console) -> None:
    """A terminal whose encoding lacks a character gets its escape, not a crash."""
    reconfigure = getattr(console.file, "reconfigure", None)
    if reconfigure is not None:
        with contextlib.suppress(ValueError, OSError):
            reconfigure(errors="backslashreplace")
