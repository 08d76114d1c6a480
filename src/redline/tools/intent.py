"""An intent: what one mutation was about to do to which places, as `file/intent` keeps it.

It is committed before the file is replaced and read back only after a crash. The log that it is read from may be
damaged, or of another version, so nothing that it lacks makes the reading fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from redline.changes.codec import from_json, path_from_json, quoted_beside, to_json
from redline.files.seam import Blob, Content, Target
from redline.tools.verdict import Place, State

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.files.seam import Outcome

CallKey = tuple[int, str]
"""Turn and id of a call, which is what identifies it in a session."""
_OPERATIONS = ("create", "update", "delete", "move")


def to_event(
    outcome: Outcome, change: FileChange, turn: int, call: str, *, kept: bool, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """The data of `file/intent`. `kept`: the store of bytes holds both sides. `facts`: what stands beside all that."""
    place = outcome.target.key
    return {
        "turn": turn,
        "call": call,
        "operation": outcome.operation,
        "path": place,
        "real": place,
        **quoted_beside("path", place),
        **quoted_beside("real", place),
        **_moved(outcome),
        "before": None if outcome.before is None else outcome.before.blob,
        "after": None if outcome.after is None else outcome.after.blob,
        "kept": kept,
        "change": to_json(change),
        **facts,
    }


def _moved(outcome: Outcome) -> dict[str, Any]:
    moved = outcome.moved_to
    if moved is None:
        return {}
    real = {"real": moved.key, **quoted_beside("real", moved.key)}
    return {"moved_to": moved.key, **quoted_beside("moved_to", moved.key), "moved": real}


@dataclass(frozen=True, slots=True)
class IntentSide:
    """A file on one side of the mutation."""

    blob: Blob
    size: int
    executable: bool

    @property
    def state(self) -> State:
        return State(self.blob, self.executable)

    def content(self, data: bytes | None) -> Content:
        """`data`: its bytes, where the store still has them."""
        return Content(self.blob, self.size if data is None else len(data), self.executable, data)


@dataclass(frozen=True, slots=True)
class Intent:
    """An intent that was read back."""

    key: CallKey
    operation: Literal["create", "update", "delete", "move"]
    target: Target
    moved_to: Target | None
    before: IntentSide | None
    """None: no file is known to have been there."""
    after: IntentSide | None
    told: object
    """The change as the log keeps it."""
    reverts: Sequence[Mapping[str, Any]] | None
    """Of an undo: the changes that it takes back, as the log keeps them. None: a call made it."""
    steps: object
    """Of an undo: how many files it is about."""

    @property
    def change(self) -> FileChange | None:
        """None: it cannot be read."""
        try:
            return from_json(self.told)
        except ValueError:
            return None

    @property
    def places(self) -> list[Place]:
        """As `verdict.places` gives those of an outcome."""
        path, key = str(self.target.path), self.target.key
        before = None if self.before is None else self.before.state
        after = None if self.after is None else self.after.state
        if self.moved_to is None:
            return [Place(path, key, before, after, self.target.link)]
        return [Place(path, key, before, None), Place(str(self.moved_to.path), self.moved_to.key, None, after)]


def call_key(data: Mapping[str, Any]) -> CallKey:
    """Of any event that is about a call."""
    turn = data.get("turn")
    return (turn if isinstance(turn, int) else 0, str(data.get("call")))


def read(data: Mapping[str, Any]) -> Intent:
    """From the data of `file/intent`."""
    operation, change, reverts = data.get("operation"), data.get("change"), data.get("reverts")
    is_link = isinstance(change, Mapping) and change.get("file_type") == "symlink"
    return Intent(
        key=call_key(data),
        operation=operation if operation in _OPERATIONS else "update",
        target=Target(Path(path_from_json(data, "path")), Path(path_from_json(data, "real")), is_link),
        moved_to=_moved_to(data),
        before=_side(data, "before"),
        after=_side(data, "after"),
        told=change,
        reverts=mappings(reverts) if "reverts" in data else None,
        steps=data.get("steps"),
    )


def mappings(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list in an event; what is no object is passed over."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _moved_to(data: Mapping[str, Any]) -> Target | None:
    if not isinstance(data.get("moved_to"), str):
        return None
    path, moved = path_from_json(data, "moved_to"), data.get("moved")
    return Target(Path(path), Path(path_from_json(moved, "real") if isinstance(moved, Mapping) else path))


def _side(data: Mapping[str, Any], name: Literal["before", "after"]) -> IntentSide | None:
    blob, change = data.get(name), data.get("change")
    if not isinstance(blob, str):
        return None
    told = change.get(name) if isinstance(change, Mapping) else None
    side = told if isinstance(told, Mapping) else {}
    size = side.get("size", 0)
    return IntentSide(blob, size if isinstance(size, int) else 0, bool(side.get("executable")))
