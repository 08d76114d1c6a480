"""What every command opens: the archive of the configured data folder, with its failures put in a command's words."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from redline.cli.failure import Failure
from redline.files.seam import FileError
from redline.gateway.archive import Archive
from redline.sessions.gate import GateError
from redline.sessions.store import StoreError
from redline.tools.undo import UndoRefused
from redline.workspace.store import BytesError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from redline.cli.config import Config

_MISSING = ("NO_SESSION", "AMBIGUOUS")


@contextlib.asynccontextmanager
async def opened(config: Config) -> AsyncIterator[Archive]:
    """The archive, closed at the end; what goes wrong with it inside becomes a `Failure`."""
    with said():
        archive = Archive.open(config.data.expanduser(), file_limit=config.file_limit, cap=config.store_limit)
        try:
            yield archive
        finally:
            await archive.close()


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
        folder = Path(named).expanduser().resolve() if named is not None else Path.cwd().resolve()
    except FileNotFoundError:
        raise Failure(2, "FOLDER", "The current folder does not exist any more.", "Go to one that does.") from None
    if not folder.is_dir():
        raise Failure(2, "FOLDER", f"{folder} is not a folder.", "Name one that exists.")
    return folder


def myself() -> str:
    """How this program was called, for commands that are shown to be typed: `redline`, or a path to it."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{Path(sys.executable).name} -m redline"
    with contextlib.suppress(ValueError, OSError):
        from shutil import which

        if which(called.name) is not None:
            return called.name
        return str(called.resolve().relative_to(Path.cwd()))
    return str(called)
