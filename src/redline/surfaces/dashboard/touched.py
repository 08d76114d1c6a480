"""The files that a session touched, and whether what the agent left is what is there now."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from redline.changes.compare import blob_id
from redline.sessions.secret_files import is_secret_file
from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.changes import shown_total
from redline.transcript.ends import net_files
from redline.transcript.rows import NetTotal
from redline.transcript.totals import net_totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.changes.record import FileChange, Side
    from redline.surfaces.dashboard.place import Place

_LIMIT = 32 * 2**20
"""Bytes of a file that are compared."""
_KEY_LIMIT = 2**18
"""Bytes of a file in which a private key is looked for here; where its diff is asked for, all of it is looked at."""


def touched_files(changes: Sequence[FileChange], place: Place) -> list[wire.TouchedFile]:
    """Those whose first and last state differ, and those that were changed and are left as they were; not what was
    there at neither end. Sorted by path. Blocks: reads the files."""
    nets = net_files(changes)
    last = {net.path: (net.last.side, net.last.exists) for net in nets}
    found = [_touched(place, total, last[total.path], as_before=False) for total in net_totals(changes)]
    told = last.keys() | {net.old_path for net in nets}
    for path, change in _left(changes).items():
        if path not in told:
            nothing = NetTotal(path=path, operation="modify", added=0, removed=0, file_type=change.file_type)
            found.append(_touched(place, nothing, (change.after, True), as_before=True))
    return sorted(found, key=lambda one: one.net.path)


def _left(changes: Sequence[FileChange]) -> dict[str, FileChange]:
    """Of each file that is there after all changes, the last one of it."""
    left: dict[str, FileChange] = {}
    for change in changes:
        for path in (change.old_path, change.path):
            left.pop(path or "", None)
        if change.operation != "delete":
            left[change.path] = change
    return left


def _touched(place: Place, total: NetTotal, left: tuple[Side | None, bool], *, as_before: bool) -> wire.TouchedFile:
    side, exists = left
    return wire.TouchedFile(
        net=shown_total(place, total),
        on_disk=_on_disk(Path(total.path), side, exists=exists),
        as_before=as_before,
        secret=_is_secret(total.path),
    )


def _is_secret(path: str) -> bool:
    try:
        found = Path(path).lstat()
        held = Path(path).read_bytes() if stat.S_ISREG(found.st_mode) and found.st_size <= _KEY_LIMIT else None
    except OSError:
        held = None
    return is_secret_file(path, held)


def _on_disk(path: Path, left: Side | None, *, exists: bool) -> Literal["same", "changed", "missing", "unknown"]:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return "missing" if exists else "same"
    except OSError:
        return "unknown"
    if not exists:
        return "changed"
    if left is None or not left.blob:
        return "unknown"
    try:
        if stat.S_ISLNK(found.st_mode):
            return "same" if blob_id(os.fsencode(path.readlink())) == left.blob else "changed"
        if not stat.S_ISREG(found.st_mode) or found.st_size != left.size:
            return "changed"
        if found.st_size > _LIMIT:
            return "unknown"
        return "same" if blob_id(path.read_bytes()) == left.blob else "changed"
    except OSError:
        return "unknown"
