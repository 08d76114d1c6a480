"""Routes that read one session: its rows, its changes, its files."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from redline.changes.record import ON_DISK, FileChange
from redline.files.local import LocalFiles
from redline.gateway.room import Room
from redline.gateway.roster import GatewayError
from redline.sessions.redaction import Redactor
from redline.surfaces.dashboard import contract as wire
from redline.surfaces.dashboard.asked import (
    Before,
    FilePath,
    RowId,
    Served,
    Session,
    SessionQuery,
    Turn,
    changes_of,
    of_path,
    place_of,
    row_of,
)
from redline.surfaces.dashboard.file_diff import file_diff
from redline.surfaces.dashboard.patches import SHOWN_LIMIT, net_of, patch_of, sides_of
from redline.surfaces.dashboard.rows import covered_lines, may_fold, row_details, shown_row
from redline.surfaces.dashboard.touched import touched_files
from redline.surfaces.whole import restored
from redline.transcript.rows import AgentRow, AnyRow, FoundRow, PermissionRow, RevertRow, ToolRow

router = APIRouter()
_IMAGES: Sequence[tuple[bytes, str]] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
"""What a name in a header shall not hold."""
_PATCH: Any = {200: {"content": {"text/x-patch": {"schema": {"type": "string"}}}, "description": "The patch."}}
_IMAGE: Any = {
    200: {
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for _, kind in _IMAGES},
        "description": "The image.",
    }
}


@router.get("/sessions/{session}/rows")
async def session_rows(
    house: Served, session: Session, before: Before = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> wire.RowPage:
    """The last rows, or the last before a page that you have."""
    room = await house.gateway.open(session)
    page = await room.page(before=before, limit=limit)
    return wire.RowPage(session=session, rows=await _shown(room, page.rows), before=page.before, seq=page.seq)


@router.get("/sessions/{session}/row")
async def one_row(house: Served, session: Session, row: RowId) -> wire.RowDetails:
    """A row with nothing left out."""
    room = await house.gateway.open(session)
    return await asyncio.to_thread(_details, room, await row_of(room, row), house.redactor)


@router.get("/sessions/{session}/sides")
async def row_sides(house: Served, session: Session, row: RowId, path: FilePath) -> wire.Sides:
    """Both states, in whole, of a file that a row changed."""
    room = await house.gateway.open(session)
    change = of_path(changes_of(await row_of(room, row)), path)[-1]
    return await asyncio.to_thread(sides_of, change, room.kept, house.redactor)


@router.get("/sessions/{session}/net")
async def net(house: Served, session: Session, path: FilePath, turn: Turn = None) -> wire.NetChange:
    """What became of one file, in a turn or in all, with everything in it."""
    room = await house.gateway.open(session)
    changes = of_path(await room.landed(turn), path)
    return await asyncio.to_thread(net_of, changes, room.kept, house.redactor, place_of(room))


@router.get("/sessions/{session}/patch", response_class=Response, responses=_PATCH)
async def patch(
    house: Served,
    session: Session,
    row: Annotated[str | None, Query(max_length=4096, description="Of one row only.")] = None,
    turn: Turn = None,
    path: Annotated[str | None, Query(max_length=16384, description="Of one file only.")] = None,
) -> Response:
    """What is on disk as a patch for `git apply`, with the true bytes: secrets are not masked in it."""
    room = await house.gateway.open(session)
    if row is None:
        changes = await room.landed(turn)
    else:
        changes = [one for one in changes_of(await row_of(room, row)) if one.provenance in ON_DISK]
    if path is not None and changes:
        changes = of_path(changes, path)
    data = await asyncio.to_thread(patch_of, changes, room.kept, str(room.workspace))
    name = session if path is None else _ODD.sub("-", Path(path).name)
    headers = {"content-disposition": f'attachment; filename="{name}.patch"'}
    return Response(data, media_type="text/x-patch; charset=utf-8", headers=headers)


@router.get("/sessions/{session}/image", response_class=Response, responses=_IMAGE)
async def image(house: Served, session: Session, blob: Annotated[str, Query(pattern="^[0-9a-f]{40}$")]) -> Response:
    """An image of a message."""
    room = await house.gateway.open(session)
    data = await asyncio.to_thread(room.kept, blob)
    kind = None if data is None else next((kind for magic, kind in _IMAGES if data.startswith(magic)), None)
    if data is None or kind is None:
        raise GatewayError("NO_IMAGE", "There is no such image.", "It may have been too large to keep.")
    return Response(data, media_type=kind, headers={"cache-control": "private, max-age=86400, immutable"})


@router.get("/sessions/{session}/files")
async def files(house: Served, session: Session) -> wire.TouchedFiles:
    """The files that the session changed, those too that it left as they were."""
    room = await house.gateway.open(session)
    changes = await room.landed()
    return wire.TouchedFiles(files=await asyncio.to_thread(touched_files, changes, place_of(room)))


@router.get("/file-diff")
async def live_file_diff(house: Served, session: SessionQuery, path: FilePath) -> wire.FileDiff:
    """`git diff HEAD` of a file in the session's folder, as it is now."""
    room = await house.gateway.open(session)
    target = await (await asyncio.to_thread(LocalFiles, [room.workspace])).resolve(path)
    return await asyncio.to_thread(file_diff, target, place_of(room), house.redactor)


async def _shown(room: Room, rows: Sequence[AnyRow]) -> list[wire.Row]:
    place = place_of(room)
    shown: list[wire.Row] = []
    for row in rows:
        covered: Sequence[int] = ()
        if isinstance(row, AgentRow) and may_fold(row) and row.turn:
            covered = covered_lines(row.text, await room.landed(row.turn), place.workspace)
        shown.append(shown_row(place, row, covered=covered))
    return shown


def _details(room: Room, row: AnyRow, redactor: Redactor) -> wire.RowDetails:
    def whole(changes: Sequence[FileChange]) -> tuple[FileChange, ...]:
        return tuple(restored(one, room.kept, redactor, limit=SHOWN_LIMIT) for one in changes)

    if isinstance(row, ToolRow | RevertRow | FoundRow | PermissionRow):
        row = replace(row, changes=whole(row.changes))
    if isinstance(row, ToolRow):
        row = replace(row, proposed=whole(row.proposed))
    return row_details(place_of(room), row)
