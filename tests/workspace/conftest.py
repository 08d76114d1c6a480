from __future__ import annotations

from pathlib import Path

import pytest

from redline.workspace.store import ByteStore
from sighted import Sighted


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sighted:
    """An empty workspace that nobody has looked at yet."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    root = tmp_path / "work"
    root.mkdir()
    return Sighted(root, ByteStore(tmp_path / "data", file_limit=200_000))
