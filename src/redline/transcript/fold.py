"""The fold: events in, rows out. Pure, so what is live and what is reloaded cannot differ.

Rows are keyed by what identifies them in the log (a call by its turn and its id), never by position, so that folding
a page from the middle of a log gives the same rows as folding the whole, for all that began within the page. Nothing
that an event holds makes it raise: what cannot be read becomes an `OtherRow` in its place.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

from redline.changes.retype import joined
from redline.sessions.store import Damaged
from redline.transcript import fields
from redline.transcript.call import Call
from redline.transcript.presenters import Presenters, Views
from redline.transcript.rows import (
    AgentRow,
    AnyRow,
    FoundRow,
    Mark,
    NoticeRow,
    OtherRow,
    PermissionRow,
    PlanRow,
    Problem,
    RevertRow,
    SessionState,
    ThoughtRow,
    TurnEndRow,
    UserRow,
    agent_row_id,
    thought_row_id,
)
from redline.transcript.turn import Turn

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.sessions.events import Event
    from redline.transcript.fields import Data

_log = logging.getLogger(__name__)
_REASONS = ("completed", "cancelled", "failed", "limit", "interrupted")
_LEVELS = ("info", "warning", "error")


def rows(events: Iterable[Event | Damaged], present: Presenters) -> list[AnyRow]:
    """The rows of a whole log or of any page of it, in order."""
    transcript = Transcript("", present)
    for event in events:
        transcript.apply(event)
    return transcript.rows


class Transcript:
    """The rows of one session so far. Feed it events in the order of `seq`; one that was fed before is passed over, so
    that a reader may ask again from an earlier point."""

    def __init__(self, session: str, present: Presenters) -> None:
        self._views = Views(present)
        self._rows: dict[str, AnyRow] = {}
        self._calls: dict[tuple[int, str], Call] = {}
        self._open: dict[tuple[int, str], Call] = {}
        self._turns: dict[int, Turn] = {}
        self._landing: list[tuple[int, str]] = []
        self._last = 0
        self._left_out: frozenset[tuple[int, str]] = frozenset()
        self.state = SessionState(session=session)

    @property
    def rows(self) -> list[AnyRow]:
        return list(self._rows.values())

    @property
    def seq(self) -> int:
        """Of the last event that was fed."""
        return self._last

    def row(self, id: str) -> AnyRow | None:  # noqa: A002 - rows are known by their id
        return self._rows.get(id)

    def leave_out(self, entities: Iterable[tuple[int, str]]) -> None:
        """Calls and messages, by turn and id, whose events were not fed and that had ended: what still comes of one is
        passed over, since a row of a part of its events would say less than the truth."""
        self._left_out = self._left_out | frozenset(entities)

    def apply(self, event: Event | Damaged) -> list[AnyRow]:
        """Take one event; the rows that are new or changed, in order."""
        if event.seq <= self._last:
            return []
        self._last = event.seq
        if isinstance(event, Damaged):
            return [self._damaged(event)]
        take = _TAKE.get(event.type)
        if take is None:
            return [self._other(event, f"An event of a type unknown to this version: {event.type}")]
        try:
            return take(self, event, event.data)
        except Exception:
            _log.exception("Event %d (%s) of session %s cannot be folded", event.seq, event.type, event.session)
            return [self._other(event, f"Event {event.seq} ({event.type}) cannot be shown", why="unshown")]

    # The session.

    def _session_started(self, event: Event, data: Data) -> list[AnyRow]:
        self.state = replace(
            self.state,
            session=event.session,
            workspace=fields.text(data, "workspace", self.state.workspace),
            agent=fields.text(data, "agent", self.state.agent),
            model=fields.text(data, "model", self.state.model),
        )
        return []

    def _session_state(self, _: Event, data: Data) -> list[AnyRow]:
        modes, of_agent = data.get("modes"), data.get("agent")
        self.state = replace(
            self.state,
            title=fields.text(data, "title", self.state.title),
            approval=fields.text(modes, "approval") if isinstance(modes, Mapping) else self.state.approval,
            of_agent=of_agent if isinstance(of_agent, Mapping) else self.state.of_agent,
        )
        return []

    def _session_closed(self, _: Event, __: Data) -> list[AnyRow]:
        self.state = replace(self.state, closed=True, running=False)
        return []

    def _agent_started(self, _: Event, data: Data) -> list[AnyRow]:
        self.state = replace(
            self.state,
            agent=fields.text(data, "name", self.state.agent),
            model=fields.text(data, "model", self.state.model),
        )
        return []

    def _agent_exited(self, event: Event, data: Data) -> list[AnyRow]:
        code = data.get("code")
        if code in (None, 0) or isinstance(data.get("turn"), int):
            return []  # in a turn, its end says so
        message = fields.text(data, "reason") or f"The agent ended with exit code {code}."
        return [self._notice(event, "error", Problem(code="AGENT_EXITED", message=message))]

    def _agent_update(self, event: Event, data: Data) -> list[AnyRow]:
        update: Any = {name: value for name, value in data.items() if name != "turn"}
        if update.keys() == {"update"}:
            update = update["update"]
        kind = (fields.text(update, "sessionUpdate") if isinstance(update, Mapping) else "") or "of no known kind"
        return [self._other(event, f"An update of the agent, {kind}", update)]

    # Turns.

    def _turn_started(self, event: Event, data: Data) -> list[AnyRow]:
        turn = fields.number(data, "turn")
        self._turn(turn).whole = True
        self.state = replace(self.state, turn=turn, running=True, closed=False)
        return self._abandon(event, lambda call: call.turn < turn)

    def _turn_ended(self, event: Event, data: Data) -> list[AnyRow]:
        turn = fields.number(data, "turn")
        self.state = replace(self.state, running=False)
        changed = self._abandon(event, lambda call: call.turn == turn)
        reason = fields.text(data, "reason")
        row = TurnEndRow(
            **self._head(event, f"turn_end:{turn}", turn),
            reason=cast("Any", reason if reason in _REASONS else "completed"),
            error=fields.problem(data, "error"),
        )
        return [*changed, self._put(self._turn(turn).summed_up(row))]

    def _abandon(self, event: Event, which: Callable[[Call], bool]) -> list[AnyRow]:
        """Close the calls of which no result came: nobody can say how they ended."""
        return [self._call_row(event, call) for call in list(self._open.values()) if which(call) and call.abandoned()]

    def _usage(self, event: Event, data: Data) -> list[AnyRow]:
        turn = fields.number(data, "turn")
        self._turn(turn).used(data)
        return self._resummed(event, turn)

    def _resummed(self, event: Event, turn: int) -> list[AnyRow]:
        """The end of a turn again, if it was there already when something late arrived."""
        row = self._rows.get(f"turn_end:{turn}")
        if not isinstance(row, TurnEndRow):
            return []
        return [self._put(self._turn(turn).summed_up(replace(row, revision=event.seq)))]

    # What is said.

    def _user(self, event: Event, data: Data) -> list[AnyRow]:
        blocks = fields.mappings(data, "content")
        attachments = tuple(block for block in blocks if block.get("type") != "text")
        head = self._head(event, f"user:{event.seq}", fields.number(data, "turn"))
        return [self._put(UserRow(**head, text=fields.block_text(blocks), attachments=attachments, content=blocks))]

    def _assistant(self, event: Event, data: Data) -> list[AnyRow]:
        turn = fields.number(data, "turn")
        if (turn, fields.text(data, "message")) in self._left_out:
            return []
        head = self._head(event, agent_row_id(turn, fields.text(data, "message", str(event.seq))), turn)
        return [self._put(AgentRow(**head, **self._grown(head["id"], data)))]

    def _thought(self, event: Event, data: Data) -> list[AnyRow]:
        turn = fields.number(data, "turn")
        if (turn, fields.text(data, "message")) in self._left_out:
            return []
        head = self._head(event, thought_row_id(turn, fields.text(data, "message", str(event.seq))), turn)
        return [self._put(ThoughtRow(**head, **self._grown(head["id"], data)))]

    def _grown(self, id_: str, data: Data) -> dict[str, Any]:
        """The text so far with a further piece, and what was sent beside its pieces."""
        row = self._rows.get(id_)
        text, marks = (row.text, tuple(row.marks)) if isinstance(row, AgentRow | ThoughtRow) else ("", ())
        whole = text + fields.text(data, "text")
        if "meta" in data:
            goes_on = bool(marks) and marks[-1].end == len(text) and marks[-1].meta == data["meta"]
            start = marks[-1].start if goes_on else len(text)
            marks = (*(marks[:-1] if goes_on else marks), Mark(start, len(whole), data["meta"]))
        return {"text": whole, "marks": marks}

    def _plan(self, event: Event, data: Data) -> list[AnyRow]:
        turn = fields.number(data, "turn")
        head = self._head(event, f"plan:{turn}", turn)
        return [self._put(PlanRow(**head, entries=fields.records(data, "entries"), sent=data.get("sent")))]

    def _notice_raised(self, event: Event, data: Data) -> list[AnyRow]:
        return [self._notice(event, fields.text(data, "level"), fields.problem_from(data))]

    def _notice(self, event: Event, level: str, problem: Problem) -> AnyRow:
        head = self._head(event, f"notice:{event.seq}", fields.number(event.data, "turn"))
        known = cast("Any", level if level in _LEVELS else "warning")
        return self._put(NoticeRow(**head, level=known, problem=problem))

    # Calls.

    def _tool_call(self, event: Event, data: Data) -> list[AnyRow]:
        return self._of_call(event, data, Call.started)

    def _tool_update(self, event: Event, data: Data) -> list[AnyRow]:
        return self._of_call(event, data, Call.updated)

    def _tool_result(self, event: Event, data: Data) -> list[AnyRow]:
        return self._of_call(event, data, Call.finished)

    def _intent(self, event: Event, data: Data) -> list[AnyRow]:
        """An undo commits intents too, and is no tool call: an intent alone makes no row."""
        known = (fields.number(data, "turn"), fields.text(data, "call")) in self._calls
        return self._of_call(event, data, lambda call, _: call.committing()) if known else []

    def _asked(self, event: Event, data: Data) -> list[AnyRow]:
        changed = self._of_call(event, data, Call.asked)
        turn = fields.number(data, "turn")
        row = PermissionRow(
            **self._head(event, f"permission:{turn}:{fields.text(data, 'request', str(event.seq))}", turn),
            request=fields.text(data, "request"),
            call=fields.text(data, "call"),
            title=fields.text(data, "title"),
            changes=fields.changes(data, "changes")[0],
            options=fields.records(data, "options"),
            note=fields.text(data, "note"),
        )
        return [*changed, self._put(row)]

    def _answered(self, event: Event, data: Data) -> list[AnyRow]:
        changed = self._of_call(event, data, Call.answered)
        turn = fields.number(data, "turn")
        request = fields.text(data, "request")
        asked = self._rows.get(f"permission:{turn}:{request}")
        if not isinstance(asked, PermissionRow):
            return changed
        answer = replace(
            asked,
            outcome=fields.optional_text(data, "outcome"),
            by=fields.optional_text(data, "by"),
            revision=event.seq,
        )
        return [*changed, self._put(answer)]

    def _of_call(self, event: Event, data: Data, take: Callable[[Call, Data], None]) -> list[AnyRow]:
        key = (fields.number(data, "turn"), fields.text(data, "call"))
        if key in self._left_out:
            return []
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = Call(turn=key[0], call=key[1], seq=event.seq, at=event.at)
            self._open[key] = call
        before = call.changes
        take(call, data)
        changed = [self._call_row(event, call)]
        if call.changes != before:
            self._land(call.turn, call.id, call.changes)
            changed += self._resummed(event, call.turn)
        return changed

    def _call_row(self, event: Event, call: Call) -> AnyRow:
        call.revision = event.seq
        if call.ended:
            self._open.pop((call.turn, call.call), None)
        return self._put(call.row(self._views))

    # Changes that no call reported, and undo.

    def _found(self, event: Event, data: Data) -> list[AnyRow]:
        turn = fields.number(data, "turn")
        changes, _ = fields.changes(data, "changes")
        head = self._head(event, f"found:{event.seq}", turn)
        row = FoundRow(**head, changes=joined(changes), during=fields.texts(data, "during"))
        self._land(turn, row.id, changes)
        return [self._put(row), *self._resummed(event, turn)]

    def _reverted(self, event: Event, data: Data) -> list[AnyRow]:
        turn = fields.number(data, "turn")
        call = fields.text(data, "call")
        changes, _ = fields.changes(data, "changes")
        of = tuple((fields.number(item, "turn"), fields.text(item, "call")) for item in fields.mappings(data, "of"))
        hunks = tuple(
            (fields.number(item, "turn"), fields.text(item, "call"), fields.number(item, "hunk"))
            for item in fields.mappings(data, "took")
            if fields.number(item, "hunk") > 0
        )
        head = self._head(event, f"revert:{turn}:{call}", turn)
        row = RevertRow(**head, call=call, of=of, changes=joined(changes), hunks=hunks)
        self._land(turn, row.id, changes)
        marked = self._mark(event, row, taken_back=True, seen=frozenset((row.id,)))
        return [self._put(row), *marked, *self._resummed(event, turn)]

    def _mark(self, event: Event, undo: RevertRow, *, taken_back: bool, seen: frozenset[str]) -> list[AnyRow]:
        """Mark what an undo took back; undoing an undo puts back what that one had taken."""
        paths = {path for change in undo.changes for path in (change.path, change.old_path) if path}
        changed: list[AnyRow] = []
        for turn, name in undo.of:
            earlier = self._rows.get(f"revert:{turn}:{name}")
            if isinstance(earlier, RevertRow) and earlier.id not in seen:
                changed.append(self._put(replace(earlier, reverted=taken_back, revision=event.seq)))
                changed += self._mark(event, earlier, taken_back=not taken_back, seen=seen | {earlier.id})
            if not name:
                changed += self._mark_found(event, turn, paths, taken_back=taken_back)
            call = self._calls.get((turn, name))
            if call is None:
                continue
            own = {change.path for change in call.changes if {change.path, change.old_path} & paths}
            call.reverted = call.reverted | own if taken_back else call.reverted - own
            changed.append(self._call_row(event, call))
        for turn, name, hunk in undo.hunks:
            if (call := self._calls.get((turn, name))) is not None:
                part = {(change.path, hunk) for change in call.changes if {change.path, change.old_path} & paths}
                call.reverted_hunks = call.reverted_hunks | part if taken_back else call.reverted_hunks - part
                changed.append(self._call_row(event, call))
        return changed

    def _mark_found(self, event: Event, turn: int, paths: set[str], *, taken_back: bool) -> list[AnyRow]:
        changed: list[AnyRow] = []
        for row in [row for row in self._rows.values() if isinstance(row, FoundRow) and row.turn == turn]:
            own = {change.path for change in row.changes if {change.path, change.old_path} & paths}
            marked = own.union(row.reverted_paths) if taken_back else set(row.reverted_paths) - own
            if marked != set(row.reverted_paths):
                changed.append(self._put(replace(row, reverted_paths=tuple(sorted(marked)), revision=event.seq)))
        return changed

    def _land(self, turn: int, row: str, changes: tuple[FileChange, ...]) -> None:
        if row not in self._turn(turn).changes:
            self._landing.append((turn, row))
        self._turn(turn).changes[row] = changes

    def landed(self, turn: int | None = None) -> list[FileChange]:
        """The changes on disk, of one turn or of all, in the order in which they landed."""
        return [
            change
            for of_turn, row in self._landing
            if turn is None or of_turn == turn
            for change in self._turns[of_turn].changes[row]
        ]

    # Rows.

    def _turn(self, turn: int) -> Turn:
        return self._turns.setdefault(turn, Turn())

    def _head(self, event: Event, id_: str, turn: int) -> dict[str, Any]:
        """What every row has; one that exists keeps its place."""
        known = self._rows.get(id_)
        return {
            "id": id_,
            "turn": turn,
            "seq": known.seq if known else event.seq,
            "revision": event.seq,
            "at": known.at if known else event.at,
        }

    def _put(self, row: AnyRow) -> AnyRow:
        self._rows[row.id] = row
        return row

    def _damaged(self, damaged: Damaged) -> AnyRow:
        seq = damaged.seq
        title = f"Event {seq} of the log is damaged and is left out: {damaged.reason}"
        return self._put(OtherRow(id=f"other:{seq}", turn=0, seq=seq, revision=seq, at=0, title=title, why="damaged"))

    def _other(
        self, event: Event, title: str, update: Any = None, *, why: Literal["unknown", "unshown"] = "unknown"
    ) -> AnyRow:
        data = event.data if isinstance(event.data, Mapping) else {}
        head = self._head(event, f"other:{event.seq}", fields.number(data, "turn"))
        return self._put(OtherRow(**head, title=title, why=why, update=update))


_TAKE: Mapping[str, Callable[[Transcript, Event, Data], list[AnyRow]]] = {
    "session/started": Transcript._session_started,
    "session/state": Transcript._session_state,
    "session/closed": Transcript._session_closed,
    "agent/started": Transcript._agent_started,
    "agent/exited": Transcript._agent_exited,
    "agent/update": Transcript._agent_update,
    "turn/started": Transcript._turn_started,
    "turn/ended": Transcript._turn_ended,
    "user/message": Transcript._user,
    "assistant/message": Transcript._assistant,
    "assistant/thought": Transcript._thought,
    "plan/updated": Transcript._plan,
    "usage/updated": Transcript._usage,
    "notice/raised": Transcript._notice_raised,
    "tool/call": Transcript._tool_call,
    "tool/update": Transcript._tool_update,
    "tool/result": Transcript._tool_result,
    "permission/asked": Transcript._asked,
    "permission/answered": Transcript._answered,
    "file/intent": Transcript._intent,
    "workspace/changed": Transcript._found,
    "change/reverted": Transcript._reverted,
}
