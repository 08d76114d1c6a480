"""What sweeps leave out: what the user's git ignores, and what is Redline's own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from redline.files.draft import DRAFT_PREFIX, DRAFT_SUFFIX
from redline.workspace.repository import UserRepository

if TYPE_CHECKING:
    from pathlib import Path


_DRAFTS = f"{DRAFT_PREFIX}*{DRAFT_SUFFIX}".encode()


class IgnoreRules:
    """Of the workspace `root`. `data`: Redline's own folder, which may lie in it."""

    def __init__(self, root: Path, data: Path) -> None:
        self._root = root
        self._data = data
        self._files: list[Path] = []
        self._facts: object = None
        """Of these files when they were read; None: they never were."""

    def changed(self) -> bytes | None:
        """All rules as one file, the strongest last, but for those of the `.gitignore` files inside the workspace.
        None: no file of theirs has changed since they were last given."""
        root = self._root
        if self._now() == self._facts:
            return None
        user = UserRepository.around(root)
        lines = [b"" if user is None else user.rules(root), _DRAFTS]
        data = self._data.resolve()
        if root in data.parents:
            lines.append(b"/" + os.fsencode(data.relative_to(root)) + b"/")
        self._files = [] if user is None else user.rule_files(root)
        self._facts = self._now()
        return b"\n".join(lines) + b"\n"

    def _now(self) -> list[tuple[int, int, int] | None]:
        return [_facts(path) for path in (self._root / ".git", *self._files)]


def _facts(path: Path) -> tuple[int, int, int] | None:
    try:
        facts = path.lstat() if path.name == ".git" else path.stat()
    except OSError:
        return None
    # A repository's folder changes with every commit; that it is there, and the same, is what matters.
    return (facts.st_ino, 0, 0) if path.name == ".git" else (facts.st_ino, facts.st_size, facts.st_mtime_ns)
