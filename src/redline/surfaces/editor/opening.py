"""How a session of the editor is opened: its agent, its files, its surface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from redline.agents.builtin.agent import BuiltinAgent
from redline.agents.builtin.factory import BuiltinFactory
from redline.gateway.conversation import Conversation
from redline.protocol.connection import INVALID_PARAMS, RpcError
from redline.surfaces.editor.buffers import EditorFiles
from redline.surfaces.editor.screen import EditorSurface
from redline.surfaces.editor.session import EditorSession
from redline.surfaces.editor.settings import APPROVALS, Settings

if TYPE_CHECKING:
    from redline.agents.agent import Agent, AgentFactory, Host
    from redline.files.local import LocalFiles
    from redline.files.seam import Files
    from redline.gateway.archive import OpenSession
    from redline.gateway.permissions import Approval
    from redline.sessions.log import SessionLog
    from redline.surfaces.editor.backing import Backing
    from redline.surfaces.editor.greeting import Abilities
    from redline.surfaces.editor.proxied import ProxiedAgent, ProxiedFactory
    from redline.surfaces.editor.screen import Wire


async def begin(
    backing: Backing,
    opened: OpenSession,
    workspace: Path,
    files: Files,
    wire: Wire,
    abilities: Abilities,
    params: Mapping[str, Any],
) -> EditorSession:
    """Take up a session, new or resumed; its lease is given back where that fails. `params`: of the request."""
    made: list[Agent] = []

    def make(*, log: SessionLog, host: Host, workspace: Path) -> Agent:
        made.append(factory(log=log, host=host, workspace=workspace))
        return made[0]

    try:
        factory = backing.factory(opened, files)
        if backing.foreign:
            factory = _proxied_factory(factory, wire, params, abilities)
        elif isinstance(factory, BuiltinFactory):
            factory = replace(factory, servers=_servers(params))
        conversation = await Conversation.begin(
            opened, make, files=files, workspace=workspace, present=backing.present, approval=backing.approval
        )
        if isinstance(files, EditorFiles):
            files.notice = conversation.notice
        proxied = await _opened(made[0], conversation) if backing.foreign else None
        chosen = conversation.transcript.state.approval
        if chosen in APPROVALS:
            conversation.permissions.approval = cast("Approval", chosen)
    except BaseException:
        opened.close()
        raise
    session = opened.log.session

    def stored(blob: str) -> bytes | None:
        return opened.store.get(session, blob)

    surface = EditorSurface(wire, session, str(workspace), abilities, stored)
    if proxied is not None:
        surface.passes_on(proxied.questions.open, opened.redactor)
    surface.know(conversation.transcript.state)
    settings = Settings(conversation, made[0]) if isinstance(made[0], BuiltinAgent) else None
    return EditorSession(opened, conversation, surface, wire, proxied, settings, files, params.get("mcpServers"))


def files_of(local: LocalFiles, opened: OpenSession, wire: Wire, abilities: Abilities) -> Files:
    """The editor's buffers where it offers both reading and writing them, else the disk alone."""
    if not abilities.buffers:
        return local
    session = opened.log.session
    files = EditorFiles(local, wire, session, lambda blob: opened.store.get(session, blob))
    opened.log.subscribe(files.hear)
    return files


def _servers(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listed = params.get("mcpServers")
    if listed is None:
        return []
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise RpcError(INVALID_PARAMS, f"mcpServers is no list of objects: {str(listed)[:200]}")
    return listed


def _proxied_factory(
    factory: AgentFactory, wire: Wire, params: Mapping[str, Any], abilities: Abilities
) -> ProxiedFactory:
    from redline.agents.acp.factory import AcpFactory
    from redline.surfaces.editor.lobby import declared
    from redline.surfaces.editor.proxied import ProxiedFactory

    assert isinstance(factory, AcpFactory)
    more = {name: value for name, value in params.items() if name not in ("cwd", "sessionId")}
    return ProxiedFactory(factory, wire, more, declared(abilities), abilities.beside or {})


async def _opened(agent: Agent, conversation: Conversation) -> ProxiedAgent:
    """The foreign agent, running. One that cannot take up a session of before leaves that readable; a new session needs
    it."""
    from redline.surfaces.editor.proxied import ProxiedAgent

    assert isinstance(agent, ProxiedAgent)
    turn = conversation.transcript.state.turn
    try:
        await agent.open(turn + 1)
    except RpcError as problem:
        if not turn:
            await conversation.close("the agent did not start")
            raise
        await conversation.notice("AGENT_START", problem.message, "The session can be read. A prompt tries it again.")
    return agent
