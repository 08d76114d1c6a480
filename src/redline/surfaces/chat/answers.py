"""What is said to a command: changes again, the list of sessions."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from redline.gateway.roster import GatewayError
from redline.surfaces import words
from redline.surfaces.chat import cards
from redline.surfaces.chat.cards import Setting, short
from redline.surfaces.chat.parts import Part, Text
from redline.surfaces.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redline.changes.record import FileChange
    from redline.gateway.gateway import Listed
    from redline.gateway.room import Room
    from redline.surfaces.chat.wholes import Wholes


async def diff(room: Room, wanted: Sequence[str], setting: Setting, wholes: Wholes, mark: str = "/") -> list[Part]:
    """The last change on disk; `turn`, `turn 3`: all of a turn; else the last of a file. With `file` at the end as a
    `.diff`. `mark`: what stands before a command there. Raises `GatewayError` NO_TURN."""
    setting = replace(setting, shown="full", workspace=str(room.workspace))
    as_file = bool(wanted) and wanted[-1].lower() == "file" and not await _is_a_name(room, wanted, setting)
    changes, what = await _selected(room, wanted[:-1] if as_file else wanted, setting, mark)
    if not changes:
        return [Text(f"No change on disk in {what}.")]
    changes = await wholes.of(changes)
    if as_file:
        what = "the last change" if len(wanted) == 1 else what
        return [Text(f"{what[0].upper()}{what[1:]}:", "strong"), cards.diff_file(changes, setting)]
    return list(cards.several(changes, setting, words.DONE))


def listing(listed: Sequence[Listed], here: str | None) -> Text:
    """One line a session: the end of its id, when it was used, what it is about, where it works."""
    lines = []
    for one in listed:
        summary = one.summary
        when = datetime.fromtimestamp(summary.updated_at / 1000).astimezone().strftime("%d %b %H:%M")
        title = short(visible(summary.title or "(no title)"), 80)
        mark = " (here)" if summary.session == here else ""
        folder = short(visible(summary.workspace), 60)
        lines.append(f"• {summary.session.rpartition('-')[2]}  {when}  {title}  {folder}{mark}")
    return Text("\n".join(lines) or "There is no session yet.")


async def _selected(room: Room, wanted: Sequence[str], setting: Setting, mark: str) -> tuple[list[FileChange], str]:
    """The changes that are meant, and what they are called. A file named `Turn` is one only where there is one."""
    landed = await room.landed()
    if wanted and wanted[0].lower() == "turn" and (wanted[0] == "turn" or not _of_file(landed, wanted, room, setting)):
        number = room.state.turn
        if len(wanted) > 1:
            if not wanted[1].isascii() or not wanted[1].isdigit():
                raise GatewayError(
                    "NO_TURN", f"{visible(wanted[1])!r} is no number of a turn.", f"Such as: {mark}diff turn 2"
                )
            number = int(wanted[1][:9])
            _check_turn(number, room.state.turn)
        return (await room.landed(number) if number else []), f"turn {number}"
    if wanted:
        return _of_file(landed, wanted, room, setting), f"the file {visible(' '.join(wanted))}"
    return landed[-1:], "this session"


async def _is_a_name(room: Room, wanted: Sequence[str], setting: Setting) -> bool:
    """All of it names a file, such as `notes file`."""
    return (
        len(wanted) > 1 and wanted[0].lower() != "turn" and bool(_of_file(await room.landed(), wanted, room, setting))
    )


def _of_file(landed: Sequence[FileChange], wanted: Sequence[str], room: Room, setting: Setting) -> list[FileChange]:
    """Its last change, if there is one. The file is named as it is, or as its card names it; quotes are left out."""
    name = " ".join(wanted)
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'`":
        name = name[1:-1]
    path = str(room.workspace / name)

    def is_meant(known: str) -> bool:
        return known == path or " ".join(setting.path(known).split()) == name

    found = [one for one in landed if is_meant(one.path) or (one.old_path is not None and is_meant(one.old_path))]
    return found[-1:]


def _check_turn(number: int, last: int) -> None:
    if not 1 <= number <= last:
        there = f"Its turns are 1 to {last}." if last > 1 else "It has turn 1 only." if last else "It has none yet."
        raise GatewayError("NO_TURN", f"This session has no turn {number}.", there)
