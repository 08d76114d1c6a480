"""The editor as a surface of one session: rows out as updates, questions out as permission requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from redline.agents.acp.evidence import has_diff
from redline.agents.acp.normalise import ENVELOPE
from redline.gateway.permissions import options
from redline.protocol.connection import ConnectionClosed, RpcError
from redline.surfaces.editor import call, words
from redline.surfaces.editor.projection import Projection
from redline.transcript.rows import ToolRow, tool_row_id

if TYPE_CHECKING:
    from redline.agents.acp.bulk import Stored
    from redline.agents.acp.questions import Asked
    from redline.sessions.redaction import Redactor
    from redline.surfaces.editor.greeting import Abilities
    from redline.tools.permission import PermissionOutcome, PermissionRequest
    from redline.transcript.rows import AnyRow, SessionState

NAME = "editor"
"""As it stands in the log."""
_SHOWN_SECONDS = 5.0
"""How long a question waits for its call to have been told first."""
_KNOWN = ("toolCallId", "status", "content", "locations")
"""What a question says of a call in our words, whoever asks."""
_OUTCOMES = ("allow_once", "allow_session", "reject")


class Wire(Protocol):
    """What a screen needs of the connection to the editor."""

    @property
    def closed(self) -> bool: ...

    async def request(
        self, method: str, params: Any, *, seconds: float | None = None, withdrawn: bool = False
    ) -> Any: ...

    async def notify(self, method: str, params: Any) -> None: ...


class EditorSurface:
    """A `surfaces.surface.Surface`. What it says after the editor has gone is said to nobody."""

    name = NAME
    shows_changes = True

    def __init__(
        self,
        wire: Wire,
        session: str,
        workspace: str,
        abilities: Abilities,
        stored: Stored,
    ) -> None:
        self._wire = wire
        self._session = session
        self._workspace = workspace
        self._terminals = abilities.terminal_output
        self._stored = stored
        self._projection = Projection(terminals=self._terminals, stored=self._stored, live=True)
        self._asked: Mapping[tuple[int, str], Asked] = {}
        self._redactor: Redactor | None = None
        self._rows: dict[str, ToolRow] = {}
        self._news = asyncio.Event()
        self._telling = asyncio.Lock()

    async def show(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        """Row upserts become updates; see `Projection`."""
        updates = [*self._projection.state(state), *self._projection.rows(rows, self._workspace)]
        self._rows.update((row.id, row) for row in rows if isinstance(row, ToolRow) and not row.ended)
        for row in rows:
            if isinstance(row, ToolRow) and row.ended:
                self._rows.pop(row.id, None)
        await self.tell(updates)
        self._news.set()

    async def stream(self, row: str, turn: int, kind: str, text: str) -> None:  # noqa: ARG002 - the row says it
        await self.tell(self._projection.piece(row, kind, text))

    def passes_on(self, asked: Mapping[tuple[int, str], Asked], redactor: Redactor) -> None:
        """The questions of a foreign agent are put as it puts them, with its own options. `asked`: those open now."""
        self._asked, self._redactor = asked, redactor
        self._projection.passed_on = True

    def given(self, title: str) -> None:
        """The agent has told the editor this title itself."""
        self._projection.given(title)

    def know(self, state: SessionState) -> None:
        """The client has this from before, or asked not to be told again."""
        self._projection.know(state)

    async def replay(self, rows: Sequence[AnyRow], state: SessionState) -> None:
        """Tell everything so far, the user's own words, too."""
        passed_on = self._projection.passed_on
        self._projection = Projection(terminals=self._terminals, stored=self._stored, live=False, passed_on=passed_on)
        self._projection.know(replace(state, title=""))
        updates = [*self._projection.state(state), *self._projection.rows(rows, self._workspace)]
        self._projection.live = True  # what comes from here on, even while this is sent, is news
        await self.tell(updates)

    async def ask(self, request: PermissionRequest) -> PermissionOutcome | None:
        """Put the whole proposed change before the user. None: this editor asks nobody."""
        if self._wire.closed:
            return None
        row = await self._row(tool_row_id(request.turn, request.call))
        question = self._question(request, row)
        params = {"sessionId": self._session, "toolCall": question, "options": _offered(request)}
        asked = self._asked.get((request.turn, request.call))
        if asked is not None and asked.options:
            params = self._as_put(asked, request, question)
        try:
            answer = await self._wire.request("session/request_permission", params, withdrawn=True)
        except (ConnectionClosed, RpcError):
            return None
        return _outcome(answer) if asked is None or not asked.options else _chosen(answer, asked)

    async def _row(self, row: str) -> ToolRow | None:
        """The call as it was told, once it was; a client shows a question beside its call."""

        async def told() -> ToolRow:
            while row not in self._rows:
                self._news.clear()
                await self._news.wait()
            return self._rows[row]

        try:
            return await asyncio.wait_for(told(), _SHOWN_SECONDS)
        except TimeoutError:
            return None

    def _question(self, request: PermissionRequest, row: ToolRow | None) -> dict[str, Any]:
        content = words.shown(request.changes)
        if row is not None:
            fields = call.begun(row, self._workspace, terminals=self._terminals, stored=self._stored)
            asked = {"toolCallId": call.identity(row), **fields}
            content = content or asked["content"]
        else:
            asked = {"toolCallId": f"{request.turn}:{request.call}", "title": words.line(request.title)}
        asked["status"] = "pending"
        if not request.changes and not content and request.arguments and "command" not in request.arguments:
            # Nothing else says what a tool of an MCP server is about to be given; a command is its own title.
            content = [words.block(words.fenced(json.dumps(request.arguments, indent=1, ensure_ascii=False), "json"))]
        if request.note:
            content = [words.block(words.plain(request.note)), *content]
        return {**asked, "content": content}

    def _as_put(self, asked: Asked, request: PermissionRequest, question: Mapping[str, Any]) -> dict[str, Any]:
        """A foreign agent's question with the change that we know instead of the one that it tells."""
        assert self._redactor is not None
        own = self._redactor.mask_json({**asked.params})[0]
        call_ = own["toolCall"] if isinstance(own.get("toolCall"), dict) else {}
        told = {name: value for name, value in call_.items() if name not in _KNOWN}
        content = call_.get("content")
        if not request.changes and isinstance(content, list) and not has_diff(content):
            told["content"] = [*([words.block(words.plain(request.note))] if request.note else []), *content]
        return {**own, "sessionId": self._session, "toolCall": {**question, **told}}

    async def tell(self, updates: Sequence[Mapping[str, Any]]) -> None:
        """In the order in which it was asked for, each of them whole."""
        async with self._telling:
            await self._tell(updates)

    async def _tell(self, updates: Sequence[Mapping[str, Any]]) -> None:
        for update in updates:
            try:
                await self._wire.notify("session/update", {**_in_its_envelope(update), "sessionId": self._session})
            except ConnectionClosed:
                return


def _offered(request: PermissionRequest) -> list[dict[str, str]]:
    return [{"optionId": one["id"], "name": one["name"], "kind": one["kind"]} for one in options(request)]


def _in_its_envelope(update: Mapping[str, Any]) -> dict[str, Any]:
    """The update, and beside it what the agent's message held beside it."""
    meta = update.get("_meta")
    if not isinstance(meta, Mapping) or ENVELOPE not in meta:
        return {"update": update}
    own = {name: value for name, value in meta.items() if name != ENVELOPE}
    bare = {name: value for name, value in update.items() if name != "_meta"}
    beside = meta[ENVELOPE] if isinstance(meta[ENVELOPE], Mapping) else {}
    return {**beside, "update": {**bare, "_meta": own} if own else bare}


def _chosen(answer: object, asked: Asked) -> PermissionOutcome:
    """Of a foreign agent's own options. Which of them lasts is for the agent to keep; ours is about this once."""
    outcome = answer.get("outcome") if isinstance(answer, Mapping) else None
    if isinstance(answer, Mapping) and isinstance(outcome, Mapping) and outcome.get("outcome") == "cancelled":
        asked.said = answer
        return "cancelled"
    chosen = outcome.get("optionId") if isinstance(outcome, Mapping) else None
    kind = next((str(one.get("kind")) for one in asked.options if one.get("optionId") == chosen), "")
    asked.chosen = chosen if isinstance(chosen, str) else None
    asked.said = answer if kind and isinstance(answer, Mapping) else None
    return "allow_once" if kind.startswith("allow") else "reject"


def _outcome(answer: object) -> PermissionOutcome:
    """What was chosen; anything that is not clearly a yes is a no."""
    outcome = answer.get("outcome") if isinstance(answer, Mapping) else None
    if not isinstance(outcome, Mapping):
        return "reject"
    if outcome.get("outcome") == "cancelled":
        return "cancelled"
    chosen = outcome.get("optionId")
    return cast("PermissionOutcome", chosen) if chosen in _OUTCOMES else "reject"
