"""From rows, states and changes to what goes over the wire. Nothing here decides what happened: the rows say it."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never, cast
from urllib.parse import quote

from redline.gateway.fences import covered_fences
from redline.surfaces.dashboard import contract as wire
from redline.surfaces.words import hidden
from redline.transcript import rows as of
from redline.views import DiffCall, DiffResult, GenericCall, GenericResult, TerminalCall, TerminalResult

if TYPE_CHECKING:
    from redline.changes.record import FileChange, Side

_log = logging.getLogger(__name__)
_SURROGATE = re.compile("[\ud800-\udfff]")
_RAW_LIMIT = 1_000_000
"""Characters of what a foreign agent sent that are shown."""


def text(value: str) -> str:
    """Half characters, which JSON cannot carry and which stand for odd bytes, as what they are: `\\xNN`."""
    if value.isascii():
        return value
    return _SURROGATE.sub(_escape, value)


def _escape(hit: re.Match[str]) -> str:
    code = ord(hit[0])
    return f"\\x{code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04X}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session is: what its paths are relative to, and its name in addresses."""

    session: str
    workspace: str

    def name(self, path: str) -> str:
        """A path as people read it."""
        if self.workspace and path.startswith(self.workspace.rstrip(os.sep) + os.sep):
            return text(os.path.relpath(path, self.workspace))
        return text(path)

    # Rows.

    def row(self, row: of.AnyRow, *, whole: bool = False, covered: Sequence[int] = ()) -> wire.Row:
        """One that cannot be shown is an error row in its place. `whole`: nothing is left out. `covered`: what
        `covered_lines` says of an agent's text."""
        try:
            shown = self._row(row, whole=whole)
            return shown.model_copy(update={"covered_fences": list(covered)}) if covered else shown
        except Exception:
            _log.exception("The row %s of session %s cannot be shown", row.id, self.session)
            title = "This row cannot be shown. The log of the data folder says why; redline show draws it too."
            return wire.OtherRow(**_head(row), kind="other", title=title)

    def _row(self, row: of.AnyRow, *, whole: bool) -> wire.Row:
        match row:
            case of.UserRow():
                return wire.UserRow(
                    **_head(row), kind="user", text=text(row.text), attachments=self._blocks(row.attachments)
                )
            case of.AgentRow():
                return wire.AgentRow(**_head(row), kind="agent", text=text(row.text), covered_fences=[])
            case of.ThoughtRow():
                return wire.ThoughtRow(**_head(row), kind="thought", text=text(row.text))
            case of.ToolRow():
                return self._tool(row, whole=whole)
            case of.RevertRow():
                return wire.RevertRow(
                    **_head(row), kind="revert", call=text(row.call), of=called(row.of),
                    changes=self.changes(row.changes, whole=whole), reverted=row.reverted,
                )  # fmt: skip
            case of.FoundRow():
                return wire.FoundRow(
                    **_head(row),
                    kind="found",
                    changes=self.changes(row.changes, whole=whole),
                    during=_texts(row.during),
                )
            case of.PlanRow():
                entries = [
                    wire.PlanEntry(content=text(one.get("content", "")), status=text(one.get("status", "")))
                    for one in row.entries
                ]
                return wire.PlanRow(**_head(row), kind="plan", entries=entries)
            case of.PermissionRow():
                return wire.PermissionRow(
                    **_head(row), kind="permission", request=text(row.request), call=text(row.call),
                    title=text(row.title), changes=self.changes(row.changes, whole=whole),
                    note=text(row.note), options=[_choice(one) for one in row.options],
                    outcome=row.outcome, by=None if row.by is None else text(row.by),
                )  # fmt: skip
            case of.NoticeRow():
                return wire.NoticeRow(**_head(row), kind="notice", level=row.level, problem=_problem(row.problem))
            case of.TurnEndRow():
                return wire.TurnEndRow(
                    **_head(row), kind="turn_end", reason=row.reason,
                    error=None if row.error is None else _problem(row.error), models=_texts(row.models),
                    input_tokens=row.input_tokens, output_tokens=row.output_tokens, cost=row.cost,
                    net=[self.net(one) for one in row.net], partial=row.partial,
                )  # fmt: skip
            case of.OtherRow():
                return wire.OtherRow(**_head(row), kind="other", title=text(row.title))
        assert_never(row)

    def details(self, row: of.AnyRow) -> wire.RowDetails:
        raw = row.raw if isinstance(row, of.ToolRow) else None
        told = None
        if raw:
            told = text(json.dumps(raw, indent=2, ensure_ascii=False, default=str))
            if len(told) > _RAW_LIMIT:
                told = told[:_RAW_LIMIT] + "\n… (cut here)"
        return wire.RowDetails(row=self.row(row, whole=True), raw=told)

    def _tool(self, row: of.ToolRow, *, whole: bool) -> wire.ToolRow:
        call, result = row.call_view, row.result_view
        content, output = _said(row)
        shown, cut = (content, False) if whole else _first(content)
        if not whole and len(output) > wire.OUTPUT_LIMIT:
            output, cut = output[-wire.OUTPUT_LIMIT :], True
        return wire.ToolRow(
            **_head(row),
            kind="tool",
            call=text(row.call),
            name=text(row.name),
            tool_kind=call.kind if isinstance(call, GenericCall) else _KINDS[call.card],
            status=row.status,
            title=text((result.title if result is not None else None) or call.title),
            description=text(call.description) if isinstance(call, TerminalCall) and call.description else None,
            card=_card(row),
            locations=[
                wire.Location(path=text(one.path), name=self.name(one.path), line=one.line)
                for one in (() if isinstance(call, TerminalCall) else call.locations)
            ],
            content=self._blocks(shown),
            output=text(output),
            cut=cut,
            exit_code=result.exit_code if isinstance(result, TerminalResult) else None,
            signal=result.signal if isinstance(result, TerminalResult) else None,
            note=text(result.note) if isinstance(result, DiffResult) and result.note else None,
            proposed=self.changes(row.proposed, whole=whole),
            changes=self.changes(row.changes, whole=whole),
            error=None if row.error is None else _problem(row.error),
            warnings=_texts(row.warnings),
            permission=row.permission,
            reverted=row.reverted,
            reverted_paths=_texts(row.reverted_paths),
            has_raw=bool(row.raw),
        )

    def _blocks(self, blocks: Iterable[Mapping[str, Any]]) -> list[wire.Block]:
        return [self._block(block) for block in blocks]

    def _block(self, block: Mapping[str, Any]) -> wire.Block:
        inner = block.get("content") if block.get("type") == "content" else block
        inner = inner if isinstance(inner, Mapping) else {}
        kind, blob = inner.get("type"), inner.get("blob")
        image = None
        if kind == "image" and isinstance(blob, str):
            image = f"/api/sessions/{quote(self.session)}/image?blob={quote(blob)}"
        said = next((inner[key] for key in ("text", "title", "name", "uri") if isinstance(inner.get(key), str)), None)
        return wire.Block(
            type=text(kind) if isinstance(kind, str) else "other",
            text=None if said is None else text(said),
            image=image,
        )

    # Changes.

    def changes(self, changes: Iterable[FileChange], *, whole: bool = False) -> list[wire.Change]:
        """`whole`: nothing is left out; else what is long comes without its hunks."""
        lines = characters = 0
        shown = []
        for change in changes:
            more_lines = sum(len(hunk.lines) for hunk in change.hunks)
            more = sum(len(line) for hunk in change.hunks for line in hunk.lines)
            fits = lines + more_lines <= wire.ROW_LINES and characters + more <= wire.ROW_CHARACTERS
            shown.append(self.change(change, whole=whole, fits=fits))
            if shown[-1].hunks:
                lines, characters = lines + more_lines, characters + more
        return shown

    def change(self, change: FileChange, *, whole: bool = False, fits: bool = True) -> wire.Change:
        """Without its hunks where it is long, a part only, or does not fit into its row, unless `whole`."""
        lines = sum(len(hunk.lines) for hunk in change.hunks)
        omitted = not whole and (lines > wire.CARD_LINES or change.truncated or not fits)
        return wire.Change(
            path=text(change.path),
            name=self.name(change.path),
            old_path=None if change.old_path is None else text(change.old_path),
            old_name=None if change.old_path is None else self.name(change.old_path),
            operation=change.operation,
            file_type=change.file_type,
            provenance=change.provenance,
            added=change.added,
            removed=change.removed,
            exact=change.exact,
            anchored=change.anchored,
            truncated=change.truncated,
            at_least=change.truncated and _counts_what_it_holds(change),
            redacted=change.redacted,
            facts=list(change.facts),
            hidden=cast("list[wire.Hidden]", sorted(hidden(change))),
            before=_side(change.before),
            after=_side(change.after),
            hunks=[
                wire.Hunk(
                    old_start=hunk.old_start,
                    old_lines=hunk.old_lines,
                    new_start=hunk.new_start,
                    new_lines=hunk.new_lines,
                    lines=_texts(hunk.lines),
                )
                for hunk in (() if omitted else change.hunks)
            ],
            diff_lines=lines,
            hunks_omitted=omitted,
        )

    def net(self, total: of.NetTotal) -> wire.NetTotal:
        return wire.NetTotal(
            path=text(total.path),
            name=self.name(total.path),
            old_path=None if total.old_path is None else text(total.old_path),
            old_name=None if total.old_path is None else self.name(total.old_path),
            operation=total.operation,
            file_type=total.file_type,
            added=total.added,
            removed=total.removed,
            exact=total.exact,
            counted=total.counted,
            facts=list(total.facts),
        )


def may_fold(row: of.AnyRow) -> bool:
    """It is an agent's text with a fence in it, which the changes of its turn may cover."""
    return isinstance(row, of.AgentRow) and ("```" in row.text or "~~~" in row.text)


def covered_lines(said: str, changes: Sequence[FileChange], workspace: str) -> tuple[int, ...]:
    """The lines, from 0, on which the diff fences open that the applied changes of the turn cover."""
    return tuple(said.count("\n", 0, start) for start, _ in covered_fences(said, changes, Path(workspace)))


# Parts.


def called(pairs: Iterable[tuple[int, str]]) -> list[wire.Called]:
    return [wire.Called(turn=turn, call=text(call)) for turn, call in pairs]


_KINDS: Mapping[str, Any] = {"terminal": "execute", "diff": "edit"}


def _head(row: of.AnyRow) -> dict[str, Any]:
    return {"id": text(row.id), "turn": row.turn, "seq": row.seq, "revision": row.revision, "at": row.at}


def _card(row: of.ToolRow) -> Any:
    """Of what the call is, by the evidence: changes make a diff card, whatever the call said of itself."""
    if row.changes or row.proposed:
        return "terminal" if isinstance(row.call_view, TerminalCall) else "diff"
    for view in (row.result_view, row.call_view):
        if isinstance(view, TerminalCall | TerminalResult):
            return "terminal"
        if isinstance(view, DiffCall | DiffResult):
            return "diff"
    return "generic"


def _said(row: of.ToolRow) -> tuple[Sequence[Mapping[str, Any]], str]:
    """The content and the output of a call, each said once."""
    match row.result_view:
        case TerminalResult() as result:
            return (), result.output
        case GenericResult() as result if result.content:
            return result.content, ""
        case _:
            content = row.call_view.content if isinstance(row.call_view, GenericCall) else ()
            return content, "" if content else row.output


def _first(blocks: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], bool]:
    """The first characters of blocks, and whether any were left out."""
    left, kept = wire.OUTPUT_LIMIT, []
    for block in blocks:
        inner = block.get("content") if block.get("type") == "content" else block
        said = inner.get("text") if isinstance(inner, Mapping) else None
        if not isinstance(said, str):
            kept.append(block)
            continue
        if left <= 0:
            return kept, True
        kept.append({"type": "text", "text": said[:left]})
        if len(said) > left:
            return kept, True
        left -= len(said)
    return kept, False


def _counts_what_it_holds(change: FileChange) -> bool:
    """Nobody has counted more than the recorded lines, as in a patch that a foreign agent had cut off."""
    signs = [line[0] for hunk in change.hunks for line in hunk.lines]
    return (change.added, change.removed) == (signs.count("+"), signs.count("-"))


def _side(side: Side | None) -> wire.Side | None:
    if side is None:
        return None
    return wire.Side(
        blob=side.blob,
        size=side.size,
        executable=side.executable,
        eol=side.eol,
        bom=side.bom,
        final_newline=side.final_newline,
        utf8=side.utf8,
        lines=side.lines,
    )


def _choice(option: Mapping[str, str]) -> wire.Choice:

    return wire.Choice(
        id=text(option.get("id", "")), kind=text(option.get("kind", "")), name=text(option.get("name", ""))
    )


def _problem(problem: of.Problem) -> wire.Problem:
    return wire.Problem(code=text(problem.code), message=text(problem.message), remedy=text(problem.remedy))


def _texts(values: Iterable[str]) -> list[str]:
    return [text(value) for value in values]
