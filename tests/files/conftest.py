"""A workspace on the real disk, and the local backend in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from redline.files.local import LocalFiles


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    return folder


@pytest.fixture
def files(workspace: Path) -> LocalFiles:
    return LocalFiles([workspace])
