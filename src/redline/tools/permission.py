"""What the runner asks before a call may change a file or run a command, and the answers that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from redline.changes.record import FileChange

PermissionOutcome = Literal["allow_once", "allow_session", "reject", "cancelled", "unavailable"]


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    turn: int
    call: str
    tool: str
    title: str
    """One line: what is asked for."""
    changes: Sequence[FileChange]
    """The whole proposed change, as recorded; empty for a call that names no file, such as a shell command."""
    paths: Sequence[str] = ()
    """Absolute; what a rule "for the session" is bound to, beside the tool."""
    arguments: Mapping[str, Any] | None = None
    note: str | None = None
    """Why there is no preview, or that the file changed since the last answer."""
    allow_session: bool = True
    """False: only a person may say yes, and only for once: a rule "for the session" neither is offered nor answers. So
    it is for every change that `proposal.is_for_a_person`, too, whatever is said here."""


class Permission(Protocol):
    async def __call__(self, request: PermissionRequest) -> PermissionOutcome:
        """`unavailable`: nobody is there to answer, which counts as no."""
        ...
