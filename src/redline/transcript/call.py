"""One tool call, put together from its events: the only place where updates of a call are merged.

The rules. Content replaces, it does not append. Absent means unchanged. A finish without a diff does not wipe one. A
status never goes back. The events of a call may come in any order, twice, or in part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast, get_args

from redline.changes.record import ON_DISK
from redline.changes.retype import joined
from redline.tools.tool import ToolResult
from redline.transcript import fields
from redline.transcript.rows import Problem, ToolRow, ToolStatus, tool_row_id
from redline.views import GenericCall, Kind, Location, TerminalCall, ToolCallView, ToolResultView

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.transcript.fields import Data
    from redline.transcript.presenters import Views

_AS_SAID = ("rawOutput", "_meta", "name", "content", "further", "kind", "locations")
"""What the notes on a foreign agent's call hold of its own words."""
_KINDS: frozenset[str] = frozenset(get_args(Kind))
_RANK: Mapping[str, int] = {"proposed": 0, "running": 1, "unknown": 2, "interrupted": 3}
"""What is not here is a definite end, rank 4. A definite end that arrives late replaces an assumed one."""
_WORDS: Mapping[str, ToolStatus] = {
    "pending": "proposed",
    "proposed": "proposed",
    "in_progress": "running",
    "running": "running",
    "completed": "completed",
    "applied": "completed",
    "failed": "failed",
    "rejected": "rejected",
    "cancelled": "cancelled",
    "interrupted": "interrupted",
    "unknown": "unknown",
}
_ANSWERS = ("allow_once", "allow_session", "reject", "cancelled", "unavailable")


@dataclass(slots=True)
class Call:
    """What is known of a call so far."""

    turn: int
    call: str
    seq: int
    at: int
    revision: int = 0
    name: str = ""
    kind: Kind = "other"
    arguments: Any = None
    title: str | None = None
    """Set by an update; None: the view's own."""
    content: tuple[Mapping[str, Any], ...] = ()
    locations: tuple[Location, ...] = ()
    places: tuple[Mapping[str, Any], ...] = ()
    """The locations as they were told."""
    proposed: tuple[FileChange, ...] = ()
    changes: tuple[FileChange, ...] = ()
    observed: bool = False
    """The changes are what was found on the disk, and all that was."""
    status: ToolStatus = "proposed"
    has_result: bool = False
    meta: Any = None
    error: Problem | None = None
    warnings: tuple[str, ...] = ()
    permission: str | None = None
    output: str = ""
    reverted: set[str] = field(default_factory=set)
    """Paths of its changes that a standing undo took back."""
    reverted_hunks: set[tuple[str, int]] = field(default_factory=set)
    """Path and number, from 1, of single hunks that a standing undo took back."""

    @property
    def id(self) -> str:
        return tool_row_id(self.turn, self.call)

    @property
    def ended(self) -> bool:
        return _rank(self.status) >= 2

    # Each of these takes one event's data.

    def started(self, data: Data) -> None:
        self._identity(data)
        self.title = fields.optional_text(data, "title") or self.title
        if "arguments" in data:
            self.arguments = data["arguments"]
        self._take_notes(data)
        proposed, faults = fields.changes(data, "proposed")
        if proposed:
            self.proposed = proposed
        self._warn(faults)
        if not self.ended:
            self.error = fields.problem(data, "proposal_error") or self.error

    def updated(self, data: Data) -> None:
        title = fields.optional_text(data, "title")
        if title:
            self.title = title
        if fields.text(data, "kind") in _KINDS:
            self.kind = cast("Kind", data["kind"])
        if isinstance(data.get("content"), list):
            self.content = fields.mappings(data, "content")
            self.output = fields.block_text(self.content)
        if isinstance(data.get("locations"), list):
            self.locations = fields.locations(data, "locations")
            self.places = fields.mappings(data, "locations")
        self._take_arguments(data)
        self._take_notes(data)
        self._take_changes(data)
        self._advance(fields.text(data, "status"))
        if self.ended and fields.text(data, "status"):
            self.has_result = True
            self._keep_reported()

    def finished(self, data: Data) -> None:
        if not self.name:
            self._identity(data)
        if data.get("observed") is True:
            self.warnings = ()  # a later look at the disk takes back what an earlier one warned of
        if isinstance(data.get("content"), list):
            self.content = fields.mappings(data, "content")
        if "meta" in data:
            self.meta = data["meta"]
        self._take_arguments(data)
        proposed, faults = fields.changes(data, "proposed")
        self.proposed = proposed or self.proposed
        self._warn(faults)
        self._take_changes(data, ended=True)
        self._warn(fields.texts(data, "warnings"))
        if self._advance(fields.text(data, "status", "completed")):
            self.has_result = True
            self.error = fields.problem(data, "error")
            self._keep_reported()

    def asked(self, data: Data) -> None:
        proposed, faults = fields.changes(data, "changes")
        if proposed and not self.proposed:
            self.proposed = proposed
        if not self.name and self.title is None:
            self.title = fields.optional_text(data, "title")
        self._warn(faults)
        if self.permission is None:
            self.permission = "asked"

    def answered(self, data: Data) -> None:
        outcome = fields.text(data, "outcome")
        if outcome in _ANSWERS:
            self.permission = outcome
        if outcome in ("allow_once", "allow_session"):
            self._advance("running")

    def committing(self) -> None:
        """A `file/intent`: the call is at work; whether the bytes landed is for its result to say."""
        self._advance("running")

    def abandoned(self) -> bool:
        """The turn is over and no result came. False: the call had ended."""
        return self._advance("unknown") if not self.ended else False

    # Parts of the above.

    def _identity(self, data: Data) -> None:
        self.name = fields.text(data, "name") or self.name
        kind = fields.text(data, "kind")
        if kind in _KINDS:
            self.kind = cast("Kind", kind)

    def _take_changes(self, data: Data, *, ended: bool = False) -> None:
        """A result's changes are on disk unless marked as proposed; an update's only where they were computed from the
        bytes or found on disk, since before its end an agent speaks of what it is about to do."""
        changes, faults = fields.changes(data, "changes", self.changes)
        self._warn(faults)
        ended = ended or _rank(_WORDS.get(fields.text(data, "status"), "proposed")) >= 2 or self.ended
        on_disk = ON_DISK | {"reported"} if ended else ON_DISK
        landed = tuple(change for change in changes if change.provenance in on_disk)
        if landed:
            self.changes = landed
        proposed = tuple(change for change in changes if change.provenance not in on_disk)
        if proposed:
            self.proposed = proposed
        if data.get("observed") is True:
            self.observed = True
            self.changes = landed

    def _take_arguments(self, data: Data) -> None:
        if "arguments" in data:
            self.arguments = data["arguments"]

    def _take_notes(self, data: Data) -> None:
        """Of a foreign agent's call, before its end."""
        if "meta" in data and not self.has_result:
            self.meta = data["meta"]

    def _keep_reported(self) -> None:
        """An agent that finishes without repeating its diff did what it had reported. (What our own runner proposed
        is marked as proposed, and never becomes a change without a result that says so. Neither does a report where the
        disk was looked at.)"""
        if self.observed:
            return
        if self.status == "completed" and not self.changes:
            self.changes = tuple(change for change in self.proposed if change.provenance == "reported")
            self._advance("completed")

    def _advance(self, word: str) -> bool:
        """Take a status unless it goes back. False: it was not taken."""
        status = _WORDS.get(word)
        if status is not None and _rank(status) >= _rank(self.status):
            self.status = status
            taken = True
        else:
            taken = False
        if self.status in ("completed", "applied"):
            self.status = "applied" if self.changes else "completed"
        return taken

    def _warn(self, sentences: tuple[str, ...]) -> None:
        self.warnings += tuple(sentence for sentence in sentences if sentence not in self.warnings)

    def row(self, views: Views) -> ToolRow:
        changes = joined(self.changes)
        reverted = tuple(change.path for change in changes if change.path in self.reverted)
        return ToolRow(
            id=self.id,
            turn=self.turn,
            seq=self.seq,
            revision=self.revision,
            at=self.at,
            call=self.call,
            name=self.name,
            status=self.status,
            call_view=self._call_view(views),
            result_view=self._result_view(views, changes),
            proposed=self.proposed,
            changes=changes,
            error=self.error,
            warnings=self.warnings,
            permission=cast("Any", self.permission),
            output="" if self.ended else self.output,
            raw={} if self.name else self._raw(),
            reverted=bool(changes) and len(reverted) == len(changes),
            reverted_paths=reverted,
            reverted_hunks=tuple(sorted(self.reverted_hunks)),
        )

    def _raw(self) -> dict[str, Any]:
        meta = self.meta if isinstance(self.meta, Mapping) else {}
        raw = {name: meta[name] for name in _AS_SAID if name in meta}
        if raw.get("content") == "text":  # one text, which stands in the result
            raw["content"] = [{"type": "content", "content": dict(block)} for block in self.content]
        said = {"title": self.title, "rawInput": self.arguments, "locations": [dict(one) for one in self.places]}
        return {**{name: value for name, value in said.items() if value is not None and value != []}, **raw}

    def _call_view(self, views: Views) -> ToolCallView:
        view = views.call(
            self.name,
            self.arguments,
            self.proposed,
            kind=self.kind,
            content=() if self.has_result else self.content,
            locations=self.locations,
        )
        if self.title is None or isinstance(view, TerminalCall):
            return view
        if isinstance(view, GenericCall):
            return replace(view, title=self.title, kind=self.kind)
        return replace(view, title=self.title)

    def _result_view(self, views: Views, changes: tuple[FileChange, ...]) -> ToolResultView | None:
        if not self.has_result:
            return None
        is_error = self.status not in ("completed", "applied")
        result = ToolResult(self.content, is_error, changes, self.meta)
        return views.result(self.name, self.arguments, result, kind=self.kind)


def _rank(status: str) -> int:
    return _RANK.get(status, 4)
