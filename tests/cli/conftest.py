"""A workspace with one file, a data folder, and the command line that works on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command_line import CommandLine


@pytest.fixture
def redline(tmp_path: Path) -> CommandLine:
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "a.txt").write_text("one\ntwo\nthree\n")
    return CommandLine(workspace, tmp_path / "data")
