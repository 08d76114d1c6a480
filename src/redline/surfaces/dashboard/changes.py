"""From records of changes to what goes over the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.place import text, texts
from redline.surfaces.words import hidden

if TYPE_CHECKING:
    from collections.abc import Iterable

    from redline.changes.record import FileChange, Side
    from redline.surfaces.dashboard.place import Place
    from redline.transcript.rows import NetTotal


def shown_changes(place: Place, changes: Iterable[FileChange], *, whole: bool = False) -> list[wire.Change]:
    """`whole`: nothing is left out; else what is long comes without its hunks."""
    lines = characters = 0
    shown = []
    for change in changes:
        more_lines = sum(len(hunk.lines) for hunk in change.hunks)
        more = sum(len(line) for hunk in change.hunks for line in hunk.lines)
        fits = lines + more_lines <= wire.ROW_LINES and characters + more <= wire.ROW_CHARACTERS
        shown.append(shown_change(place, change, whole=whole, fits=fits))
        if shown[-1].hunks:
            lines, characters = lines + more_lines, characters + more
    return shown


def shown_change(place: Place, change: FileChange, *, whole: bool = False, fits: bool = True) -> wire.Change:
    """Without its hunks where it is long, a part only, or does not fit into its row, unless `whole`."""
    lines = sum(len(hunk.lines) for hunk in change.hunks)
    omitted = not whole and (lines > wire.CARD_LINES or change.truncated or not fits)
    return wire.Change(
        **_file(place, change),
        provenance=change.provenance,
        anchored=change.anchored,
        truncated=change.truncated,
        at_least=change.truncated and _counts_what_it_holds(change),
        redacted=change.redacted,
        hidden=cast("list[wire.Hidden]", sorted(hidden(change, place.name))),
        before=_side(change.before),
        after=_side(change.after),
        hunks=[
            wire.Hunk(
                old_start=hunk.old_start,
                old_lines=hunk.old_lines,
                new_start=hunk.new_start,
                new_lines=hunk.new_lines,
                lines=texts(hunk.lines),
            )
            for hunk in (() if omitted else change.hunks)
        ],
        diff_lines=lines,
        hunks_omitted=omitted,
    )


def shown_total(place: Place, total: NetTotal) -> wire.NetTotal:
    return wire.NetTotal(**_file(place, total), counted=total.counted)


def _file(place: Place, of: FileChange | NetTotal) -> dict[str, Any]:
    """The fields of a `wire.ChangedFile`."""
    return {
        "path": text(of.path),
        "name": place.name(of.path),
        "old_path": None if of.old_path is None else text(of.old_path),
        "old_name": None if of.old_path is None else place.name(of.old_path),
        "operation": of.operation,
        "file_type": of.file_type,
        "added": of.added,
        "removed": of.removed,
        "exact": of.exact,
        "facts": list(of.facts),
    }


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
