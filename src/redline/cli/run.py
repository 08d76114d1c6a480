"""`redline run`: one turn in a folder, on the surface that fits where the output goes."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from redline.agents.agent import AgentFactory, Stop
from redline.agents.builtin.agent import NAME
from redline.agents.builtin.model import ModelChoiceError, load_model
from redline.cli import agents
from redline.cli.builtin import builtin_agent
from redline.cli.config import Config, load
from redline.cli.failure import Failure
from redline.cli.house import folder_of, myself, opened
from redline.files.local import LocalFiles
from redline.gateway.conversation import Conversation
from redline.sessions.events import Event
from redline.surfaces.terminal import PipeSurface, TerminalSurface
from redline.tools.builtin import builtin_toolset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redline.agents.acp.choices import Choices
    from redline.cli.agents import Foreign
    from redline.gateway.archive import Archive, OpenSession

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
    return asyncio.run(_run(text, config, folder, session, chosen))


async def _run(text: str, config: Config, folder: Path | None, session: str | None, chosen: Choices | None) -> int:
    foreign = agents.chosen(config.agent, config.agent_command)
    with _ended_by_signals():
        async with opened(config) as archive:
            if session is None:
                workspace, model = folder_of(folder), config.model
                name = None
            else:
                name, workspace, model, foreign = await _earlier(archive, session, folder, config, foreign)
            if not model and foreign is None:
                raise NO_MODEL
            console = Console()
            surface = surface_for(console, workspace)
            files = LocalFiles([workspace])
            if foreign is None:
                await _check_model(model, config, workspace)
            if name is None:
                opened_session = await _started(archive, workspace, model, surface.name, foreign)
            else:
                opened_session = await archive.resume(name, files)
                _say_recovery(opened_session)
            with opened_session:
                factory: AgentFactory = builtin_agent(config, model)(opened_session, files)
                if foreign is not None:
                    factory = foreign_factory(foreign, chosen, files, opened_session)
                try:
                    stop = await converse(opened_session, factory, files, workspace, surface, config, text)
                finally:  # after Ctrl-C as well
                    _say_where(opened_session)
    if isinstance(surface, PipeSurface) and surface.failure is not None:
        raise Failure(
            1,
            "OUTPUT",
            f"The output could not be written: {surface.failure}.",
            "The log holds all of it: redline show last",
        )
    return _exit_code(stop)


def _exit_code(stop: Stop) -> int:
    """Of an agent that ended the turn by itself, as some do after a no, nobody has interrupted anything."""
    if stop.reason == "cancelled":
        return 130 if stop.code == "CANCELLED" else 1
    return 0 if stop.reason == "completed" else 1


def _say_where(session: OpenSession) -> None:
    with contextlib.suppress(OSError):  # a terminal that was closed: that is no fault of the turn
        print(f"Session {session.log.session}   draw it again: {myself()} show last", file=sys.stderr, flush=True)


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
    archive: Archive, session: str, folder: Path | None, config: Config, foreign: Foreign | None
) -> tuple[str, Path, str, Foreign | None]:
    """Which session, where it works, and who works on it: what was named now, else who did before."""
    name = await archive.find(session)
    summary = await archive.summary(name)
    if folder is not None and str(folder_of(folder)) != summary.workspace:
        raise Failure(
            2, "FOLDER", f"Session {name} works in {summary.workspace}.", "Leave --folder out, or start a new session."
        )
    events = await archive.store.read(name, limit=1)
    first: Mapping[str, Any] = events[0].data if events and isinstance(events[0], Event) else {}
    foreign = foreign or (agents.of_session(first) if config.agent != NAME else None)
    model = config.model or str(first.get("model", ""))
    return name, folder_of(Path(summary.workspace)), model, foreign


def surface_for(console: Console, workspace: Path) -> TerminalSurface | PipeSurface:
    """Cards where somebody looks, patches with remarks where nobody does."""
    if console.is_terminal:
        return TerminalSurface(console, workspace=workspace)
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


@contextlib.contextmanager
def _ended_by_signals() -> Any:
    """A closed terminal and a polite kill stop a turn as Ctrl-C does: cleanly, and the log says so. The exit code is
    the shell's for that signal."""
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    came: list[signal.Signals] = []

    def end(number: signal.Signals) -> None:
        came.append(number)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    try:
        yield
    except asyncio.CancelledError:
        if came:
            raise SystemExit(128 + came[0]) from None
        raise
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
