"""`redline run`: one turn in a folder, on the surface that fits where the output goes."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from redline.agents.agent import AgentFactory, Stop
from redline.agents.builtin.agent import NAME
from redline.agents.builtin.model import ModelChoiceError, load_model
from redline.cli import agents
from redline.cli.builtin import builtin_agent
from redline.cli.choice import to_change
from redline.cli.config import Config, load
from redline.cli.failure import Failure
from redline.cli.house import folder_of, myself, opened
from redline.cli.interrupts import carry_out
from redline.files.local import LocalFiles
from redline.gateway.archive import LAST
from redline.gateway.conversation import Conversation
from redline.sessions.events import Event
from redline.surfaces.terminal import PipeSurface, TerminalSurface
from redline.tools.builtin import builtin_toolset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redline.agents.acp.choices import Choices
    from redline.cli.agents import Foreign
    from redline.gateway.archive import Archive, OpenSession
    from redline.sessions.store import Summary

NO_MODEL = Failure(
    2,
    "NO_MODEL",
    "No model is set.",
    "Name one with --model (for example anthropic:claude-sonnet-4-5), with REDLINE_MODEL, or as model in the "
    "configuration (`redline config --init`). Without any: `redline demo`.",
)


def run(
    prompt: str,
    flags: Mapping[str, Any],
    *,
    folder: Path | None,
    session: str | None,
    chosen: Choices | None = None,
) -> int:
    """Work through one prompt; the exit code of the command. `chosen`: about a foreign agent."""
    config = load(flags).config
    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        raise Failure(2, "NO_PROMPT", "The prompt is empty.", 'Say what is to be done: redline run "…"')
    return carry_out(_run(text, config, folder, session, chosen))


async def _run(text: str, config: Config, folder: Path | None, session: str | None, chosen: Choices | None) -> int:
    foreign = agents.chosen(config.agent, config.agent_command)
    async with opened(config) as archive:
        earlier = None
        if session is None:
            workspace, model = folder_of(folder), config.model
        else:
            earlier = await to_change(archive, session, 'run --session {} "…"', folder=folder)
            workspace, model, foreign = await _earlier(archive, earlier.summary, folder, config, foreign)
        if not model and foreign is None:
            raise NO_MODEL
        console = Console()
        is_elsewhere = earlier is not None and earlier.is_elsewhere
        surface = surface_for(console, workspace, names_folder=is_elsewhere)
        files = LocalFiles([workspace])
        if foreign is None:
            await _check_model(model, config, workspace)
        if earlier is None:
            opened_session = await _started(archive, workspace, model, surface.name, foreign)
        else:
            opened_session = await archive.resume(earlier.session, files)
            _say_recovery(opened_session)
        with opened_session:
            factory: AgentFactory = builtin_agent(config, model)(opened_session, files)
            if foreign is not None:
                factory = foreign_factory(foreign, chosen, files, opened_session)
            try:
                stop = await converse(opened_session, factory, files, workspace, surface, config, text)
            finally:  # after Ctrl-C as well
                again = f"{myself()} show {_typed(opened_session, workspace)}"
                _say_where(opened_session, again)
    if isinstance(surface, PipeSurface) and surface.failure is not None:
        raise Failure(
            1,
            "OUTPUT",
            f"The output could not be written: {surface.failure}.",
            f"The log holds all of it: {again}",
        )
    return _exit_code(stop)


def _exit_code(stop: Stop) -> int:
    """Of an agent that ended the turn by itself, as some do after a no, nobody has interrupted anything."""
    if stop.reason == "cancelled":
        return 130 if stop.code == "CANCELLED" else 1
    return 0 if stop.reason == "completed" else 1


def _say_where(session: OpenSession, again: str) -> None:
    with contextlib.suppress(OSError):  # a terminal that was closed: that is no fault of the turn
        print(f"Session {session.log.session}   draw it again: {again}", file=sys.stderr, flush=True)


def _typed(session: OpenSession, workspace: Path) -> str:
    """How the session can be named in the folder in which the command was typed."""
    with contextlib.suppress(OSError):
        if Path.cwd().resolve() == workspace:
            return LAST
    return session.log.session


async def _check_model(model: str, config: Config, workspace: Path) -> None:
    """A model that cannot be is a mistake in the command or the configuration, said before a session begins."""
    try:
        await load_model(model, workspace=workspace, base_url=config.base_url)
    except ModelChoiceError as error:
        raise Failure(2, error.code, error.message, error.remedy) from error


def _say_recovery(session: OpenSession) -> None:
    found = session.recovery
    if found is not None and not found.found_nothing:
        calls = len(found.calls) + len(found.undos)
        print(
            f"The last turn of this session broke off; {calls} open call{'' if calls == 1 else 's'} closed by what is "
            f"on the disk. See: {myself()} show {session.log.session}",
            file=sys.stderr,
        )


async def _started(archive: Archive, workspace: Path, model: str, surface: str, foreign: Foreign | None) -> OpenSession:
    if foreign is None:
        return await archive.start(workspace, NAME, model=model, surface=surface)
    return await archive.start(workspace, foreign.name, surface=surface, more=foreign.facts())


async def _earlier(
    archive: Archive, summary: Summary, folder: Path | None, config: Config, foreign: Foreign | None
) -> tuple[Path, str, Foreign | None]:
    """Where a session works, and who works on it: what was named now, else who did before."""
    name = summary.session
    if folder is not None and str(folder_of(folder)) != summary.workspace:
        raise Failure(
            2, "FOLDER", f"Session {name} works in {summary.workspace}.", "Leave --folder out, or start a new session."
        )
    events = await archive.store.read(name, limit=1)
    first: Mapping[str, Any] = events[0].data if events and isinstance(events[0], Event) else {}
    foreign = foreign or (agents.of_session(first) if config.agent != NAME else None)
    model = config.model or str(first.get("model", ""))
    return folder_of(Path(summary.workspace)), model, foreign


def surface_for(console: Console, workspace: Path, *, names_folder: bool = False) -> TerminalSurface | PipeSurface:
    """Cards where somebody looks, patches with remarks where nobody does. `names_folder`: it is not where the command
    was typed, so each question says which it is."""
    if console.is_terminal:
        return TerminalSurface(console, workspace=workspace, names_folder=names_folder)
    return PipeSurface(sys.stdout, workspace=workspace)


def foreign_factory(foreign: Foreign, chosen: Choices | None, files: LocalFiles, session: OpenSession) -> AgentFactory:
    from redline.agents.acp.factory import AcpFactory

    return AcpFactory(foreign.options(chosen), files, session.store, session.redactor)


async def converse(
    session: OpenSession,
    factory: AgentFactory,
    files: LocalFiles,
    workspace: Path,
    surface: TerminalSurface | PipeSurface,
    config: Config,
    *prompts: str,
) -> Stop:
    """Work through prompts, one turn each, on one surface; how the last one ended."""
    conversation = await Conversation.begin(
        session, factory, files=files, workspace=workspace, present=builtin_toolset().by_name, approval=config.approval
    )
    subscription = conversation.attach(surface)
    stop = Stop("completed")
    try:
        for prompt in prompts:
            stop = await conversation.prompt(prompt, source=surface.name)
    finally:
        await conversation.close()
        subscription.close()
        surface.close()
    return stop
