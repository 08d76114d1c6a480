"""The fold: events in, rows out. Pure, so what is live and what is reloaded cannot differ.

Rows are keyed by what identifies them in the log (a call by its turn and its id), never by position, so that folding
a page from the middle of a log gives the same rows as folding the whole, for all that began within the page. Nothing
that an event holds makes it raise: what cannot be read becomes an `OtherRow` in its place.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from redline.changes.retype import joined
from redline.sessions.store import Damaged
from redline.transcript import fields, header, speech
from redline.transcript.call import Call
from redline.transcript.presenters import Presenters, Views
from redline.transcript.rows import AnyRow, FoundRow, PermissionRow, Problem, RevertRow, SessionState, TurnEndRow
from redline.transcript.standing import Standing
from redline.transcript.turn import Turn
from redline.transcript.undone import Marks

if TYPE_CHECKING:
    from redline.changes.record import FileChange
    from redline.sessions.events import Event
    from redline.transcript.fields import Data

_log = logging.getLogger(__name__)
_REASONS = ("completed", "cancelled", "failed", "limit", "interrupted")


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
        self._standing = Standing()
        self._calls: dict[tuple[int, str], Call] = {}
        self._open: dict[tuple[int, str], Call] = {}
        self._turns: dict[int, Turn] = {}
        self._landing: list[tuple[int, str]] = []
        self._last = 0
        self._left_out: frozenset[tuple[int, str]] = frozenset()
        self.state = SessionState(session=session)

    @property
    def rows(self) -> list[AnyRow]:
        return self._standing.all()

    @property
    def seq(self) -> int:
        """Of the last event that was fed."""
        return self._last

    def row(self, id: str) -> AnyRow | None:  # noqa: A002 - rows are known by their id
        return self._standing.get(id)

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
            return [self._standing.damaged(event)]
        take = _TAKE.get(event.type)
        if take is None:
            return [self._standing.other(event, f"An event of a type unknown to this version: {event.type}")]
        try:
            return take(self, event, event.data)
        except Exception:
            _log.exception("Event %d (%s) of session %s cannot be folded", event.seq, event.type, event.session)
            return [self._standing.other(event, f"Event {event.seq} ({event.type}) cannot be shown", why="unshown")]

    # The session.

    def _state(self, event: Event, _: Data) -> list[AnyRow]:
        self.state = header.after(self.state, event)
        return []

    def _agent_exited(self, event: Event, data: Data) -> list[AnyRow]:
        code = data.get("code")
        if code in (None, 0) or isinstance(data.get("turn"), int):
            return []  # in a turn, its end says so
        message = fields.text(data, "reason") or f"The agent ended with exit code {code}."
        return [self._standing.notice(event, "error", Problem(code="AGENT_EXITED", message=message))]

    def _agent_update(self, event: Event, data: Data) -> list[AnyRow]:
        update: Any = {name: value for name, value in data.items() if name != "turn"}
        if update.keys() == {"update"}:
            update = update["update"]
        kind = (fields.text(update, "sessionUpdate") if isinstance(update, Mapping) else "") or "of no known kind"
        return [self._standing.other(event, f"An update of the agent, {kind}", update)]

    # Turns.

    def _turn_started(self, event: Event, data: Data) -> list[AnyRow]:
        turn = fields.number(data, "turn")
        self._turn(turn).whole = True
        self.state = header.after(self.state, event)
        return self._abandon(event, lambda call: call.turn < turn)

    def _turn_ended(self, event: Event, data: Data) -> list[AnyRow]:
        turn = fields.number(data, "turn")
        self.state = header.after(self.state, event)
        changed = self._abandon(event, lambda call: call.turn == turn)
        reason = fields.text(data, "reason")
        row = TurnEndRow(
            **self._standing.head(event, f"turn_end:{turn}", turn),
            reason=cast("Any", reason if reason in _REASONS else "completed"),
            error=fields.problem(data, "error"),
        )
        return [*changed, self._standing.put(self._turn(turn).summed_up(row))]

    def _abandon(self, event: Event, which: Callable[[Call], bool]) -> list[AnyRow]:
        """Close the calls of which no result came: nobody can say how they ended."""
        return [self._call_row(event, call) for call in list(self._open.values()) if which(call) and call.abandoned()]

    def _usage(self, event: Event, data: Data) -> list[AnyRow]:
        turn = fields.number(data, "turn")
        self._turn(turn).used(data)
        return self._resummed(event, turn)

    def _resummed(self, event: Event, turn: int) -> list[AnyRow]:
        """The end of a turn again, if it was there already when something late arrived."""
        row = self._standing.get(f"turn_end:{turn}")
        if not isinstance(row, TurnEndRow):
            return []
        return [self._standing.put(self._turn(turn).summed_up(replace(row, revision=event.seq)))]

    # What is said.

    def _user(self, event: Event, data: Data) -> list[AnyRow]:
        return [self._standing.put(speech.prompted(self._standing, event, data))]

    def _assistant(self, event: Event, data: Data) -> list[AnyRow]:
        return [] if self._is_left_out(data) else [self._standing.put(speech.answered(self._standing, event, data))]

    def _thought(self, event: Event, data: Data) -> list[AnyRow]:
        return [] if self._is_left_out(data) else [self._standing.put(speech.thought(self._standing, event, data))]

    def _is_left_out(self, data: Data) -> bool:
        return (fields.number(data, "turn"), fields.text(data, "message")) in self._left_out

    def _plan(self, event: Event, data: Data) -> list[AnyRow]:
        return [self._standing.put(speech.planned(self._standing, event, data))]

    def _notice_raised(self, event: Event, data: Data) -> list[AnyRow]:
        return [self._standing.notice(event, fields.text(data, "level"), fields.problem_from(data))]

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
            **self._standing.head(event, f"permission:{turn}:{fields.text(data, 'request', str(event.seq))}", turn),
            request=fields.text(data, "request"),
            call=fields.text(data, "call"),
            title=fields.text(data, "title"),
            changes=fields.changes(data, "changes")[0],
            options=fields.records(data, "options"),
            note=fields.text(data, "note"),
        )
        return [*changed, self._standing.put(row)]

    def _answered(self, event: Event, data: Data) -> list[AnyRow]:
        changed = self._of_call(event, data, Call.answered)
        turn = fields.number(data, "turn")
        request = fields.text(data, "request")
        asked = self._standing.get(f"permission:{turn}:{request}")
        if not isinstance(asked, PermissionRow):
            return changed
        answer = replace(
            asked,
            outcome=fields.optional_text(data, "outcome"),
            by=fields.optional_text(data, "by"),
            revision=event.seq,
        )
        return [*changed, self._standing.put(answer)]

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
        return self._standing.put(call.row(self._views))

    # Changes that no call reported, and undo.

    def _found(self, event: Event, data: Data) -> list[AnyRow]:
        turn = fields.number(data, "turn")
        changes, _ = fields.changes(data, "changes")
        head = self._standing.head(event, f"found:{event.seq}", turn)
        during, beside = fields.texts(data, "during"), fields.texts(data, "beside")
        row = FoundRow(**head, changes=joined(changes), during=during, beside=beside)
        self._land(turn, row.id, changes)
        return [self._standing.put(row), *self._resummed(event, turn)]

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
        head = self._standing.head(event, f"revert:{turn}:{call}", turn)
        row = RevertRow(**head, call=call, of=of, changes=joined(changes), hunks=hunks)
        self._land(turn, row.id, changes)
        marked = Marks(self._standing, self._calls, lambda call: self._call_row(event, call), event.seq).of(row)
        return [self._standing.put(row), *marked, *self._resummed(event, turn)]

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

    def _turn(self, turn: int) -> Turn:
        return self._turns.setdefault(turn, Turn())


_TAKE: Mapping[str, Callable[[Transcript, Event, Data], list[AnyRow]]] = {
    "session/started": Transcript._state,
    "session/state": Transcript._state,
    "session/closed": Transcript._state,
    "agent/started": Transcript._state,
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
