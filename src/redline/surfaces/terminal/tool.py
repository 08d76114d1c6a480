"""Drawing a tool call: cards for changes, a terminal for a command, one line for what only looks.

What is on disk has a solid frame, colour and the word `applied`. Everything else, whatever it was meant to do, has a
loose frame, no colour and says that it is not applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from redline.surfaces import words
from redline.surfaces.terminal import card, output
from redline.surfaces.terminal.look import FAULT, HIDDEN, QUIET, STRONG
from redline.surfaces.visible import pieces, visible, visible_prose
from redline.transcript.fields import block_text
from redline.views import DiffResult, GenericCall, TerminalCall, TerminalResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.changes.record import FileChange
    from redline.surfaces.terminal.card import Setting
    from redline.surfaces.terminal.sheet import Frame, Sheet
    from redline.transcript.rows import Problem, ToolRow

CONTENT_LINES = 6


def draw_tool(sheet: Sheet, row: ToolRow, setting: Setting) -> None:
    if isinstance(row.call_view, TerminalCall):
        _terminal(sheet, row, row.call_view, setting)
    elif row.changes or row.proposed:
        _changes(sheet, row, setting)
    else:
        _plain(sheet, row, setting)


def _changes(sheet: Sheet, row: ToolRow, setting: Setting) -> None:
    """A card a change; what the call as a whole has to say stands in the last one."""
    landed = {change.path for change in row.changes}
    waiting: Sequence[FileChange] = () if row.status in ("applied", "completed") else row.proposed
    cards = [(change, True) for change in row.changes]
    cards += [(change, False) for change in waiting if change.path not in landed]
    for change, applied in cards:
        frame = sheet.frame(solid=applied)
        status = words.applied_word(row, change) if applied else words.not_applied_word(row)
        frame.head(card.head(change, setting, sheet.glyphs, applied=applied, status=status))
        noted = isinstance(row.result_view, DiffResult) and bool(row.result_view.note)
        card.draw_lines(frame, change, setting, sheet.glyphs, applied=applied, explain=not noted)
        if (change, applied) == cards[-1]:
            _remarks(frame, row, sheet)
        frame.close()
    if not cards:
        _plain(sheet, row, setting)
        return
    sheet.blank()


def _terminal(sheet: Sheet, row: ToolRow, view: TerminalCall, setting: Setting) -> None:
    result = row.result_view if isinstance(row.result_view, TerminalResult) else None
    frame = sheet.frame(solid=row.status in ("completed", "applied"))
    title = Text()
    for at, line in enumerate(view.title.split("\n")):
        title.append("\n" if at else "").append("  " if at else "$ ", style=STRONG)
        for piece in pieces(line):
            title.append(piece.text, style=HIDDEN if piece.stands_for_hidden else STRONG)
    status, style = _exit(row, result)
    if view.description:
        title.append(f" {sheet.glyphs.dot} {words.agent_says(view.description)}", style=QUIET)
    frame.head(title.append(f" {sheet.glyphs.dot} ").append(status, style=style))
    printed = result.output if result is not None else row.output
    for shown in _bounded(printed, output.HEAD, output.TAIL, sheet, whole=setting.whole):
        frame.verbatim(shown)
    _remarks(frame, row, sheet)
    frame.close()
    for change in row.changes:
        of_command = sheet.frame(solid=True)
        of_command.head(card.head(change, setting, sheet.glyphs, applied=True, status=words.applied_word(row, change)))
        card.draw_lines(of_command, change, setting, sheet.glyphs, applied=True)
        of_command.close()
    sheet.blank()


def _exit(row: ToolRow, result: TerminalResult | None) -> tuple[str, str]:
    ended = words.ended(result) if result is not None else ""
    if result is not None and ended:
        return ended, "" if words.ended_well(result) else FAULT
    word = words.not_run_word(row)
    if row.status == "rejected" and row.permission == "unavailable":
        return word, FAULT
    return word or "done", STRONG if word else ""


def _plain(sheet: Sheet, row: ToolRow, setting: Setting) -> None:
    """One line for a call that went well; a frame where there is more to say."""
    title = visible(words.title(row))
    note = row.result_view.note if isinstance(row.result_view, DiffResult) else None
    content = _content(row, setting, sheet)
    well = row.status in ("completed", "applied")
    if well and not row.error and not row.warnings and not content:
        said = f" {sheet.glyphs.dot} {visible(note)}" if note else ""
        sheet.paragraph(Text(title).append(said), f"{sheet.glyphs.bullet} ")
        return
    frame = sheet.frame(solid=well)
    head = Text(title, style=STRONG)
    if not well:
        status = words.not_applied_word(row) if words.mutates(row) else words.NOT_RUN.get(row.status, "")
        head.append(f" {sheet.glyphs.dot} {status}")
    frame.head(head)
    for line in content:
        frame.verbatim(line)
    _remarks(frame, row, sheet)
    frame.close()
    sheet.blank()


def _content(row: ToolRow, setting: Setting, sheet: Sheet) -> list[Text]:
    """What the call gave, for a tool of no known kind, and for one that failed without a recorded error."""
    view = row.call_view
    kind = view.kind if isinstance(view, GenericCall) else "edit"
    known = kind in words.QUIET_KINDS or kind in ("edit", "delete", "move")
    failed = row.status in ("failed", "unknown") and row.error is None
    if known and not failed:
        return []
    blocks = getattr(row.result_view, "content", ()) if row.result_view is not None else ()
    return _bounded(block_text(blocks) or row.output, CONTENT_LINES, 0, sheet, whole=setting.whole)


def _bounded(text: str, head: int, tail: int, sheet: Sheet, *, whole: bool) -> list[Text]:
    parts = output.shortened(text, head, tail, whole=whole)
    shown = [_output_line(line, whole=whole) for line in parts.head]
    if parts.left_out:
        shown.append(Text(f"{sheet.glyphs.skip} {parts.left_out} lines left out", style=QUIET))
    return shown + [_output_line(line, whole=whole) for line in parts.tail]


def _output_line(line: str, *, whole: bool) -> Text:
    kept, cut = output.line(line, whole=whole)
    text = Text()
    for piece in pieces(kept):
        text.append(piece.text, style=HIDDEN if piece.stands_for_hidden else "")
    return text.append(cut, style=QUIET)


def _remarks(frame: Frame, row: ToolRow, sheet: Sheet) -> None:
    """What the call as a whole has to say: a note, warnings, its error with the remedy."""
    if isinstance(row.result_view, DiffResult) and row.result_view.note and row.changes:
        frame.note(Text(visible_prose(row.result_view.note), style=STRONG))
    for warning in row.warnings:
        frame.note(Text(f"{sheet.glyphs.warning} {visible_prose(warning)}", style=STRONG))
    if row.error is not None:
        frame.note(problem_text(row.error))


def problem_text(problem: Problem, style: str = FAULT) -> Text:
    """`CODE: what was wrong` and, on a line of its own, what to do."""
    text = Text().append(visible(problem.code), style=style)
    if problem.message:
        text.append(f": {visible_prose(problem.message)}")
    if problem.remedy:
        text.append(f"\n{visible_prose(problem.remedy)}")
    return text
