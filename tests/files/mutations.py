"""Edits of files, refusals that are the same in a preview, and a journal that looks at the disk: for tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from redline.files.error import FileError
from redline.files.local import LocalFiles
from redline.files.seam import (
    Action,
    EditText,
    Outcome,
    Replace,
)


def edit(old: str, new: str) -> EditText:
    return EditText([Replace(old, new)])


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


async def refused(files: LocalFiles, path: str, action: Action, **options: str) -> FileError:
    """The error of `apply`; `preview` must give the same one unless it is about what was expected."""
    target = await files.resolve(path)
    with pytest.raises(FileError) as caught:
        await files.apply(target, action, expected=options.get("expected"))
    if "expected" not in options:
        with pytest.raises(FileError) as seen:
            await files.preview(target, action)
        assert seen.value.code == caught.value.code
    assert caught.value.message
    assert caught.value.remedy
    return caught.value


class Journal:
    """Takes down what it was told, and how the disk looked at that moment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: list[Outcome] = []
        self.disk: list[bytes | None] = []

    async def __call__(self, outcome: Outcome) -> None:
        self.told.append(outcome)
        self.disk.append(self.path.read_bytes() if self.path.exists() else None)
