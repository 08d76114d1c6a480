"""Drawing a row. Live and replayed rows go through here, so they cannot look different."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from redline.surfaces import words
from redline.surfaces.terminal import card
from redline.surfaces.terminal.card import Setting
from redline.surfaces.terminal.look import FAULT, QUIET, STRONG
from redline.surfaces.terminal.sheet import Drawing, Sheet
from redline.surfaces.terminal.tool import draw_tool, problem_text
from redline.surfaces.visible import visible, visible_prose
from redline.transcript.rows import (
    AgentRow,
    AnyRow,
    FoundRow,
    NoticeRow,
    OtherRow,
    PermissionRow,
    PlanRow,
    RevertRow,
    ThoughtRow,
    ToolRow,
    TurnEndRow,
    UserRow,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from redline.changes.record import FileChange

THOUGHT_LINES = 6


def render_row(row: AnyRow, *, workspace: str = "", session: str = "", whole: bool = False) -> RenderableType:
    """What stands in the terminal for a row. Some rows (an answered permission request) draw nothing: what they say
    stands on another.

    `workspace`: paths are shown relative to it. `session`: named in the hints of folded cards. `whole`: nothing is
    folded or cut.
    """
    setting = Setting(workspace, session, whole).of(row)
    return Drawing(lambda sheet: draw_row(sheet, row, setting))


def draw_row(sheet: Sheet, row: AnyRow, setting: Setting) -> None:
    match row:
        case UserRow():
            _user(sheet, row)
        case AgentRow():
            _prose(sheet, row.text)
        case ThoughtRow():
            _thought(sheet, row, setting)
        case ToolRow():
            draw_tool(sheet, row, setting)
        case RevertRow():
            _revert(sheet, row, setting)
        case FoundRow():
            _found(sheet, row, setting)
        case PlanRow():
            _plan(sheet, row)
        case NoticeRow():
            _notice(sheet, row)
        case TurnEndRow():
            _turn_end(sheet, row, setting)
        case OtherRow():
            sheet.paragraph(Text(visible(row.title), style=QUIET), f"{sheet.glyphs.dot} ")
        case PermissionRow():
            pass  # the call's own row says how it was answered


def _user(sheet: Sheet, row: UserRow) -> None:
    attached = [visible(str(item.get("type", "file"))) for item in row.attachments]
    text = visible_prose(row.text) + "".join(f"\n[{kind}]" for kind in attached)
    sheet.paragraph(Text(text, style=STRONG), "> ", style=STRONG)
    sheet.blank()


def _prose(sheet: Sheet, text: str) -> None:
    if text.strip():
        sheet.paragraph(Text(visible_prose(text.rstrip())))
        sheet.blank()


def _thought(sheet: Sheet, row: ThoughtRow, setting: Setting) -> None:
    kept = [line for line in visible_prose(row.text).split("\n") if line.strip()]
    shown = kept if setting.whole else kept[:THOUGHT_LINES]
    if not shown:
        return
    if len(shown) < len(kept):
        shown = [*shown, f"{sheet.glyphs.skip} {len(kept) - len(shown)} more lines of thought"]
    sheet.paragraph(Text("\n".join(shown), style="dim italic"))
    sheet.blank()


def _revert(sheet: Sheet, row: RevertRow, setting: Setting) -> None:
    turns = sorted({turn for turn, _ in row.of})
    what = f"undo of turn {', '.join(map(str, turns))}" if turns else "undo"
    status = f"{what}, itself undone later" if row.reverted else what
    for change in row.changes:
        frame = sheet.frame(solid=True)
        frame.head(
            card.head(change, setting, sheet.glyphs, applied=True, word=words.UNDONE[change.operation], status=status)
        )
        card.draw_lines(frame, change, setting, sheet.glyphs, applied=True)
        frame.close()
    sheet.blank()


def _found(sheet: Sheet, row: FoundRow, setting: Setting) -> None:
    for change in row.changes:
        draw_change(sheet, change, setting, words.found_word(row, change))
    if row.changes:
        sheet.blank()


def draw_change(sheet: Sheet, change: FileChange, setting: Setting, status: str) -> None:
    """One applied change as a card of its own."""
    frame = sheet.frame(solid=True)
    frame.head(card.head(change, setting, sheet.glyphs, applied=True, status=status))
    card.draw_lines(frame, change, setting, sheet.glyphs, applied=True)
    frame.close()


def _plan(sheet: Sheet, row: PlanRow) -> None:
    sheet.put(Text("Plan", style=STRONG))
    for entry in row.entries:
        status = entry.get("status", "")
        done = sheet.glyphs.done if status == "completed" else sheet.glyphs.open
        style = QUIET if status == "completed" else STRONG if status == "in_progress" else ""
        sheet.paragraph(Text(visible_prose(entry.get("content", "")), style=style), f"  [{done}] ", " " * 6)
    sheet.blank()


def _notice(sheet: Sheet, row: NoticeRow) -> None:
    sign = sheet.glyphs.warning if row.level != "info" else sheet.glyphs.bullet
    style = {"error": FAULT, "warning": STRONG}.get(row.level, "")
    sheet.paragraph(problem_text(row.problem, style), f"{sign} ", style=style)
    sheet.blank()


def _turn_end(sheet: Sheet, row: TurnEndRow, setting: Setting) -> None:
    glyphs = sheet.glyphs
    parts = [Text(f"Turn {row.turn} {words.ENDS[row.reason]}", style=STRONG if row.reason == "completed" else FAULT)]
    parts.append(_net(row, setting, sheet))
    parts += [Text(said) for said in words.usage(row, least=glyphs.at_least)]
    line = Text(f" {glyphs.dot} ").join(part for part in parts if part.plain)
    sheet.paragraph(line, glyphs.rule * 2 + " ", "   ", style=QUIET)
    if row.error is not None:
        sheet.paragraph(problem_text(row.error), f"{glyphs.warning} ", style=FAULT)
    sheet.blank()


def _net(row: TurnEndRow, setting: Setting, sheet: Sheet) -> Text:
    """`src/a.py −1 +2`, or the sum over several files."""
    if not row.net:
        return Text("" if row.partial else "no file changed")
    if len(row.net) == 1:
        (only,) = row.net
        text = Text(visible(setting.path(only.path)))
        counts = card.count_text(only, sheet.glyphs, coloured=True, at_least=row.partial)
    else:
        text = Text(f"{len(row.net)} files")
        at_least = row.partial or not all(total.counted for total in row.net)
        counts = card.count_text(words.total(row.net), sheet.glyphs, coloured=True, at_least=at_least)
    return text.append(" ").append_text(counts) if counts.plain else text
