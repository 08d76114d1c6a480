"""The seam between the tools and whatever holds the files: the local disk, or an editor's buffers.

Storage returns facts: the bytes before, the bytes after. A mutation calls `before_commit` under the path's lock, after
both are known and just before the file is replaced, so that a caller can make a crash recoverable.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from redline.files.text import view

Blob = str
"""git's object id of a file's bytes, 40 hex digits."""


@dataclass(frozen=True, slots=True)
class Target:
    """A path inside the workspace, resolved. `key` identifies the file: two targets with one key share a lock."""

    path: Path
    """As named, made absolute, links not followed."""
    real: Path
    """With every link followed: the file that is read and replaced."""
    link: bool = False
    """The symbolic link itself is meant: its folders are followed, it is not, and its bytes are the text that it
    holds. It can be put and deleted, for undo; nothing else."""

    @property
    def key(self) -> str:
        return str(self.real)

    @property
    def through_link(self) -> bool:
        """The last component itself is a symbolic link."""
        return self.path.name != self.real.name or self.path.is_symlink()


@dataclass(frozen=True, slots=True)
class Content:
    """The state of one file."""

    blob: Blob
    size: int
    executable: bool = False
    data: bytes | None = None
    """None where the file is larger than the bound of the diff basis: it was hashed, not kept."""

    @property
    def text(self) -> str | None:
        """Decoded, without BOM, each `\\r\\n` read as `\\n`; None where the bytes are not UTF-8 text or not at hand."""
        return None if self.data is None else view(self.data)


@dataclass(frozen=True, slots=True)
class Stat:
    kind: Literal["file", "directory", "symlink", "other"]
    size: int
    executable: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder."""

    name: str
    kind: Literal["file", "directory", "symlink", "other"]


# What can be done to a file. Preview and apply take the same action, so they share one matcher by construction.


@dataclass(frozen=True, slots=True)
class Write:
    """The whole new text, stored as UTF-8 as given (an existing BOM and the file's mode are kept)."""

    content: str


@dataclass(frozen=True, slots=True)
class Replace:
    """Literal replacement in the LF-normalised view; unique unless `replace_all`."""

    old: str
    new: str
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class Insert:
    """New lines after line `line` (0: at the top)."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class DeleteLines:
    """Lines `first` to `last`, counted from 1, both included: a way to change what need not be shown."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class EditText:
    """Edits in order, each on the result of the one before; all or nothing."""

    edits: Sequence[Replace | Insert | DeleteLines]


@dataclass(frozen=True, slots=True)
class WriteBytes:
    """Exact bytes, for undo and patches. `executable` None: as it is (a new file: not executable). `over_folder`: a
    folder that stands there gives way, if no file is left in it or in its folders."""

    data: bytes
    executable: bool | None = None
    over_folder: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    pass


@dataclass(frozen=True, slots=True)
class Move:
    """To a path that does not exist yet. `data` not None: and with these bytes."""

    to: Target
    data: bytes | None = None


Action = Write | EditText | WriteBytes | Delete | Move


@dataclass(frozen=True, slots=True)
class Outcome:
    """The facts of one mutation, proposed (from `preview`), about to happen (in `before_commit`) or done."""

    target: Target
    """Of a move: where the file was."""
    operation: Literal["create", "update", "delete", "move"]
    before: Content | None
    """None: there was no file."""
    after: Content | None
    """None: there is none now. Equal blobs and modes on both sides: nothing was written."""
    replacements: int = 0
    """Places that were replaced, by an edit."""
    moved_to: Target | None = None
    notes: tuple[str, ...] = ()
    """Of a mutation that is done: what people should know of it, such as an editor that did not follow."""


BeforeCommit = Callable[[Outcome], Awaitable[None]]


class Files(Protocol):
    """Every method raises `FileError` and nothing else for what the disk or the request gets wrong."""

    @property
    def roots(self) -> Sequence[Path]:
        """The folders inside which files may be touched; the first is where relative paths start."""
        ...

    async def resolve(self, path: str, *, link: bool = False) -> Target:
        """`OUTSIDE_WORKSPACE` for what leaves the roots by links, `..`, sibling prefixes or dangling links.

        `link`: the last step is not followed, and the name is taken to the letter; see `Target.link`.
        """
        ...

    async def stat(self, target: Target) -> Stat | None:
        """None: nothing there."""
        ...

    async def read(self, target: Target, limit: int | None = None) -> Content:
        """`limit` in bytes: `data` is None for a larger file; the default is the bound of the diff basis."""
        ...

    async def on_disk(self, target: Target, limit: int | None = None) -> Content:
        """As `read`, of what is saved: the two differ where a file is open in an editor."""
        ...

    async def list(self, target: Target) -> list[Entry]: ...

    async def preview(self, target: Target, action: Action) -> Outcome:
        """What `apply` would do now. Takes no lock and writes nothing."""
        ...

    async def apply(
        self, target: Target, action: Action, *, expected: Blob | None = None, before_commit: BeforeCommit | None = None
    ) -> Outcome:
        """Do it, atomically and durably, under the lock of the path.

        `expected`: the blob that must be there now, else `STALE`; the empty string means that no file may be there.
        A mutation that would change nothing calls no `before_commit` and writes nothing. Where an editor makes
        something else of a text as it saves it, `before_commit` is called once more, from the text that was meant to
        the one that is on the disk by then.
        """
        ...
