"""The cards of the tools that change files: one pair of presenters, shared by all of them.

A card is drawn from what the log keeps: the arguments (for the title only), the proposed or applied changes, and
whether the call failed. It never claims more than the changes do: a failed call without changes has no diff card, an
overwrite is never drawn as a new file, and what has no lines to show says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redline.changes.record import FileChange
from redline.files.local import BASIS_LIMIT
from redline.files.seam import Outcome
from redline.tools.landed import targets_of, unchanged
from redline.tools.parameters import logged_text
from redline.tools.tool import ToolResult
from redline.views import DiffCall, DiffResult, GenericCall, Kind, Location, ToolCallView, ToolResultView

LARGE_CUT_LINES = 20
"""A change that removes fewer lines is never flagged as a large cut, however small the file was."""


def mutation_meta(outcomes: Sequence[Outcome]) -> dict[str, Any] | None:
    """What a mutating tool keeps beside its changes: that nothing had to change (which a result whose changes are
    missing does not say), and which file stood behind a link that was named."""
    meta: dict[str, Any] = {}
    if all(map(unchanged, outcomes)):
        meta["unchanged"] = True
    links = {name: real for outcome in outcomes for name, real in links_of(outcome).items()}
    if links:
        meta["links"] = links
    return meta or None


def links_of(outcome: Outcome) -> dict[str, str]:
    """The paths as they were named, to the files that they lead to, where a link on the way makes them differ."""
    return {str(target.path): target.key for target in targets_of(outcome) if target.path != target.real}


def through_link(name: str, real: str) -> str:
    return f"through a link: {name} leads to {real}"


def file_title(verb: str, arguments: Mapping[str, Any]) -> str:
    """`Edit src/a.py`, with the path as the model wrote it; the verb alone where the arguments hold none."""
    return f"{verb} {logged_text(arguments, 'path') or ''}".rstrip()


def diff_call(
    title: str, arguments: Mapping[str, Any], proposed: Sequence[FileChange], *, kind: Kind = "edit"
) -> ToolCallView:
    """The card of a call: its proposal; without one (it failed, or changes nothing), the arguments as they are."""
    if not proposed:
        path = logged_text(arguments, "path")
        return GenericCall(title, kind, raw_input=arguments, locations=[Location(path)] if path else [])
    flags = [flag for flag in map(large_cut, proposed) if flag]
    return DiffCall(title=" · ".join([title, *flags]), changes=proposed, locations=locations_of(proposed))


def diff_result(title: str, result: ToolResult) -> ToolResultView | None:
    """The card of a result. None: the generic view, which shows the tool's own words or its error."""
    if result.is_error:
        # Its error is told elsewhere; a diff is drawn only of what nevertheless stands on the disk.
        return DiffResult(title, result.changes, "failed, but this much is on disk") if result.changes else None
    meta = result.meta if isinstance(result.meta, Mapping) else {}
    if not result.changes:
        return DiffResult(title, (), "unchanged") if meta.get("unchanged") is True else None
    return DiffResult(title, result.changes, note_of(result.changes, meta.get("links")))


def locations_of(changes: Sequence[FileChange]) -> list[Location]:
    """One a hunk, at its line in the new file; the bare path where no line is known."""
    found: list[Location] = []
    for change in changes:
        hunks = change.hunks if change.anchored else ()
        found += [Location(change.path, max(hunk.new_start, 1)) for hunk in hunks] or [Location(change.path)]
    return found


def note_of(changes: Sequence[FileChange], links: object = None) -> str | None:
    """What a reader must know beside the hunks, or instead of them; with the file's name where there are several.
    `links`: named path to the file behind it, as `meta` keeps it; any other shape counts as none."""
    given = links.items() if isinstance(links, Mapping) else ()
    known = [(name, real) for name, real in given if isinstance(name, str) and isinstance(real, str)]
    notes = []
    for change in changes:
        own = {change.path, change.old_path}
        through = [through_link(name, real) for name, real in known if real in own or name in own]
        cut = large_cut(change)
        basis = missing_basis(change, sizes=cut is None)
        words = [word for word in (cut, basis, *through) if word]
        if words:
            notes.append((f"{change.path}: " if len(changes) > 1 else "") + "; ".join(words))
    return "; ".join(notes) or None


def large_cut(change: FileChange) -> str | None:
    """A change that empties a file or leaves less than half of it: how a placeholder that stands for real code, or an
    empty text, shows itself before anybody reads the hunks. None for every other change."""
    rewrites = change.operation in ("modify", "move")
    if not rewrites or change.before is None or change.after is None or change.before.size == 0:
        return None
    counts = f"−{change.removed} +{change.added}" if change.removed or change.added else ""
    if change.after.size == 0:
        return f"empties the file {counts}".rstrip()
    halved = change.after.size * 2 <= change.before.size
    if halved and (change.removed - change.added >= LARGE_CUT_LINES or change.file_type == "unknown"):
        sizes = f"{_bytes(change.before.size)} become {_bytes(change.after.size)}"
        return f"large cut {counts}".rstrip() + f", {sizes}"
    return None


def missing_basis(change: FileChange, *, sizes: bool = True) -> str | None:
    """Why a change has no hunks, or hunks with escapes in them. None where the text says all. `sizes`: with what is
    known of them, where nothing else tells it."""
    before, after = change.before, change.after
    if change.file_type not in ("binary", "unknown"):
        odd = any(side is not None and not side.utf8 for side in (before, after))
        return "not UTF-8: odd bytes are shown as escapes" if odd else None
    largest = max((side.size for side in (before, after) if side is not None), default=0)
    reason = "too large to compare" if largest > BASIS_LIMIT else "too large to compare, or its bytes are not at hand"
    if change.file_type == "binary":
        reason = "binary"
    elif before is None and change.operation == "modify":
        reason = "what it held before is not known"
    if not sizes:
        return f"no text basis ({reason})"
    if before is not None and after is not None and before.blob != after.blob:
        return f"no text basis ({reason}): {_bytes(before.size)} became {_bytes(after.size)}"
    size = after or before
    return f"no text basis ({reason})" + (f": {_bytes(size.size)}" if size is not None else "")


def _bytes(size: int) -> str:
    if size < 1024:
        return f"{size} B"
    if size < 1024**3:
        return f"{size / 1024:.1f} KiB" if size < 1024**2 else f"{size / 1024**2:.1f} MiB"
    return f"{size / 1024**3:.1f} GiB"
