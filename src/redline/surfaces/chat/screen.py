"""One session in one place of a chat: a surface that turns rows into flows of the place's outbox."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from redline.surfaces.chat import rows as made_from
from redline.surfaces.chat.cards import short
from redline.surfaces.chat.paginate import paginate
from redline.surfaces.chat.parts import Buttons, Part
from redline.surfaces.chat.places import Begun
from redline.surfaces.chat.question import question as question_parts
from redline.surfaces.chat.turn import Turn
from redline.surfaces.visible import visible
from redline.tools.permission import PermissionRequest
from redline.transcript.rows import (
    FoundRow,
    PermissionRow,
    RevertRow,
    ToolRow,
    TurnEndRow,
    UserRow,
    tool_row_id,
)
from redline.views import TerminalCall

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from redline.gateway.room import Room
    from redline.surfaces.chat.cards import Setting
    from redline.surfaces.chat.outbox import Outbox
    from redline.surfaces.chat.places import Places
    from redline.surfaces.chat.platform import Place, Platform
    from redline.surfaces.chat.wholes import Wholes
    from redline.tools.permission import PermissionOutcome
    from redline.transcript.rows import AnyRow, SessionState

_KEPT_TURNS = 8
_KEPT_BYTES = 2**20
"""Bytes of files from which a turn is not kept after its end."""
_FILED_LIMIT = 64 * 2**20
"""Bytes of files of one turn from which its further changes go into files as far as the log holds them."""

_ELSEWHERE = "It cannot be answered here any more, but in the dashboard or an editor."
_OUTCOMES = {
    "allow_once": "Allowed once",
    "allow_session": "Allowed for this session",
    "reject": "Rejected",
    "cancelled": "Withdrawn",
    "unavailable": "Not allowed, since nobody answered",
}


@dataclass(slots=True)
class Question:
    """A permission request that stands in the chat."""

    identity: str
    """Of the request in the log."""
    token: str
    parts: list[Part]
    flow: Begun
    settled: str = ""
    """What stands where the buttons were; empty: it is open."""
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    """The place takes no message any more, so nobody can answer here."""
    late: str = ""
    """Once the time for an answer here was over: for how long nobody answered."""


class Screen:
    """A surface (`surfaces.surface.Surface`). `show` and `ask` only say what should stand in the place; the outbox
    brings it there, so nobody waits for the platform."""

    def __init__(
        self,
        platform: Platform,
        place: Place,
        room: Room,
        outbox: Outbox,
        places: Places,
        setting: Setting,
        wholes: Wholes,
        *,
        answer_seconds: float,
        since: int | None = None,
    ) -> None:
        """Turns that began before (`since`: before the event after that one) are shown only where this place has shown
        them before."""
        self.name = platform.name
        self.shows_changes = setting.shown != "none"
        self.place = place
        self.room = room
        self.wholes = wholes
        self.questions: dict[str, Question] = {}
        """Open ones, by token."""
        self._platform = platform
        self._outbox = outbox
        self._places = places
        self._setting = replace(setting, workspace=str(room.workspace))
        self._answer_seconds = answer_seconds
        self._turns: dict[int, Turn] = {}
        self._typed: Counter[str] = Counter()
        self._asked: dict[str, Question] = {}
        """By the request's id, until it is settled."""
        self._since = room.seq if since is None else since

    # The contract.

    async def show(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        for turn in sorted({row.turn for row in rows if row.turn} | ({state.turn} & set(self._turns))):
            await self._show_turn(turn, [row for row in rows if row.turn == turn], state)
        for row in rows:
            if not row.turn and not isinstance(row, TurnEndRow):
                lone = made_from.TurnParts(self._setting)
                lone.add(row)
                self._post(self._begun(row.id), lambda lone=lone: lone.parts)  # type: ignore[misc]
            if isinstance(row, PermissionRow) and row.outcome is not None:
                self._settle(row)

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None:
        """The rows say it all, and a chat cannot be edited as fast as a model writes."""

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None:
        """Put the question, wait for somebody. Answers come by `Desk.pressed`, which tells the log who gave them.

        When the time for an answer is over, the question of a turn that was prompted here ends with no, everywhere.
        One that was prompted elsewhere is left to those who are there (None), and can be answered here as long as it
        is open."""
        token = secrets.token_hex(8)
        row = self._request(lambda one: (one.turn, one.call, one.outcome) == (request.turn, request.call, None))
        if row is None:
            return None
        request = replace(request, changes=await self.wholes.of(request.changes))
        question = self._put(row.request, request, token)
        self.questions[token] = question
        if (turn := self._turns.get(request.turn)) is not None:
            self._draw_turn(turn)
        try:
            await asyncio.wait_for(question.lost.wait(), self._answer_seconds)
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            self.questions.pop(token, None)
            raise
        else:
            self.questions.pop(token, None)
            return None
        question.late = f"Nobody answered within {_span(self._answer_seconds)}"
        turn = self._turns.get(request.turn)
        if turn is None or not turn.begun.typed:
            return None
        self.questions.pop(token, None)
        return "unavailable"

    # What the desk does with it.

    @property
    def is_over(self) -> bool:
        """Nothing goes on here: all that stands in the place is as it stays."""
        return not self._asked and all(turn.ended for turn in self._turns.values()) and self.room.is_idle

    def typed(self, text: str, times: int = 1) -> None:
        """A prompt that the place shows already, since it was typed there."""
        self._typed[text] += times

    async def settle_old(self, identity: str) -> bool:
        """A question that an earlier process put: say in its message how it ended. False: it is not known any more."""
        row = self._request(lambda one: one.request == identity)
        if row is None:
            return False
        request = await self._as_asked(row)
        settled = self._ending(row) if row.outcome else "This question ended when Redline was stopped."
        self._put(identity, request, "", settled=settled)
        return True

    async def join(self) -> None:
        """The place shows a session that is at work: what is asked there can be answered here, too."""
        for row in list(self.room.fanout.transcript.rows):
            if isinstance(row, PermissionRow) and row.outcome is None and row.request not in self._asked:
                request = await self._as_asked(row)
                now = self._request(lambda one, row=row: one.request == row.request)  # type: ignore[misc]
                if now is None or now.outcome is not None or row.request in self._asked:
                    continue
                token = secrets.token_hex(8)
                self.questions[token] = self._put(row.request, request, token, offered=row.options)

    async def _as_asked(self, row: PermissionRow) -> PermissionRequest:
        """As it was put, as far as the log tells."""
        call = self.room.fanout.transcript.row(tool_row_id(row.turn, row.call))
        view = call.call_view if isinstance(call, ToolRow) else None
        return PermissionRequest(
            row.turn,
            row.call,
            "",
            row.title,
            await self.wholes.of(row.changes),
            [change.path for change in row.changes],
            {"command": view.title} if isinstance(view, TerminalCall) else None,
            note=row.note or None,
        )

    # Turns.

    async def _show_turn(self, number: int, rows: Sequence[AnyRow], state: SessionState) -> None:
        turn = self._turns.get(number)
        if turn is None:
            # All of its rows, since a message that was posted before a restart shows the earlier ones.
            every = [row for row in self.room.fanout.transcript.rows if row.turn == number]
            rows = sorted(every, key=lambda row: row.seq)
            begun = self._begin_turn(number, rows)
            if begun is None:
                return
            turn = self._turns[number] = Turn(begun, self._setting)
            for old in sorted(self._turns)[:-_KEPT_TURNS]:
                del self._turns[old]
        if turn.filed < _FILED_LIMIT:
            rows = [await self._whole(row) for row in rows]
        turn.take(rows, replace(state, running=state.running and state.turn == number))
        self._draw_turn(turn)
        if turn.ended:
            self.wholes.forget()
            if turn.filed > _KEPT_BYTES:
                del self._turns[number]  # should it change once more, it is made again, as after a restart

    async def _whole(self, row: AnyRow) -> AnyRow:
        """With all lines of its changes, once it can be drawn."""
        if isinstance(row, ToolRow) and row.ended:
            return replace(row, changes=await self.wholes.of(row.changes), proposed=await self.wholes.of(row.proposed))
        if isinstance(row, FoundRow | RevertRow):
            return replace(row, changes=await self.wholes.of(row.changes))
        return row

    def _draw_turn(self, turn: Turn) -> None:
        def parts() -> list[Part]:
            return [*turn.parts.parts, *turn.tail(waiting=bool(self.questions))]

        self._post(turn.begun, parts, urgent=turn.ended, final=turn.ended)

    def _begin_turn(self, number: int, rows: Sequence[AnyRow]) -> Begun | None:
        """None: the turn is over and was never shown here, so a late change of it is not news."""
        flow = self._begun(f"turn/{number}", number)
        known = self._places.begun(flow.flow)
        if known is not None:
            return known
        if not rows or rows[0].seq <= self._since:
            return None
        prompt = next((row.text for row in rows if isinstance(row, UserRow)), "")
        typed = self._typed[prompt] > 0
        self._typed[prompt] -= typed
        return replace(flow, typed=typed)

    # Questions.

    def _put(
        self,
        identity: str,
        request: PermissionRequest,
        token: str,
        settled: str = "",
        offered: Sequence[Mapping[str, str]] | None = None,
    ) -> Question:
        parts = question_parts(request, self._setting, token, offered)
        question = Question(identity, token, parts, self._begun(f"ask/{identity}", request.turn), settled)
        self._asked[identity] = question
        self._draw(question)
        return question

    def _settle(self, row: PermissionRow) -> None:
        question = self._asked.pop(row.request, None)
        if question is None:
            return
        self.questions.pop(question.token, None)
        expired = question.late and row.outcome == "unavailable"
        question.settled = f"{question.late}: the answer is no." if expired else self._ending(row)
        self._draw(question)

    def _ending(self, row: PermissionRow) -> str:
        if row.by == "recovery":
            return "This question ended when Redline was stopped."
        by = short(visible((row.by or "").removeprefix(f"{self.name}: ")))
        return f"{_OUTCOMES.get(row.outcome or '', 'Settled')}{f' by {by}' if by else ''}."

    def _request(self, fits: Callable[[PermissionRow], bool]) -> PermissionRow | None:
        rows = reversed(self.room.fanout.transcript.rows)
        return next((row for row in rows if isinstance(row, PermissionRow) and fits(row)), None)

    def _draw(self, question: Question) -> None:
        settled = question.settled

        def parts() -> list[Part]:
            said = settled or (_ELSEWHERE if question.lost.is_set() else "")
            return [
                replace(part, settled=said or part.settled) if isinstance(part, Buttons) else part
                for part in question.parts
            ]

        self._post(question.flow, parts, final=bool(settled), lost=question.lost.set)

    def _post(
        self,
        begun: Begun,
        parts: Callable[[], list[Part]],
        *,
        urgent: bool = True,
        final: bool = True,
        lost: Callable[[], None] | None = None,
    ) -> None:
        platform = self._platform
        self._outbox.show(begun, lambda: paginate(parts(), platform.measure), urgent=urgent, final=final, lost=lost)

    def _begun(self, name: str, turn: int = 0) -> Begun:
        flow = f"{self.name}/{self.place.channel}/{self.place.thread}/{self.room.session}/{name}"
        return Begun(flow, self.place, self.room.session, turn)


def _span(seconds: float) -> str:
    return f"{round(seconds / 60)} min" if seconds >= 60 else f"{seconds:g} s"
