"""A command as an agent tells it and as it has it run: two texts, and one command. And the end of what it prints."""

from __future__ import annotations

import shlex

_SHELLS = ("sh", "bash", "zsh", "dash", "fish")
_LONG_LINE = 4096
"""Characters."""


def is_same(told: str, run: str) -> bool:
    """Bare, or inside the shell that the agent puts around it."""
    return not {told, _unwrapped(told)}.isdisjoint((run, _unwrapped(run), _unquoted(run)))


def from_a_line_on(output: str) -> str:
    """Output whose beginning is gone, without the line that is not whole any more: what is left of a secret in it would
    not be known for one. A very long line stays."""
    return output[output.find("\n", 0, _LONG_LINE) + 1 :]


def _unwrapped(command: str) -> str:
    """What the shell runs that is put around it."""
    words = _words(command)
    is_shell = len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] in ("-c", "-lc")
    return words[2].strip() if is_shell else command


def _unquoted(command: str) -> str:
    """A command that came as words, as it may stand in a call: without the quotes that keep its words together."""
    words = _words(command)
    return " ".join(words) if command == shlex.join(words) else command


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []
