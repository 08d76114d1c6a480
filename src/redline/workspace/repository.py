"""The user's git repository around a workspace, as far as a snapshot must know it. It is read and never written."""

from __future__ import annotations

import fnmatch
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pygit2

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class UserRepository:
    """Where the parts of a repository are."""

    git: pygit2.Repository
    folder: Path
    """The working tree, links followed."""
    index: Path
    objects: Path
    excludes: Sequence[Path]
    """Files with rules of what git ignores, beside the `.gitignore` files, the weakest first; they need not exist."""
    attributes: Sequence[Path]
    """The same for attributes."""

    @classmethod
    def around(cls, root: Path) -> UserRepository | None:
        """None: there is none, or git itself would not touch it (another owner, a format of the future)."""
        try:
            place = pygit2.discover_repository(str(root))
            git = pygit2.Repository(place) if place else None
            if git is None or git.workdir is None:
                return None
            own = Path(os.path.realpath(git.path))
            common = _common(own)
            home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "git"
            return cls(
                git=git,
                folder=Path(os.path.realpath(git.workdir)),
                index=own / "index",
                objects=common / "objects",
                excludes=[_configured(git, "core.excludesfile", home / "ignore"), common / "info" / "exclude"],
                attributes=[
                    Path("/etc/gitattributes"),
                    _configured(git, "core.attributesfile", home / "attributes"),
                    common / "info" / "attributes",
                ],
            )
        except (pygit2.GitError, OSError, ValueError, RuntimeError, KeyError):
            return None

    def rule_files(self, root: Path) -> list[Path]:
        """The files that `rules` reads."""
        steps = Path(os.path.realpath(root)).relative_to(self.folder).parts
        outer = [self.folder.joinpath(*steps[:depth]) / ".gitignore" for depth in range(len(steps))]
        return [*self.excludes, *outer]

    def rules(self, root: Path) -> bytes:
        """All rules of what is ignored that no `.gitignore` inside `root` says, as one file, the strongest last."""
        parts = [_text(path) for path in self.excludes]
        steps = Path(os.path.realpath(root)).relative_to(self.folder).parts
        for depth in range(len(steps)):
            outer = self.folder.joinpath(*steps[:depth]) / ".gitignore"
            parts.append(_seen_from_below(_text(outer), steps[depth:]))
        return b"\n".join(part for part in parts if part)


def _common(own: Path) -> Path:
    """Of a linked working tree: the repository that it belongs to."""
    try:
        return Path(os.path.realpath(own / (own / "commondir").read_text().strip()))
    except OSError:
        return own


def _configured(git: pygit2.Repository, name: str, default: Path) -> Path:
    value = git.config[name] if name in git.config else None  # noqa: SIM401 - it has no `get`
    return Path(git.workdir or "") / Path(value).expanduser() if value else default


def _text(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""


def _seen_from_below(rules: bytes, steps: Sequence[str]) -> bytes:
    """Rules of an outer folder as they read in the folder `steps` below it. What speaks of other folders is left out,
    and so is what ignores that folder as a whole: whoever works in it wants it seen."""
    kept = []
    for line in rules.decode("utf-8", "surrogateescape").splitlines():
        not_ignored = "!" if line.startswith("!") else ""
        pattern = line[len(not_ignored) :].rstrip()
        if not pattern or pattern.startswith("#"):
            continue
        anchored = "/" in pattern.rstrip("/") and not pattern.startswith("**/")
        if not anchored:
            kept.append(line)
            continue
        parts = pattern.lstrip("/").split("/")
        inner = parts[len(steps) :]
        matches = all(fnmatch.fnmatchcase(step, part) for step, part in zip(steps, parts, strict=False))
        if "**" in parts[: len(steps)]:
            kept.append(not_ignored + "**/" + "/".join(parts[parts.index("**") + 1 :]))
        elif matches and inner not in ([], [""]):
            kept.append(not_ignored + "/" + "/".join(inner))
    return "\n".join(kept).encode("utf-8", "surrogateescape")
