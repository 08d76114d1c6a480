"""From rows to the updates of a session: one projection, live and on replay.

It remembers what the client was told of each row and sends what is new, in the protocol's own way: text appends, the
fields of a call replace. What a replay sends is what a client would hold at the end of having watched it live.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redline.agents.acp.bulk import is_whole, whole
from redline.surfaces.editor import call, words
from redline.surfaces.editor.blocks import sent_blocks
from redline.surfaces.editor.spoken import CHUNKS, Update, chunk, entry, noted, remark, sent
from redline.transcript.rows import (
    AgentRow,
    FoundRow,
    NoticeRow,
    OtherRow,
    PlanRow,
    RevertRow,
    ThoughtRow,
    ToolRow,
    TurnEndRow,
    UserRow,
)
from redline.views import DiffCall, TerminalResult

if TYPE_CHECKING:
    from redline.agents.acp.bulk import Stored
    from redline.transcript.rows import AnyRow, SessionState

LIVE_TERMINAL = 16 * 1024
"""Characters of a command's output that are shown while it runs. Less than what is kept of the beginning of a long one,
so that the end can join on."""
_STATES = {
    "mode": ("current_mode_update", "currentModeId"),
    "options": ("config_option_update", "configOptions"),
    "commands": ("available_commands_update", "availableCommands"),
}


@dataclass(slots=True)
class _Text:
    sent: int = 0
    streamed: int = 0
    """Characters that came as pieces; those of them that a row had brought already are not sent again."""


@dataclass(slots=True)
class _Call:
    fields: dict[str, Any] = field(default_factory=dict)
    ended: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)
    output: str = ""
    """What its terminal was sent."""
    exited: bool = False


class Projection:
    """What one client knows of one session."""

    def __init__(self, *, terminals: bool, stored: Stored, live: bool, passed_on: bool = False) -> None:
        """`passed_on`: live, a foreign agent's updates reach the client by themselves, but for text and calls."""
        self.live = live
        """False: a replay, where the user's own words are told, too."""
        self.passed_on = passed_on
        self._terminals = terminals
        self._stored = stored
        self._texts: dict[str, _Text] = {}
        self._calls: dict[str, _Call] = {}
        self._once: set[str] = set()
        self._title = ""
        self._given = ""
        """The title that the client has from the agent itself."""
        self._of_agent: Mapping[str, Any] = {}

    def state(self, state: SessionState) -> list[Update]:
        """What is new of the session itself."""
        updates: list[Update] = []
        further = whole(state.of_agent.get("further", {}), self._stored)
        if state.title and state.title not in (self._title, self._given):
            beside = further.get("title", {}) if state.title == state.of_agent.get("title") else {}
            updates.append({"sessionUpdate": "session_info_update", "title": state.title, **beside})
        known, self._title, self._of_agent = self._of_agent, state.title, state.of_agent
        for name, (word, key) in _STATES.items() if not self._is_told_by_agent else ():
            if name in state.of_agent and state.of_agent[name] != known.get(name):
                updates.append({"sessionUpdate": word, key: state.of_agent[name], **further.get(name, {})})
        return updates

    def given(self, title: str) -> None:
        """The agent has told the client this title itself."""
        self._given = title

    @property
    def _is_told_by_agent(self) -> bool:
        return self.live and self.passed_on

    def know(self, state: SessionState) -> None:
        """The client has the title, the modes and the options from elsewhere; of commands it is told."""
        self._title = state.title
        self._of_agent = {name: value for name, value in state.of_agent.items() if name != "commands"}

    def piece(self, row: str, kind: str, text: str) -> list[Update]:
        """Text that is just being written."""
        known = self._texts.setdefault(row, _Text())
        known.streamed += len(text)
        new = known.streamed - known.sent
        if new <= 0:
            return []
        known.sent = known.streamed
        return [chunk(CHUNKS.get(kind, CHUNKS["agent"]), text[-new:], row)]

    def rows(self, rows: Sequence[AnyRow], workspace: str) -> list[Update]:
        return [update for row in rows for update in self._row(row, workspace)]

    def knows(self, row: str) -> bool:
        return row in self._calls

    def _row(self, row: AnyRow, workspace: str) -> list[Update]:
        match row:
            case AgentRow() | ThoughtRow():
                return self._written(row)
            case ToolRow():
                return self._called(row, workspace)
            case UserRow():
                return [] if self.live or not self._first(row.id) else self._user(row)
            case FoundRow():
                return self._own(row.id, call.found(row))
            case RevertRow():
                return self._own(row.id, call.reverted(row))
            case PlanRow():
                return [] if self._is_told_by_agent else [self._plan(row)]
            case NoticeRow():
                return [remark(row.id, row.level, words.told(row.problem))] if self._first(row.id) else []
            case TurnEndRow():
                # That an agent ended its turn as cancelled is what the prompt's own answer says.
                if row.error is None or row.reason == "cancelled" or not self._first(row.id):
                    return []
                return [remark(row.id, "error", words.told(row.error))]
            case OtherRow() if isinstance(row.update, Mapping) and not self._is_told_by_agent:
                return [sent(whole(row.update, self._stored), row.update)] if self._first(row.id) else []
        return []

    def _first(self, row: str) -> bool:
        first = row not in self._once
        self._once.add(row)
        return first

    def _written(self, row: AgentRow | ThoughtRow) -> list[Update]:
        known = self._texts.setdefault(row.id, _Text())
        first, known.sent = known.sent, max(known.sent, len(row.text))
        chunks: list[Update] = []
        for mark in (mark for mark in row.marks if mark.end > first):
            before, marked = row.text[first : mark.start], row.text[max(first, mark.start) : mark.end]
            chunks += [chunk(CHUNKS[row.kind], before, row.id)] if before else []
            chunks.append(noted(chunk(CHUNKS[row.kind], marked, row.id), whole(mark.meta, self._stored)))
            first = mark.end
        return [*chunks, chunk(CHUNKS[row.kind], row.text[first:], row.id)] if row.text[first:] else chunks

    def _plan(self, row: PlanRow) -> Update:
        own = whole(row.sent, self._stored)
        if isinstance(own, Mapping) and is_whole(own):
            return dict(own)
        return {"sessionUpdate": "plan", "entries": [entry(one) for one in row.entries]}

    def _user(self, row: UserRow) -> list[Update]:
        blocks = sent_blocks(row.content, self._stored)
        return [{"sessionUpdate": "user_message_chunk", "content": one, "messageId": row.id} for one in blocks]

    # Calls.

    def _called(self, row: ToolRow, workspace: str) -> list[Update]:
        known = self._calls.get(row.id)
        updates: list[Update] = []
        if known is None:
            known = self._calls[row.id] = _Call(self._begun(row, workspace))
            if row.ended:
                known.fields["status"] = "in_progress"
            start = {"sessionUpdate": "tool_call", "toolCallId": call.identity(row), **known.fields}
            meta = self._notes(row, known)
            if self._terminals and call.is_terminal(row):
                cwd = getattr(row.call_view, "cwd", None) or workspace
                meta["terminal_info"] = {"terminal_id": call.terminal_id(row), "cwd": cwd}
            updates.append({**start, "_meta": meta} if meta else start)
        if row.ended:
            return [*updates, *self._ending(row, known, workspace)]
        return [*updates, *self._progress(row, known, workspace)]

    def _progress(self, row: ToolRow, known: _Call, workspace: str) -> list[Update]:
        fields = self._begun(row, workspace)
        if isinstance(row.call_view, DiffCall) and row.name:
            # Between the question and the disk nothing is to be seen of an edit: it is told when it begins and ends.
            fields["status"] = known.fields["status"]
        new = {name: value for name, value in fields.items() if known.fields.get(name) != value}
        known.fields = fields
        meta = {**self._notes(row, known), **self._live_output(row, known)}
        if not new and not meta:
            return []
        return [_update(row, new, meta)]

    def _begun(self, row: ToolRow, workspace: str) -> dict[str, Any]:
        return call.begun(row, workspace, terminals=self._terminals, stored=self._stored)

    def _notes(self, row: ToolRow, known: _Call) -> dict[str, Any]:
        """The agent's own `_meta` of a call, where it is new."""
        notes = whole(row.raw.get("_meta") or {}, self._stored)
        if not isinstance(notes, Mapping) or notes == known.notes:
            return {}
        known.notes = notes
        return dict(notes)

    def _ending(self, row: ToolRow, known: _Call, workspace: str) -> list[Update]:
        fields = call.ended(row, workspace, terminals=self._terminals, stored=self._stored)
        if known.ended:
            fields = {name: value for name, value in fields.items() if known.fields.get(name) != value}
        known.ended = True
        known.fields = {**known.fields, **fields}
        meta = {**self._notes(row, known), **self._last_output(row, known)}
        return [_update(row, fields, meta)] if fields or meta else []

    def _live_output(self, row: ToolRow, known: _Call) -> dict[str, Any]:
        if not self._terminals or not call.is_terminal(row):
            return {}
        output = row.output[:LIVE_TERMINAL]
        if len(output) <= len(known.output) or not output.startswith(known.output):
            return {}
        new, known.output = output[len(known.output) :], output
        return {"terminal_output": {"terminal_id": call.terminal_id(row), "data": new}}

    def _last_output(self, row: ToolRow, known: _Call) -> dict[str, Any]:
        view = row.result_view
        if not self._terminals or not call.is_terminal(row) or known.exited:
            return {}
        known.exited = True
        terminal = call.terminal_id(row)
        if not isinstance(view, TerminalResult):
            return {"terminal_exit": {"terminal_id": terminal, "exit_code": None, "signal": None}}
        ending = {"terminal_id": terminal, "exit_code": view.exit_code, "signal": view.signal}
        meta: dict[str, Any] = {"terminal_exit": ending}
        joins = view.output.startswith(known.output)
        new = view.output[len(known.output) :] if joins else f"\n[the whole output]\n{view.output}"
        if new:
            meta["terminal_output"] = {"terminal_id": terminal, "data": new}
        return meta

    def _own(self, row: str, fields: dict[str, Any]) -> list[Update]:
        """A row that is a call from nobody: told once, and again where it changed."""
        known = self._calls.get(row)
        if known is None:
            self._calls[row] = _Call(fields, ended=True)
            return [{"sessionUpdate": "tool_call", "toolCallId": row, **fields}]
        new = {name: value for name, value in fields.items() if known.fields.get(name) != value}
        known.fields = fields
        return [{"sessionUpdate": "tool_call_update", "toolCallId": row, **new}] if new else []


def _update(row: ToolRow, fields: dict[str, Any], meta: dict[str, Any]) -> Update:
    update = {"sessionUpdate": "tool_call_update", "toolCallId": call.identity(row), **fields}
    return {**update, "_meta": meta} if meta else update
