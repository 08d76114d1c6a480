"""The options that several subcommands share: how each is written and what its help says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Session = Annotated[
    str,
    typer.Argument(
        metavar="SESSION", help='Id of a session, the first characters of one, or "last": the newest of this folder.'
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        metavar="PROVIDER:NAME",
        help="Model of the built-in agent, for example anthropic:claude-sonnet-4-5; script:FILE plays a file.",
    ),
]
BaseUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="Address of an OpenAI-compatible server, for a model openai:NAME.")
]
Agent = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Let this agent work instead of the built-in one; see `redline agents`."),
]
AgentCommand = Annotated[
    str | None,
    typer.Option(metavar='"CMD ARGS"', help="Or any agent of the Agent Client Protocol, by the command that runs it."),
]
AgentMode = Annotated[
    str, typer.Option(metavar="NAME", help="Start that other agent in one of its modes, such as one in which it asks.")
]
AgentModel = Annotated[str, typer.Option(metavar="NAME", help="Let that other agent use this model of its own.")]
AgentOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Set another option of that other agent; can be repeated."),
]
Approval = Annotated[
    str | None,
    typer.Option(
        metavar="ask|edits|all",
        help="ask: you are asked before each change and command; edits: only before commands, and before a file is "
        "deleted, emptied or cut; all: never. Unless configured: ask.",
    ),
]
Data = Annotated[Path | None, typer.Option("--data", help="Folder of the logs instead of the configured one.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program instead of text for a person.")]
Turn = Annotated[int | None, typer.Option("--turn", min=1, help="Only this turn, counted from 1.")]
Call = Annotated[str | None, typer.Option("--call", metavar="ID", help="Only this call, as the cards name it.")]
File = Annotated[str | None, typer.Option("--file", metavar="PATH", help="Only this file.")]


def flags(
    model: str | None,
    base_url: str | None,
    approval: str | None,
    agent: str | None,
    agent_command: str | None,
    data: Path | None,
) -> dict[str, Any]:
    """By the names of the configuration, over which they go."""
    if agent is not None and agent_command is None:
        agent_command = ""  # a name on the command line wins over a command in the configuration
    return {
        "model": model, "base_url": base_url, "approval": approval,
        "agent": agent, "agent_command": agent_command, "data": data,
    }  # fmt: skip
