"""The steps of an undo: from the files as they are to the files as they will be, none in the way of another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from redline.files.error import FileError
from redline.files.seam import Blob, Delete, Files, Move, Target, WriteBytes
from redline.tools.refusal import UndoRefused
from redline.tools.tool import Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from redline.tools.standing import Taken


@dataclass(frozen=True, slots=True)
class FileState:
    """A file with these bytes, or a symbolic link with this text."""

    blob: Blob
    executable: bool
    data: bytes | None
    """None: too large to be held; known by its blob only."""
    link: bool = False


@dataclass(slots=True)
class RewoundFile:
    """One path, as it is on the disk and as it will be."""

    place: Target
    """Its last step not followed: a change names the very file, or the very link, that it was about."""
    found: FileState | None
    now: FileState | None
    takes: list[Taken] = field(default_factory=list)
    folder: bool = False
    """A folder is there, which gives way to the file once nothing is left in it."""

    @property
    def path(self) -> Path:
        return self.place.path

    def target(self, state: FileState) -> Target:
        return replace(self.place, link=state.link)


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One file of an undo."""

    step: Step
    expected: Blob
    """What must be there for it; empty: no file."""
    takes: tuple[Taken, ...]


def steps(files: Mapping[str, RewoundFile], moves: Sequence[tuple[RewoundFile, RewoundFile]]) -> Iterator[PlannedStep]:
    """What has to be done, in this order. `files`: by key; `moves`: those of them that a move led to, and from."""
    real = [(file, origin) for file, origin in moves if _is_move(file, origin)]
    moved = {one.place.key for pair in real for one in pair}
    first = _in_the_way(files) - moved
    for key in files:
        if key in first:
            yield from _steps_of(files[key])
    for file, origin in real:
        assert file.found is not None
        assert origin.now is not None
        data = None if origin.now.blob == file.found.blob else origin.now.data
        step = Step(file.target(file.found), Move(origin.target(origin.now), data))
        yield PlannedStep(step, file.found.blob, tuple(file.takes))
    for key, file in files.items():
        if key not in moved and key not in first:
            yield from _steps_of(file)


async def check_folders(files: Files, rewound: Mapping[str, RewoundFile]) -> None:
    """Raises `UndoRefused` where a folder is to give way in which something is left by then."""
    gone = {key for key, file in rewound.items() if file.found is not None and file.now is None}
    for file in rewound.values():
        if file.folder and file.now is not None:
            await require_empty(files, file.place, gone)


async def require_empty(files: Files, folder: Target, gone: AbstractSet[str]) -> None:
    """Raises `UndoRefused` for a folder in which, however deep, something is left but the files `gone`."""
    try:
        entries = await files.list(folder)
    except FileError as error:
        raise UndoRefused.of(error) from error
    for entry in entries:
        inside = replace(folder, path=folder.path / entry.name, real=folder.real / entry.name)
        if entry.kind == "directory":
            await require_empty(files, inside, gone)
        elif inside.key not in gone:
            message = f"{inside.path} stands in a folder that takes the place of a file, and is none of these changes."
            raise UndoRefused("EXISTS", message, "Move it away first.")


def is_over_folder(step: Step) -> bool:
    """A folder stands in its place, which gives way once it is empty."""
    return isinstance(step.action, WriteBytes) and step.action.over_folder


def is_under(step: Step, cleared: set[str]) -> bool:
    """It leads to one of the places `cleared`, or into a folder of that name."""
    place = (step.action.to if isinstance(step.action, Move) else step.target).real
    return not cleared.isdisjoint(map(str, (place, *place.parents)))


def _steps_of(file: RewoundFile) -> Iterator[PlannedStep]:
    """Of one path. A link and a file cannot take each other's place in one step."""
    found, now = file.found, file.now
    if _same(found, now):
        return
    takes = tuple(file.takes)
    if found is not None and (now is None or now.link != found.link):
        yield PlannedStep(Step(file.target(found), Delete()), found.blob, takes if now is None else ())
        found = None
    if now is not None:
        assert now.data is not None
        write = WriteBytes(now.data, None if now.link else now.executable, over_folder=file.folder)
        yield PlannedStep(Step(file.target(now), write), found.blob if found is not None else "", takes)


def _is_move(file: RewoundFile, origin: RewoundFile) -> bool:
    """What else happened to the two makes it more than a move, and so does a folder in the place of one of them."""
    if file.found is None or file.now is not None or origin.found is not None or origin.now is None:
        return False
    if origin.now.executable != file.found.executable or origin.now.link or file.found.link:
        return False
    return not origin.folder and file.place.key not in _parents(origin)


def _parents(file: RewoundFile) -> list[str]:
    return [str(parent) for parent in file.place.real.parents]


def _in_the_way(files: Mapping[str, RewoundFile]) -> set[str]:
    """What goes, and stands where the folder of another file is to be, or in a folder that is to give way."""
    needed = {parent for file in files.values() if file.now is not None for parent in _parents(file)}
    clears = {key for key, file in files.items() if file.folder and file.now is not None}
    return {
        key
        for key, file in files.items()
        if file.found is not None and file.now is None and (key in needed or not clears.isdisjoint(_parents(file)))
    }


def _same(first: FileState | None, second: FileState | None) -> bool:
    if first is None or second is None:
        return first is second
    return (first.blob, first.executable, first.link) == (second.blob, second.executable, second.link)
