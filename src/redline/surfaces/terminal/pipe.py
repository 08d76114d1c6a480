"""The pipe form: what a session says when nobody looks at a terminal.

The output is a record of what happened, as patches with remarks. Each applied change is a section that starts with
`diff --git`; every other line starts with `# `: what the user and the agent said, how each call ended, errors with
their remedy, and how the turn ended. git and patch pass over such lines, and nothing that an agent wrote can be taken
for a change. The sections follow each other as the changes did, so a file that was edited and then moved stands there
twice, which git does not put together: to apply a turn elsewhere, take its net change from `redline diff --patch`.

A call of which more is found after it was printed, such as a command that runs on, is followed by what is new of it.

A change that the log does not hold whole (masked secrets, bytes that are not UTF-8, binary, too large for the log)
stands there as remarks too, with the command that prints it. Calls that changed nothing on disk are never
printed as a change: a rejected or failed edit is one remark. What a command printed stands below it, each line behind a
bar, the middle of a long output left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from redline.changes.between import between
from redline.changes.patch import unified
from redline.changes.reverse import reverse
from redline.surfaces import words
from redline.surfaces.applicable import section, why_not_a_patch
from redline.surfaces.order import InOrder, says_the_same
from redline.surfaces.terminal import output
from redline.surfaces.terminal.card import Setting
from redline.surfaces.visible import visible, visible_prose
from redline.transcript.rows import (
    AgentRow,
    AnyRow,
    FoundRow,
    NetTotal,
    NoticeRow,
    OtherRow,
    Problem,
    RevertRow,
    SessionState,
    ToolRow,
    TurnEndRow,
    UserRow,
)
from redline.views import TerminalCall, TerminalResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from redline.changes.record import FileChange
    from redline.tools.permission import PermissionOutcome, PermissionRequest


class PipeSurface:
    """Writes to a stream that is no terminal. A reader that goes away ends the writing, not the turn."""

    name = "pipe"
    shows_changes = True

    def __init__(self, stdout: TextIO, *, workspace: Path | str = "") -> None:
        """`workspace`: what paths are relative to, if not what the session's log says."""
        self._stdout = stdout
        self._workspace = str(workspace)
        self._order = InOrder()
        self._open = True
        self.failure: str | None = None
        """Why the stream could not be written to; None also where its reader went away."""

    async def show(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        self._order.take(rows, state)
        root = self._workspace or state.workspace
        setting = Setting(root, state.session)
        for row in self._order.ready():
            self._write("".join(f"{line}\n" for line in _lines(row, self._order.stands(row), setting)))

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None:
        """The committed rows say it all."""

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None:  # noqa: ARG002 - the contract's
        return None

    def close(self) -> None:
        """Nothing is held back."""

    def _write(self, text: str) -> None:
        if not self._open or not text:
            return
        try:
            buffer = getattr(self._stdout, "buffer", None)
            if buffer is not None:
                buffer.write(text.encode("utf-8", "backslashreplace"))
            else:
                self._stdout.write(text)
            self._stdout.flush()
        except BrokenPipeError:
            self._open = False
        except (OSError, ValueError) as error:
            self._open = False
            self.failure = getattr(error, "strerror", None) or str(error)


def plain_row(row: AnyRow, *, workspace: str = "", session: str = "", whole: bool = False) -> Iterator[str]:
    """The lines of a row in the pipe form. `whole`: of what a command printed, nothing is left out."""
    yield from _lines(row, None, Setting(workspace, session, whole))


def _lines(row: AnyRow, before: ToolRow | None, setting: Setting) -> Iterator[str]:
    """`before`: of a call, what was printed of it, so that only what is new follows."""
    setting = setting.of(row)
    match row:
        case UserRow():
            yield from _remarks(f"> {row.text}")
        case AgentRow() if row.text.strip():
            yield from _remarks(row.text.rstrip())
        case ToolRow() if before is not None:
            yield from _news(row, before, setting)
        case ToolRow():
            yield from _tool(row, setting)
        case RevertRow():
            for change in row.changes:
                yield from _change(change, "undone", setting)
        case FoundRow():
            calls = f" call{'s' if len(row.during) > 1 else ''} {', '.join(map(visible, row.during))}"
            during = (f" during{calls}" if row.during else "") + words.beside(row)
            for change in row.changes:
                taken_back = ", taken back later" if change.path in row.reverted_paths else ""
                yield from _change(change, f"found on disk{during}{taken_back}", setting)
        case NoticeRow():
            yield from _problem(row.problem, row.level)
        case TurnEndRow():
            yield from _turn_end(row, setting)
        case OtherRow():
            yield from _remarks(row.title)
        case _:
            return


def _tool(row: ToolRow, setting: Setting) -> Iterator[str]:
    ended_well = _ended_well(row)
    is_command = isinstance(row.call_view, TerminalCall)
    if is_command:
        yield from _remarks(f"{_title(row)}: {_ending(row)}")
        yield from _printed(_output(row), setting)
    for change in row.changes:
        yield from _change(change, _applied(row, change), setting)
    landed = {change.path for change in row.changes}
    if not ended_well:
        for change in row.proposed:
            if change.path not in landed:
                yield from _remarks(f"{_name(change, setting)}: {words.not_applied_word(row)}")
    if not is_command and not row.changes and (ended_well or not row.proposed):
        yield from _remarks(f"{_title(row)}: {_ending(row)}")
    note = getattr(row.result_view, "note", None)
    if row.changes and note:
        yield from _remarks(note)
    for warning in row.warnings:
        yield from _remarks(f"warning: {warning}")
    if row.error is not None:
        yield from _problem(row.error, "error")


def _news(row: ToolRow, before: ToolRow, setting: Setting) -> Iterator[str]:
    """Of a call that changed after it was printed, what is new: the sections of before and these are what it did."""
    printed = {change.old_path or change.path: change for change in before.changes}
    for change in row.changes:
        known = printed.pop(change.old_path or change.path, None)
        if known is None:
            yield from _change(change, _applied(row, change), setting)
        elif not says_the_same(known, change):
            more = between(known, change)
            yield from _change(more or change, f"{_applied(row, change)}, {_MORE if more else _WHOLE}", setting)
    for gone in printed.values():
        yield from _change(reverse(gone), "found undone after what was printed before", setting)
    if (row.status, row.result_view) != (before.status, before.result_view):
        yield from _remarks(f"{_title(row)}: {_ending(row)}")
        if isinstance(row.call_view, TerminalCall) and _output(row) != _output(before):
            yield from _printed(_output(row), setting)
    for warning in before.warnings:
        if warning not in row.warnings:
            yield from _remarks(f"no longer so: {warning}")
    for warning in row.warnings:
        if warning not in before.warnings:
            yield from _remarks(f"warning: {warning}")
    if row.error is not None and row.error != before.error:
        yield from _problem(row.error, "error")


_MORE = "after what was printed before"
_WHOLE = "with what was printed before"


def _ended_well(row: ToolRow) -> bool:
    return row.status in ("applied", "completed")


def _applied(row: ToolRow, change: FileChange) -> str:
    word = "applied" if _ended_well(row) else f"applied, although the call ended as {row.status}"
    word += ", found on disk" if change.provenance == "observed" else ""
    return f"{word}, taken back later" if row.reverted or change.path in row.reverted_paths else word


def _title(row: ToolRow) -> str:
    title = (row.result_view.title if row.result_view is not None else None) or row.call_view.title or row.name
    return f"$ {title}" if isinstance(row.call_view, TerminalCall) else title


def _ending(row: ToolRow) -> str:
    result = row.result_view
    ended = words.ended(result) if isinstance(result, TerminalResult) else ""
    said = ended or getattr(result, "note", None)
    if said or _ended_well(row):
        return said or "done"
    return words.not_applied_word(row) if words.mutates(row) else words.not_run_word(row)


def _output(row: ToolRow) -> str:
    return row.result_view.output if isinstance(row.result_view, TerminalResult) else row.output


def _printed(text: str, setting: Setting) -> Iterator[str]:
    """What a command printed, each line behind a bar, so that it is not taken for a remark of Redline's."""
    shown = output.shortened(text, whole=setting.whole)
    for line in shown.head:
        yield _behind_bar(line, setting)
    if shown.left_out:
        all_of_it = f": redline show {setting.session} --turn {setting.turn} --whole" if setting.session else ""
        yield from _remarks(f"{shown.left_out} lines left out{all_of_it}")
    for line in shown.tail:
        yield _behind_bar(line, setting)


def _behind_bar(line: str, setting: Setting) -> str:
    kept, cut = output.line(line, whole=setting.whole)
    return f"# | {visible(kept)}{cut}".rstrip()


def _change(change: FileChange, word: str, setting: Setting) -> Iterator[str]:
    reason = why_not_a_patch(change)
    yield from _remarks(f"{_name(change, setting)}: {word}" + (f" ({reason})" if reason else ""))
    if reason is None:
        yield from section(change, setting.workspace or None)
        return
    hint = setting.command(change.path)
    if change.file_type == "unknown":
        yield from _remarks("its bytes are not kept: there is no patch of it, and no undo")
    elif hint is not None:
        command, net = hint
        yield from _remarks(f"{net}{' ' if net else ''}as a patch: {command} --patch")
    yield from _remarks(unified(change).rstrip("\n"))


def _name(change: FileChange, setting: Setting) -> str:
    counts = f" -{change.removed} +{change.added}" if change.added or change.removed else ""
    operation = "add or modify" if change.may_be_new else change.operation
    return f"{operation} {_paths(change, setting)}{counts}{_type(change)}"


def _paths(of: FileChange | NetTotal, setting: Setting) -> str:
    old = f"{setting.path(of.old_path)} -> " if of.old_path else ""
    return f"{old}{setting.path(of.path)}"


def _type(of: FileChange | NetTotal) -> str:
    """The patch shows it as a deletion and an addition."""
    said = {"link_became_file": " (symlink became file)", "file_became_link": " (file became symlink)"}
    return next((said[fact] for fact in of.facts if fact in said), "")


def _turn_end(row: TurnEndRow, setting: Setting) -> Iterator[str]:
    yield from _remarks(f"turn {row.turn}: {row.reason}")
    for total in row.net:
        bound = "" if total.exact else "about "
        counts = f" {bound}-{total.removed} +{total.added}" if total.counted and (total.added or total.removed) else ""
        yield from _remarks(f"net {total.operation} {_paths(total, setting)}{counts}{_type(total)}")
    used = [f"{row.input_tokens} tokens in, {row.output_tokens} out"] if row.input_tokens or row.output_tokens else []
    if row.context_size:
        used.append(f"{row.context_used} of {row.context_size} tokens in context")
    if used or row.cost:
        yield from _remarks(", ".join([*used, "cost unknown" if row.cost is None else f"${row.cost:.4f}"]))
    if row.error is not None:
        yield from _problem(row.error, "error")


def _problem(problem: Problem, level: str) -> Iterator[str]:
    yield from _remarks(f"{level} {problem.code}: {problem.message}")
    if problem.remedy:
        yield from _remarks(problem.remedy)


def _remarks(text: str) -> Iterator[str]:
    for line in visible_prose(text).split("\n"):
        yield f"# {visible(line)}".rstrip()
