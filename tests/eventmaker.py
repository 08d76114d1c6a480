"""Events made by hand, for tests of what is folded and drawn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redline.changes.codec import to_json
from redline.changes.compare import describe
from redline.sessions.events import Event

if TYPE_CHECKING:
    from redline.changes.record import FileChange

WORKSPACE = "/w"


class Log:
    """Numbers events as they come. `turn` is filled in unless given."""

    def __init__(self, turn: int = 1) -> None:
        self.events: list[Event] = []
        self.turn = turn

    def add(self, type_: str, **data: Any) -> Event:
        if not type_.startswith(("session/", "agent/")):
            data = {"turn": self.turn, **data}
        event = Event("s1", len(self.events) + 1, 1000 + len(self.events), type_, data)
        self.events.append(event)
        return event

    def call(self, call: str, name: str = "edit", kind: str = "edit", **data: Any) -> Event:
        proposed = as_json(data.pop("proposed", ()), "proposed")
        data = {"arguments": {"path": "a.py"}, **data}
        return self.add("tool/call", call=call, name=name, kind=kind, proposed=proposed, **data)

    def result(self, call: str, status: str = "completed", **data: Any) -> Event:
        data = {"name": "edit", "kind": "edit", **data}
        if "changes" in data:
            data["changes"] = as_json(data["changes"])
        return self.add("tool/result", call=call, status=status, **data)

    def update(self, call: str, **data: Any) -> Event:
        if "changes" in data:
            data["changes"] = as_json(data["changes"])
        return self.add("tool/update", call=call, **data)


def as_json(changes: Any, provenance: str | None = None) -> list[dict[str, Any]]:
    return [{**to_json(change), **({"provenance": provenance} if provenance else {})} for change in changes]


def change(path: str, before: bytes | None, after: bytes | None, **more: Any) -> FileChange:
    """Of a file in the workspace."""
    if more.get("old_path"):
        more["old_path"] = f"{WORKSPACE}/{more['old_path']}"
    return describe(f"{WORKSPACE}/{path}", before, after, **more)
