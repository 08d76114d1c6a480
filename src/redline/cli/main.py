"""The program `redline`: a command is run, and every failure is said, with an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from redline.cli.failure import Failure

if TYPE_CHECKING:
    from typing import TextIO


def main() -> NoReturn:
    """Run the command line; every known failure becomes a message with a remedy and an exit code."""
    if sys.platform == "win32":
        raise SystemExit("redline: This needs Linux or macOS. On Windows, run it inside WSL.")
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # what its encoding lacks is an escape, not a crash
    try:
        app()
        sys.stdout.flush()
    except Failure as failure:
        try:
            _say(failure)
            sys.stdout.flush()
        except BrokenPipeError:
            _drop_output()
        raise SystemExit(failure.exit_code) from None
    except BrokenPipeError:
        # The reader of our output went away (`redline show last | head`): nothing to say, and nobody to say it to.
        _drop_output()
        raise SystemExit(141) from None
    except KeyboardInterrupt:
        from redline.cli.interrupts import take_no_more

        take_no_more()
        raise SystemExit(130) from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EBADF):
            raise
        _drop_output()
        if error.filename is not None:  # a stream has none
            print(f"redline: {error.filename} could not be written: {error.strerror}.", file=sys.stderr)
            raise SystemExit(4) from None
        print(f"redline: The output could not be written: {error.strerror}.", file=sys.stderr)
        raise SystemExit(1) from None
    raise SystemExit(0)


def app() -> None:
    """The commands, which are loaded only here, so that a Ctrl-C meanwhile ends the program like a later one."""
    import logging

    from redline.cli import commands

    # Faults that a program survives go to the log of the data folder (`cli.house`), not between the cards.
    logging.getLogger().addHandler(logging.NullHandler())
    commands.app()


def _nowhere() -> TextIO:
    """For a stream that the caller closed: writing to it does nothing."""
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - lives as long as the process


def _drop_output() -> None:
    """What is still buffered shall not raise again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(failure: Failure) -> None:
    if "--json" in sys.argv[1:]:
        import json

        problem = {"code": failure.code, "message": failure.message, "remedy": failure.remedy}
        print(json.dumps({"error": problem}), file=sys.stdout)
        return
    from redline.surfaces.visible import visible

    for line in f"redline: {failure.message}".split("\n"):
        print(visible(line), file=sys.stderr)
    if failure.remedy:
        print(visible(f"  {failure.remedy}"), file=sys.stderr)
