"""How a call ends, and what the model is told of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redline.changes.record import FileChange
    from redline.files.seam import Blob
    from redline.tools.tool import ContentBlock

Status = Literal["completed", "failed", "rejected", "cancelled"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a call did not do what was asked; as `error` in the log."""

    code: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.code}: {self.message} {self.remedy}".rstrip()

    def to_json(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message, "remedy": self.remedy}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a call ended."""

    status: Status
    content: Sequence[ContentBlock] = ()
    error: Problem | None = None
    changes: Sequence[FileChange] = ()
    """On the disk, and only those."""
    seen: Mapping[str, Blob] = field(default_factory=dict)
    """By the key of the file: what the model has now read or written."""
    meta: Any = None
    warnings: Sequence[str] = ()


CANCELLED = Problem("CANCELLED", "The call was cancelled.")

REFUSALS: Mapping[str, tuple[Status, Problem]] = {
    "reject": (
        "rejected",
        Problem("REJECTED", "The user rejected this call.", "Do not repeat it; ask what is wanted instead."),
    ),
    "unavailable": (
        "rejected",
        Problem(
            "UNAVAILABLE", "Nobody was there to approve this call, which counts as no.", "Tell the user what is needed."
        ),
    ),
    "cancelled": ("cancelled", Problem("CANCELLED", "The call was cancelled before it was approved.")),
}
"""What each answer that is no permission makes of a call."""


def tool_fault(name: str, fault: BaseException) -> Problem:
    return Problem("TOOL_FAULT", f"The tool {name!r} failed with {named(fault)}.", "Try another way.")


def named(fault: BaseException) -> str:
    text = str(fault)
    return f"{type(fault).__name__}: {text}" if text else type(fault).__name__


def said_of(changes: Sequence[FileChange]) -> str:
    """What the model is told of the disk after a call that did not end well."""
    if not changes:
        return "It was not applied: no file was changed by it."
    landed = "\n".join(f"- {change.operation} {change.path} (+{change.added} -{change.removed})" for change in changes)
    return f"Only this part of it was applied, and is on disk:\n{landed}"
