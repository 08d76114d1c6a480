"""Patches that `git apply` takes, and both sides of a file: what needs the true bytes of the private store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.changes.compare import is_binary
from redline.changes.patch import PatchItem, git_patch
from redline.gateway.roster import GatewayError
from redline.sessions.secret_files import is_secret_file
from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.changes import shown_change
from redline.surfaces.dashboard.place import text
from redline.transcript.net import net_items
from redline.workspace.logged import as_logged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redline.changes.record import FileChange, Side
    from redline.sessions.redaction import Redactor
    from redline.surfaces.dashboard.place import Place

SIDE_LIMIT = 2 * 2**20
"""Bytes of a file that is shown in whole."""
SHOWN_LIMIT = 8 * 2**20
"""Bytes of hunks that are shown of one file."""


def patch_of(changes: Sequence[FileChange], read: Callable[[str], bytes | None], root: str) -> bytes:
    """Of changes that follow each other, from the first state of each file to its last. With the true bytes, secrets
    too, for it has to apply. Raises `GatewayError` NO_CHANGE or NOT_KEPT."""
    items: list[PatchItem] = net_items(changes, read)
    if not items:
        raise GatewayError("NO_CHANGE", "Nothing on the disk was changed by this.", "Choose a change that was applied.")
    missing = [text(item.change.path) for item in items if item.change.file_type == "unknown"]
    if missing:
        raise GatewayError(
            "NOT_KEPT", f"The bytes of {', '.join(missing)} are not kept, so no patch can be made of it.",
            "Take the other files one by one.",
        )  # fmt: skip
    return git_patch(items, root=root)


def sides_of(change: FileChange, read: Callable[[str], bytes | None], redactor: Redactor) -> wire.Sides:
    """The whole text of both, masked; where one of them cannot be shown, neither is."""
    return _sides(PatchItem(change, _bytes(change.before, read), _bytes(change.after, read)), redactor)


def net_of(
    changes: Sequence[FileChange], read: Callable[[str], bytes | None], redactor: Redactor, place: Place
) -> wire.NetChange:
    """The net change of one file, of changes that follow each other. Raises `GatewayError` NO_CHANGE."""
    items = net_items(changes, read)
    if not items:
        raise GatewayError("NO_CHANGE", "The file is as it was at first.", "Look at the single changes.")
    item = items[-1]
    masked = as_logged(item.change, item.before, item.after, redactor, limit=SHOWN_LIMIT)
    return wire.NetChange(change=shown_change(place, masked, whole=True), sides=_sides(item, redactor))


def _sides(item: PatchItem, redactor: Redactor) -> wire.Sides:
    change = item.change
    pairs = ((change.before, item.before), (change.after, item.after))
    secret = any(is_secret_file(path, item.before, item.after) for path in (change.path, change.old_path or ""))
    known = not secret and all(side is None or (data is not None and len(data) <= SIDE_LIMIT) for side, data in pairs)
    if not known or change.file_type != "text" or any(data is not None and is_binary(data) for _, data in pairs):
        return wire.Sides(path=text(change.path), available=False, secret=secret, masked=False, old=None, new=None)
    (old, hid), (new, hid_too) = (
        (None, False) if side is None or data is None else _masked(data, redactor) for side, data in pairs
    )
    return wire.Sides(path=text(change.path), available=True, secret=False, masked=hid or hid_too, old=old, new=new)


def _bytes(side: Side | None, read: Callable[[str], bytes | None]) -> bytes | None:
    return None if side is None or not side.blob or side.size > SIDE_LIMIT else read(side.blob)


def _masked(data: bytes, redactor: Redactor) -> tuple[str, bool]:
    masks = redactor.mask_lines(data)
    whole = data.decode("utf-8", "surrogateescape")
    if masks:
        lines = whole.split("\n")
        for number, line in masks.items():
            lines[number - 1] = line
        whole = "\n".join(lines)
    return text(whole), bool(masks)
