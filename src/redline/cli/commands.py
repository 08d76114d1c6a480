"""The subcommands of `redline`: what can be typed, and what the help says of it.

Imports that take long (the agent loop, the terminal cards) happen inside the command that needs them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from redline import __version__
from redline.cli.options import (
    Agent,
    AgentCommand,
    AgentMode,
    AgentModel,
    AgentOption,
    Approval,
    AsJson,
    BaseUrl,
    Call,
    Data,
    File,
    Model,
    Session,
    Turn,
    flags,
)

EPILOG = (
    "Exit codes: 0 done; 1 tried without success (a turn that failed, came to a limit, or that the agent ended by "
    "itself; a refused undo); 2 wrong use or configuration; "
    "3 no such session; 4 the store cannot be used; 130 interrupted by Ctrl-C, "
    "143 by a kill, 129 by a terminal that was closed."
)

app = typer.Typer(
    name="redline",
    help="Shows what a coding agent really changed: applied hunks from the bytes before and after, kept in a log, "
    "drawn as the same card live and replayed.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"redline {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


@app.command(short_help="Let an agent work on a prompt; you are asked before each change.")
def run(
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT", help='What is to be done; "-" reads it from standard input.')
    ],
    model: Model = None,
    base_url: BaseUrl = None,
    folder: Annotated[
        Path | None, typer.Option("-C", "--folder", help="Work here instead of the current folder.")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session", metavar="SESSION", help='Go on in this session (an id, or "last": the newest of this folder).'
        ),
    ] = None,
    agent: Agent = None,
    agent_command: AgentCommand = None,
    mode: AgentMode = "",
    agent_model: AgentModel = "",
    agent_option: AgentOption = None,
    approval: Approval = None,
    data: Data = None,
) -> None:
    """Let the agent work on PROMPT in the current folder: one turn.

    Before a file is changed or a command run, the whole proposed change is shown and you are asked. With nobody to
    ask (a pipe), the answer is no. Ctrl-C stops the turn cleanly. In a pipe the changes are printed as unified diffs.
    """
    from redline.cli import agents
    from redline.cli import run as command

    given = flags(model, base_url, approval, agent, agent_command, data)
    chosen = agents.choices(mode, agent_model, agent_option or ())
    raise typer.Exit(command.run(prompt, given, folder=folder, session=session, chosen=chosen))


@app.command("agents", short_help="List the agents that are known, and how to get them.")
def list_agents(as_json: AsJson = False) -> None:
    """List the agents that are known by name: which are installed, and how to get the others."""
    from redline.cli import agents

    agents.list_agents(as_json=as_json)


@app.command(short_help="Be the agent of an editor: Zed, Neovim and others start this.")
def acp(
    model: Model = None,
    base_url: BaseUrl = None,
    approval: Approval = None,
    agent: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Stand in front of this agent instead; see `redline agents`."),
    ] = None,
    agent_command: AgentCommand = None,
    mode: AgentMode = "",
    agent_model: AgentModel = "",
    agent_option: AgentOption = None,
    data: Data = None,
) -> None:
    """Be an agent for an editor that speaks the Agent Client Protocol, on standard input and output.

    The editor starts this command; docs/editors.md has the lines to paste for each. Sessions are kept in the log, as
    those of any other command.
    """
    from redline.cli import acp as command

    given = flags(model, base_url, approval, agent, agent_command, data)
    raise typer.Exit(command.acp(given, mode=mode, model=agent_model, options=agent_option))


@app.command(short_help="Show the sessions in a browser, or on Slack, Discord, Telegram.")
def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Listen here; 0: on any port that is free.")] = 7433,
    host: Annotated[str, typer.Option(help="Address to listen on; others than loopback let other machines in.")] = (
        "127.0.0.1"
    ),
    browse: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open the page in a browser; else only where one sits.")
    ] = None,
    token: Annotated[
        bool, typer.Option("--token/--no-token", help="Ask for a token; without one, on loopback only.")
    ] = True,
    name: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A host name by which the server is reached, too.")
    ] = None,
    model: Model = None,
    base_url: BaseUrl = None,
    approval: Approval = None,
    agent: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The agent of new sessions unless another is chosen; see `redline agents`."),
    ] = None,
    agent_command: AgentCommand = None,
    slack: Annotated[bool, typer.Option("--slack", help="On Slack, too; docs/slack.md.")] = False,
    discord: Annotated[bool, typer.Option("--discord", help="On Discord, too; docs/discord.md.")] = False,
    telegram: Annotated[bool, typer.Option("--telegram", help="On Telegram, too; docs/telegram.md.")] = False,
    data: Data = None,
) -> None:
    """Show the sessions in a browser: start turns, read and approve changes, undo them. Ctrl-C ends it.

    Prints the address with a token in it; whoever has that address can do all that you can. Sessions that other
    commands run appear there too.
    """
    from redline.cli import serve as command

    given = flags(model, base_url, approval, agent, agent_command, data)
    wanted = command.somebody_sits_here() if browse is None else browse
    chosen = {"slack": slack, "discord": discord, "telegram": telegram}
    code = command.serve(
        given, host=host, port=port, token=token, browse=wanted, names=tuple(name or ()),
        chats=[one for one, is_chosen in chosen.items() if is_chosen],
    )  # fmt: skip
    raise typer.Exit(code)


@app.command(short_help="List the sessions.")
def sessions(
    limit: Annotated[int, typer.Option(min=1, help="At most so many, newest first.")] = 20,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """List the sessions: when, what about, where, and how many lines were changed."""
    from redline.cli import sessions as command

    command.list_sessions(limit, as_json=as_json, data=data)


@app.command(short_help="Draw a session again, with the same cards.")
def show(
    session: Session,
    turn: Turn = None,
    everything: Annotated[bool, typer.Option("--all", help="From the first event on, not only the last page.")] = False,
    whole: Annotated[bool, typer.Option("--whole", help="Fold no card, however long.")] = False,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Draw a session again from its log: the same cards as when it ran."""
    from redline.cli import sessions as command

    command.show(session, turn=turn, everything=everything, whole=whole, as_json=as_json, data=data)


@app.command(short_help="Show the net change of a session, or print it as a patch.")
def diff(
    session: Session,
    turn: Turn = None,
    call: Call = None,
    file: File = None,
    patch: Annotated[
        bool, typer.Option("--patch", help="Print a patch that `git apply` takes, with the true bytes.")
    ] = False,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Show the net change of a session, a turn or a call: from the first state of each file to its last.

    Cards show secrets masked. A patch holds the true bytes, because it must apply: mind where you send it.
    """
    from redline.cli import diff as command

    command.diff(session, turn=turn, call=call, file=file, patch=patch, as_json=as_json, data=data)


@app.command(short_help="Take the changes of a session back.")
def undo(
    session: Session,
    turn: Turn = None,
    file: File = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be taken back.")] = False,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Take changes back, by hunks: by default those of the last turn that changed files.

    Works while the rest of a file has moved on; refuses, with the reason, where the changed lines themselves were
    changed again. An undo is an event of the session and can itself be undone.
    """
    from redline.cli import undo as command

    command.undo(session, turn=turn, file=file, yes=yes, dry_run=dry_run, as_json=as_json, data=data)


@app.command(short_help="Delete a session, with the bytes kept for it.")
def delete(
    session: Session,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    data: Data = None,
) -> None:
    """Delete a session: its log, and the bytes that were kept for undo. Your files stay as they are."""
    from redline.cli import sessions as command

    command.delete(session, yes=yes, data=data)


@app.command(short_help="Show each setting, and where its value is from.")
def config(
    as_json: AsJson = False,
    path: Annotated[bool, typer.Option("--path", help="Print where the file is, and stop.")] = False,
    init: Annotated[bool, typer.Option("--init", help="Write a file that lists every setting, commented out.")] = False,
) -> None:
    """Show each setting, its value, and where the value comes from."""
    from redline.cli import settings as command

    command.show(as_json=as_json, path=path, init=init)


@app.command(short_help="See every kind of card in a minute; needs no key.")
def demo(
    page: Annotated[
        bool | None,
        typer.Option("--page/--terminal", help="In the dashboard, or drawn here; by default here only in a pipe."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the dashboard; 0: any that is free.")] = 0,
    browse: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open the page in a browser; else only where one sits.")
    ] = None,
    data: Data = None,
    fast: Annotated[bool, typer.Option("--fast", help="Without the pauses that let you read along.")] = False,
) -> None:
    """See every kind of card in a minute: a scripted model in a scratch folder, with the real tools and log.

    In a terminal this opens the dashboard, where you can prompt on, until Ctrl-C. In a pipe, and with --terminal, it
    prints the cards and ends.
    """
    from redline.cli import demo as command

    if command.in_page(page):
        from redline.cli.demo_page import demo_page
        from redline.cli.serve import somebody_sits_here

        wanted = somebody_sits_here() if browse is None else browse
        raise typer.Exit(demo_page(data=data, fast=fast, port=port, browse=wanted))
    raise typer.Exit(command.demo(data=data, fast=fast))
