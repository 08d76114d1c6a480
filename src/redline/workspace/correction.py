"""Correcting a snapshot by the log: a process that was killed may have told more than it had saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redline.workspace import index_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redline.changes.record import FileChange
    from redline.workspace.index_file import Entry
    from redline.workspace.snapshot import Snapshot
    from redline.workspace.survey import Survey


def correct(
    snapshot: Snapshot, survey: Survey, later: Iterable[tuple[bytes, FileChange]], put: Callable[..., object]
) -> None:
    """Of files that the log holds `later` changes of, it is right. Of all others the snapshot is: it may hold what the
    user has made of a file since. `put` keeps bytes. Raises BytesError."""
    for path, change in later:
        entry = snapshot.entries.get(path)
        is_link = entry is not None and index_file.mode_of(entry) == index_file.SYMLINK
        through_link = is_link and change.file_type != "symlink" and change.operation == "modify"
        if path.startswith(b"/") or through_link:
            continue
        after = change.after
        if after is None:
            snapshot.drop(path)
        elif after.blob:
            mode = index_file.mode_for(after.executable, link=change.file_type == "symlink")
            blob = bytes.fromhex(after.blob)
            if entry is None or index_file.blob_of(entry) != blob or index_file.mode_of(entry) != mode:
                put(*_sides(snapshot, survey, path, entry, blob))
                snapshot.put(path, index_file.unlooked(mode, blob))


def _sides(snapshot: Snapshot, survey: Survey, path: bytes, entry: Entry | None, blob: bytes) -> list[bytes]:
    """The bytes of either side that are at hand: a change may have been logged a moment before they were kept."""
    state = survey.read(path)
    before = None if entry is None else snapshot.bytes_of(entry)
    after = state.data if state.blob == blob else None
    return [data for data in (before, after) if data is not None]
