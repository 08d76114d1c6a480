"""Which session a command means, and whether that one belongs to the folder in which the command is typed.

`last` means the newest session of the current folder; where that has none, of the only folder with sessions that holds
it or lies in it. What only shows falls back to the newest of all and says whose it is; what changes something refuses,
since it would change files of the same names somewhere else.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from redline.cli.failure import Failure
from redline.cli.house import myself
from redline.gateway.archive import LAST
from redline.surfaces.visible import visible

if TYPE_CHECKING:
    from redline.gateway.archive import Archive
    from redline.sessions.store import Summary

_ALL = 100_000


@dataclass(frozen=True, slots=True)
class Choice:
    summary: Summary
    is_elsewhere: bool
    """It works in another folder than the current one."""
    is_fallback: bool = False
    """`last` was asked for, and this folder has none."""

    @property
    def session(self) -> str:
        return self.summary.session

    @property
    def place(self) -> str:
        """The folder in which it works, as it can be shown."""
        return visible(self.summary.workspace)

    @property
    def heading(self) -> str:
        """For the top of what is shown of a session of another folder; empty: it is of this one."""
        if not self.is_elsewhere:
            return ""
        why = "No session here; this is the newest of all" if self.is_fallback else f"Session {self.session}"
        return f"{why}, of {self.place}"


async def to_show(archive: Archive, name: str) -> Choice:
    """The session that `name` means to a command that only shows. Raises `StoreError` as `Archive.find`."""
    here = _here(None)
    own = await _last_of(archive, here) if name == LAST else None
    summary = own or await archive.summary(await archive.find(name))
    return Choice(summary, summary.workspace != str(here), is_fallback=name == LAST and own is None)


async def to_change(archive: Archive, name: str, typed: str, *, folder: Path | None = None) -> Choice:
    """The session that `name` means to a command that changes something. `typed`: that command with {} for a session.
    `folder`: instead of the current one. Raises `StoreError` as `Archive.find`, or `Failure` NOT_HERE."""
    here = _here(folder)
    own = await _last_of(archive, here) if name == LAST else None
    summary = own or await archive.summary(await archive.find(name))
    if name == LAST and own is None:
        raise Failure(
            3,
            "NOT_HERE",
            f"{visible(str(here or 'This folder'))} has no session of its own. The newest of all is {summary.session} "
            f"({visible(summary.title or 'no title')}), which works in {visible(summary.workspace)}.",
            f"If you mean that one: {myself()} {typed.format(summary.session)}",
        )
    return Choice(summary, summary.workspace != str(here))


def announce(chosen: Choice, *, drawn: bool) -> None:
    """Say whose session it is where that is not this folder. `drawn`: at the top of what a person looks at; else the
    output is a program's, and only what was not asked for so is said, beside it."""
    if chosen.heading and drawn:
        print(chosen.heading, end="\n\n", flush=True)
    elif chosen.is_fallback:
        print(f"# {chosen.heading}", file=sys.stderr)


async def _last_of(archive: Archive, here: Path | None) -> Summary | None:
    """The newest session of a folder, or of the only one around or inside it that has any."""
    if here is None:
        return None
    found = await archive.list(limit=_ALL)
    own = next((one for one in found if one.workspace == str(here)), None)
    if own is not None:
        return own
    near = [one for one in found if _is_near(Path(one.workspace), here)]
    return near[0] if len({one.workspace for one in near}) == 1 else None


def _is_near(workspace: Path, here: Path) -> bool:
    return workspace.is_absolute() and (here.is_relative_to(workspace) or workspace.is_relative_to(here))


def _here(folder: Path | None) -> Path | None:
    """None: the folder in which the command was typed is gone."""
    try:
        return (Path.cwd() if folder is None else folder.expanduser()).resolve()
    except (OSError, RuntimeError):
        return None
