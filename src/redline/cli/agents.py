"""Which agent works: named, given as a command line, or the built-in one; and `redline agents`, which lists them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from redline.agents.acp.known import KNOWN, AgentMissing, find, installed, named
from redline.agents.builtin.agent import NAME as BUILTIN
from redline.cli.columns import aligned
from redline.cli.failure import Failure

if TYPE_CHECKING:
    from redline.agents.acp.choices import Choices
    from redline.agents.acp.factory import AcpOptions


@dataclass(frozen=True, slots=True)
class Foreign:
    """A foreign agent that was chosen."""

    name: str
    """As the log has it."""
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    asks_in: str = ""
    """The mode in which it asks, where it does not start in it."""

    def facts(self) -> dict[str, Any]:
        """What the session's first event keeps, so that the session can be resumed without saying it again."""
        return {"command": list(self.command)}

    def options(self, chosen: Choices | None) -> AcpOptions:
        """As the agent is made. `chosen`: what the user chose about it; None: nothing."""
        from redline.agents.acp.choices import Choices
        from redline.agents.acp.factory import AcpOptions

        return AcpOptions(
            self.name, self.command, chosen or Choices(), environment=self.environment, asks_in=self.asks_in
        )


def chosen(agent: str, command: str) -> Foreign | None:
    """The agent that flags and configuration name; None: the built-in one. Raises `Failure` (exit code 2)."""
    if command.strip():
        return of_command(_words(command))
    if not agent or agent == BUILTIN:
        return None
    try:
        known, found = named(agent), find(agent)
    except AgentMissing as missing:
        raise Failure(2, missing.code, missing.message, missing.remedy) from missing
    environment = {name: value for name, value in known.environment.items() if name not in os.environ}
    return Foreign(known.name, found, environment, known.asks_in)


def of_command(words: Sequence[str]) -> Foreign:
    """An agent by its command line; a program that is named with a path is meant from the current folder."""
    program = words[0]
    if "/" in program:
        program = str(Path(program).expanduser().absolute())
    elif (found := shutil.which(program)) is not None:
        program = found
    else:
        raise Failure(2, "NO_SUCH_COMMAND", f"The command {program!r} was not found.", "Install it, or give its path.")
    return Foreign(Path(program).name, [program, *words[1:]])


def of_session(first: Mapping[str, Any]) -> Foreign | None:
    """The agent of a session, from its first event; None: the built-in one."""
    name, command = first.get("agent"), first.get("command")
    if not isinstance(name, str) or name in ("", BUILTIN):
        return None
    if name in KNOWN and installed(KNOWN[name]) is not None:
        return chosen(name, "")
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        return Foreign(name, command)
    raise Failure(2, "NO_AGENT", f"How the agent {name!r} was started is not known.", "Name it with --agent-command.")


def choices(mode: str, model: str, options: Sequence[str]) -> Choices:
    """What was chosen about a foreign agent. `options` as NAME=VALUE; raises `Failure` (exit code 2)."""
    from redline.agents.acp.choices import Choices

    pairs = {}
    for option in options:
        name, given, value = option.partition("=")
        if not given or not name:
            raise Failure(2, "AGENT_OPTION", f"{option!r} is no NAME=VALUE.", "For example --agent-option effort=high.")
        pairs[name] = value
    return Choices(mode, model, pairs)


def list_agents(*, as_json: bool) -> None:
    """Print the known agents: where each is, or how to get it."""
    rows: list[dict[str, Any]] = []
    for agent in KNOWN.values():
        command = installed(agent)
        rows.append(
            {
                "name": agent.name,
                "title": agent.title,
                "installed": command is not None,
                "command": command or list(agent.commands[0]),
                "install": agent.install,
                "needs": agent.needs,
                "sign_in": agent.sign_in,
                "mode_that_asks": agent.asks_in,
                "notes": agent.notes,
            }
        )
    if as_json:
        typer.echo(json.dumps({"agents": rows}, indent=2))
        return
    headings = ("agent", "is", "where, or how to get it", "signs in by")
    rows.sort(key=lambda one: not one["installed"])
    shown = [(str(row["name"]), str(row["title"]), _where(row), str(row["sign_in"])) for row in rows]
    further = (
        '\nRun one: redline run --agent NAME "…". Any other agent that speaks the Agent Client Protocol: '
        'redline run --agent-command "COMMAND ARGUMENTS" "…". Without either, the built-in agent works.'
    )
    console = Console()
    if not console.is_terminal:
        for line in (*aligned(headings, *shown), further):
            typer.echo(line)
        return
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row, (name, *others) in zip(rows, shown, strict=True):
        table.add_row(Text(name, style="bold" if row["installed"] else ""), *map(Text, others))
    console.print(table)
    console.print(Text(further))


def _where(row: Mapping[str, Any]) -> str:
    return shlex.join(row["command"]) if row["installed"] else f"not installed: {row['install']}"


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Failure(2, "AGENT_COMMAND", f"{command!r} cannot be read: {error}.", "Mind its quotes.") from error
    if not words:
        raise Failure(2, "AGENT_COMMAND", "The command is empty.", "Give the program and its arguments.")
    return words
