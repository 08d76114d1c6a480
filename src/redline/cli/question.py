"""The question before a command takes back or removes something."""

from __future__ import annotations

import asyncio
import sys

from redline.cli.failure import Failure
from redline.surfaces.terminal.answer import forget_typed, read_line

_YES = ("y", "yes")


async def confirm(question: str, otherwise: str) -> None:
    """Return for a yes. `otherwise`: the sentence that says what was then not done.

    Raises `Failure`: NOBODY_TO_ASK without a terminal, NOT_DONE (exit code 1) for anything but yes and for the end of
    input, NOT_DONE (exit code 130) for Ctrl-C.
    """
    if not sys.stdin.isatty():
        raise Failure(
            2, "NOBODY_TO_ASK", f"{question} There is no terminal to answer at.", "Say --yes to do it unasked."
        )
    sys.stdout.flush()
    forget_typed(sys.stdin.fileno())
    # Where the output is kept in a file, or is JSON, the question is no part of it.
    print(f"{question} [y/N]: ", end="", file=sys.stderr, flush=True)
    try:
        line = await read_line(sys.stdin.fileno())
    except asyncio.CancelledError:
        print(file=sys.stderr)
        raise Failure(130, "NOT_DONE", f"Stopped. {otherwise}") from None
    except OSError:
        line = None
    if line is None:
        print(file=sys.stderr)
    if line is None or line.strip().lower() not in _YES:
        raise Failure(1, "NOT_DONE", otherwise)
