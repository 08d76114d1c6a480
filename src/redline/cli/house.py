"""What every command opens: the archive of the configured data folder, with its failures put in a command's words."""

from __future__ import annotations

import contextlib
import logging
import shlex
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from redline.cli.failure import Failure
from redline.files.error import FileError
from redline.files.local import LocalFiles
from redline.gateway.archive import Archive
from redline.sessions.events import Event
from redline.sessions.gate import GateError
from redline.sessions.store import Damaged, StoreError
from redline.tools.recovery import Recovery
from redline.tools.undo import UndoRefused
from redline.workspace.store import BytesError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from redline.cli.config import Config

_MISSING = ("NO_SESSION", "AMBIGUOUS")


@contextlib.asynccontextmanager
async def opened(config: Config) -> AsyncIterator[Archive]:
    """The archive, closed at the end; what goes wrong with it inside becomes a `Failure`."""
    with said():
        archive = Archive.open(config.data, file_limit=config.file_limit, cap=config.store_limit)
        _log_to(config.data / "redline.log")
        try:
            yield archive
        finally:
            await archive.close()


async def recovered(archive: Archive, session: str, workspace: str) -> Recovery | None:
    """Close, by what is on the disk, what a crash left open in a session that nobody runs; None: nothing was open.

    Done before a session is looked at, so that what is drawn says how each call ended. Where it cannot be done, as on a
    full disk, that is said, and the session is looked at as it is.
    """
    folder = Path(workspace)
    if archive.is_running(session) or not await _is_open(archive, session) or not folder.is_dir():  # noqa: ASYNC240
        return None
    try:
        with await archive.resume(session, LocalFiles([folder])) as resumed:
            return resumed.recovery
    except (StoreError, BytesError) as error:
        print(
            f"# warning: the last turn of {session} was cut off, and what is on the disk could not be entered for it. "
            f"{error.code}: {error.message}",
            file=sys.stderr,
        )
        return None


async def events_of(
    archive: Archive, session: str, *, after: int = 0, before: int | None = None
) -> list[Event | Damaged]:
    """The events with `after < seq < before`, in order; a damaged one stands in its place."""
    found: list[Event | Damaged] = []
    while page := await archive.store.read(session, after=after):
        found += [one for one in page if before is None or one.seq < before]
        after = page[-1].seq
        if before is not None and after >= before:
            break
    return found


def say_damage(events: Sequence[Event | Damaged], session: str) -> None:
    """A row of the log that cannot be read may have held a change, which is then missing in what is printed."""
    damaged = [one for one in events if isinstance(one, Damaged)]
    if damaged:
        rows = ", ".join(str(one.seq) for one in damaged[:5]) + (" and more" if len(damaged) > 5 else "")
        print(
            f"# warning: {len(damaged)} row{'s' * (len(damaged) > 1)} of the log cannot be read ({rows}). A change "
            f"that stood there is missing here: compare with the disk. redline show {session} --all says where.",
            file=sys.stderr,
        )


async def require_turn(archive: Archive, session: str, turn: int) -> int:
    """The `seq` of its first event. Raises `Failure`: the session has no such turn."""
    first = await archive.store.turn_start(session, turn)
    if first is None:
        raise Failure(
            3, "NO_TURN", f"Session {session} has no turn {turn}.", f"redline show {session} shows which there are."
        )
    return first


async def _is_open(archive: Archive, session: str) -> bool:
    """Its last turn has no end."""
    summary = await archive.summary(session)
    start = await archive.store.turn_start(session, summary.turns) if summary.turns else None
    if start is None:
        return False
    events = await events_of(archive, session, after=start - 1)
    return not any(isinstance(one, Event) and one.type == "turn/ended" for one in events)


class _FaultLog(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the base's
        """A full disk is said elsewhere."""


def _log_to(path: Path) -> None:
    """Faults that cost only themselves (a presenter, a listener) are written down, bounded, where only the user
    reads."""
    with contextlib.suppress(OSError):
        path.touch(mode=0o600)
        handler = _FaultLog(path, maxBytes=2**20, backupCount=1, encoding="utf-8", delay=True)
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        logging.getLogger().addHandler(handler)


@contextlib.contextmanager
def said() -> Iterator[None]:
    """Turns the errors of the floors below into a `Failure` with its exit code."""
    try:
        yield
    except StoreError as error:
        raise Failure(3 if error.code in _MISSING else 4, error.code, error.message, error.remedy) from error
    except BytesError as error:
        raise Failure(4, error.code, error.message, error.remedy) from error
    except GateError as error:
        raise Failure(4, "GATE", f"The log cannot take this: {error}.", "Nothing of it was written.") from error
    except UndoRefused as error:
        detail = "".join(f"\n    {line}" for line in error.lines)
        raise Failure(1, error.code, error.message + detail, error.remedy) from error
    except FileError as error:
        raise Failure(1, error.code, error.message, error.remedy) from error


def folder_of(named: Path | None) -> Path:
    """The workspace: the named folder or the current one, made absolute. Raises `Failure` if it is none."""
    try:
        folder = (Path.cwd() if named is None else Path(named).expanduser()).resolve()
        is_folder = folder.is_dir()
    except FileNotFoundError:
        raise Failure(2, "FOLDER", "The current folder does not exist any more.", "Go to one that does.") from None
    except (OSError, RuntimeError):  # a name that is too long, a circle of links, the home of nobody
        folder, is_folder = Path(named or ""), False
    if not is_folder:
        raise Failure(2, "FOLDER", f"{folder} is not a folder.", "Name one that exists.")
    return folder


def myself() -> str:
    """How this program can be called from any folder, for commands that are shown to be typed: its name where that
    finds it, and not another installation of the same name; else its absolute path."""
    called, python = Path(sys.argv[0]), Path(sys.executable)
    if called.name == "__main__.py":
        # Compared as a path: the interpreter of an environment is a link to one that does not know of us.
        name = python.name if which(python.name) == str(python) else shlex.quote(str(python))
        return f"{name} -m redline"
    found = which(called.name)
    with contextlib.suppress(OSError):
        if found is not None and Path(found).samefile(called):
            return called.name
    return shlex.quote(str(called.absolute()))
