"""What can be typed in a chat beside a prompt."""

from __future__ import annotations

import re
from dataclasses import dataclass

COMMANDS = {
    "diff": "Show a change again: /diff (the last one), /diff turn (all of the last turn), /diff turn 3, /diff PATH; "
    "with “file” at the end, as a .diff",
    "stop": "Stop what is running",
    "new": "Begin a new session here: /new, /new FOLDER, /new FOLDER AGENT",
    "sessions": "List the sessions; /sessions ID shows one of them here from now on",
    "help": "Say this",
}

_COMMAND = re.compile(r"\s*[/!](?P<name>[a-zA-Z]+)(?:@\w+)?(?:\s+(?P<rest>.*))?\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    words: tuple[str, ...] = ()


def parsed(text: str) -> Command | None:
    """The command that a message is; None: it is a prompt. A word that is no command of ours is none, so that a prompt
    may begin with a path or with a command of the agent."""
    match = _COMMAND.fullmatch(text)
    name = match["name"].lower() if match is not None else ""  # a phone begins with a capital
    if match is None or name not in COMMANDS:
        return None
    return Command(name, tuple((match["rest"] or "").split()))


def described(mark: str) -> str:
    """`mark`: what stands before a command on this platform."""
    lines = [f"{mark}{name}: {what.replace(f'/{name}', mark + name)}." for name, what in COMMANDS.items()]
    return "Anything else is a prompt.\n" + "\n".join(lines)
