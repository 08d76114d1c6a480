"""From the rows of calls to what goes over the wire: their titles, what they said, and blocks of content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.changes import shown_changes
from redline.surfaces.dashboard.place import text, texts
from redline.surfaces.dashboard.problems import problem_of
from redline.views import DiffCall, DiffResult, GenericCall, GenericResult, TerminalCall, TerminalResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redline.surfaces.dashboard.place import Place
    from redline.transcript.rows import AnyRow, ToolRow

_KINDS: Mapping[str, Any] = {"terminal": "execute", "diff": "edit"}


def head_of(row: AnyRow) -> dict[str, Any]:
    """The fields of a `wire.RowHead`."""
    return {"id": text(row.id), "turn": row.turn, "seq": row.seq, "revision": row.revision, "at": row.at}


def shown_call(place: Place, row: ToolRow, *, whole: bool) -> wire.ToolRow:
    call, result = row.call_view, row.result_view
    content, output = _said(row)
    shown, cut = (content, False) if whole else _first(content)
    if not whole and len(output) > wire.OUTPUT_LIMIT:
        output, cut = output[-wire.OUTPUT_LIMIT :], True
    return wire.ToolRow(
        **head_of(row),
        kind="tool",
        call=text(row.call),
        name=text(row.name),
        tool_kind=call.kind if isinstance(call, GenericCall) else _KINDS[call.card],
        status=row.status,
        title=text((result.title if result is not None else None) or call.title),
        description=text(call.description) if isinstance(call, TerminalCall) and call.description else None,
        card=_card(row),
        locations=[
            wire.Location(path=text(one.path), name=place.name(one.path), line=one.line)
            for one in (() if isinstance(call, TerminalCall) else call.locations)
        ],
        content=shown_blocks(place, shown),
        output=text(output),
        cut=cut,
        exit_code=result.exit_code if isinstance(result, TerminalResult) else None,
        signal=result.signal if isinstance(result, TerminalResult) else None,
        time_limit=result.time_limit if isinstance(result, TerminalResult) else None,
        note=text(result.note) if isinstance(result, DiffResult) and result.note else None,
        proposed=shown_changes(place, row.proposed, whole=whole),
        changes=shown_changes(place, row.changes, whole=whole),
        error=None if row.error is None else problem_of(row.error),
        warnings=texts(row.warnings),
        permission=row.permission,
        reverted=row.reverted,
        reverted_paths=texts(row.reverted_paths),
        reverted_hunks=[wire.PartUndone(path=text(path), hunk=hunk) for path, hunk in row.reverted_hunks],
        has_raw=bool(row.raw),
    )


def shown_blocks(place: Place, blocks: Iterable[Mapping[str, Any]]) -> list[wire.Block]:
    return [_block(place, block) for block in blocks]


def _block(place: Place, block: Mapping[str, Any]) -> wire.Block:
    inner = block.get("content") if block.get("type") == "content" else block
    inner = inner if isinstance(inner, Mapping) else {}
    kind, blob = inner.get("type"), inner.get("blob")
    image = None
    if kind == "image" and isinstance(blob, str):
        image = f"/api/sessions/{quote(place.session)}/image?blob={quote(blob)}"
    said = next((inner[key] for key in ("text", "title", "name", "uri") if isinstance(inner.get(key), str)), None)
    return wire.Block(
        type=text(kind) if isinstance(kind, str) else "other",
        text=None if said is None else text(said),
        image=image,
    )


def _card(row: ToolRow) -> Any:
    """Of what the call is, by the evidence: changes make a diff card, whatever the call said of itself."""
    if row.changes or row.proposed:
        return "terminal" if isinstance(row.call_view, TerminalCall) else "diff"
    for view in (row.result_view, row.call_view):
        if isinstance(view, TerminalCall | TerminalResult):
            return "terminal"
        if isinstance(view, DiffCall | DiffResult):
            return "diff"
    return "generic"


def _said(row: ToolRow) -> tuple[Sequence[Mapping[str, Any]], str]:
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
