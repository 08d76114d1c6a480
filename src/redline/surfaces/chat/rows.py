"""Parts made from rows. Pure: the same rows give the same parts, live and after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from redline.gateway.fences import covered_fences, fences
from redline.surfaces import words
from redline.surfaces.chat import cards
from redline.surfaces.chat.parts import File, Part, Text, Verbatim
from redline.surfaces.visible import visible, visible_prose
from redline.transcript.fields import block_text
from redline.transcript.rows import (
    AgentRow,
    AnyRow,
    FoundRow,
    NoticeRow,
    OtherRow,
    PlanRow,
    Problem,
    RevertRow,
    ToolRow,
    TurnEndRow,
    UserRow,
)
from redline.views import DiffResult, GenericCall, TerminalCall, TerminalResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redline.changes.record import FileChange
    from redline.surfaces.chat.cards import Setting
    from redline.transcript.rows import NetTotal

OUTPUT_LINES = 12
"""Last lines of a command's output that are shown where it did not end well."""
OUTPUT_LIMIT = 1500
NET_LIMIT = 40
"""Files of a turn's net list that are named one by one."""


class TurnParts:
    """The parts of one turn, in the order in which its rows were settled; only added to."""

    def __init__(self, setting: Setting) -> None:
        self.parts: list[Part] = []
        self._setting = setting
        self._room = setting.turn_limit
        self._changes: list[FileChange] = []
        self._heads = 0
        self._filed = self._left_out = 0
        """Changes without a head of their own: those on disk, and others."""
        self._on_disk: list[FileChange] = []
        """Of a turn that shows heads only: what goes into its file at the end."""
        self._ended = False

    def add(self, row: AnyRow, *, typed_here: bool = False) -> None:
        """`typed_here`: of a prompt, the chat itself shows it already. Thoughts are left out, and plans: see `plan`."""
        self._changes += getattr(row, "changes", ())
        match row:
            case UserRow() if not typed_here:
                self.parts.append(Text("> " + visible_prose(row.text).replace("\n", "\n> "), "quiet"))
            case AgentRow():
                self.parts += reply(row.text, self._changes, self._setting.workspace)
            case ToolRow():
                self._tool(row)
            case RevertRow():
                turns = ", ".join(str(turn) for turn in sorted({turn for turn, _ in row.of}))
                status = (f"undo of turn {turns}" if turns else "undo") + (", itself undone later" * row.reverted)
                self._landed([(change, words.UNDONE[change.operation], status) for change in row.changes])
            case FoundRow():
                self._landed([(change, words.done(change), words.found_word(row, change)) for change in row.changes])
            case NoticeRow():
                self.parts.append(problem(row.problem, "" if row.level == "info" else "▲ "))
            case TurnEndRow():
                self.parts += self._beyond()
                self.parts += turn_end(row, self._setting)
                self.parts += self._file_of_heads(f"turn-{row.turn}.diff")
                self._ended = True
            case OtherRow():
                self.parts.append(Text(cards.short(visible(row.title)), "quiet"))
            case _:
                pass

    def _tool(self, row: ToolRow) -> None:
        view = row.call_view
        if isinstance(view, TerminalCall):
            self._command(row, view)
        elif not row.changes and not row.proposed:
            self._call(row)
        self._landed([(change, words.done(change), words.applied_word(row, change)) for change in row.changes])
        landed = {change.path for change in row.changes}
        if row.status not in ("applied", "completed"):
            for change in row.proposed:
                if change.path not in landed:
                    self._not_landed(row, change)
        if isinstance(row.result_view, DiffResult) and row.result_view.note and row.changes:
            self.parts.append(Text(visible_prose(row.result_view.note), "quiet"))
        self.parts += [Text(f"▲ {visible_prose(warning)}") for warning in row.warnings]
        if row.error is not None:
            self.parts.append(problem(row.error))

    def _landed(self, changes: Sequence[tuple[FileChange, str, str]]) -> None:
        if self._setting.shown == "summary":
            self._on_disk += [change for change, _, _ in changes]
        for change, word, status in changes if self._setting.shown != "none" else ():
            said = cards.head(change, self._setting, word, status)
            if self._takes_head(said):
                self._shown(change, said)
                continue
            if not self._filed:
                self.parts.append(Text("All further changes of this turn are too many for messages.", "quiet"))
            self._filed += 1
            if self._setting.shown == "full":
                self.parts.append(cards.diff_file([change], self._setting))

        if self._ended:
            self.parts += self._file_of_heads()

    def _file_of_heads(self, name: str = "") -> list[File]:
        changes, self._on_disk = self._on_disk, []
        return [cards.diff_file(changes, self._setting, name=name)] if changes else []

    def _not_landed(self, row: ToolRow, change: FileChange) -> None:
        """What somebody said no to was shown whole with the question, and stays readable there: one line. Else its
        lines, under a head that says that they are not applied."""
        status = words.not_applied_word(row)
        said = cards.head(change, self._setting, words.ASKED[change.operation], status)
        if not self._takes_head(said):
            self._left_out += 1
        elif row.permission in ("reject", "cancelled"):
            self.parts.append(Text(said, "strong"))
        else:
            self._shown(change, said, status)

    def _takes_head(self, said: str) -> bool:
        """False: this turn has so many changes that there is no room for this one's head."""
        if self._room <= 0 and self._heads >= cards.HEAD_LIMIT:
            return False
        self._heads += 1
        self._room -= len(said)
        return True

    def _beyond(self) -> Iterator[Part]:
        """At the end: how many changes have no head."""
        if self._filed:
            yield Text(f"And {self._filed} more changes, too many for messages.", "quiet")
        if self._left_out:
            said = f"And {self._left_out} more that were not applied; the dashboard and `redline show` have them."
            yield Text(said, "quiet")
        self._filed = self._left_out = 0

    def _shown(self, change: FileChange, said: str, remark: str = "") -> None:
        parts, size = cards.bounded(change, self._setting, said, self._room, remark)
        self._room -= size
        self.parts += parts

    def _call(self, row: ToolRow) -> None:
        note = row.result_view.note if isinstance(row.result_view, DiffResult) else None
        status = words.not_applied_word(row) if words.mutates(row) else words.not_run_word(row)
        if row.status in ("completed", "applied"):
            status = visible(note) if note else ""
        kind = row.call_view.kind if isinstance(row.call_view, GenericCall) else "edit"
        title = cards.short(visible(words.title(row)))
        self.parts.append(
            Text(f"{title} · {status}" if status else title, "quiet" if kind in words.QUIET_KINDS else "plain")
        )
        if row.status in ("failed", "unknown") and row.error is None and row.result_view is not None:
            self.parts += _output(block_text(getattr(row.result_view, "content", ())) or row.output)

    def _command(self, row: ToolRow, view: TerminalCall) -> None:
        result = row.result_view if isinstance(row.result_view, TerminalResult) else None
        ended, well = _exit(row, result)
        first, _, more = view.title.partition("\n")
        self.parts.append(Text(f"$ {cards.short(visible(first))}{' …' if more else ''} · {ended}"))
        if not well:
            self.parts += _output(result.output if result is not None else row.output)


def reply(text: str, changes: Sequence[FileChange], workspace: str) -> list[Part]:
    """What an agent wrote: sentences, and code blocks as blocks. A diff that says no more than the cards of the turn is
    folded away."""
    covered = set(covered_fences(text, changes, Path(workspace) if workspace else None))
    parts: list[Part] = []
    place = 0
    for fence in fences(text):
        parts += _prose(text[place : fence.start])
        place = fence.end
        if (fence.start, fence.end) in covered:
            parts.append(Text("(the diff that stood here is the card of that file)", "quiet"))
        elif fence.body.strip():
            language = "diff" if fence.language in ("diff", "patch", "udiff") else fence.language
            safe = "".join(c for c in language if c.isascii() and (c.isalnum() or c in "+-#_"))[:20]
            parts.append(Verbatim(cards.visible_lines(fence.body.strip("\n")), label="The block", language=safe))
    return [*parts, *_prose(text[place:])]


def turn_end(row: TurnEndRow, setting: Setting) -> Iterator[Part]:
    """How the turn ended, and the net list of its files."""
    head = f"Turn {row.turn} {words.ENDS[row.reason]}"
    if not row.net:
        yield Text(head if row.partial else f"{head} · no file changed", "strong")
    else:
        summed = words.counts(words.total(row.net), at_least=row.partial or not all(total.counted for total in row.net))
        files = "1 file" if len(row.net) == 1 else f"{len(row.net)} files"
        yield Text(" · ".join([head, " ".join([files, *(summed or ())])]), "strong")
        yield Text("\n".join(_net(row.net, setting, partial=row.partial)))
    if used := words.usage(row):
        yield Text(" · ".join(used), "quiet")
    if row.error is not None:
        yield problem(row.error)


def plan(row: PlanRow) -> Text:
    """For the tail of a running turn: a plan changes all the time, and only the newest one is of use."""
    signs = {"completed": "✓", "in_progress": "▸"}
    lines = (f"{signs.get(one.get('status', ''), '○')} {visible_prose(one.get('content', ''))}" for one in row.entries)
    return Text("\n".join(["Plan", *lines]))


def problem(found: Problem, sign: str = "▲ ") -> Text:
    remedy = f"\n{visible_prose(found.remedy)}" if found.remedy else ""
    return Text(f"{sign}{visible(found.code)}: {visible_prose(found.message)}{remedy}")


def _net(totals: Sequence[NetTotal], setting: Setting, *, partial: bool) -> Iterator[str]:
    signs = {"add": "created", "delete": "deleted", "move": "moved", "modify": ""}
    for total in totals[:NET_LIMIT]:
        old = f"{setting.path(total.old_path)} → " if total.old_path else ""
        counts = words.counts(total, at_least=partial)
        said = [f"{old}{setting.path(total.path)}", " ".join(counts or ()), signs[total.operation]]
        yield "• " + "  ".join(one for one in said if one)
    if len(totals) > NET_LIMIT:
        yield f"• and {len(totals) - NET_LIMIT} more files"


def _prose(text: str) -> list[Part]:
    text = visible_prose(text).strip("\n")
    return [Text(text, "reply")] if text.strip() else []


def _output(text: str) -> list[Part]:
    text = text.rstrip("\n")
    if not text:
        return []
    kept = text.split("\n")[-OUTPUT_LINES:]
    # A progress bar rewrites its line; its last state is what a terminal would show.
    shown = "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in kept)[-OUTPUT_LIMIT:]
    return [Verbatim(cards.visible_lines(shown), label="The output", language="")]


def _exit(row: ToolRow, result: TerminalResult | None) -> tuple[str, bool]:
    ended = words.ended(result) if result is not None else ""
    if result is not None and ended:
        return ended, words.ended_well(result)
    word = words.not_run_word(row)
    return word or "done", row.status != "failed"
