"""What every route gets: the served house, and the parts of a request that come again and again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Query, Request
from fastapi import Path as InPath

from redline.changes.record import FileChange
from redline.gateway.gateway import Gateway
from redline.gateway.room import Room
from redline.gateway.roster import GatewayError
from redline.sessions.redaction import Redactor
from redline.sessions.secret_files import is_secret_file
from redline.surfaces.dashboard.hub import Hub
from redline.surfaces.dashboard.place import Place, text
from redline.surfaces.dashboard.plans import Plans
from redline.transcript.rows import AnyRow, FoundRow, PermissionRow, RevertRow, ToolRow

SESSION_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"


@dataclass(frozen=True, slots=True)
class House:
    """One server's."""

    gateway: Gateway
    hub: Hub
    plans: Plans
    here: Path
    """The folder that it was started in."""

    @property
    def redactor(self) -> Redactor:
        return self.gateway.archive.redactor


def _served(request: Request) -> House:
    house: House = request.app.state.house
    return house


Served = Annotated[House, Depends(_served)]
Session = Annotated[str, InPath(pattern=SESSION_PATTERN, description="The id of a session.")]
SessionQuery = Annotated[str, Query(pattern=SESSION_PATTERN, description="The id of a session.")]
RowId = Annotated[str, Query(min_length=1, max_length=4096, description="The id of a row.")]
FilePath = Annotated[str, Query(min_length=1, max_length=16384, description="A path as a change has it.")]
Turn = Annotated[int | None, Query(ge=1, le=2**53, description="Of one turn only.")]
Before = Annotated[int | None, Query(ge=0, le=2**53, description="`before` of the page that you have.")]


def place_of(room: Room) -> Place:
    return Place(room.session, str(room.workspace))


async def row_of(room: Room, id_: str) -> AnyRow:
    """Raises `GatewayError` NO_ROW."""
    row = await room.row(id_)
    if row is None:
        raise GatewayError("NO_ROW", "This session has no such row.", "Load the session again.")
    return row


def changes_of(row: AnyRow) -> list[FileChange]:
    """On disk, or else what was proposed."""
    match row:
        case ToolRow():
            return list(row.changes or row.proposed)
        case RevertRow() | FoundRow() | PermissionRow():
            return list(row.changes)
        case _:
            return []


def require_shown(path: str, *contents: bytes | None) -> None:
    """Raises `GatewayError` SECRET_FILE for a file that no endpoint shows as a whole."""
    if is_secret_file(path, *contents):
        raise GatewayError(
            "SECRET_FILE", "This file holds secrets, by its name or its content, so it is not shown here.",
            "Look at it in an editor of your own.",
        )  # fmt: skip


def of_path(changes: list[FileChange], path: str) -> list[FileChange]:
    """Raises `GatewayError` NO_FILE."""
    found = [one for one in changes if path in (text(one.path), text(one.old_path or ""))]
    if not found:
        raise GatewayError("NO_FILE", "That file is not among the changes.", "Name it as the change does.")
    return found
