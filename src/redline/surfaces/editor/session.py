"""One session of the editor: its conversation, its surface, and the turns that run in it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from redline.agents.acp.bulk import is_whole, whole
from redline.gateway.conversation import CANCELLED, Conversation
from redline.protocol.connection import INVALID_PARAMS, RpcError
from redline.sessions.gate import GateError
from redline.surfaces.editor import commands
from redline.surfaces.editor.answers import answer
from redline.surfaces.editor.blocks import logged_blocks, raw_blocks
from redline.surfaces.editor.buffers import EditorFiles
from redline.surfaces.editor.screen import NAME, EditorSurface
from redline.surfaces.editor.settings import Settings
from redline.transcript.rows import TurnEndRow

if TYPE_CHECKING:
    from redline.agents.agent import Stop
    from redline.files.seam import Files
    from redline.gateway.archive import OpenSession
    from redline.surfaces.editor.proxied import ProxiedAgent
    from redline.surfaces.editor.screen import Wire

_AFTER_SECONDS = 0.05
_SAME_SERVERS = (
    "The session stays open with the MCP servers that it has.",
    "Close it and load it again to give it the new ones.",
)
_LATER = "Load the session to see how it ended. Questions that nobody can answer count as no."


class EditorSession:
    """Made by `opening.begin`."""

    def __init__(
        self,
        opened: OpenSession,
        conversation: Conversation,
        surface: EditorSurface,
        wire: Wire,
        proxied: ProxiedAgent | None,
        settings: Settings | None,
        files: Files,
        servers: object,
    ) -> None:
        self.id = opened.log.session
        self.conversation = conversation
        self.proxied = proxied
        """Somebody else's agent, if it is one that works here."""
        self._settings = settings
        self._files = files
        self._servers = servers
        """The MCP servers that were handed over for it, as they were."""
        self._opened = opened
        self._surface = surface
        self._wire = wire
        self._subscription = conversation.attach(surface)
        if proxied is not None:
            proxied.editor.shown, proxied.editor.titled = self._subscription.idle, surface.given
        self._turns: set[asyncio.Task[Stop]] = set()
        self._aside: set[asyncio.Task[None]] = set()

    # Turns.

    async def prompt(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """One turn; the answer of `session/prompt`. What the editor withdraws is cancelled; what it leaves behind when
        it goes is not."""
        if self.proxied is not None:
            await self.proxied.editor.know_session()
        command = commands.asked(params.get("prompt")) if self.proxied is None else None
        if command is not None:
            return await self._command(*command)
        blocks = await self._blocks(params)
        task = asyncio.get_running_loop().create_task(self.conversation.prompt(blocks, source=NAME))
        self._turns.add(task)
        task.add_done_callback(self._turns.discard)
        try:
            await asyncio.shield(asyncio.wait({task}))
        except asyncio.CancelledError:
            if self._wire.closed:
                raise
            task.cancel()
            self._let_go()
            await asyncio.wait({task})
        await self._subscription.idle()
        try:
            stop = CANCELLED if task.cancelled() else task.result()
        except GateError as refusal:
            told = f"The prompt does not go into the session's log, at {refusal.path}: {refusal.reason}."
            raise RpcError(INVALID_PARAMS, told) from refusal
        if self.proxied is not None:
            return self.proxied.told(stop)
        await self._tell(*self._usage())
        return answer(stop, self.conversation.transcript.rows)

    async def cancel(self, params: Mapping[str, Any] | None = None) -> None:
        """End the running turn and those that wait behind it. `params`: of the editor's own word."""
        if self.proxied is not None:
            self.proxied.withdrawn_with = params or {}
        running = list(self._turns)
        for task in running:
            task.cancel()
        self._let_go()
        if running:
            await asyncio.wait(running)

    async def finish(self) -> None:
        """Wait for the turns that run; the editor is gone."""
        if self._turns:
            await self.conversation.notice("EDITOR_GONE", "The editor is gone; the turn goes on, on the disk.", _LATER)
        while self._turns:
            await asyncio.wait(list(self._turns))

    # What can be set.

    def settings(self) -> dict[str, Any]:
        """Modes and options, as `session/new`, `load` and `resume` answer them."""
        if self.proxied is not None:
            return self.proxied.settings()
        return {} if self._settings is None else self._settings.told()

    def greet(self) -> None:
        """Once the session's answer is out: what a client is told of it unasked, such as commands."""
        asyncio.get_running_loop().call_later(_AFTER_SECONDS, self._greet)

    async def set_mode(self, mode: object) -> None:
        assert self._settings is not None
        await self._tell(*await self._settings.set_mode(mode))

    async def set_option(self, option: object, value: object) -> dict[str, Any]:
        assert self._settings is not None
        await self._tell(*await self._settings.set_option(option, value))
        return {"configOptions": self._settings.options()}

    # The past, and the end.

    async def goes_on_with(self, params: Mapping[str, Any]) -> bool:
        """Whether it stays open for another request to take it up. False: that hands over other MCP servers, and the
        session is to be opened anew with them. Where that would cost a turn, or the agent its memory, it is not."""
        wanted = params.get("mcpServers")
        if not wanted or wanted == self._servers:
            return True
        stays = bool(self._turns) or (self.proxied is not None and not self.proxied.can_go_on)
        if stays:
            await self.conversation.notice("MCP_SERVERS", *_SAME_SERVERS)
        return stays

    async def replay(self) -> None:
        """Tell the whole session, as its rows are now."""
        await self._subscription.idle()
        transcript = self.conversation.transcript
        await self._surface.replay(transcript.rows, transcript.state)
        await self._tell(*(self._usage() if self.proxied is None else self._fill()))

    async def close(self) -> None:
        """End the turn and the agent, and give the session free."""
        try:
            await self.cancel()
            await self.conversation.close()
        finally:
            self._subscription.close()
            self._opened.close()

    # Parts of the above.

    async def _blocks(self, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        prompt = params.get("prompt")
        if self.proxied is None:
            return await logged_blocks(prompt, self._keep)
        self.proxied.beside(params)
        return await raw_blocks(prompt, self._keep)

    def _let_go(self) -> None:
        """What is under way ends now, and no answer of the editor is waited for."""
        if isinstance(self._files, EditorFiles):
            self._files.let_go()

    async def _keep(self, data: bytes) -> str | None:
        [blob] = await asyncio.to_thread(self._opened.store.put, self.id, data)
        return blob

    async def _command(self, name: str, rest: str) -> dict[str, Any]:
        text = await commands.answer(name, rest, self.conversation, self.conversation.transcript.state.workspace)
        await self._subscription.idle()
        if text:
            said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
            await self._tell({**said, "messageId": f"command:{uuid4()}"})
        return {"stopReason": "end_turn"}

    def _greet(self) -> None:
        self._subscription.add_rows([])
        if self.proxied is None:
            told = self._tell({"sessionUpdate": "available_commands_update", "availableCommands": [*commands.COMMANDS]})
        else:
            told = self.proxied.editor.know_session()
        task = asyncio.get_running_loop().create_task(told)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    def _fill(self) -> list[dict[str, Any]]:
        """What a foreign agent has said last of the fill of its context."""
        ends = (row for row in reversed(self.conversation.transcript.rows) if isinstance(row, TurnEndRow))
        sent = next((whole(row.context_sent, self._stored) for row in ends if row.context_sent is not None), None)
        return [dict(sent)] if isinstance(sent, Mapping) and is_whole(sent) else []

    def _stored(self, blob: str) -> bytes | None:
        return self._opened.store.get(self.id, blob)

    def _usage(self) -> list[dict[str, Any]]:
        """How full the model's context is and what the session has cost, where that is known."""
        ends = [row for row in self.conversation.transcript.rows if isinstance(row, TurnEndRow)]
        if not ends or not ends[-1].context_size:
            return []
        told: dict[str, Any] = {"sessionUpdate": "usage_update", "used": ends[-1].context_used}
        told["size"] = ends[-1].context_size
        costs = [row.cost for row in ends]
        known = sum(cost for cost in costs if cost is not None)
        return [told if None in costs else {**told, "cost": {"amount": known, "currency": "USD"}}]

    async def _tell(self, *updates: dict[str, Any]) -> None:
        await self._surface.tell(updates)
