"""Did a mutation land? Judged by the bytes that are on the disk, never by what was reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from redline.files.error import FileError
from redline.files.seam import Blob, Content, Files, Outcome, Target

if TYPE_CHECKING:
    from collections.abc import Sequence

Verdict = Literal["applied", "not applied", "unknown"]


@dataclass(frozen=True, slots=True)
class State:
    """What one place held, or holds: a file with these bytes."""

    blob: Blob
    executable: bool | None = None
    """None: not known, and so not compared."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What one place holds is no file whose bytes can be compared: a folder, a link that leads elsewhere, an error."""


Found = State | Elsewhere | None
"""None: nothing is there."""


@dataclass(frozen=True, slots=True)
class Place:
    """One path that a mutation touches. A move touches two."""

    path: str
    key: str
    """`Target.key` at the time of the mutation."""
    before: State | None
    after: State | None
    link: bool = False
    """`Target.link`."""


def places(outcome: Outcome) -> list[Place]:
    """The places of a mutation, from its facts."""
    target, moved = outcome.target, outcome.moved_to
    before, after = _state(outcome.before), _state(outcome.after)
    if moved is None:
        return [Place(target.key, target.key, before, after, target.link)]
    return [Place(target.key, target.key, before, None), Place(moved.key, moved.key, None, after)]


def _state(content: Content | None) -> State | None:
    return None if content is None else State(content.blob, content.executable)


async def look(files: Files, place: Place) -> Found:
    """What the place holds now, if its path still leads there."""
    try:
        target = await files.resolve(place.path, link=place.link)
    except FileError:
        return Elsewhere()
    return Elsewhere() if target.key != place.key else await look_at(files, target)


async def look_at(files: Files, target: Target, limit: int = 0) -> Found:
    """What a resolved path holds now. `limit`: bytes up to which it may be read whole; a larger file is only hashed."""
    try:
        content = await files.on_disk(target, limit)
    except FileError as error:
        return None if error.code == "NOT_FOUND" else Elsewhere()
    return State(content.blob, content.executable)


def judge(touched: Sequence[Place], found: Sequence[Found]) -> Verdict:
    """`found`: what each place held right after the mutation should have happened."""
    if all(_holds(state, place.after, place) for place, state in zip(touched, found, strict=True)):
        return "applied"
    if all(_holds(state, place.before, place) for place, state in zip(touched, found, strict=True)):
        return "not applied"
    return "unknown"


def _holds(found: Found, state: State | None, place: Place) -> bool:
    if found is None or state is None:
        return found is None and state is None
    if isinstance(found, Elsewhere) or found.blob != state.blob:
        return False
    same_bytes = place.before is not None and place.after is not None and place.before.blob == place.after.blob
    # Where the bytes tell both sides apart, a mode that somebody set since says nothing.
    return not same_bytes or None in (found.executable, state.executable) or found.executable == state.executable
